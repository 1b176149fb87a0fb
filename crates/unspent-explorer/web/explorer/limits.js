// How much a file, a draft or a link may hold. The program says what it takes; nothing longer is sent to it.
import { asked } from './ask.js';

/** Bytes of a file, levels, shares, and characters of a number, as the program has them. */
export const limits = { bytes: 0, levels: 0, shares: 0, digits: 0 };

export async function loadLimits() {
  Object.assign(limits, await asked('/api/limits'));
}
