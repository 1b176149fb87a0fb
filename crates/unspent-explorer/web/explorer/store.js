// What is set: the allocation at the start and now, the steps between them, and the part that is looked at.
// Drafts are never changed, only replaced: the same object is the same allocation.
import { get, outline, same, set } from './draft.js';
import { number, shown } from './exact.js';
import { TOTAL } from './scope.js';
import { Signal } from './signal.js';
import { Trouble } from './trouble.js';

/** Where none is stated. */
const DELTA = '1e-10';
export const PRIOR = '1/1000';

export const state = {
  start: null,
  now: null,
  /** Where the start comes from: preset:…, file:… or link:. */
  origin: '',
  part: TOTAL,
  prior: PRIOR,
  past: [],
  future: [],
  session: null,
  /** Counts the starts: an answer of another start is of no use. */
  era: 0,
};

/** What is wrong with texts that are no numbers, by the path of their field. */
export const wrong = new Map();

/** Another allocation is set. */
export const changed = new Signal();
/** Another start: what was said of the one before is past. */
export const restarted = new Signal();
/** Whether what is shown is up to date may have changed. */
export const touched = new Signal();
/** Something to be said, once. */
export const noted = new Signal();

const remember = () => ({ start: state.start, now: state.now, origin: state.origin });

/** With another number in one place. An ε that is stated is stated for its δ, and does not outlive it. */
export function turned(path, value) {
  const next = set(state.now, path, value);
  if (path === 'delta' && next.epsilon && number(value).compare(number(state.now.delta))) {
    noted.tell(`The stated ε of ${shown(next.epsilon, true)} was promised for δ = ${state.now.delta}: ` +
      'with another δ it is dropped.');
    next.epsilon = null;
  }
  return next;
}

/** Sets another allocation. Changes of one session, such as a drag, are one step. */
export function edit(next, session = null) {
  if (same(next, state.now)) return;
  if (!same(outline(next), outline(state.start))) {
    throw new Trouble({ message: 'the answer has other levels or queries than what is set', hint: '' });
  }
  if (!session || session !== state.session) state.past.push(remember());
  state.session = session;
  state.future = [];
  state.now = same(next, state.start) ? state.start : next;
  changed.tell();
}

function step(from, to) {
  const there = from.pop();
  if (!there) return;
  to.push(remember());
  const isOther = there.start !== state.start;
  Object.assign(state, there, { session: null });
  wrong.clear();
  if (isOther) state.era += 1;
  changed.tell();
}

export const undo = () => step(state.past, state.future);
export const redo = () => step(state.future, state.past);

/** Begins anew with an allocation; what was there before can be had back. */
export function load(draft, origin, now = draft) {
  if (state.now) state.past.push(remember());
  if (draft.delta === null) { // a table cannot say
    [draft, now] = [draft, now].map((one) => ({ ...one, delta: one.delta ?? DELTA }));
    noted.tell(`No δ is stated: ${DELTA} is taken.`);
  }
  const given = { start: draft, now: same(now, draft) ? draft : now, origin };
  Object.assign(state, given, { future: [], session: null, era: state.era + 1 });
  wrong.clear();
  restarted.tell();
  changed.tell();
}

export function reset() {
  wrong.clear();
  if (state.now === state.start) changed.tell();
  else edit(state.start);
}

/** What a control shows: the text that is set, and the one at the start. */
export const texts = (path) => [get(state.now, path), get(state.start, path)];
