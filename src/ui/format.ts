/** Numbers and times as people read them: thousands separators, shares as percentages, errors beside measurements. */

/** `1,234`, or `1,234.5` with digits. */
export function count(value: number, digits = 0): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** A fixed number of digits; `–` for what is not a number. */
export function fixed(value: number | undefined | null, digits: number): string {
  if (value === undefined || value === null || Number.isNaN(value)) return '–';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '-∞';
  return value.toFixed(digits);
}

/** A share of 1 as `97.9 %`. */
export function percent(share: number | undefined | null, digits = 1): string {
  return share === undefined || share === null || Number.isNaN(share)
    ? '–'
    : `${(share * 100).toFixed(digits)} %`;
}

/** `41.3 % ± 2.7`: an accuracy with its standard error, both shares of 1. */
export function measured(share: number, error: number | undefined): string {
  return error === undefined || Number.isNaN(error)
    ? percent(share)
    : `${percent(share)} ± ${fixed(error * 100, 1)}`;
}

/** Small or large numbers in few characters: `1.2e-7`, `0`, `2.31`. */
export function compact(value: number | undefined | null): string {
  if (value === undefined || value === null || !Number.isFinite(value)) return fixed(value, 0);
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e5) return value.toExponential(1).replace('e+', 'e');
  return size < 10 ? value.toFixed(2) : count(value, size < 1000 ? 1 : 0);
}

/** Seconds as `2:58` or `1:02:58`. */
export function clock(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–';
  const whole = Math.max(0, Math.round(seconds));
  const two = (n: number) => String(n).padStart(2, '0');
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

/** Seconds as `3 min 41 s`, `2 h 5 min` or `12 s`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor(whole / 60) % 60} min`;
}
