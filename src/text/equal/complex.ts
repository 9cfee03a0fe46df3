/** Complex numbers in double precision, each with an estimate of its own error. */

export interface Complex {
  readonly re: number;
  readonly im: number;
  /** Bound on the rounding error of either part, as far as it is known. */
  readonly error: number;
}

const unit = 2 ** -52;

export function complex(re: number, im = 0, error = 0): Complex {
  return { re, im, error };
}

export function magnitude(a: Complex): number {
  return a.im === 0 ? Math.abs(a.re) : Math.hypot(a.re, a.im);
}

/** Whether a value cannot be told from zero. */
export function isZero(a: Complex): boolean {
  return magnitude(a) <= 8 * a.error;
}

/** Whether the imaginary part cannot be told from zero. */
export function isReal(a: Complex): boolean {
  return a.im === 0 || Math.abs(a.im) <= 8 * a.error + 4 * unit * Math.abs(a.re);
}

function rounded(re: number, im: number, error: number): Complex {
  return { re, im, error: error + unit * (Math.abs(re) + Math.abs(im)) };
}

export function sum(a: Complex, b: Complex): Complex {
  const re = a.re + b.re;
  const im = a.im + b.im;
  const noise = Number.isInteger(re) && Number.isInteger(im) && a.error === 0 && b.error === 0 ? 0 : unit;
  return { re, im, error: a.error + b.error + noise * (Math.abs(re) + Math.abs(im)) };
}

export function opposite(a: Complex): Complex {
  return { re: -a.re, im: a.im === 0 ? 0 : -a.im, error: a.error };
}

export function product(a: Complex, b: Complex): Complex {
  const error = a.error * magnitude(b) + b.error * magnitude(a);
  if (a.im === 0 && b.im === 0) return rounded(a.re * b.re, 0, error);
  return rounded(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re, error);
}

/** a / b, or null when b cannot be told from zero. */
export function quotient(a: Complex, b: Complex): Complex | null {
  if (isZero(b)) return null;
  const size = magnitude(b);
  const error = (a.error + (magnitude(a) / size) * b.error) / size;
  if (a.im === 0 && b.im === 0) return rounded(a.re / b.re, 0, error);
  const below = b.re * b.re + b.im * b.im;
  return rounded((a.re * b.re + a.im * b.im) / below, (a.im * b.re - a.re * b.im) / below, error);
}

export function exponential(a: Complex): Complex {
  const size = Math.exp(a.re);
  const error = size * (a.error + unit * Math.abs(a.re) + unit * Math.abs(a.im));
  return a.im === 0 ? rounded(size, 0, error) : rounded(size * Math.cos(a.im), size * Math.sin(a.im), error);
}

/** The principal logarithm, or null at zero. */
export function logarithm(a: Complex): Complex | null {
  if (isZero(a)) return null;
  const size = magnitude(a);
  const angle = isReal(a) ? (a.re < 0 ? Math.PI : 0) : Math.atan2(a.im, a.re);
  return rounded(Math.log(size), angle, a.error / size + unit);
}

export function squareRoot(a: Complex): Complex {
  const size = magnitude(a);
  const error = size > 0 ? Math.min(Math.sqrt(a.error), a.error / Math.sqrt(size)) : Math.sqrt(a.error);
  if (isReal(a)) return a.re < 0 ? rounded(0, Math.sqrt(-a.re), error) : rounded(Math.sqrt(a.re), 0, error);
  const re = Math.sqrt((size + Math.abs(a.re)) / 2);
  const im = Math.abs(a.im) / (2 * re);
  const [x, y] = a.re >= 0 ? [re, im] : [im, re];
  return rounded(x, a.im < 0 ? -y : y, error);
}

/** a^b on the principal branch; null at 0 to a negative power. */
export function power(a: Complex, b: Complex): Complex | null {
  if (b.im === 0 && Number.isInteger(b.re) && b.error === 0 && Math.abs(b.re) <= 1024)
    return wholePower(a, b.re);
  if (isZero(a)) return b.re > 0 ? complex(0, 0, a.error) : null;
  if (isReal(a) && a.re > 0 && isReal(b)) {
    const value = a.re ** b.re;
    const error = value * (Math.abs(b.re) * (a.error / a.re) + b.error * Math.abs(Math.log(a.re)));
    return rounded(value, 0, error + 2 * unit * value);
  }
  const log = logarithm(a);
  return log === null ? null : exponential(product(b, log));
}

function wholePower(a: Complex, exponent: number): Complex | null {
  if (exponent < 0) {
    const below = wholePower(a, -exponent);
    return below === null ? null : quotient(complex(1), below);
  }
  if (a.im === 0) {
    const value = a.re ** exponent;
    const error = exponent === 0 || a.re === 0 ? 0 : Math.abs(value / a.re) * exponent * a.error;
    return {
      re: value,
      im: 0,
      error: error + (Number.isSafeInteger(value) && a.error === 0 ? 0 : 2 * unit * Math.abs(value)),
    };
  }
  let result = complex(1);
  let square = a;
  for (let e = exponent; e > 0; e = Math.floor(e / 2)) {
    if (e % 2 === 1) result = product(result, square);
    square = product(square, square);
  }
  return result;
}
