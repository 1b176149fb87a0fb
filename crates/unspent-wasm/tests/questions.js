// What the native library and the module are both asked: all reference values of the oracle, all presets, and
// what the explorer asks of each of them.
import { readFileSync } from 'node:fs';

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
    const deltas = [delta, '1e-10'].filter((text) => typeof text === 'string' && +text > 0 && +text < 1);
    yield ['account', { mechanisms: composition.map(texts), direction, epsilons: [epsilon], deltas }];
  }
}

function* guarantees() {
  for (const { noise, groups, points } of oracle('guarantees').tradeoffs) {
    const kind = noise === 'discrete' ? 'discrete_gaussian' : 'gaussian';
    const parts = gaussians(groups).map((part) => texts({ kind, ...part }));
    yield ['account', { mechanisms: parts, rates: points.map(({ a }) => a) }];
  }
}

/** The questions about compositions. */
export function* references() {
  for (const name of ['standard', 'reference']) yield* profiles(name);
  for (const name of ['mechanisms', 'mechanisms_few', 'mechanisms_random', 'mechanisms_closed']) {
    yield* mechanisms(name);
  }
  yield* guarantees();
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
