// How many units each level has, and whose totals are exact: what errors of estimates depend on besides the
// allocation.
import { isReleased } from './draft.js';

/** The names of the levels that are released: the units of others are not in the tree. */
export const releasedLevels = (draft) => draft.levels.filter(isReleased).map(({ name }) => name);

/** A whole number from 1 on; null for an empty text, undefined for any other. */
export function readUnits(text) {
  const digits = text.trim().replaceAll(',', '');
  if (!digits) return null;
  const units = /^\d+$/.test(digits) ? Number(digits) : 0;
  return Number.isSafeInteger(units) && units > 0 ? units : undefined;
}

/**
 * What is asked about units, of what was written and `known` before, by the names of levels: a number for
 * every level that is released, or none if the program is to take those it knows.
 */
export function unitsOf(draft, texts, known, exact) {
  const levels = releasedLevels(draft);
  const read = levels.map((name) => readUnits(texts.get(name) ?? ''));
  const numbers = read.map((units, i) => (units === null ? known.get(levels[i]) : units));
  const isGiven = read.some(Boolean) && numbers.every(Boolean);
  // Adding a record changes every total: none is exact for such neighbours.
  const isKept = (name) => exact.has(name) && draft.neighbours === 'bounded';
  return { per_level: isGiven ? numbers : null, exact_totals: levels.filter(isKept) };
}
