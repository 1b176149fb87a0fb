// Tables as the library describes them: heads, groups of rows, notes. Nothing is worded or rounded here.
import { bdi, el, items } from './dom.js';

/** The same table with the columns from number `at` on first, after what its rows are about. */
export function turned(table, at) {
  const turn = ([first, ...others]) => [first, ...others.slice(at - 1), ...others.slice(0, at - 1)];
  const rows = (group) => group.rows.map((row) => ({ ...row, cells: turn(row.cells) }));
  const groups = table.groups.map((group) => ({ ...group, rows: rows(group) }));
  return { ...table, heads: turn(table.heads), groups };
}

/**
 * Draws a table into `node`. `added` are columns of the page's own, in front of the column of number `at`:
 * their `heads`, and `cells` of a row.
 */
export function drawTable(node, table, added = { at: table.heads.length, heads: [], cells: () => [] }) {
  const { at } = added;
  const [label, ...others] = table.heads.toSpliced(at, 0, ...added.heads);
  const head = (text, name) => el(name, { scope: 'col' }, text);
  const heads = [head(label, 'th'), ...others.map((text) => head(text, 'th.num'))];
  const across = { colspan: String(heads.length), scope: 'rowgroup' };
  const rowNode = (row) => {
    const [name, ...cells] = row.cells.map((text, i) => cellNode(text, i, table.heads[i]));
    cells.splice(at - 1, 0, ...added.cells(row));
    return el('tr', { 'data-label': row.label ?? '' }, name, ...cells);
  };
  const groupNode = ({ head: title, rows }) => {
    const titles = title ? [el('tr.group', {}, el('th', across, el('span', {}, title)))] : [];
    return el('tbody', {}, ...titles, ...rows.map(rowNode));
  };
  const groups = table.groups.filter(({ rows }) => rows.length).map(groupNode);
  node.replaceChildren(el('thead', {}, el('tr', {}, ...heads)), ...groups);
}

/** The first cell says what the row is about. */
function cellNode(text, i, column) {
  if (i === 0) return el('th', { scope: 'row' }, bdi(text));
  return el('td.num', { 'data-column': column }, text || '–');
}

/** The notes of a table as entries of a list. */
export const notesOf = (table) => items(table.notes.map((note) => bdi(note)));
