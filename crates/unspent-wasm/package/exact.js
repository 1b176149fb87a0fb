// Numbers that go in: exactly what they are.

/** A number as an exact text: a text as it stands, a double as the fraction it is, lists one by one. */
export function exact(name, value) {
  if (Array.isArray(value)) return value.map((one) => exact(name, one)).join(';');
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new TypeError(`${name}: ${String(value)} is not a number, or a text like '1/3'`);
  }
  let numerator = value;
  let denominator = 1n;
  while (!Number.isInteger(numerator)) {
    numerator *= 2;
    denominator *= 2n;
  }
  return denominator === 1n ? String(BigInt(numerator)) : `${BigInt(numerator)}/${denominator}`;
}
