// Parts of a release: { scope, name }, as the lines and rows of reports have them.
import { isReleased } from './draft.js';

export const TOTAL = { scope: 'total', name: null };
export const levelPart = (name) => ({ scope: 'level', name });

/** Whether two parts, or a part and a line, are the same. */
export const sameScope = (a, b) => a.scope === b.scope && (a.name ?? null) === (b.name ?? null);

export const isTotal = (part) => sameScope(part, TOTAL);

/** The line of a report that is about a part. */
export const lineOf = (report, part) => report.lines.find((line) => sameScope(line, part));

/** The row of a table that is about a part. */
export const rowOf = (table, part) =>
  table.groups.flatMap((group) => group.rows).find((row) => row.key && sameScope(row.key, part));

/** The part alone, of something that is about one. */
export const partOf = ({ scope, name }) => ({ scope, name: name ?? null });

/** Parts that are named after an attribute; others but the total are named after a level. */
const OF_ATTRIBUTES = ['attribute'];

/** Whether a draft has a part, so that something can be asked of it. */
export function has(draft, part) {
  if (isTotal(part)) return true;
  if (OF_ATTRIBUTES.includes(part.scope)) return Boolean(draft.attributes?.includes(part.name));
  return draft.levels.some((level) => level.name === part.name && isReleased(level));
}
