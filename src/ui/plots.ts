/** Small plots as SVG: bars with errors, means in bins, and histograms. Nothing for no data. */

import { count, percent } from './format.js';
import { escapeHtml } from './html.js';

const WIDTH = 420;
const ROW = 18;
const LABEL = 130;

/** Horizontal bars of shares of 1, each with its error as a line. */
export function bars(
  title: string,
  items: readonly { name: string; value: number; error: number }[],
): string {
  if (items.length === 0) return '';
  const scale = WIDTH - LABEL - 60;
  const rows = items.map(({ name, value, error }, i) => {
    const y = i * ROW;
    const at = (share: number) => LABEL + Math.min(1, Math.max(0, share)) * scale;
    const middle = y + ROW / 2;
    const line =
      error > 0
        ? `<line x1="${at(value - error)}" y1="${middle}" x2="${at(value + error)}" y2="${middle}"/>`
        : '';
    const label = name.length > 20 ? `${name.slice(0, 19)}…` : name;
    return (
      `<text x="${LABEL - 6}" y="${y + 13}" text-anchor="end">${escapeHtml(label)}</text>` +
      `<rect x="${LABEL}" y="${y + 3}" width="${at(value) - LABEL}" height="${ROW - 6}" fill="#2a7de1"/>${line}` +
      `<text x="${WIDTH - 50}" y="${y + 13}">${percent(value)}</text>`
    );
  });
  return figure(title, items.length * ROW, rows.join(''));
}

const HEIGHT = 140;
const PLOT = { left: 40, right: 8, top: 8, bottom: 20 };
const BINS = 10;

/** Mean of y by tenths of x, both shares of 1; the circle's area shows how many points a bin has. */
export function binned(title: string, points: readonly { x: number; y: number }[]): string {
  if (points.length === 0) return '';
  const bins = Array.from({ length: BINS }, (_, i) =>
    points.filter(({ x }) => Math.min(BINS - 1, Math.floor(x * BINS)) === i),
  );
  const { left, right, top, bottom } = PLOT;
  const px = (x: number) => left + x * (WIDTH - left - right);
  const py = (y: number) => top + (1 - y) * (HEIGHT - top - bottom);
  const circles = bins
    .filter((bin) => bin.length > 0)
    .map((bin) => {
      const mean = (of: (point: { x: number; y: number }) => number) =>
        bin.reduce((sum, point) => sum + of(point), 0) / bin.length;
      const radius = 2 + 8 * Math.sqrt(bin.length / points.length);
      const at = `cx="${px(mean(({ x }) => x)).toFixed(1)}" cy="${py(mean(({ y }) => y)).toFixed(1)}"`;
      return `<circle ${at} r="${radius.toFixed(1)}"><title>${count(bin.length)} replies</title></circle>`;
    });
  const axis =
    `<line x1="${px(0)}" y1="${py(0)}" x2="${px(1)}" y2="${py(0)}"/>` +
    `<line x1="${px(0)}" y1="${py(0)}" x2="${px(1)}" y2="${py(1)}"/>`;
  return figure(title, HEIGHT, axis + circles.join('') + ticks('0', '1', '0 %', '100 %'));
}

/** Counts by twentieths of the range: the first list filled, the second outlined. */
export function histogram(title: string, lists: readonly [readonly number[], readonly number[]]): string {
  const all = lists.flat();
  if (all.length === 0) return '';
  const high = Math.max(1, ...all);
  const columns = 20;
  const counts = lists.map((list) => {
    const own = new Array<number>(columns).fill(0);
    for (const value of list) own[Math.min(columns - 1, Math.floor((value / high) * columns))]!++;
    return own;
  });
  const most = Math.max(1, ...counts.flat());
  const { left, right, top, bottom } = PLOT;
  const step = (WIDTH - left - right) / columns;
  const shapes = counts.flatMap((own, which) =>
    own.map((n, i) => {
      const height = (n / most) * (HEIGHT - top - bottom);
      const style = which === 0 ? 'fill="#2a7de1"' : 'fill="none" stroke="#8888"';
      return `<rect x="${(left + i * step + 1).toFixed(1)}" y="${(HEIGHT - bottom - height).toFixed(1)}" width="${(step - 2).toFixed(1)}" height="${height.toFixed(1)}" ${style}/>`;
    }),
  );
  return figure(title, HEIGHT, shapes.join('') + ticks('0', count(high), '0', count(most)));
}

function ticks(x0: string, x1: string, y0: string, y1: string): string {
  const { left, right, top, bottom } = PLOT;
  return (
    `<text x="${left - 4}" y="${top + 8}" text-anchor="end">${y1}</text>` +
    `<text x="${left - 4}" y="${HEIGHT - bottom}" text-anchor="end">${y0}</text>` +
    `<text x="${left}" y="${HEIGHT - 6}">${x0}</text>` +
    `<text x="${WIDTH - right}" y="${HEIGHT - 6}" text-anchor="end">${x1}</text>`
  );
}

function figure(title: string, height: number, body: string): string {
  return `<figure><svg width="${WIDTH}" height="${height}" role="img" aria-label="${escapeHtml(title)}">${body}</svg><figcaption>${escapeHtml(title)}</figcaption></figure>`;
}
