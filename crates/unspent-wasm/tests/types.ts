// What the types of the package allow, and what they do not: for the compiler alone.
import {
  Allocation, Bounds, Composition, DiscreteGaussian, Gaussian, Laplace, Subsampled, certificate, largest_rho,
  parameter, preset, presets,
} from 'unspent';

const release = new Composition([new DiscreteGaussian({ sigma2: '5', count: 10 })], { direction: 'both' });
const one: Bounds = release.epsilon('1e-11');
const many: Bounds[] = release.delta(['1', 2, 3n]);
const up: number = one.upper + many.length;
const text: string = one.decimal()[0];
new Composition(new Subsampled(new Gaussian({ sigma: '1.1' }), { q: '1/100', count: 1000 }));
const value: string = parameter(new Laplace({ scale: '?' }), { epsilon: 1, delta: '1e-6' }).value;
const total: Bounds = preset(presets()[0]).certificate().total.tight;
certificate([Allocation.parse('x')], { delta: '1e-10' }).lines.map((line) => line.label);
const loose: number = release.zcdp_epsilon('1e-11', 'bun-steinke') + release.zcdp_delta(1);
const least: Composition = release.calibrate(11, '1e-11', { mechanism: 0 }).composition;
const masses: Float64Array = least.to_pld({ value_discretization_interval: 1e-3, tail_mass: '1e-15' })[0].masses;
const budget: string = largest_rho({ epsilon: 1, delta: '1e-6', conversion: 'bun-steinke' });
// @ts-expect-error: a conversion has a name
release.zcdp_epsilon('1e-11', 'mine');
// @ts-expect-error: options are objects
new Laplace(3);
// @ts-expect-error: bounds are not one number
const wrong: number = one;
console.log(up, text, value, total, wrong, loose, masses, budget);
