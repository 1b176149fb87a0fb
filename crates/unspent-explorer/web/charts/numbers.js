// Numbers as charts write them: rounded to nearest, to be read off a curve. Guarantees are in tables.

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻';
const RAISED = /([⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+)/;

export const finite = Number.isFinite;
export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** An integer in superscripts. */
export const superscript = (n) =>
  [...String(n).replace('-', '⁻')].map((c) => SUPERSCRIPTS[c] || c).join('');

const lowered = (text) => [...text].map((c) => '0123456789+−'[SUPERSCRIPTS.indexOf(c)]).join('');

/** A text in pieces, each with whether it is raised; raised digits are given as plain ones. */
export function pieces(text) {
  return text.split(RAISED).filter(Boolean).map((piece) => {
    const raised = SUPERSCRIPTS.includes(piece[0]);
    return { raised, text: raised ? lowered(piece) : piece };
  });
}

/** For those who listen: 10⁻⁵ as 10^−5. */
export const spoken = (text) =>
  pieces(text).map((piece) => (piece.raised ? '^' : '') + piece.text).join('');

/** 10^log as m.mm×10ᵉ, and plainly near 1. */
export function power(log, digits = 2) {
  if (log === -Infinity) return '0';
  let exponent = Math.floor(log);
  let mantissa = (10 ** (log - exponent)).toFixed(digits);
  if (+mantissa >= 10) {
    mantissa = (1).toFixed(digits);
    exponent += 1;
  }
  if (exponent < -2 || exponent > 2) return `${mantissa}×10${superscript(exponent)}`;
  return (mantissa * 10 ** exponent).toFixed(Math.max(0, digits - exponent));
}

/** A value in about five digits. */
export function decimal(value) {
  const size = Math.abs(value);
  const text = size === 0 ? '0'
    : size < 1e-4 || size >= 1e7 ? power(Math.log10(size), 3)
      : String(+size.toPrecision(size >= 1e5 ? 8 : 5));
  return value < 0 ? '−' + text : text;
}

/** A value given on an axis: null is 0 on a log axis, and unknown on another. */
export function shown(value, scale) {
  if (scale === 'log10') return power(value === null ? -Infinity : value);
  return finite(value) ? decimal(value) : '–';
}
