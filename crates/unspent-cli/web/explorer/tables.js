// Parts of tables.
import { el } from './dom.js';
import { shown } from './exact.js';

/** The row of heads: the first is about the rows, the others are over numbers. */
export function head(...names) {
  const cell = (name, i) => el(i ? 'th.num' : 'th', { scope: 'col' }, ...[name].flat());
  return el('thead', {}, el('tr', {}, ...names.map(cell)));
}

/** A number, rounded up or down; whole where one points at it. */
export function figure(name, text, up) {
  if (text === null || text === undefined) return el(`td.num.${name}`, {}, '–');
  return el(`td.num.${name}`, { title: text }, shown(text, up));
}
