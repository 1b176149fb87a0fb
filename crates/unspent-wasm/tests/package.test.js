// The package, as npm packs it, on the reference values: every exact value lies between the ends.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ONE, Rational } from '../../unspent-explorer/web/explorer/exact.js';
import { packed } from './module.js';
import { oracle } from './questions.js';

const TWO = Rational.parse('2');
const skip = !existsSync(packed) && `there is no ${packed}: make pack`;
const place = mkdtempSync(join(tmpdir(), 'unspent-package-'));
after(() => rmSync(place, { recursive: true, force: true }));
const npm = (...words) =>
  execFileSync('npm', [...words, '--silent', '--offline'], { cwd: place, encoding: 'utf8' });

/** The package, installed from what npm packs. */
async function installed() {
  const [{ filename, size, files }] = JSON.parse(npm('pack', packed, '--json'));
  writeFileSync(join(place, 'package.json'), '{"type":"module","private":true}');
  npm('install', '--no-audit', '--no-fund', `./${filename}`);
  writeFileSync(join(place, 'main.js'), "export * from 'unspent';\n");
  const names = files.map(({ path }) => path).sort();
  return { unspent: await import(join(place, 'main.js')), size, names };
}
const found = skip ? null : await installed();

const KINDS = {
  discrete_gaussian: 'DiscreteGaussian', gaussian: 'Gaussian', laplace: 'Laplace',
  discrete_laplace: 'DiscreteLaplace', randomised_response: 'RandomisedResponse', pure_dp: 'PureDp',
  approximate_dp: 'ApproximateDp', finite: 'Finite', zcdp: 'ZeroConcentratedDp', rdp: 'RenyiDp',
  gdp: 'GaussianDp', truncated_discrete_gaussian: 'TruncatedDiscreteGaussian',
};

function mechanism({ kind, ...options }) {
  const { unspent } = found;
  if (!kind.startsWith('subsampled_')) return new unspent[KINDS[kind]](options);
  const { q, count, ...base } = options;
  return new unspent.Subsampled(mechanism({ kind: kind.replace('subsampled_', ''), ...base }), { q, count });
}

/** Whether an exact value, known to its last digit but one, lies between both ends. */
function isInside(bounds, text) {
  const value = Rational.parse(text);
  const [mantissa, exponent = '0'] = text.split('e');
  const places = (mantissa.split('.')[1] ?? '').length;
  const unit = text === '0' ? Rational.parse('0') : Rational.parse(`2e${+exponent - places}`);
  const [lower, upper] = bounds.decimal().map((end) => Rational.parse(end));
  const ends = [bounds.lower, bounds.upper].map((end) => Rational.parse(end.toPrecision(100)));
  return lower.compare(value.plus(unit)) <= 0 && value.minus(unit).compare(upper) <= 0 &&
    ends[0].compare(lower) <= 0 && upper.compare(ends[1]) <= 0;
}

test('npm packs it', { skip }, (t) => {
  t.diagnostic(`${found.size} bytes: ${found.names.join(' ')}`);
  const needed = ['index.js', 'index.d.ts', 'unspent.wasm', 'README.md', 'LICENSE-MIT', 'LICENSE-APACHE'];
  for (const name of needed) {
    assert.ok(found.names.includes(name), name);
  }
  const cargo = readFileSync(new URL('../../../Cargo.toml', import.meta.url), 'utf8');
  const [, version] = /^version = "(.*)"/m.exec(cargo);
  assert.equal(JSON.parse(readFileSync(join(packed, 'package.json'), 'utf8')).version, version);
});

test('exact values lie between the ends: δ of all mechanisms', { skip }, (t) => {
  let count = 0;
  for (const name of ['mechanisms', 'mechanisms_few']) {
    for (const { composition, direction, epsilon, delta } of oracle(name).cases) {
      const parts = composition.map(mechanism);
      const bounds = new found.unspent.Composition(parts, { direction }).delta(epsilon);
      assert.ok(isInside(bounds, delta), `${JSON.stringify(composition)} ${epsilon}: ${delta} in ${bounds}`);
      count += 1;
    }
  }
  t.diagnostic(`${count} values`);
});

test('exact values lie between the ends: δ and tails of discrete Gaussian noise', { skip }, (t) => {
  const { Composition, DiscreteGaussian } = found.unspent;
  let count = 0;
  for (const { groups, points } of oracle('standard').cases) {
    const parts = groups.map(([sigma2, many, shift]) => new DiscreteGaussian({ sigma2, count: many, shift }));
    const release = new Composition(parts);
    for (const { e, d, p, q } of points.slice(0, 3)) {
      const answers = [[release.delta(e), d], [release.p_tail(e), p], [release.q_tail(e), q]];
      for (const [bounds, exact] of answers.filter(([, text]) => typeof text === 'string')) {
        assert.ok(isInside(bounds, exact), `${JSON.stringify(groups)} ${e}: ${exact} in ${bounds}`);
        count += 1;
      }
    }
  }
  t.diagnostic(`${count} values`);
});

