// What is guaranteed: the certificate, line by line beside the start, and what it rests on.
import { answers, startFor } from './answers.js';
import { change } from './change.js';
import { b, bdi, byId, el, items, power } from './dom.js';
import { shown } from './exact.js';
import { TOTAL, lineOf, rowOf } from './scope.js';
import { state } from './store.js';
import { drawTable, notesOf, turned } from './tables.js';

/** The column of the guarantee, which the start stands beside. */
const GUARANTEE = 'upper (≤)';

/** The table of the certificate, with the guarantee first, and the start and the change since beside it. */
export function showTable({ report, table }, isFast) {
  const start = startFor(isFast);
  const column = start ? start.table.heads.indexOf(GUARANTEE) : -1;
  const cells = (row) => {
    const now = lineOf(report, row.key).tight.upper;
    const before = start && rowOf(start.table, row.key);
    const then = before && lineOf(start.report, row.key).tight.upper;
    return [el('td.num.start', {}, before?.cells[column] ?? '–'), changeCell(now, then)];
  };
  const first = turned(table, Math.max(1, table.heads.indexOf(GUARANTEE)));
  // Where nothing was changed there is nothing to compare, and the rest of the table has the room.
  byId('certificate').classList.toggle('unchanged', state.now === state.start);
  drawTable(byId('certificate'), first, { at: 2, heads: ['at the start (≤)', 'change'], cells });
}

function changeCell(now, before) {
  const found = change(now, before);
  if (!found) return el('td.num.change', {}, '–');
  const way = found.isWeaker ? 'weaker' : 'stronger';
  return el(`td.num.change.${way}`, {}, found.text, el('span.sr', {}, `, a ${way} guarantee`));
}

/** What the certificate is of, and what is to be known about it. */
export function showSubject({ report, words, table }, isFast) {
  const [name, ...lines] = words.slice(report.promises.length);
  const rest = lines.flatMap((line) => [el('br'), bdi(line.trim())]);
  byId('subject').replaceChildren(b(bdi(name)), ...rest);
  const start = startFor(isFast)?.report;
  const isSame = !start || start.delta === report.delta && start.neighbours === report.neighbours;
  const other = isSame ? []
    : items([`The start is at δ = ${start.delta}, for ${start.neighbours} neighbours.`]);
  byId('certificate-notes').replaceChildren(...other, ...notesOf(table));
  byId('assumptions').replaceChildren(...items(report.assumptions.map((text) => bdi(text))));
  const { missing } = report;
  byId('missing').parentNode.hidden = !missing.length;
  byId('missing-title').textContent = missing.length ? `Not counted here, of the ${missing[0].series}` : '';
  const entry = ({ name: product, about }) => [bdi(product), ' (', bdi(about), ')'];
  byId('missing').replaceChildren(...items(missing.map(entry)));
}

const totalOf = ({ report }) => shown(lineOf(report, TOTAL).tight.upper, true);

/** What is shown of the start, where that is not what is set. */
const startShown = (isFast) => {
  const start = startFor(isFast);
  return start && state.now !== state.start ? totalOf(start) : null;
};

/** The ε of the whole release, which stays in sight. */
export function showHeadline(isFast) {
  byId('epsilon').textContent = totalOf(answers.now);
  byId('epsilon-delta').replaceChildren(power(answers.now.report.delta));
  const first = startShown(isFast);
  byId('epsilon-start').hidden = !first;
  byId('epsilon-start').textContent = first ? `at the start ${first}` : '';
}

/** The same for those who listen. */
export function say() {
  const now = `epsilon at most ${totalOf(answers.now)} at delta ${answers.now.report.delta}`;
  const first = startShown(false);
  byId('said').textContent = `Whole release: ${now}.${first ? ` At the start it was ${first}.` : ''}`;
}
