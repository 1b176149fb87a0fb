// Needs: what must be known, how well, and the allocation of the least budget that does it.
import { clamp } from '../charts/numbers.js';
import { unitsSet } from './accuracy.js';
import { Question, loaded } from './api.js';
import { b, bdi, byId, el, items, listed, listen, power } from './dom.js';
import { fits, isDraft, withBudgetsOf } from './draft.js';
import { number, shown } from './exact.js';
import { limits } from './limits.js';
import { checkConfidence, checkMargin, fitting, lostTables } from './needstext.js';
import { needsText, shapeOf, tablesOf } from './needstext.js';
import { notice, showTrouble } from './notices.js';
import { designOf, fileOf } from './questions.js';
import { logScale } from './scales.js';
import { edit, load, state, touched } from './store.js';
import { Trouble } from './trouble.js';
import { releasedLevels } from './units.js';

const REST = 300; // ms after which a hand is said to rest
const MOST = 20;
const MARGINS = logScale(0, 4, false);

const rest = { kind: 'drop', times: '1.25' };
const wrong = new Map(); // what is wrong with fields, by their ids
let needs = [];
let cards = new Map(); // the nodes of needs, by their ids
let ids = 0;

// ---- What is asked

const design = new Question('/api/design', showDesign, []);
const shapes = new WeakMap(); // what questions are about
let asked = { key: '', prices: false };
let last = null; // the answer that is shown
let resting;

/** What may be measured: the start, with the δ and the neighbours that are set, and what else is released. */
function offer() {
  const { neighbours, delta, also } = state.now;
  return { ...state.start, neighbours, delta, also };
}

function want(key, prices, from, text) {
  asked = { key, prices };
  const body = designOf(from, text, prices);
  shapes.set(body, shapeOf(needs, rest));
  design.want(body);
}

/** Asks for the needs as they are set: without prices while a hand moves, and with them when it rests. */
export function askDesign(isAtRest = false) {
  if (!isAtRest) clearTimeout(resting);
  if (!needs.length || wrong.size) {
    asked = { key: '', prices: false };
    touched.tell();
    return;
  }
  const from = offer();
  const text = needsText(needs, from, unitsSet(from).per_level, rest);
  const key = JSON.stringify([state.era, from, text]);
  // What is refused without prices is refused with them.
  const isAsked = key === asked.key && (asked.prices || !isAtRest || design.fail);
  if (!isAsked) want(key, isAtRest, from, text);
  if (!isAtRest && !asked.prices) resting = setTimeout(() => askDesign(true), REST);
}

// ---- Needs

/** Makes the needs' controls for the levels and queries of the start; needs about others are gone. */
export function buildNeeds() {
  const kept = fitting(needs, state.start);
  if (kept.length < needs.length) notice('Needs about levels or tables that are not here are gone.');
  for (const { id } of needs) forgetWrong(id);
  needs = kept;
  last = null;
  cards = new Map(needs.map((need) => [need.id, card(need)]));
  byId('need-list').replaceChildren(...[...cards.values()].map(({ node }) => node));
}

function forgetWrong(id) {
  for (const field of ['margin', 'confidence']) wrong.delete(`need-${id}-${field}`);
}

/** The next one is about the middle level, unless there is one to go by. */
function add() {
  const levels = releasedLevels(state.start);
  const before = needs.at(-1);
  const level = before?.level ?? levels[Math.floor((levels.length - 1) / 2)];
  ids += 1;
  const need = { id: ids, name: '', level, by: before?.by ?? [], margin: '10', confidence: '0.95' };
  needs = [...needs, need];
  const made = card(need);
  cards.set(need.id, made);
  byId('need-list').append(made.node);
  made.level.focus();
  askDesign();
}

function remove({ id }) {
  needs = needs.filter((need) => need.id !== id);
  forgetWrong(id);
  cards.get(id).node.remove();
  cards.delete(id);
  byId('need-add').focus();
  askDesign();
}

