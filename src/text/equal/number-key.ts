/** Writes numbers as keys: integers exactly, others rounded to 6 decimals (7 digits below 1e-3). */
import { type Complex, isReal, isZero, magnitude } from './complex.js';
import { bits, type Rational } from './rational.js';

const decimals = 6;
const smallDigits = 7;
const maxDigits = 12;

/** The key of an exact number: all of an integer; of a fraction its exactly rounded value. */
export function rationalKey({ num, den }: Rational): string {
  if (num < 0n) {
    const key = rationalKey({ num: -num, den });
    return key === '0' ? key : `-${key}`;
  }
  if (den === 1n) return bits(num) > 4000 ? `0x${num.toString(16)}` : num.toString();
  if (num * 1000n < den) return smallKey(num, den);
  const scale = 10n ** BigInt(decimals);
  const scaled = (num * scale * 2n + den) / (den * 2n);
  const rest = scaled % scale;
  if (rest === 0n) return rationalKey({ num: scaled / scale, den: 1n });
  return `${scaled / scale}.${rest.toString().padStart(decimals, '0').replace(/0+$/, '')}`;
}

/** Seven significant digits with an exponent. */
function smallKey(num: bigint, den: bigint): string {
  let exponent = Math.floor((width(num) - width(den)) * Math.LOG10E * Math.LN2) + 1;
  for (;;) {
    const scale = 10n ** BigInt(smallDigits - 1 - exponent);
    const digits = (num * scale * 2n + den) / (den * 2n);
    const length = digits.toString().length;
    if (length === smallDigits) return written(digits.toString(), exponent);
    exponent += length - smallDigits;
  }
}

function width(n: bigint): number {
  return n.toString(2).length;
}

function written(digits: string, exponent: number): string {
  const mantissa = digits.replace(/0+$/, '');
  if (exponent < 0 && exponent >= -3) return `0.${'0'.repeat(-1 - exponent)}${mantissa}`;
  return `${mantissa[0]}${mantissa.length > 1 ? '.' : ''}${mantissa.slice(1)}e${exponent}`;
}

/** The key of a real double: 6 decimals but at most 12 digits; one that cannot be told from zero is 0. */
export function realKey(value: number, error: number): string {
  if (Math.abs(value) <= 8 * error || value === 0) return '0';
  if (value < 0) {
    const key = realKey(-value, error);
    return key === '0' ? key : `-${key}`;
  }
  if (value < 1e-3) {
    const [mantissa, exponent] = value.toExponential(smallDigits - 1).split('e') as [string, string];
    return written(mantissa.replace('.', ''), Number(exponent));
  }
  const whole = Math.floor(Math.log10(value)) + 1;
  if (whole > maxDigits) {
    const [mantissa, exponent] = value.toExponential(maxDigits - 1).split('e') as [string, string];
    return written(mantissa.replace('.', ''), Number(exponent));
  }
  const text = value.toFixed(Math.min(decimals, maxDigits - Math.max(whole, 0)));
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** The key of a complex double. */
export function complexKey(value: Complex): string {
  if (isReal(value)) return realKey(value.re, value.error);
  const im = realKey(value.im, value.error);
  const re = Math.abs(value.re) <= 4e-16 * magnitude(value) ? '0' : realKey(value.re, value.error);
  return re === '0' ? `${im}i` : `${re}${im.startsWith('-') ? '' : '+'}${im}i`;
}

/** Nine significant digits of a value; null where its error does not allow them. */
export function sampleKey(value: Complex): string | null {
  if (isZero(value)) return '0';
  const size = magnitude(value);
  if (value.error > 1e-10 * size) return null;
  const scale = 10 ** (8 - Math.floor(Math.log10(size)));
  const [re, im] = [Math.round(value.re * scale), isReal(value) ? 0 : Math.round(value.im * scale)];
  if (!Number.isFinite(re) || !Number.isFinite(im)) return null;
  return `${re}${im === 0 ? '' : `,${im}`}e${Math.floor(Math.log10(size))}`;
}
