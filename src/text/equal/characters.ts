/** Brings an answer's characters to ASCII and LaTeX names, so that one spelling of each sign remains. */

const signs: Record<string, string> = {
  '√': '\\sqrt ',
  '∛': '\\sqrt[3]',
  '∜': '\\sqrt[4]',
  '∞': '\\infty ',
  '°': '^\\circ ',
  º: '^\\circ ',
  '℃': '^\\circ\\text{C}',
  '℉': '^\\circ\\text{F}',
  '±': '\\pm ',
  '∓': '\\mp ',
  '×': '\\times ',
  '÷': '\\div ',
  '∕': '/',
  '≤': '\\le ',
  '≦': '\\le ',
  '⩽': '\\le ',
  '≥': '\\ge ',
  '≧': '\\ge ',
  '⩾': '\\ge ',
  '≠': '\\ne ',
  '≈': '\\approx ',
  '≅': '\\cong ',
  '≡': '\\equiv ',
  '∼': '\\sim ',
  '∈': '\\in ',
  '∉': '\\notin ',
  '∪': '\\cup ',
  '∩': '\\cap ',
  '∅': '\\emptyset ',
  '⌀': '\\emptyset ',
  '∖': '\\setminus ',
  '⊂': '\\subset ',
  '⊆': '\\subseteq ',
  ℝ: '\\mathbb{R}',
  ℕ: '\\mathbb{N}',
  ℤ: '\\mathbb{Z}',
  ℚ: '\\mathbb{Q}',
  ℂ: '\\mathbb{C}',
  '⟨': '\\langle ',
  '⟩': '\\rangle ',
  '〈': '\\langle ',
  '〉': '\\rangle ',
  '⌊': '\\lfloor ',
  '⌋': '\\rfloor ',
  '⌈': '\\lceil ',
  '⌉': '\\rceil ',
  '…': '\\ldots ',
  '⋯': '\\ldots ',
  '→': '\\to ',
  '⇒': '\\Rightarrow ',
  '⟹': '\\Rightarrow ',
  '⇔': '\\Leftrightarrow ',
  '∴': '\\therefore ',
  '∑': '\\sum ',
  '∏': '\\prod ',
  '∫': '\\int ',
  '∠': '\\angle ',
  '△': '\\triangle ',
  '′': "'",
  '″': "''",
  '‘': "'",
  '’': "'",
  '“': '"',
  '”': '"',
  '、': ', ',
  '。': '. ',
  '〜': '~',
};

const same: Record<string, string> = {
  '-': '−–—‐‑‒﹣－',
  '\\cdot ': '·⋅∙•',
};

const greek: Record<string, string> = {
  alpha: 'α',
  beta: 'β',
  gamma: 'γ',
  delta: 'δ',
  epsilon: 'εϵ',
  zeta: 'ζ',
  eta: 'η',
  theta: 'θϑ',
  iota: 'ι',
  kappa: 'κ',
  lambda: 'λ',
  mu: 'μµ',
  nu: 'ν',
  xi: 'ξ',
  pi: 'π𝜋𝝅',
  rho: 'ρ',
  sigma: 'σ',
  tau: 'τ',
  upsilon: 'υ',
  phi: 'φϕ',
  chi: 'χ',
  psi: 'ψ',
  omega: 'ω',
  Gamma: 'Γ',
  Delta: 'Δ',
  Theta: 'Θ',
  Lambda: 'Λ',
  Xi: 'Ξ',
  Pi: 'Π',
  Sigma: 'Σ',
  Phi: 'Φ',
  Psi: 'Ψ',
  Omega: 'Ω',
};

const vulgar: Record<string, string> = { '½': '12', '⅓': '13', '⅔': '23', '¼': '14', '¾': '34', '⅕': '15' };
Object.assign(vulgar, {
  '⅖': '25',
  '⅗': '35',
  '⅘': '45',
  '⅙': '16',
  '⅚': '56',
  '⅛': '18',
  '⅜': '38',
  '⅝': '58',
});
Object.assign(vulgar, { '⅞': '78', '⅐': '17', '⅑': '19' });

const raised = '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱ';
const raisedPlain = '0123456789+-()ni';
const lowered = '₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₙ';
const loweredPlain = '0123456789+-()n';

/** Names of the Greek letters, as LaTeX commands. */
export const greekNames: ReadonlySet<string> = new Set(Object.keys(greek));

const table = new Map(Object.entries(signs));
for (const [plain, others] of Object.entries(same)) for (const each of others) table.set(each, plain);
for (const [name, letters] of Object.entries(greek))
  for (const each of letters) table.set(each, `\\${name} `);
for (const [sign, [num, den]] of Object.entries(vulgar)) table.set(sign, `\\frac{${num}}{${den}}`);

/** The same answer in ASCII and LaTeX where there is a name for the sign, in Unicode's NFKC form otherwise. */
export function plainCharacters(text: string): string {
  if (/^[\x00-\x7f]*$/.test(text)) return text;
  return script(script(text, raised, raisedPlain, '^'), lowered, loweredPlain, '_')
    .replace(/[^\x00-\x7f]/gu, (c) => table.get(c) ?? c)
    .normalize('NFKC')
    .replace(/[^\x00-\x7f]/gu, (c) => table.get(c) ?? c);
}

/** Writes each run of raised (or lowered) digits as one exponent (or index). */
function script(text: string, from: string, to: string, mark: '^' | '_'): string {
  let out = '';
  let open = false;
  for (const c of text) {
    const at = from.indexOf(c);
    if (at >= 0 && !open) out += `${mark}{`;
    if (at < 0 && open) out += '}';
    open = at >= 0;
    out += at >= 0 ? to[at] : c;
  }
  return open ? `${out}}` : out;
}
