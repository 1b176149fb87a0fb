// The calculator: one kind of noise, what it guarantees, and how much of it a guarantee needs.
//
// What tests can hold on to: #kind, input[name=sought], #noise #count #q #shift #epsilon #delta, with -wrong;
// #result[data-state=ready|waiting|trouble], #answer, #trouble, #notes li
import { asked } from '../explorer/ask.js';
import { byId, chosen, items, listen, radios } from '../explorer/dom.js';
import { number } from '../explorer/exact.js';
import { KINDS, fieldsFor, questionOf, refusalOf, sayingOf } from './question.js';

const FIELDS = ['noise', 'count', 'q', 'shift', 'epsilon', 'delta'];
const FIRST = { noise: '10', count: '10', q: '1/100', shift: '1', epsilon: '1', delta: '1e-10' };
const TYPED = 200; // ms after which what is typed is read

const BEFORE = 'What is shown is the answer to what was set before.';

let leave = new AbortController();
let waiting;

const state = (text) => { byId('result').dataset.state = text; };

/** Says what is wrong; nobody may take the last answer for that to what is set. */
function showTrouble(text) {
  const isAnswered = byId('answer').textContent !== '';
  byId('trouble').hidden = !text;
  byId('trouble').textContent = text && isAnswered ? `${text} ${BEFORE}` : text;
  byId('answer').classList.toggle('stale', Boolean(text));
  byId('notes').classList.toggle('stale', Boolean(text));
}

/** Says at a field what is wrong with it. */
function object(name, said) {
  byId(`${name}-wrong`).textContent = said;
  byId(name).setAttribute('aria-invalid', String(Boolean(said)));
}

/** The texts of the fields that count; undefined if one is no number. */
function read(names) {
  let isSound = true;
  for (const name of FIELDS) {
    let said = '';
    try {
      if (names.includes(name)) number(byId(name).value);
    } catch (error) {
      said = error.message;
      isSound = false;
    }
    object(name, said);
  }
  return isSound && Object.fromEntries(FIELDS.map((name) => [name, byId(name).value.trim()]));
}

async function calculate() {
  const [kind, sought] = [byId('kind').value, chosen('sought')];
  const names = fieldsFor(kind, sought);
  for (const name of FIELDS) {
    document.querySelector(`[data-field="${name}"]`).hidden = !names.includes(name);
  }
  byId('noise-label').textContent = KINDS[kind].noise;
  byId('count-label').textContent = KINDS[kind].count;
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  const texts = read(names);
  if (!texts) {
    showTrouble('A field is not a number.');
    return state('trouble');
  }
  state('waiting');
  byId('answer').classList.add('stale');
  try {
    const [address, question] = questionOf(kind, sought, texts);
    const { line, notes } = sayingOf(kind, sought, texts, await asked(address, question, signal));
    if (signal.aborted) return undefined;
    byId('answer').textContent = line;
    byId('notes').replaceChildren(...items(notes));
    showTrouble('');
    return state('ready');
  } catch (found) {
    if (signal.aborted) return undefined;
    const { field, text } = refusalOf(found);
    if (field) object(field, text);
    showTrouble(field ? 'A field is refused.' : text);
    return state('trouble');
  }
}

function soon() {
  clearTimeout(waiting);
  state('waiting');
  waiting = setTimeout(calculate, TYPED);
}

for (const name of FIELDS) {
  byId(name).value = FIRST[name];
  listen(byId(name), 'input', soon);
}
listen(byId('kind'), 'change', calculate);
for (const radio of radios('sought')) listen(radio, 'change', calculate);
listen(byId('form'), 'submit', (event) => event.preventDefault());

/** Kept once there is a first answer, or what is wrong has been said. */
export const answered = calculate();
