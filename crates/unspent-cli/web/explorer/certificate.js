// What is promised: the certificate, line by line beside the start, and what it rests on.
import { answers } from './answers.js';
import { change } from './change.js';
import { bdi, byId, el, items, listed, power } from './dom.js';
import { shown } from './exact.js';
import { TOTAL, isTotal, lineOf } from './scope.js';
import { state } from './store.js';
import { figure, head } from './tables.js';

export const CONVERSIONS = {
  'bun-steinke': 'Bun–Steinke',
  'canonne-kamath-steinke': 'Canonne–Kamath–Steinke',
};
export const GROUPS = [
  ['total', null],
  ['level', 'One level, to a reader of that level only'],
  ['keeping', 'The record, inside one unit, whose total stays'],
  ['attribute', 'The value of one attribute'],
  ['within', 'The place, inside one unit'],
];
const plural = (n, one, many) => `${n} ${n === 1 ? one : many}`;
export const labelOf = (line) => (isTotal(line) ? 'The whole release' : line.label || line.name);

export function showTable(answer) {
  const hasPaths = answer.lines.some((line) => line.main_path);
  const star = (name) => answer.published !== name ? CONVERSIONS[name]
    : [CONVERSIONS[name], el('abbr', { title: 'behind what was published' }, ' *')];
  const bypassed = 'where no unit was bypassed: not a guarantee for others';
  const mainPath = el('abbr', { title: bypassed }, 'main path');
  const table = byId('certificate');
  table.replaceChildren(head('ε of', 'tight (≤)', 'truth (≥)', ...(hasPaths ? [[mainPath]] : []),
    'start (≤)', 'change', star('canonne-kamath-steinke'), star('bun-steinke'), 'ρ'));
  for (const [scope, title] of GROUPS) {
    const lines = answer.lines.filter((line) => line.scope === scope);
    if (!lines.length) continue;
    const group = el('tbody');
    const across = { colspan: hasPaths ? '9' : '8', scope: 'rowgroup' };
    if (title) group.append(el('tr.group', {}, el('th', across, title)));
    group.append(...lines.map((line) => row(line, hasPaths)));
    table.append(group);
  }
}

function row(line, hasPaths) {
  const first = answers.start && lineOf(answers.start, line);
  const truth = figure('truth', line.tight.lower, false);
  const unattained = 'the ε of neighbours that are known; none are known that attain the upper end';
  if (!line.attained) truth.append(el('abbr', { title: unattained }, '°'));
  return el('tr', { 'data-label': line.label }, el('th', { scope: 'row' }, bdi(labelOf(line))),
    figure('tight', line.tight.upper, true), truth,
    ...(hasPaths ? [figure('main-path', line.main_path?.upper, true)] : []),
    figure('start', first?.tight.upper, true), changeCell(line.tight.upper, first?.tight.upper),
    figure('canonne-kamath-steinke', line.canonne_kamath_steinke, true),
    figure('bun-steinke', line.bun_steinke, true), figure('rho', line.rho.upper, true));
}

function changeCell(now, before) {
  const found = change(now, before);
  if (!found) return el('td.num.change', {}, '–');
  const way = found.isWeaker ? 'weaker' : 'stronger';
  return el(`td.num.change.${way}`, {}, found.text, el('span.sr', {}, `, a ${way} promise`));
}

/** What the certificate is of, and what is to be known about it. */
export function showSubject(answer) {
  const [product] = answer.products;
  const { touches, paths } = product;
  const counts = [plural(product.levels, 'level', 'levels'), plural(product.queries, 'query', 'queries'),
    plural(product.measurements, 'measurement', 'measurements')];
  byId('subject').replaceChildren(el('b', {}, bdi(answer.name)), el('br'),
    `${counts.join(', ')}. Neighbours: ${answer.neighbours}. δ = `, power(answer.delta), '.',
    ...(touches > 1 ? [' One ', bdi(answer.record), ` can change ${touches} of its records.`] : []),
    paths > 1 ? ` ${paths} paths through the geography: units were bypassed, their budget moved up.` : '');
  byId('certificate-notes').replaceChildren(...items(notes(answer)));
  byId('assumptions').replaceChildren(...items(answer.assumptions.map((text) => bdi(text))));
  const { missing } = answer;
  byId('missing').parentNode.hidden = !missing.length;
  byId('missing-title').textContent = missing.length ? `Not counted here, of the ${missing[0].series}` : '';
  const entry = ({ name, about }) => [bdi(name), ' (', bdi(about), ')'];
  byId('missing').replaceChildren(...items(missing.map(entry)));
}

function notes(answer) {
  const hasPaths = answer.lines.some((line) => line.main_path);
  const but = hasPaths ? 'the truth (≥) and the main path' : 'the truth (≥)';
  const list = [`Each ε but ${but} is a guarantee, rounded up; ` +
    'the truth lies between tight (≤) and truth (≥). A larger ε is a weaker promise.'];
  if (hasPaths) {
    list.push('Each line is the worst over all pairs of paths. The main path is the upper end where no ' +
      'unit was bypassed: not a guarantee for others.');
  }
  if (answer.lines.some((line) => !line.attained)) {
    list.push('° No neighbours are known that attain the upper end: the truth (≥) is the ε of neighbours ' +
      'that are known.');
  }
  if (answer.published) {
    list.unshift(`* marks the conversion behind what was published (${CONVERSIONS[answer.published]}).`);
  }
  const { start } = answers;
  if (start && (start.delta !== answer.delta || start.neighbours !== answer.neighbours)) {
    list.unshift(`The start is at δ = ${start.delta}, for ${start.neighbours} neighbours.`);
  }
  if (answer.left_out.length) {
    list.push(['No query touches ', ...listed(answer.left_out), ': nothing is released about it.']);
  }
  // One line for each reason, which is said of a level first.
  const reasonOf = ({ reason }) => reason.slice(reason.indexOf(': ') + 1).trim();
  for (const [reason, places] of Map.groupBy(answer.places_left_out, reasonOf)) {
    const names = listed(places.map(({ name }) => name));
    list.push(['Nothing is said of places inside ', ...names, ': ', bdi(reason), '.']);
  }
  return list;
}

const totalOf = (answer) => shown(lineOf(answer, TOTAL).tight.upper, true);

/** The ε of the whole release, which stays in sight. */
export function showHeadline(answer) {
  byId('epsilon').textContent = totalOf(answer);
  byId('epsilon-delta').replaceChildren(power(answer.delta));
  const first = answers.start && totalOf(answers.start);
  byId('epsilon-start').hidden = !first || state.now === state.start;
  byId('epsilon-start').textContent = first ? `at the start ${first}` : '';
}

/** The same for those who listen. */
export function say(answer) {
  const isChanged = answers.start && state.now !== state.start;
  const first = isChanged ? ` At the start it was ${totalOf(answers.start)}.` : '';
  const now = `epsilon at most ${totalOf(answer)} at delta ${answer.delta}`;
  byId('said').textContent = `Whole release: ${now}.${first}`;
}