test('exact values lie between the ends: published conversions and least factors', { skip }, () => {
  const { Composition, DiscreteGaussian, Gaussian } = found.unspent;
  const isAbove = (double, exact, rho) => {
    const [value, least] = [Rational.parse(double.toPrecision(100)), Rational.parse(exact)];
    const slack = least.plus(Rational.parse(rho)).times(Rational.parse('1e-9'));
    return value.compare(least) >= 0 && value.minus(least).compare(slack) <= 0;
  };
  let count = 0;
  for (const { rho, delta, bun_steinke: loose, cks } of oracle('guarantees').conversions) {
    if (!delta || +rho > 500 || +rho < 1e-3) continue;
    const release = new Composition(new Gaussian({ sigma2: `${ONE.over(Rational.parse(rho).times(TWO))}` }));
    assert.ok(isAbove(release.zcdp_epsilon(delta), cks, rho), `${rho} ${delta}`);
    assert.ok(isAbove(release.zcdp_epsilon(delta, 'bun-steinke'), loose, rho), `${rho} ${delta}`);
    count += 2;
  }
  assert.ok(count > 50, `${count}`);
  for (const { groups, epsilon, delta, factor } of oracle('guarantees').calibrations) {
    const parts = groups.map(([sigma2, many, shift]) => new DiscreteGaussian({ sigma2, count: many, shift }));
    const least = new Composition(parts).calibrate(epsilon, delta);
    const [low, high] = [least.failing, least.smallest].map((text) => Rational.parse(text));
    const [below, above] = factor.map((text) => Rational.parse(text));
    assert.ok(low.compare(above) < 0 && below.compare(high) <= 0, `${low} ${factor} ${high}`);
    assert.ok(least.composition.delta(epsilon).upper <= +delta * (1 + 1e-12));
    assert.equal(least.at_floor, false);
  }
});

test('a law that dominates is above, and hardly', { skip }, () => {
  const { Composition, DiscreteGaussian, Gaussian, Subsampled } = found.unspent;
  /** δ of a law, in doubles. */
  const delta = ({ interval, lowest, masses, infinite }, epsilon) => masses.reduce((sum, mass, i) =>
    sum + mass * Math.max(0, -Math.expm1(epsilon - interval * (lowest + i))), infinite);
  const release = new Composition(new DiscreteGaussian({ sigma2: 5, count: 10 }));
  const [only, ...none] = release.to_pld({ value_discretization_interval: 1e-3, tail_mass: '1e-15' });
  assert.ok(only.masses instanceof Float64Array && none.length === 0);
  for (const epsilon of [0, 1, 4, 8]) {
    const { lower, upper } = release.delta(epsilon);
    const found = delta(only, epsilon);
    assert.ok(lower < found && found < 1.0001 * upper + 2e-15, `${epsilon}: ${lower} ${found} ${upper}`);
  }
  const steps = new Composition(new Subsampled(new Gaussian({ sigma: 1 }), { q: '0.01', count: 10 }));
  const laws = steps.to_pld({ value_discretization_interval: 0.01, tail_mass: 1e-12 });
  assert.equal(laws.length, 2);
  ['remove', 'add'].forEach((direction, i) => {
    const { lower } = steps.in_direction(direction).delta('0.1');
    assert.ok(delta(laws[i], 0.1) > lower, direction);
  });
  assert.throws(() => release.to_pld({ value_discretization_interval: 1e-9 }), /interval/);
});

test('bounds are shortened outward', { skip }, () => {
  const { Bounds } = found.unspent;
  for (const [text, down, up] of [
    ['10.124830934480938', '10.124830', '10.124831'], ['9.99999999', '9.9999999', '10.0000000'],
    ['0.0012345678901', '0.0012345678', '0.0012345679'], ['0', '0', '0'],
    ['1.234567891e-300', '1.2345678e-300', '1.2345679e-300'],
    ['1234567890.5', '1234567890', '1234567891'], ['2.5', '2.5', '2.5'],
  ]) assert.deepEqual(new Bounds(text, text).decimal(8), [down, up]);
});