/** A field for an exact number: what cannot be read is said, and nothing is asked with it. */
function exactField(id, check, spoken, set) {
  const said = el('span.wrong', { id: `${id}-wrong` });
  const field = el('input', {
    type: 'text', id, inputmode: 'decimal', autocomplete: 'off', spellcheck: 'false', 'aria-label': spoken,
    'aria-describedby': said.id,
  });
  listen(field, 'input', () => {
    const text = field.value.trim();
    wrong.delete(id);
    try {
      if (!fits(text, limits)) throw new Error(`A number has at most ${limits.digits} characters here.`);
      check(number(text));
      set(text);
    } catch (error) {
      wrong.set(id, error.message);
    }
    field.setAttribute('aria-invalid', String(wrong.has(id)));
    said.textContent = wrong.get(id) ?? '';
    askDesign();
  });
  return { field, said };
}

const choice = (id, spoken, options, chosen) => el('select', { id, 'aria-label': spoken },
  ...options.map(([value, text]) => el('option', { value, selected: value === chosen }, text)));
const labelled = (text, field) => el('span.field', {}, el('label', { for: field.id }, text), field);

function card(need) {
  const id = (what) => `need-${need.id}-${what}`;
  const spoken = (what) => `${what} of need ${need.id}`;
  const name = el('input', { type: 'text', id: id('name'), autocomplete: 'off', maxlength: '60' });
  name.value = need.name;
  name.setAttribute('aria-label', spoken('Name'));
  const levels = releasedLevels(state.start).map((level) => [level, level]);
  const level = choice(id('level'), spoken('Level'), levels, need.level);
  const tables = tablesOf(state.start).map(({ name: title, by }) => [JSON.stringify(by), title]);
  const table = choice(id('table'), spoken('Table'), tables, JSON.stringify(need.by));
  const slider = el('input', {
    type: 'range', id: id('slider'), min: 0, max: MARGINS.most, step: 1,
    'aria-label': `${spoken('Margin')}, slider`,
  });
  const place = () => {
    slider.value = clamp(MARGINS.at(number(need.margin).toNumber()), 0, MARGINS.most);
    slider.setAttribute('aria-valuetext', `± ${need.margin}`);
  };
  const margin = exactField(id('margin'), checkMargin, `${spoken('Margin')}, exactly`, (text) => {
    need.margin = text;
    place();
  });
  margin.field.value = need.margin;
  place();
  const confidence = exactField(id('confidence'), checkConfidence, spoken('Confidence'), (text) => {
    need.confidence = text;
  });
  confidence.field.value = need.confidence;
  const out = el('button', { type: 'button', 'aria-label': `Remove need ${need.id}` }, 'Remove');
  const outcome = el('p.outcome');
  listen(name, 'input', () => { need.name = name.value; askDesign(); });
  listen(level, 'change', () => { need.level = level.value; askDesign(); });
  listen(table, 'change', () => { need.by = JSON.parse(table.value); askDesign(); });
  listen(slider, 'input', () => {
    margin.field.value = MARGINS.value(+slider.value);
    margin.field.dispatchEvent(new Event('input'));
  });
  listen(out, 'click', () => remove(need));
  const what = el('div.what', {}, labelled('Name', name), labelled('Level', level), labelled('Table', table),
    labelled('Confidence', confidence.field), out);
  const well = el('div.margin', {}, el('label', { for: id('margin') }, 'Margin ±'), slider, margin.field);
  const attributes = { role: 'group', 'aria-label': `Need ${need.id}`, 'data-need': String(need.id) };
  const node = el('div.need', attributes, what, well, margin.said, confidence.said, outcome);
  return { node, level, name, outcome };
}

// ---- What meets them

const percent = (part) => `${(100 * part).toFixed(1)} %`;

/** A part of the budget, as a bar and in figures. */
function bar(part) {
  const fill = el('span.fill');
  fill.style.setProperty('--part', String(clamp(part, 0, 1)));
  const track = el('span.bar-track', { 'aria-hidden': 'true' }, fill);
  return el('span.share', { 'data-share': part.toFixed(6) }, track, `${percent(part)} of the budget`);
}

