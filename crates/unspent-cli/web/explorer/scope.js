// Parts of a release: { scope, name }, as the lines of a certificate have them.

import { number } from './exact.js';

export const TOTAL = { scope: 'total', name: null };

/** Whether two parts, or a part and a line, are the same. */
export const sameScope = (a, b) => a.scope === b.scope && (a.name ?? null) === (b.name ?? null);

export const isTotal = (part) => sameScope(part, TOTAL);

/** The line of a report that is about a part. */
export const lineOf = (report, part) => report.lines.find((line) => sameScope(line, part));

/** The part of a line. */
export const partOf = ({ scope, name }) => ({ scope, name: name ?? null });

/** Parts that are named after a level; others but the total are named after an attribute. */
const OF_LEVELS = ['level', 'keeping', 'within'];

/** Whether a draft has a part, so that something can be asked of it. */
export function has(draft, part) {
  if (isTotal(part)) return true;
  if (!OF_LEVELS.includes(part.scope)) return Boolean(draft.attributes?.includes(part.name));
  // A level with no budget is not released.
  return draft.levels.some((level) => level.name === part.name && number(level.share).n > 0n);
}
