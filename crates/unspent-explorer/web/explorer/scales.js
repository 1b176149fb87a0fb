// What the places of a slider stand for.

/** Powers of ten, a hundred steps each, with three digits; the left end may be 0. */
export function logScale(low, high, zero) {
  return {
    most: (high - low) * 100,
    value: (at) => (at === 0 && zero ? '0' : String(+(10 ** (low + at / 100)).toPrecision(3))),
    at: (value) => (value > 0 ? Math.round((Math.log10(value) - low) * 100) : 0),
  };
}

/** 1, 2 and 5 times powers of ten. */
export function deltaScale(low, high) {
  const digits = [1, 2, 5];
  return {
    most: (high - low) * 3,
    value: (at) => `${digits[at % 3]}e${low + Math.floor(at / 3)}`,
    at: (value) => Math.round((Math.log10(value) - low) * 3),
  };
}
