// What the native library and the module are both asked: all reference values of the oracle, all presets, and
// what the explorer asks of each of them.
import { readFileSync } from 'node:fs';
import { ONE, Rational } from '../../unspent-explorer/web/explorer/exact.js';

const root = new URL('../../../', import.meta.url);
export const oracle = (name) => JSON.parse(readFileSync(new URL(`oracle/${name}.json`, root), 'utf8'));

const gaussians = (groups) => groups.map(([sigma2, count, shift]) => ({ sigma2, count, shift }));
const texts = (object) => Object.fromEntries(Object.entries(object).map(([key, value]) =>
  [key, typeof value === 'number' ? String(value) : value]));

/** δ and tails at every ε of a reference, and the ε of each of its δ that is one. */
function* profiles(name) {
  for (const { groups, points } of oracle(name).cases) {
    const epsilons = points.map(({ e }) => e);
    const deltas = points.map(({ d }) => d).filter((d) => typeof d === 'string' && +d > 0 && +d < 1);
    yield ['account', { mechanisms: gaussians(groups), epsilons, deltas, tails: true }];
  }
}

function* mechanisms(name) {
  for (const { composition, direction, epsilon, delta } of oracle(name).cases) {
    const parts = { mechanisms: composition.map(texts), direction };
    yield ['account', { ...parts, epsilons: [epsilon] }];
    const isDelta = typeof delta === 'string' && +delta > 0 && +delta < 1;
    // Where many are drawn the way back would take most of the time.
    if (isDelta && !name.includes('_')) yield ['account', { ...parts, deltas: [delta] }];
  }
}

function* tradeoffs() {
  for (const { noise, groups, points } of oracle('guarantees').tradeoffs) {
    const kind = noise === 'discrete' ? 'discrete_gaussian' : 'gaussian';
    const parts = gaussians(groups).map((part) => texts({ kind, ...part }));
    yield ['account', { mechanisms: parts, rates: points.map(({ a }) => a) }];
  }
}

/** What is asked of each of the fresh compositions, except knots and beliefs: those have no question. */
function* fresh() {
  for (const { composition, direction, asked } of oracle('answers').cases) {
    const of = (...kinds) => asked.filter(([kind]) => kinds.includes(kind)).map(([, argument]) => argument);
    const parts = { mechanisms: composition.map(texts), direction };
    const [deltas, rates] = [of('epsilon'), of('tradeoff', 'power')];
    yield ['account', { ...parts, epsilons: of('delta'), deltas, rates }];
    const epsilons = of('p_tail', 'q_tail');
    if (epsilons.length) yield ['account', { ...parts, epsilons, tails: true }];
  }
}

/** What the package asks besides: published conversions, of noise that spends ρ, and least factors. */
function* conversions() {
  const [guaranteed, answered] = [oracle('guarantees'), oracle('answers')];
  // Of which there is noise: σ² is between 1e-3 and 1e12.
  const known = [...guaranteed.conversions, ...answered.conversions]
    .filter(({ rho }) => Rational.parse(rho).toNumber() >= 5e-13 && Rational.parse(rho).toNumber() <= 500);
  for (const { rho, delta, epsilon } of known) {
    const twice = Rational.parse(rho).times(Rational.parse('2'));
    const mechanisms = [{ kind: 'gaussian', sigma2: `${ONE.over(twice)}` }];
    for (const given of [{ delta }, { epsilon }].filter((one) => Object.values(one)[0])) {
      for (const conversion of ['canonne-kamath-steinke', 'bun-steinke']) {
        yield ['published', { composition: { mechanisms }, conversion, ...given }];
      }
    }
  }
  for (const { groups, epsilon, delta } of [...guaranteed.calibrations, ...answered.calibrations]) {
    const composition = { mechanisms: gaussians(groups) };
    yield ['factor', { composition, epsilon, delta }];
    yield ['laws', { composition, interval: 0.01, tail: '1e-15' }];
  }
}

/** What others' tests, codes and documents expect of compositions. */
function* others() {
  const NAMES = { delta: 'epsilons', epsilon: 'deltas', tradeoff: 'rates', power: 'rates' };
  for (const { ask, mechanisms: parts, at } of oracle('external').values) {
    // A δ at a negative ε is no question.
    if (NAMES[ask] && +at >= 0) yield ['account', { mechanisms: parts.map(texts), [NAMES[ask]]: [at] }];
  }
}

/** The questions about compositions. */
export function* references() {
  for (const name of ['standard', 'reference']) yield* profiles(name);
  for (const name of ['mechanisms', 'mechanisms_few', 'mechanisms_random', 'mechanisms_closed']) {
    yield* mechanisms(name);
  }
  yield* tradeoffs();
  yield* fresh();
  yield* conversions();
  yield* others();
}

/** Of each preset all lines, with removable noise, with all effort and as the explorer asks. */
export function* certificates(presets) {
  for (const preset of presets) {
    yield ['certificate', { release: [{ preset }] }];
    yield ['/api/certificate', { release: [{ preset }], reductions: false }];
    yield ['/api/certificate', { release: [{ preset }], reductions: true }];
  }
}

/** What else the explorer asks of a draft. */
export function* looks(draft) {
  const part = { scope: 'total', name: null };
  const release = [{ draft }];
  for (const figure of ['curve', 'tradeoff', 'noise']) {
    yield ['/api/figure', { figure, draft, start: null, part }];
  }
  yield ['/api/reading', { release, part, prior: '1/1000' }];
  yield ['/api/spending', { allocation: { draft } }];
  yield ['/api/accuracy', { allocation: { draft } }];
  yield ['/api/export', { format: 'toml', draft, figure: 'noise', part, start: null }];
  yield ['/api/calibration', { allocation: { draft }, scaling: 'total' }];
}
