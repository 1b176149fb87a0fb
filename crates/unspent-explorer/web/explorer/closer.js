// A closer look at one part: which it is, the paths behind its ε, and its curves.
import { Figure } from '../charts/figure.js';
import { answers } from './answers.js';
import { byId, el, listed } from './dom.js';
import { shown } from './exact.js';
import { TOTAL, lineOf, partOf } from './scope.js';
import { Signal } from './signal.js';
import { state } from './store.js';

/** Another part is looked at. */
export const looked = new Signal();

/** The parts that can be looked at: the rows of the certificate's table. */
export function showParts({ table }) {
  const select = byId('part');
  const parts = JSON.stringify(table.groups.map(({ head, rows }) => [head, rows.map((row) => row.key)]));
  if (select.dataset.parts !== parts) {
    select.dataset.parts = parts;
    select.replaceChildren(...table.groups.flatMap(({ head, rows }) => {
      // What stands after a colon is too long for a list.
      const title = head?.split(':')[0];
      return title ? [el('optgroup', { label: title }, ...rows.map(option))] : rows.map(option);
    }));
  }
  select.value = JSON.stringify(state.part);
  if (select.selectedIndex < 0) {
    // What was looked at is not there any more.
    select.selectedIndex = 0;
    state.part = TOTAL;
    looked.tell();
  }
  showPaths();
}

const option = ({ key, cells }) =>
  el('option', { dir: 'auto', value: JSON.stringify(partOf(key)) }, cells[0]);

/** Of which paths the line that is looked at is the worst. */
export function showPaths() {
  const line = lineOf(answers.now.report, state.part);
  const way = (levels) => listed(levels, ' → ');
  const worst = line.worst.flatMap(({ from, to }) => [': from ', ...way(from), ' to ', ...way(to)]);
  const onMainPath = line.main_path && shown(line.main_path.upper, true);
  byId('paths').hidden = !line.worst.length;
  byId('paths').replaceChildren(
    `ε ≤ ${shown(line.tight.upper, true)} is the worst of ${line.cases} pairs of paths`, ...worst, '. ',
    onMainPath ? `On the main path alone it is ${onMainPath}, which is not a guarantee for others.` : '');
}

const drawn = {};

/** Draws figures of a name, each in place of the one before. */
export function drawing(name, title) {
  return (answer) => {
    const data = { ...answer, title };
    if (drawn[name]) drawn[name].replace(data);
    else drawn[name] = new Figure(byId(`figure-${name}`), data);
  };
}
