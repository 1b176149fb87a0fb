// The controls of an allocation: ρ, δ, the shares of levels and of queries, and what is said beside them.
import { answers } from './answers.js';
import { Control, controls, notNegative, positive, probability } from './control.js';
import { b, bdi, byId, el, listen, parted } from './dom.js';
import { MOST_DIGITS, hasLaplace, hasShares, isOne } from './draft.js';
import { renormalised, sharesOf, sumOf, sumText } from './draft.js';
import { number, shown } from './exact.js';
import { limits } from './limits.js';
import { notice } from './notices.js';
import { deltaScale, logScale } from './scales.js';
import { TOTAL, levelPart, lineOf } from './scope.js';
import { edit, state } from './store.js';

/** The path of a level's share, or of a query's within it. */
const pathOf = (i, j = null) => (j === null ? `levels[${i}].share` : `levels[${i}].shares[${j}].share`);
/** The path of the scale of Laplace noise. */
const scaleOf = (i, j) => `levels[${i}].shares[${j}].laplace.scale`;
/** The power of ten below a number. */
const size = (text) => Math.floor(Math.log10(number(text).toNumber()));
const small = (text) => el('span.small', {}, text);

/** Makes the controls of the allocation at the start: its levels and queries do not change. */
export function build() {
  const { start } = state;
  controls.clear();
  // Laplace noise has no part of it.
  const rho = start.levels.some(hasShares) ? [new Control({
    path: 'rho',
    id: 'rho',
    label: ['Total ρ ', small('the budget, for zCDP')],
    spoken: 'Total rho',
    check: positive,
    scale: logScale(Math.min(-2, size(start.rho)), Math.max(2, size(start.rho) + 1), false),
  })] : [];
  const delta = new Control({
    path: 'delta',
    id: 'delta',
    label: ['δ ', small('at which ε is quoted')],
    spoken: 'Delta',
    check: probability,
    scale: deltaScale(Math.min(-20, size(start.delta)), -1),
  });
  byId('budget').replaceChildren(...rho.map(({ node }) => node), delta.node);
  const shares = start.levels.flatMap((level, i) => [level.share, ...sharesOf(start, i)]);
  const sizes = shares.filter((text) => number(text).n > 0n).map(size);
  const scale = logScale(Math.min(-4, ...sizes), 0, true);
  byId('levels').replaceChildren(...start.levels.map((level, i) => levelNode(level, i, scale)));
}

function levelNode(level, i, scale) {
  const check = notNegative;
  const share = hasShares(level) ? new Control({
    path: pathOf(i),
    id: `level-${i}`,
    label: parted(level.name),
    spoken: `Share of ${level.name}`,
    check,
    scale,
  }).node : el('div.control', {}, b(parted(level.name)), el('output.side'));
  const parts = level.shares.map(({ query, laplace }, j) => {
    const id = `level-${i}-query-${j}`;
    const spoken = `Share of ${query} within ${level.name}`;
    const control = laplace ? laplaceControl(query, level.name, laplace, scaleOf(i, j), id)
      : new Control({ path: pathOf(i, j), id, label: bdi(query), spoken, check, scale });
    control.node.dataset.query = query;
    return control.node;
  });
  const title = parts.length === 1 ? '1 query' : `${parts.length} queries`;
  const summary = el('summary', {}, title, el('span.odd'));
  const open = el('details', {}, summary, ...parts, el('p.sum', { id: `level-${i}-sum` }));
  return el('div.level', { 'data-level': level.name }, share, open);
}

/** The scale of a query's own noise. */
function laplaceControl(query, level, { mechanism, scale: first }, path, id) {
  const label = [bdi(query), small(` b, ${mechanism.replace('-', ' ')} noise`)];
  const scale = logScale(Math.min(-1, size(first)), Math.max(4, size(first) + 1), false);
  return new Control({
    path, id, label, spoken: `Scale of the noise of ${query} at ${level}`, check: positive, scale,
  });
}

/** Shows what is set. */
export function update() {
  for (const control of controls.values()) control.update();
  showSum(byId('level-sum'), 'They', null);
  byId('level-sum').hidden = !state.now.levels.some(hasShares);
  state.now.levels.forEach((level, i) => {
    const node = byId(`level-${i}-sum`);
    node.hidden = !hasShares(level);
    const one = showSum(node, 'Its shares', i) || node.hidden;
    node.parentNode.querySelector('.odd').textContent = one ? '' : ' (do not sum to 1)';
  });
}

/** The exact sum of some shares, with a way to make it 1 that is taken only when asked for; whether it is. */
function showSum(node, of, level) {
  const texts = sharesOf(state.now, level);
  const sum = sumOf(texts);
  const one = isOne(sum);
  let button = node.querySelector('button');
  if (!button) {
    button = el('button.renormalise', { type: 'button' }, 'Renormalise');
    node.replaceChildren(el('span', {}), ' ', button);
    listen(button, 'click', () => renormalise(level));
  }
  node.firstChild.textContent = `${of} sum to ${sumText(sum, texts)}.`;
  node.firstChild.title = sum ? String(sum) : '';
  node.classList.toggle('off', !one);
  button.disabled = !sum || one || sum.n === 0n;
  button.title = sum ? 'Divides every share by their sum, exactly'
    : `Their exact sum is a fraction of more than ${MOST_DIGITS} digits: too long to divide by`;
  return one;
}

function renormalise(level) {
  const next = renormalised(state.now, level, limits);
  if (next) edit(next);
  else notice(`A share would have more than ${limits.digits} characters: nothing was changed.`);
}

/** Beside the sliders: what a level promises, and the noise of a query. */
export function besides() {
  const { spending } = answers;
  const report = answers.now?.report;
  const spent = report && lineOf(report, TOTAL).rho;
  const rho = controls.get('rho');
  // Of other mechanisms than Gaussian noise ρ says little, and is not what was divided.
  const isAll = !state.now.also && !hasLaplace(state.now);
  if (rho && report) rho.side.textContent = spent && isAll ? `spent: ${shown(spent.upper, true)}` : '';
  state.now.levels.forEach((level, i) => {
    const line = report && lineOf(report, levelPart(level.name));
    const side = line ? `ε ≤ ${shown(line.tight.upper, true)}` : report ? 'not released' : '';
    byId('levels').children[i].querySelector('.side').textContent = side;
    const here = (spending?.measurements || []).filter((m) => m.level === level.name);
    level.shares.forEach((part, j) => {
      const found = here.find((m) => m.query === part.query);
      const deviation = found?.sigma ? `σ ≈ ${number(found.sigma.upper).short(5, true)}`
        : found && `± ${found.margin_95} at 95 %`;
      const text = deviation ?? (spending ? 'not asked' : '');
      const node = controls.get(part.laplace ? scaleOf(i, j) : pathOf(i, j)).side;
      node.textContent = text;
      node.title = found ? `within ± ${found.margin_95} with a probability of at least 95 %` : '';
    });
  });
}
