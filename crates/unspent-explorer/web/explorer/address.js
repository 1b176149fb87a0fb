// The address of the page, which holds what is set.
import { byId } from './dom.js';
import { same } from './draft.js';
import { limits } from './limits.js';
import { packed, stateIn } from './links.js';
import { notice } from './notices.js';
import { TOTAL, has, isTotal } from './scope.js';
import { choice, choosePreset, presetDraft } from './sources.js';
import { PRIOR, load, state } from './store.js';

const DEFAULT = 'pl94-persons-us-2020';

async function hash() {
  const { start, now, origin, part, prior } = state;
  const isPreset = now === start && origin.startsWith('preset:') && isTotal(part) && prior === PRIOR;
  if (isPreset) return `#${origin.replace(':', '=')}`;
  return `#state=${await packed({ version: 1, origin, start, now, part, prior })}`;
}

export async function keepLink() {
  const { now } = state;
  const text = await hash();
  if (now === state.now) history.replaceState(null, '', text);
}

export async function copyLink() {
  await keepLink();
  try {
    await navigator.clipboard.writeText(location.href);
    notice('The link is copied.');
  } catch {
    notice('The link is in the address bar: copy it from there.');
  }
}

export const isLink = () => /^#(state|preset)=/.test(location.hash);

/** Sets what the address says, or else the first preset. */
export async function restore() {
  const [kind, text] = location.hash.slice(1).split('=');
  const isLast = choice();
  try {
    if (kind === 'preset') return await choosePreset(decodeURIComponent(text));
    if (kind === 'state') return await restoreState(text, isLast);
  } catch {
    if (kind === 'state' && !isLast()) return undefined;
    await choosePreset(DEFAULT);
    notice('The link is damaged, or too large: the first preset is shown instead.');
    return undefined;
  }
  return choosePreset(DEFAULT);
}

async function restoreState(text, isLast) {
  const { origin, start, now, part, prior } = await stateIn(text, limits);
  const source = await sourceOf(origin, start);
  if (!isLast()) return;
  state.part = part && has(now, part) ? part : TOTAL;
  if ([...byId('prior').options].some((option) => option.value === prior)) {
    state.prior = byId('prior').value = prior;
  }
  load(start, source, now);
}

/** A link may say that it starts with a preset; whether it does is seen from the preset. */
async function sourceOf(origin, start) {
  if (origin.startsWith('file:')) return origin;
  if (!origin.startsWith('preset:')) return 'link:';
  const official = await presetDraft(origin.slice('preset:'.length)).catch(() => null);
  return same(official, start) ? origin : 'link:';
}