function showDesign(answer, body) {
  // About other needs than those that are there now.
  if (shapes.get(body) !== shapeOf(needs, rest)) return;
  last = answer;
  needs.forEach((need, i) => showOutcome(need, answer.needs[i], body.prices));
  byId('design-epsilon').replaceChildren('ε ≤ ', b(shown(answer.epsilon.upper, true)), ' at δ = ',
    power(answer.delta), ', certified');
  const least = answer.least_rho && number(answer.least_rho).short(6, false);
  const bound = least ? `No allocation of these queries meets the needs with ρ < ${least}: certified.`
    : 'How much less could meet the needs is not certified.';
  byId('design-rho').textContent = `ρ ≤ ${number(answer.rho).short(6, true)}. ${bound}`;
  byId('design-rest').replaceChildren(...(answer.rest_share > 0
    ? ['Tables that nobody asked for: ', bar(answer.rest_share)] : []));
  byId('design-notes').replaceChildren(...items(notes(answer)));
}

function showOutcome(need, found, hasPrices) {
  const { outcome, name } = cards.get(need.id);
  name.placeholder = need.name.trim() ? '' : found.name;
  const saves = !hasPrices ? '…' : `ε ${Math.max(0, found.tenth_wider_saves).toFixed(3)}`;
  outcome.replaceChildren(
    el('span', {}, 'predicted ± ', b(found.predicted.toPrecision(4)), found.met ? '' : ' (not met)'),
    bar(found.share),
    el('span', {}, '10 % wider saves ', el('span.saves', {}, saves)));
}

/** What must be said besides. */
function notes({ tables, guarded, small_sigma2: sigma2, assumptions }) {
  const said = lostTables(tables).map(({ levels, queries }) =>
    ['Can no longer be answered for ', ...listed(levels), ': ', ...listed(queries), '.']);
  if (guarded) {
    const largest = guarded.largest.toPrecision(4);
    said.push(`The largest standard deviation is ${largest} times what it is with the starting allocation; ` +
      `${guarded.times} times is allowed.`);
  }
  if (sigma2 !== null) {
    said.push(`The smallest σ² is ${sigma2.toPrecision(3)}: for so little noise the least ρ need not have ` +
      'the least ε.');
  }
  return [...said, ...assumptions.map((text) => bdi(text))];
}

/** What is not up to date, or why there is nothing. */
export function markNeeds() {
  const { fail } = design;
  const isCurrent = asked.key && design.isFresh;
  const why = wrong.size || asked.key && fail;
  const isReady = isCurrent && asked.prices;
  byId('needs').dataset.state = !needs.length ? 'none' : why ? 'trouble' : isReady ? 'ready' : 'waiting';
  const isShown = needs.length && last && !why;
  for (const id of ['design', 'design-rest', 'design-notes']) byId(id).hidden = !isShown;
  byId('rest').hidden = !needs.length;
  for (const node of [byId('design'), ...[...cards.values()].map(({ outcome }) => outcome)]) {
    node.classList.toggle('stale', !isCurrent);
  }
  byId('design-use').disabled = !isCurrent;
  byId('need-add').disabled = needs.length >= MOST;
  showTrouble(byId('needs-trouble'), asked.key && fail && !fail.silent ? fail : null, 'needs');
}

/** Sets the designed allocation, as one step that can be undone. */
async function use() {
  const { now, era } = state;
  try {
    const { draft } = await loaded('/api/read', fileOf('design.toml', last.file, null));
    if (state.now !== now || state.era !== era) return; // turned in the meantime
    if (!isDraft(draft, limits)) {
      throw new Trouble({ message: 'the allocation is too large for this page', hint: '' });
    }
    const next = withBudgetsOf(offer(), draft);
    if (next) edit(next);
    else load(draft, 'file:design.toml');
    notice('The allocation that meets the needs is set. Undo takes it back.');
  } catch (found) {
    showTrouble(byId('needs-trouble'), found);
  }
}

export function listenForNeeds() {
  listen(byId('need-add'), 'click', add);
  listen(byId('design-use'), 'click', use);
  const spoken = 'How many times as large a standard deviation may be';
  const times = exactField('rest-times', checkMargin, spoken, (text) => { rest.times = text; });
  times.field.value = rest.times;
  const kind = byId('rest-kind');
  const show = () => { byId('rest-guard').hidden = rest.kind !== 'guard'; };
  byId('rest-guard').append(times.field, times.said);
  listen(kind, 'change', () => {
    rest.kind = kind.value;
    show();
    askDesign();
  });
  kind.value = rest.kind;
  show();
}
