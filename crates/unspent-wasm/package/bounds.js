// Answers: two ends with the exact value between them.

const view = new DataView(new ArrayBuffer(8));

/** The next double up or down; infinities stay. */
function beside(value, up) {
  if (!Number.isFinite(value)) return value;
  if (value === 0) return up ? Number.MIN_VALUE : -Number.MIN_VALUE;
  view.setFloat64(0, value);
  view.setBigInt64(0, view.getBigInt64(0) + (up === value > 0 ? 1n : -1n));
  return view.getFloat64(0);
}

/** A double that is not below (or not above) what a text says. */
function outward(text, up) {
  const near = Number(text);
  // Whole numbers are exact; of others only the nearest double is known, at most half a step away.
  if (/^\d{1,15}$/.test(text)) return near;
  const found = beside(near, up);
  return up ? found : Math.max(0, found);
}

/** A text in so many significant digits, rounded outward. */
function shortened(text, digits, up) {
  const [mantissa, exponent] = text.split('e');
  const [whole, decimals = ''] = mantissa.split('.');
  const all = whole + decimals;
  const length = Math.max(whole.length, all.search(/[1-9]/) + digits);
  if (!/[1-9]/.test(all) || all.length <= length) return text;
  const isMore = up && /[1-9]/.test(all.slice(length));
  const kept = String(BigInt(all.slice(0, length)) + (isMore ? 1n : 0n)).padStart(length, '0');
  const places = length - whole.length;
  const found = places ? `${kept.slice(0, -places)}.${kept.slice(-places)}` : kept;
  return exponent ? `${found}e${exponent}` : found;
}

/** The bounds of an answer. For an ε or a δ `upper` is the guarantee. */
export class Bounds {
  #texts;

  #log10;

  constructor(lower, upper, log10) {
    this.#texts = [lower, upper];
    this.#log10 = log10;
  }

  /** As reports have them: a pair of texts, or one that is exact. */
  static of(found, log10) {
    return typeof found === 'string' ? new Bounds(found, found, log10)
      : new Bounds(found.lower, found.upper, log10);
  }

  /** A double that is not above the lower end. */
  get lower() { return outward(this.#texts[0], false); }

  /** A double that is not below the upper end. */
  get upper() { return outward(this.#texts[1], true); }

  /** Of a δ that is too small for doubles. */
  get log10_lower() { return this.#log10?.lower; }

  get log10_upper() { return this.#log10?.upper; }

  /** Both ends as decimals of so many digits, 17 at most, rounded outward. */
  decimal(digits = 17) { return this.#texts.map((text, i) => shortened(text, digits, i === 1)); }

  toString() { return `[${this.decimal(8).join(', ')}]`; }

  toJSON() { return { lower: this.#texts[0], upper: this.#texts[1] }; }

  [Symbol.toPrimitive](hint) {
    if (hint === 'string') return this.toString();
    throw new TypeError('Bounds are not one number: say which end you mean, .lower or .upper');
  }
}
