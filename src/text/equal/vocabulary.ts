/** The words and LaTeX commands that an answer may hold, with the meaning each has. */

/** Known functions by every name they are written with. */
export const functionNames: ReadonlyMap<string, string> = new Map(
  Object.entries({
    sin: 'sin',
    cos: 'cos',
    tan: 'tan',
    tg: 'tan',
    cot: 'cot',
    ctg: 'cot',
    sec: 'sec',
    csc: 'csc',
    cosec: 'csc',
    arcsin: 'asin',
    arccos: 'acos',
    arctan: 'atan',
    arctg: 'atan',
    arccot: 'acot',
    asin: 'asin',
    acos: 'acos',
    atan: 'atan',
    sinh: 'sinh',
    cosh: 'cosh',
    tanh: 'tanh',
    coth: 'coth',
    arcsinh: 'asinh',
    arccosh: 'acosh',
    arctanh: 'atanh',
    asinh: 'asinh',
    acosh: 'acosh',
    atanh: 'atanh',
    exp: 'exp',
    ln: 'log',
    log: 'log',
    lg: 'log10',
    lb: 'log2',
    sqrt: 'sqrt',
    cbrt: 'cbrt',
    abs: 'abs',
    floor: 'floor',
    ceil: 'ceil',
    max: 'max',
    min: 'min',
    gcd: 'gcd',
    lcm: 'lcm',
    binom: 'binom',
    binomial: 'binom',
    factorial: 'factorial',
    Re: 're',
    Im: 'im',
    det: 'det',
  }),
);

/** Commands and words that compare two sides. */
export const relations: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '=': '=',
    '==': '=',
    '<': '<',
    '>': '>',
    '<=': '<=',
    '>=': '>=',
    '!=': '!=',
    '=>': '=>',
    eq: '=',
    coloneqq: '=',
    triangleq: '=',
    lt: '<',
    gt: '>',
    le: '<=',
    leq: '<=',
    leqslant: '<=',
    leqq: '<=',
    ge: '>=',
    geq: '>=',
    geqslant: '>=',
    geqq: '>=',
    ne: '!=',
    neq: '!=',
    in: 'in',
    notin: 'notin',
    approx: '~',
    approxeq: '~',
    simeq: '~',
    doteq: '~',
    Rightarrow: '=>',
    implies: '=>',
    Longrightarrow: '=>',
    therefore: '=>',
    equiv: 'equiv',
    cong: 'cong',
    sim: 'sim',
    propto: 'propto',
    to: 'to',
    rightarrow: 'to',
    longrightarrow: 'to',
    mapsto: 'to',
    Leftrightarrow: 'iff',
    iff: 'iff',
    subset: 'subset',
    subseteq: 'subseteq',
    parallel: 'parallel',
    perp: 'perp',
    mid: 'mid',
    nmid: 'nmid',
    ll: '<<',
    gg: '>>',
    land: 'land',
    wedge: 'land',
    lor: 'lor',
    vee: 'lor',
  }),
);

/** Commands that change only the look and are passed over; those that leave a gap are in `spaces`. */
export const ignored: ReadonlySet<string> = new Set(
  (
    'left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr displaystyle textstyle ' +
    'scriptstyle tiny small normalsize large Large LARGE huge Huge limits nolimits ! hfill hline centering boldmath mathstrut strut nonumber notag ensuremath'
  ).split(' '),
);

export const spaces: ReadonlySet<string> = new Set(
  ', ; : > / space thinspace enspace nobreakspace'.split(' ').concat(' ', '\n'),
);

/** Commands whose argument is ordinary text: their words are never products of variables. */
export const textCommands: ReadonlySet<string> = new Set(
  (
    'text textbf textit textrm textnormal textsf texttt textsc textup textmd textsl mbox hbox emph underline ' +
    'mathrm operatorname mathop mathsf mathtt unit'
  ).split(' '),
);

/** Commands whose argument is mathematics in another face. */
export const faceCommands: ReadonlySet<string> = new Set(
  'mathbf mathit mathcal mathfrak mathscr boldsymbol bm pmb mathnormal boxed fbox mathord mathbin mathrel cancel'.split(
    ' ',
  ),
);

/** Commands that say nothing, with an argument that says nothing. */
export const silent: ReadonlySet<string> = new Set(
  'color textcolor hspace vspace phantom hphantom vphantom label tag'.split(' '),
);

/** Switches of the face for the rest of a group, with whether what follows is ordinary text. */
export const faceSwitches: ReadonlyMap<string, boolean> = new Map([
  ['rm', true],
  ['bf', false],
  ['it', false],
  ['sf', true],
]);

/** Marks above a symbol: part of its name. */
export const accents: ReadonlySet<string> = new Set(
  'vec hat bar tilde dot ddot widehat widetilde overrightarrow overline underset overset check breve'.split(
    ' ',
  ),
);

/** Words after a number that name a unit, also without a space before them. */
export const unitWords: ReadonlySet<string> = new Set(
  (
    'cm mm km dm nm um kg lb lbs oz ft yd mi mph kph kmh kmph hr hrs min mins sec secs deg rad sq cu gal hz khz mhz ghz kw mw kwh ' +
    'kj mj kcal cal ev kev mev gev kpa mpa atm mol mmol kmol rpm usd eur gbp cad aud rmb cny inr rs px kb mb gb tb bits mV kV mA kHz MHz GHz Hz ' +
    'kJ MJ kW MW kWh eV keV MeV GeV kPa MPa Pa Nm Gyr Myr yr yrs pc kpc Mpc  au AU ly dB mL ml cc cg mg ms ns ps us rads amu'
  ).split(' '),
);

/** Single letters that name a unit when a space stands between them and the number. */
export const unitLetters: ReadonlySet<string> = new Set('m s g h L l N J W V A K C F T H S'.split(' '));

/** Words that take the meaning of a number away from a phrase: what follows them is no unit. */
export const notUnits: ReadonlySet<string> = new Set(
  (
    'not no than less more least most if when where mod to is are unless except but only for either neither nor between ' +
    'without given times plus minus divided over undefined impossible infinite never none'
  ).split(' '),
);

/** English words that might be taken for products of variables: two letters, or three without a vowel. */
export const shortWords: ReadonlySet<string> = new Set(
  'no so is it on of at as by to if in or an am be do go he me my up us we ok hi dry sky fly try why shy cry fry spy gym'.split(
    ' ',
  ),
);

/** Words that multiply the number before them. */
export const magnitudes: ReadonlyMap<string, number> = new Map(
  Object.entries({
    dozen: 12,
    hundred: 100,
    thousand: 1e3,
    million: 1e6,
    millions: 1e6,
    billion: 1e9,
    trillion: 1e12,
  }),
);

/** Words before an answer that say how it was found, not what it is. */
export const hedges: ReadonlySet<string> = new Set(
  'about approximately approx roughly around nearly almost exactly circa only'.split(' '),
);

/** Names of currencies, before or after an amount. */
export const currencies: ReadonlySet<string> = new Set(
  'us usd eur gbp cad aud rmb cny inr jpy rs dollars dollar euros euro pounds yuan rupees yen cents cent'.split(
    ' ',
  ),
);
