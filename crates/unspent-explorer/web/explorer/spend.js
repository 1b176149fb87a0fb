// Removable noise: how much variance could be saved at the published ε, and taking it out.
import { loaded } from './api.js';
import { isReduction } from './change.js';
import { positive } from './control.js';
import { b, byId, chosen, el } from './dom.js';
import { hasLaplace } from './draft.js';
import { number } from './exact.js';
import { showTrouble } from './notices.js';
import { calibrationOf } from './questions.js';
import { edit, state, touched } from './store.js';
import { drawTable, notesOf } from './tables.js';

let spent = null; // the allocation that calibrating gave
let isUnderWay = false;
export const isCalibrating = () => isUnderWay;

/** What was done is shown while it is what is set. */
export function updateSpent() {
  byId('spent').hidden = state.now !== spent;
}

/** How much less noise would keep what is promised, part by part. */
export function showReductions({ report, reductions: table }) {
  const isShort = report.kept === false;
  byId('promise').textContent = promiseText(report, isShort);
  byId('spend-title').textContent = isShort ? 'Missing noise (variance that must be added for the stated ε)'
    : 'Removable noise (variance that could be saved at the published ε)';
  byId('calibrate').textContent = isShort ? 'Add the missing noise' : 'Remove this noise';
  byId('reductions').parentNode.hidden = !table;
  byId('reduction-notes').hidden = !table;
  if (!table) return;
  drawTable(byId('reductions'), table);
  byId('reduction-notes').replaceChildren(...notesOf(table));
}

function promiseText({ against, reductions }, isShort) {
  if (hasLaplace(state.now)) return 'How much noise could be removed is worked out for Gaussian noise alone.';
  if (!against) return 'This allocation does not say what ε was published: give the ε to keep.';
  if (isShort) return 'The stated ε is not certified to be kept: that needs more noise.';
  return reductions.some(({ factor }) => isReduction(factor)) ? 'The published ε can be kept with less noise.'
    : 'There is no removable noise: all of the published ε is spent.';
}

export async function calibrate() {
  const keep = byId('keep');
  const epsilon = keep.value.trim() || null;
  showTrouble(byId('keep-trouble'), null);
  keep.setAttribute('aria-invalid', 'false');
  try {
    if (epsilon) positive(number(epsilon));
  } catch (error) {
    keep.setAttribute('aria-invalid', 'true');
    showTrouble(byId('keep-trouble'), { message: error.message });
    return;
  }
  isUnderWay = true;
  touched.tell();
  const { now, era } = state;
  try {
    const answer = await loaded('/api/calibration', calibrationOf(now, epsilon, chosen('scaling')));
    if (state.now !== now || state.era !== era) return; // turned in the meantime
    spent = answer.draft;
    edit(answer.draft);
    showSpent(answer);
  } catch (found) {
    showTrouble(byId('keep-trouble'), found);
  } finally {
    isUnderWay = false;
    touched.tell();
  }
}

function showSpent({ report, table }) {
  const title = el('p.caption', { id: 'spent-title' }, b('Done, as one step that can be undone.'));
  const node = el('table', {});
  drawTable(node, table);
  const region = el('div.wide', { role: 'region', 'aria-labelledby': 'spent-title', tabindex: 0 }, node);
  const notes = el(report.exceeds ? 'ul.notes.trouble' : 'ul.notes.small', {}, ...notesOf(table));
  byId('spent').replaceChildren(title, region, notes);
}
