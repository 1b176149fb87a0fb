// Other mechanisms for the same record, beside the levels: `[[also]]` of an allocation file.
import { Field, controls, exact } from './control.js';
import { byId, el, listen } from './dom.js';
import { fieldAtFault, fieldsOf, kindNamed, kindsFor, ofKind, titleOf } from './kinds.js';
import { edit, state, wrong } from './store.js';

const MOST = 100;

const alsoOf = (draft) => draft.also ?? [];
let shape = ''; // of the cards that are there
let cards = [];

/** The same draft with other mechanisms; one that has none does not have an empty list. */
function withAlso(list) {
  const { also: _, ...rest } = state.now;
  return list.length ? { ...rest, also: list } : rest;
}

/** A parameter, which is a number or, of masses, several. */
class Parameter extends Field {
  isAtFault({ field }) {
    const [card, name] = this.path.split(/\]\./);
    const also = alsoOf(state.now)[Number(card.slice('also['.length))];
    return Boolean(also && field?.startsWith(`${card}].`)) && fieldAtFault(also, field) === name;
  }
}

const checkNumbers = (text) => text.split(';').forEach((part) => exact(part));
function checkNote(text) {
  if (!text) throw new Error('It says what one record can do in each: the guarantee rests on it.');
}

function parameter(also, i, [name, label]) {
  const path = `also[${i}].${name}`;
  const id = `also-${i}-${name}`;
  const spoken = `${label} of mechanism ${i + 1}`;
  const made = new Parameter({ path, id, spoken, check: checkNumbers });
  made.node = el('span.field', {}, el('label', { for: id }, label), made.field, made.wrong);
  return made;
}

function card(also, i) {
  const shown = kindsFor(state.now.neighbours);
  const own = kindNamed(also.kind);
  const option = ({ kind, title }) => el('option', { value: kind, selected: kind === own }, title);
  const options = shown.map(option);
  if (!shown.some(({ kind }) => kind === own)) {
    options.unshift(option({ kind: own, title: titleOf(also) }));
  }
  const spoken = { 'aria-label': `Kind of mechanism ${i + 1}` };
  const kind = el('select', { id: `also-${i}-kind`, ...spoken }, ...options);
  const fields = fieldsOf(also).map((field) => parameter(also, i, field));
  const note = new Parameter({
    path: `also[${i}].note`, id: `also-${i}-note`, spoken: `Note of mechanism ${i + 1}`, check: checkNote,
  });
  note.field.setAttribute('maxlength', '200');
  note.node = el('span.field.whole', {}, el('label', { for: `also-${i}-note` },
    'What one record can do in each'), note.field, note.wrong);
  const out = el('button', { type: 'button', 'aria-label': `Remove mechanism ${i + 1}` }, 'Remove');
  const said = el('p.wrong');
  listen(kind, 'change', () => {
    const list = alsoOf(state.now).map((one, j) => (j === i ? ofKind(kind.value, one) : one));
    change(list, () => byId(kind.id).focus());
  });
  listen(out, 'click', () => {
    change(alsoOf(state.now).filter((_, j) => j !== i), () => byId('also-add').focus());
  });
  const head = el('div.head', {}, kind, out);
  const parts = el('div.parameters', {}, ...fields.map(({ node }) => node), note.node);
  const attributes = { role: 'group', 'aria-label': `Mechanism ${i + 1}`, 'data-also': String(i) };
  return { node: el('div.also', attributes, head, parts, said), said, fields: [...fields, note] };
}

/** Another list, as one step; what was wrong with a text of the one before is past. */
function change(list, then) {
  for (const path of [...wrong.keys()]) if (path.startsWith('also[')) wrong.delete(path);
  edit(withAlso(list));
  then();
}

/** Shows the mechanisms of what is set. Cards stay as long as they are about the same kinds. */
export function showAlso(isAnother) {
  const list = alsoOf(state.now);
  const now = JSON.stringify([state.now.neighbours, list.map((one) => [one.kind, fieldsOf(one)])]);
  if (now !== shape || isAnother) {
    shape = now;
    for (const path of [...controls.keys()]) if (path.startsWith('also[')) controls.delete(path);
    cards = list.map(card);
    byId('also').replaceChildren(...cards.map(({ node }) => node));
  }
  byId('also-add').disabled = list.length >= MOST;
  byId('also-counted').hidden = !list.length;
}

/** Says at a card what is wrong with its mechanism; whether there is one that it is about. */
export function objectAt(fail) {
  const about = /^also\[(\d+)\]\.(.*)$/s.exec(fail?.message ?? '');
  const at = about && cards[+about[1]];
  for (const { said } of cards) said.textContent = '';
  if (!at) return false;
  at.said.textContent = `${about[2]}${fail.hint ? ` (${fail.hint})` : ''}`;
  return true;
}

export function listenForAlso() {
  listen(byId('also-add'), 'click', () => {
    const list = alsoOf(state.now);
    change([...list, ofKind('discrete_laplace')], () => byId(`also-${list.length}-kind`).focus());
  });
}
