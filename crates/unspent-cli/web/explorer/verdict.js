// Whether what an allocation states is kept.
import { b, byId, power } from './dom.js';
import { shown } from './exact.js';

/** What is stated, at its δ. */
function stated({ stated_by: by, epsilon, delta }) {
  const isExact = by === 'epsilon' && epsilon.length <= 20;
  return ['ε = ', isExact ? epsilon : shown(epsilon, by !== 'epsilon'), ' at δ = ', power(delta)];
}

function delivers({ kept, delivered: { lower, upper } }) {
  return kept === false ? `delivers at least ${shown(lower, false)}`
    : `what is delivered lies between ${shown(lower, false)} and ${shown(upper, true)}`;
}

/** Whether what is stated is kept, as the report has it, and what a file would state that is not. */
export function showVerdict({ kept, promises }) {
  const node = byId('verdict');
  const isBroken = promises.some((promise) => promise.kept === false);
  node.hidden = !promises.length;
  node.dataset.kept = kept ? 'true' : isBroken ? 'false' : 'unknown';
  node.replaceChildren(...promises.flatMap((promise) => {
    if (promise.kept) return ['Promise kept: states ', ...stated(promise), '.'];
    const title = promise.kept === false ? 'PROMISE NOT KEPT' : 'PROMISE NOT CERTIFIED';
    return [b(title), ': states ', ...stated(promise), ', ', `${delivers(promise)}.`];
  }));
  const unsure = promises.filter((promise) => !promise.kept);
  byId('export-warning').hidden = !unsure.length;
  byId('export-warning').replaceChildren(...unsure.flatMap((promise) => {
    const what = promise.stated_by === 'epsilon' ? 'an ε' : 'a conversion whose ε';
    const how = promise.kept === false ? 'kept' : 'certified to be kept';
    const warning = `The allocation as TOML will state ${what} that is not ${how}: `;
    return [warning, ...stated(promise), '; ', `${delivers(promise)}.`];
  }));
}