test('the README is right', { skip }, async () => {
  const [, code] = /```js\n([^]*?)```/.exec(readFileSync(join(packed, 'README.md'), 'utf8'));
  const said = [];
  const expected = [...code.matchAll(/\/\/ (\[.*\])/g)].map(([, text]) => text);
  const lines = code.replace(/^import .*$/m, '').replaceAll('console.log', 'say');
  const { Composition, DiscreteGaussian, Gaussian, Subsampled, preset } = found.unspent;
  Function('say', 'Composition', 'DiscreteGaussian', 'Gaussian', 'Subsampled', 'preset', lines)(
    (text) => said.push(text), Composition, DiscreteGaussian, Gaussian, Subsampled, preset);
  assert.equal(expected.length, 3);
  assert.deepEqual(said, expected);
});

test('what Python says, JavaScript says', { skip }, () => {
  const {
    Allocation, Composition, DiscreteGaussian, Gaussian, Laplace, UnspentError, certificate, largest_rho,
    parameter, preset, presets,
  } = found.unspent;
  const release = new Composition([new DiscreteGaussian({ sigma2: '5', count: 10 })]);
  const epsilon = release.epsilon('1e-11');
  assert.ok(epsilon.lower > 10.1248 && epsilon.upper < 10.1249 && epsilon.lower < epsilon.upper);
  assert.throws(() => +epsilon, /say which end you mean/);
  assert.throws(() => epsilon < 11, /say which end you mean/);
  assert.equal(release.rho.upper, 1);
  assert.equal(release.method, 'lattice');
  const [none, one] = release.delta([0, '1']);
  assert.deepEqual([`${none}`, `${one}`], [`${release.total_variation()}`, `${release.delta(1n)}`]);
  assert.ok(release.tradeoff('0.05').lower <= 1 - release.power('0.05').lower);
  const far = new Composition(new Gaussian({ sigma: 10 })).delta(1000000);
  assert.ok(far.lower === 0 && far.upper === Number.MIN_VALUE && far.log10_upper < -1e12);
  // A double is the fraction it is.
  assert.equal(new Laplace({ scale: 0.1 }).parameters.scale, '3602879701896397/36028797018963968');
  assert.throws(() => new Laplace({ scale: NaN }), TypeError);
  assert.throws(() => new Composition(new Laplace({ scale: '-1' })), UnspentError);
  assert.throws(() => new Composition(new Laplace({ scale: 1, surprise: 2 })), /surprise/);
  const least = parameter(new Laplace({ scale: '?', count: 3 }), { epsilon: 2, delta: '1e-6' });
  assert.ok(least.delta.upper <= 1.0000001e-6 && least.next.fails && least.order === 'monotone');
  // One of two kinds of noise, the other as it is; a count that no double is stays what it is.
  const two = new Composition([new DiscreteGaussian({ sigma2: 5 }), new Gaussian({ sigma: 3, count: 2 })]);
  const [first, second] = two.calibrate(3, '1e-3', { mechanism: 1 }).composition.mechanisms;
  assert.ok(first.parameters.sigma2 === '5' && second.count === 2n && second.parameters.sigma2 !== '9');
  const many = new Composition(new Gaussian({ sigma2: '1e9', count: 9007199254740993n }));
  assert.equal(many.calibrate(10000, '1e-3').composition.mechanisms[0].count, 9007199254740993n);
  assert.throws(() => two.calibrate(1, '1e-3', { mechanism: 2 }), /index below 2/);
  assert.throws(() => new Composition(new Laplace({ scale: 1 })).calibrate(1, '1e-3'), UnspentError);
  const stated = new Composition(new Gaussian({ sigma2: '1/2' }));
  assert.ok(stated.zcdp_epsilon('1e-6') < stated.zcdp_epsilon('1e-6', 'bun-steinke'));
  assert.ok(stated.zcdp_delta(3) < stated.zcdp_delta(3, 'bun-steinke'));
  assert.ok(stated.zcdp_epsilon('1e-6') > stated.epsilon('1e-6').upper);
  assert.throws(() => stated.zcdp_epsilon('1e-6', 'mine'), /conversion/);
  assert.throws(() => new Composition(new Laplace({ scale: 1 })).zcdp_epsilon('1e-6'), UnspentError);
  assert.equal(largest_rho({ epsilon: 1, delta: '1e-6' }), '0.0243559703595');
  assert.ok(presets().includes('pl94-persons-us-2020'));
  const units = preset('pl94-units-us-2020');
  const again = Allocation.parse(units.to_toml());
  assert.equal(String(again.certificate().total.tight), String(certificate([units]).total.tight));
  assert.throws(() => preset('pl94'), (error) => error instanceof UnspentError && Boolean(error.hint));
});
