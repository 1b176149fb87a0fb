// Needs as the text of a needs file, and what else follows from them without a page.
import { isAsked } from './draft.js';
import { ONE } from './exact.js';
import { releasedLevels } from './units.js';

/** By this name the text has the allocation that is sent along with it. */
const THIS = 'this';

/**
 * A text as TOML has it, between quotation marks. JSON escapes all that TOML wants escaped, in the same way,
 * but the last control character; half a surrogate pair is no character in TOML.
 */
export const quoted = (text) => JSON.stringify(text.toWellFormed()).replaceAll('\x7f', '\\u007f');

const list = (names) => `[${names.map(quoted).join(', ')}]`;
const inline = (pairs) => `{ ${pairs.map(([key, value]) => `${quoted(key)} = ${value}`).join(', ')} }`;

function needText({ name, level, by, margin, confidence }) {
  const named = name.trim() ? [`name = ${quoted(name.trim())}`] : []; // otherwise the program gives it one
  const table = by.length ? [`table = ${list(by)}`] : [];
  const exact = [`margin = ${quoted(margin)}`, `confidence = ${quoted(confidence)}`];
  return ['[[needs]]', ...named, `level = ${quoted(level)}`, ...table, ...exact, ''].join('\n');
}

/**
 * The text of a needs file. `offer` is what may be measured; `units` are the numbers of its levels, or null
 * if the program is to take those it knows; `rest` is { kind: 'drop' } or { kind: 'guard', times }.
 */
export function needsText(needs, offer, units, rest) {
  const names = releasedLevels(offer);
  const guard = inline([['than', quoted(THIS)], ['times', quoted(rest.times ?? '')]]);
  const head = [
    `allocation = ${quoted(THIS)}`,
    ...(offer.delta ? [`delta = ${quoted(offer.delta)}`] : []),
    ...(units ? [`units = ${inline(names.map((name, i) => [name, String(units[i])]))}`] : []),
    'goal = "least-epsilon"',
    `rest = ${rest.kind === 'guard' ? inline([['guard', guard]]) : '{ drop = true }'}`,
    '',
  ];
  return [...head, ...needs.map(needText)].join('\n');
}

/** What can be known of a unit: its total, and the tables of the queries that have a budget. */
export function tablesOf(draft) {
  const has = ({ name }) => draft.levels.some((level) =>
    level.shares.some((part) => part.query === name && isAsked(level, part)));
  const tables = (draft.queries ?? []).filter((query) => query.attributes.length && has(query));
  return [{ name: 'total', by: [] }, ...tables.map(({ name, attributes }) => ({ name, by: attributes }))];
}

const sameTable = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** The needs that can be asked of another allocation. */
export function fitting(needs, draft) {
  const levels = releasedLevels(draft);
  const tables = tablesOf(draft);
  return needs.filter(({ level, by }) => levels.includes(level) && tables.some((of) => sameTable(of.by, by)));
}

/**
 * What an answer is about, but for the numbers: while a margin is dragged, answers that it has passed are
 * shown, and those about other needs are not.
 */
export const shapeOf = (needs, rest) =>
  JSON.stringify([rest.kind, needs.map(({ id, level, by }) => [id, level, by])]);

/** What a design cannot answer: levels that lack the same queries, together. */
export function lostTables(tables) {
  const groups = new Map();
  for (const level of new Set(tables.map((table) => table.level))) {
    const isLost = (table) => table.level === level && table.deviation === null;
    const queries = tables.filter(isLost).map(({ query }) => query);
    const key = JSON.stringify(queries);
    if (!groups.has(key)) groups.set(key, { levels: [], queries });
    groups.get(key).levels.push(level);
  }
  return [...groups.values()].filter(({ queries }) => queries.length);
}

/** Throw, in words, what cannot be asked. */
export function checkMargin(value) {
  if (value.n <= 0n) throw new Error('It is above 0: no finite budget gives exact counts.');
}
export function checkConfidence(value) {
  if (value.n <= 0n || value.compare(ONE) >= 0) throw new Error('It lies between 0 and 1, like 0.95.');
}
