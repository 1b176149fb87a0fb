// Exact numbers, as fractions of integers of any length, and how they are shortened: rounded up or down,
// never to nearest.

const gcd = (a, c) => {
  while (c) [a, c] = [c, a % c];
  return a < 0n ? -a : a;
};

export class Rational {
  constructor(numerator, denominator = 1n) {
    const common = gcd(numerator, denominator) * (denominator < 0n ? -1n : 1n);
    this.n = numerator / common;
    this.d = denominator / common;
  }

  /** As the program reads numbers: 5, 3.65, 104/4099, 1e-10. Throws what is wrong, in words. */
  static parse(text) {
    const hint = text.trim().endsWith('%') ? 'write a part of 1: 50 % is 0.5'
      : text.includes(',') ? 'write a decimal point, and no commas between digits'
        : 'write a decimal or a fraction, like 5, 3.65, 104/4099 or 1e-10';
    const parts = text.trim().split('/');
    if (text.length > 4096) throw new Error('Not a number: it is too long.');
    if (parts.length > 2) throw new Error(`Not a number: ${hint}.`);
    const [numerator, denominator] = parts.map((part) => {
      const found = /^\s*([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?\s*$/.exec(part);
      if (!found || !(found[2] || found[3])) throw new Error(`Not a number: ${hint}.`);
      const [, sign, whole, decimals = '', exponent = '0'] = found;
      if (Math.abs(+exponent) > 10000) throw new Error('The exponent must be between ±10000.');
      const by = BigInt(exponent) - BigInt(decimals.length);
      const digits = BigInt(sign + (whole + decimals));
      return by < 0n ? new Rational(digits, 10n ** -by) : new Rational(digits * 10n ** by);
    });
    if (!denominator) return numerator;
    if (denominator.n === 0n) throw new Error('A fraction needs a denominator other than zero.');
    return numerator.over(denominator);
  }

  plus(other) { return new Rational(this.n * other.d + other.n * this.d, this.d * other.d); }
  minus(other) { return new Rational(this.n * other.d - other.n * this.d, this.d * other.d); }
  times(other) { return new Rational(this.n * other.n, this.d * other.d); }
  over(other) { return new Rational(this.n * other.d, this.d * other.n); }
  compare(other) {
    const difference = this.n * other.d - other.n * this.d;
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }
  toString() { return this.d === 1n ? String(this.n) : `${this.n}/${this.d}`; }

  /** With so many decimals, rounded up or down. */
  fixed(places, up) {
    const scaled = this.n * 10n ** BigInt(places);
    let whole = scaled / this.d; // towards zero
    if (scaled % this.d) whole += up && scaled > 0n ? 1n : !up && scaled < 0n ? -1n : 0n;
    const digits = String(whole < 0n ? -whole : whole).padStart(places + 1, '0');
    const text = places ? `${digits.slice(0, -places)}.${digits.slice(-places)}` : digits;
    return whole < 0n ? '−' + text : text;
  }

  /** The place of the first digit: 0 for 1 to 9.99, −2 for 0.01. For positive numbers. */
  get magnitude() {
    let at = String(this.n).length - String(this.d).length;
    const ten = (k) => k < 0 ? new Rational(1n, 10n ** BigInt(-k)) : new Rational(10n ** BigInt(k));
    if (this.compare(ten(at)) < 0) at -= 1;
    return at;
  }

  /** In a few significant digits, rounded up or down; very small and large ones with a power of ten. */
  short(digits, up) {
    if (this.n <= 0n) return this.n === 0n ? '0' : this.fixed(digits, up);
    const at = this.magnitude;
    if (at >= -4 && at < 9) return this.fixed(Math.max(0, digits - 1 - at), up);
    const by = 10n ** BigInt(Math.abs(at));
    const mantissa = at < 0 ? new Rational(this.n * by, this.d) : new Rational(this.n, this.d * by);
    const text = mantissa.fixed(digits - 1, up);
    // Rounded up to ten, it is one of the next power.
    return text.startsWith('10') ? `${ONE.fixed(digits - 1)}e${at + 1}` : `${text}e${at}`;
  }

  /** Near enough to place a slider. */
  toNumber() { return this.n === 0n ? 0 : Number(this.short(17, false).replace('−', '-')); }
}

export const ONE = new Rational(1n);
const known = new Map();
/** As Rational.parse, which takes its time with long fractions. */
export function number(text) {
  if (!known.has(text)) {
    if (known.size > 20000) known.clear();
    known.set(text, Rational.parse(text));
  }
  return known.get(text);
}

/** An ε or ρ as tables show it. */
export function shown(text, up) {
  const value = number(text);
  return value.n === 0n || value.magnitude >= -2 ? value.fixed(4, up) : value.short(3, up);
}
