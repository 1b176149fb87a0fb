// Spending what is unspent: how much noise could go at what is promised, and taking it out.
import { loaded } from './api.js';
import { CONVERSIONS } from './certificate.js';
import { isIncrease, percentOf } from './change.js';
import { positive } from './control.js';
import { b, bdi, byId, chosen, el } from './dom.js';
import { number, shown } from './exact.js';
import { showTrouble } from './notices.js';
import { isTotal } from './scope.js';
import { edit, state, touched } from './store.js';
import { figure, head } from './tables.js';

let spent = null; // the allocation that calibrating gave
let isUnderWay = false;
export const isCalibrating = () => isUnderWay;

/** What was done is shown while it is what is set. */
export function updateSpent() {
  byId('spent').hidden = state.now !== spent;
}

const nameOf = (line, total) => bdi(isTotal(line) ? total : line.name);
const factorCell = (factor) => factor ? el('td.num.factor', { title: factor }, percentOf(factor))
  : el('td.num.factor', {}, '–');

/** How much less noise would keep what is promised, part by part. */
export function showReductions(answer) {
  const { against, reductions } = answer;
  const isShort = answer.kept === false;
  const isUnspent = reductions.some((r) => r.factor && /[1-9]/.test(percentOf(r.factor))); // to be seen
  byId('promise').textContent = promiseText(against, isShort, isUnspent);
  byId('calibrate').textContent = isShort ? 'Add the noise that is missing' : 'Spend what is unspent';
  const table = byId('reductions');
  table.replaceChildren();
  table.parentNode.hidden = !reductions.length;
  if (!reductions.length) return;
  const row = (r) => el('tr', { 'data-label': r.name ?? 'total' },
    el('th', { scope: 'row' }, nameOf(r, 'all levels alike')),
    figure('epsilon', r.epsilon, true), factorCell(r.factor));
  table.append(head('noise of', 'ε to keep', 'change of variance'), el('tbody', {}, ...reductions.map(row)));
}

function promiseText(against, isShort, isUnspent) {
  if (against === null || against === undefined) {
    return 'This allocation does not say what was promised: give the ε to keep.';
  }
  const found = isShort ? 'What was promised is not certified to be kept: that needs more noise.'
    : isUnspent ? 'What was promised can be kept with less noise.'
      : 'Nothing of what was promised is unspent.';
  const kept = against === 'stated' ? 'The ε to keep is the one that the allocation states.'
    : `The ε to keep is that of ${CONVERSIONS[against]}, at these shares.`;
  return `${found} ${kept}`;
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
  const each = chosen('spend') === 'each';
  try {
    const { report, draft } = await loaded('/api/calibrate', { draft: now, epsilon, each_level: each });
    if (state.now !== now || state.era !== era) return; // turned in the meantime
    spent = draft;
    edit(draft);
    showSpent(report, each);
  } catch (found) {
    showTrouble(byId('keep-trouble'), found);
  } finally {
    isUnderWay = false;
    touched.tell();
  }
}

function showSpent(report, each) {
  const arrow = (before, after) =>
    el('td.num', {}, `${shown(before.upper, true)} → `, b(shown(after.upper, true)));
  const rows = report.rows.map((r) => el('tr', { 'data-label': r.name ?? 'total' },
    el('th', { scope: 'row' }, nameOf(r, 'The whole release')), factorCell(r.factor),
    figure('promised', r.promised?.upper, true), arrow(r.tight_before, r.tight_after),
    arrow(r.rho_before, r.rho_after)));
  const factors = report.rows.map((r) => r.factor).filter(Boolean);
  const went = !factors.some(isIncrease) ? 'went down' : factors.every(isIncrease) ? 'went up' : 'changed';
  const title = el('p.caption', { id: 'spent-title' }, b('Done, as one step that can be undone.'),
    ` The variance of the noise ${went} ${each ? 'at each level by itself' : 'at all levels alike'}; ` +
    'what is promised was checked on the result.');
  const heads = head('noise of', 'variance', 'promised ε', 'tight ε (≤)', 'ρ');
  const table = el('div.wide', { role: 'region', 'aria-labelledby': 'spent-title', tabindex: 0 },
    el('table', {}, heads, el('tbody', {}, ...rows)));
  const warning = () => el('p.trouble', {}, 'Together the levels exceed what was published for the whole ' +
    `release, ε = ${shown(report.published.upper, true)}.`);
  byId('spent').replaceChildren(title, ...(report.exceeds ? [warning()] : []), table);
}
