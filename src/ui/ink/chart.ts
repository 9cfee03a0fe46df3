/** Curves for terminals: block sparklines, a column a stretch of steps. */

const BLOCKS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/**
 * `values` as a line of at most `columns` blocks between `low` and `high` (their own range when left out). Longer series
 * are averaged in equal stretches; what is not a number leaves a gap.
 */
export function sparkline(values: readonly number[], columns: number, low?: number, high?: number): string {
  const points = resample(values, columns);
  const finite = points.filter(Number.isFinite);
  if (finite.length === 0) return '';
  const floor = low ?? Math.min(...finite);
  const span = (high ?? Math.max(...finite)) - floor;
  return points
    .map((value) => {
      if (!Number.isFinite(value)) return ' ';
      const share = span > 0 ? (value - floor) / span : 0.5;
      return BLOCKS[Math.min(7, Math.max(0, Math.floor(share * 8)))]!;
    })
    .join('');
}

function resample(values: readonly number[], columns: number): number[] {
  if (values.length <= columns) return [...values];
  return Array.from({ length: columns }, (_, i) => {
    const part = values
      .slice(Math.floor((i * values.length) / columns), Math.floor(((i + 1) * values.length) / columns))
      .filter(Number.isFinite);
    return part.length === 0 ? Number.NaN : part.reduce((sum, value) => sum + value, 0) / part.length;
  });
}

/** A bar of `columns` cells, `share` of it full. */
export function bar(share: number, columns: number): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * columns);
  return '█'.repeat(full) + '░'.repeat(columns - full);
}
