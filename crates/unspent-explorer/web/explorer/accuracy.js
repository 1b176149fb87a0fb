// Errors of the best linear unbiased estimates, where all units of a level have equally many children.
import { bdi, byId, el, listen } from './dom.js';
import { Signal } from './signal.js';
import { state } from './store.js';
import { drawTable, notesOf } from './tables.js';
import { sentence } from './trouble.js';
import { readUnits, unitsOf } from './units.js';

/** Other numbers of units are set. */
export const counted = new Signal();

const written = new Map(); // what was written, by the name of the level
const known = new Map(); // the numbers that the program takes
const exactTotals = new Set(); // the levels whose totals are taken for exact
let fields = new Map();

/** Makes a field for each level of the allocation at the start. */
export function buildUnits() {
  written.clear();
  known.clear();
  exactTotals.clear();
  fields = new Map();
  const stated = state.start.production.exact_totals ?? [];
  byId('units').replaceChildren(...state.start.levels.map(({ name }, i) => {
    const field = el('input', {
      type: 'text', id: `units-${i}`, inputmode: 'numeric', autocomplete: 'off', 'data-units': name,
    });
    const isStated = stated.includes(name);
    const box = el('input', {
      type: 'checkbox', 'data-exact': name, checked: isStated, disabled: isStated,
    });
    fields.set(name, field);
    listen(field, 'input', () => {
      const isWrong = readUnits(field.value) === undefined;
      field.setAttribute('aria-invalid', String(isWrong));
      written.set(name, field.value);
      counted.tell();
    });
    listen(box, 'change', () => {
      if (box.checked) exactTotals.add(name);
      else exactTotals.delete(name);
      counted.tell();
    });
    return el('p.units', {}, el('label', { for: field.id }, bdi(name)), field,
      el('label', {}, box, ' total is exact'));
  }));
}

/** What is asked about the units of a draft. */
export const unitsSet = (draft) => unitsOf(draft, written, known, exactTotals);

export function showAccuracy({ report, table }, question) {
  drawTable(byId('accuracy'), table);
  byId('accuracy-notes').replaceChildren(...notesOf(table));
  if (question.per_level) return;
  // The numbers that were taken stand where none is written.
  for (const { level, units } of report.levels) {
    known.set(level, units);
    fields.get(level).placeholder = String(units);
  }
}

/** Why there is nothing; the fields are under the line above it. */
const reason = ({ message, hint }) => sentence({ field: 'per_level', message, hint });

/** What is not up to date, or why there is nothing. It is no trouble of the guarantees. */
export function markAccuracy({ fail, answered, isFresh }, isWrong) {
  byId('accuracy').classList.toggle('stale', isWrong || !isFresh);
  const isHidden = Boolean(fail) || !answered;
  byId('accuracy').parentNode.hidden = isHidden;
  byId('accuracy-notes').hidden = isHidden;
  const isSaid = Boolean(fail && !fail.silent);
  byId('accuracy-trouble').hidden = !isSaid;
  byId('accuracy-trouble').textContent = isSaid ? reason(fail) : '';
}
