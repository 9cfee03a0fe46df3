/** Pieces of the static reports: the page with its style, sections and tables. Nothing is loaded from anywhere. */

import { visible } from './text.js';

const STYLE = `
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse}td,th{padding:.15rem .8rem .15rem 0;text-align:left;vertical-align:top}
td.n{text-align:right;font-variant-numeric:tabular-nums}
figure{display:inline-block;margin:0 1rem 1rem 0}figcaption{font-size:.85rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;border-left:3px solid #8886;padding-left:.7rem;margin:.4rem 0}
svg{display:block;background:#8881}svg polyline{fill:none;stroke:#2a7de1;stroke-width:1.5}
svg circle{fill:#2a7de1}svg line{stroke:#8886}svg text{font-size:10px;fill:currentColor}
`;

/** A whole document. Sections are HTML already. */
export function page(title: string, sections: readonly string[]): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body>${sections.join('\n')}</body></html>
`;
}

/** Text for HTML, with control characters shown as marks. */
export function escapeHtml(text: string): string {
  return visible(text)
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;');
}

/** A titled part; nothing for an empty one. */
export function section(title: string, body: string): string {
  return body === '' ? '' : `<h2>${title}</h2>${body}`;
}

/** Cells are HTML already. */
export function htmlTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const th = head.length === 0 ? '' : `<tr>${head.map((title) => `<th>${title}</th>`).join('')}</tr>`;
  const numeric = /^(-?[\d∞]|–$)/;
  const body = rows.map((row) => {
    const cells = row.map((cell) => `<td${numeric.test(cell) ? ' class="n"' : ''}>${cell}</td>`);
    return `<tr>${cells.join('')}</tr>`;
  });
  return `<table>${th}${body.join('')}</table>`;
}
