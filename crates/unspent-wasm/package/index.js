// Certified privacy accounting: exact numbers in, pairs of bounds out. The accountant is the WebAssembly
// module beside this file; names are those of the Python package.
import { Accountant } from './accountant.js';
import { Bounds } from './bounds.js';
import { exact } from './exact.js';

export { Bounds };

async function bytes() {
  const url = new URL('./unspent.wasm', import.meta.url);
  if (url.protocol === 'file:') return (await import('node:fs/promises')).readFile(url);
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return response.arrayBuffer();
}

const accountant = new Accountant(await WebAssembly.compile(await bytes()));

/** What was asked has no answer, and why. */
export class UnspentError extends Error {
  constructor({ message, hint = '', field = null }) {
    super(hint ? `${message} (${hint})` : message);
    Object.assign(this, { name: 'UnspentError', hint, field });
  }
}

/** The report on a question of that name, as `unspent serve` describes it. */
export function ask(name, question) {
  const { status, text } = accountant.ask(name, JSON.stringify(question));
  const answer = JSON.parse(text);
  if (status !== 200) throw new UnspentError(answer.error);
  return answer;
}

// ---- Mechanisms

/** Texts of all that is given; unknown names are refused by the module. */
const texts = (options) => Object.fromEntries(Object.entries(options)
  .filter(([, value]) => value !== undefined && value !== null)
  .map(([name, value]) => [name, value === '?' ? value : exact(name, value)]));

/** Noise, or an event: a kind and its parameters, `count` times. */
export class Mechanism {
  constructor(kind, options) {
    this.kind = kind;
    this.parameters = Object.freeze(texts(options));
    Object.freeze(this);
  }

  get count() { return BigInt(this.parameters.count ?? 1); }

  toJSON() { return { kind: this.kind, ...this.parameters }; }
}

/** Discrete Gaussian noise, by sigma2, or by sigma or scale. */
export class DiscreteGaussian extends Mechanism {
  constructor(options) { super('discrete_gaussian', options); }
}

/** Gaussian noise, by sigma2, or by sigma or scale. */
export class Gaussian extends Mechanism {
  constructor(options) { super('gaussian', options); }
}

/** Discrete Gaussian noise that is never beyond a bound. */
export class TruncatedDiscreteGaussian extends Mechanism {
  constructor(options) { super('truncated_discrete_gaussian', options); }
}

/** Laplace noise of a scale b. */
export class Laplace extends Mechanism {
  constructor(options) { super('laplace', options); }
}

/** Discrete Laplace (geometric) noise of a scale b. */
export class DiscreteLaplace extends Mechanism {
  constructor(options) { super('discrete_laplace', options); }
}

/** k-ary randomised response, by epsilon or by the probability of the truth. */
export class RandomisedResponse extends Mechanism {
  constructor(options) { super('randomised_response', options); }
}

/** An (ε, δ)-DP event. */
export class ApproximateDp extends Mechanism {
  constructor(options) { super('approximate_dp', options); }
}

/** An ε-DP event. */
export class PureDp extends Mechanism {
  constructor(options) { super('pure_dp', options); }
}

/** μ-Gaussian DP. */
export class GaussianDp extends Mechanism {
  constructor(options) { super('gdp', options); }
}

/** ρ-zCDP, of which only an upper bound is known. */
export class ZeroConcentratedDp extends Mechanism {
  constructor(options) { super('zcdp', options); }
}

/** Rényi DP by order, of which only an upper bound is known. */
export class RenyiDp extends Mechanism {
  constructor(options) { super('rdp', options); }
}

/** Two tables of masses: without and with the record. */
export class Finite extends Mechanism {
  constructor(options) { super('finite', options); }
}

/** Noise on a Poisson sample, each record with probability q: DP-SGD. */
export class Subsampled extends Mechanism {
  constructor(base, options) {
    if (base.count !== 1n) throw new UnspentError({ message: 'count: it is that of the sample' });
    super(`subsampled_${base.kind}`, { ...base.parameters, ...options });
  }
}

/** A mechanism as the module writes it. */
const described = ({ kind, ...parameters }) => new Mechanism(kind, parameters);

// ---- Compositions

const CONVERSION = 'canonne-kamath-steinke';

/** One answer, or those to each of an array. */
const each = (asked, answer) => (Array.isArray(asked) ? asked.map(answer) : answer(asked));

/** Independent mechanisms about the same record. */
export class Composition {
  constructor(mechanisms, { direction = 'both', tolerance = null } = {}) {
    this.mechanisms = Object.freeze([mechanisms].flat());
    Object.assign(this, { direction, tolerance });
    this.report = this.ask({});
    Object.freeze(this);
  }

  ask(question) { return ask('account', { ...this.toJSON(), ...question }); }

  point(question) { return this.ask(question).points[0]; }

  /** The least δ of an ε. */
  delta(epsilon) {
    return each(epsilon, (one) => {
      const { delta, log10_delta } = this.point({ epsilons: [exact('epsilon', one)] });
      return Bounds.of(delta, log10_delta);
    });
  }

  /** The least ε of a δ. */
  epsilon(delta) {
    return each(delta, (one) => Bounds.of(this.point({ deltas: [exact('delta', one)] }).epsilon));
  }

  /** The least rate of misses at a rate of false alarms. Its guarantee is the lower end. */
  tradeoff(alpha) {
    return each(alpha, (one) => Bounds.of(this.ask({ rates: [exact('alpha', one)] }).rates[0].misses));
  }

  /** The largest rate of hits at a rate of false alarms. */
  power(alpha) {
    return each(alpha, (one) => Bounds.of(this.ask({ rates: [exact('alpha', one)] }).rates[0].power));
  }

  /** How often the privacy loss exceeds ε, without the record. */
  p_tail(epsilon) { return each(epsilon, (one) => Bounds.of(this.tails(one).p_tail)); }

  /** The same with the record. */
  q_tail(epsilon) { return each(epsilon, (one) => Bounds.of(this.tails(one).q_tail)); }

  tails(epsilon) { return this.point({ epsilons: [exact('epsilon', epsilon)], tails: true }); }

  total_variation() { return this.delta(0); }

  in_direction(direction) {
    return new Composition(this.mechanisms, { direction, tolerance: this.tolerance });
  }

  /** ρ of zCDP, for Gaussian noise alone. */
  get rho() {
    if (this.report.rho) return Bounds.of(this.report.rho);
    throw new UnspentError({ message: 'rho: not all noise is Gaussian', hint: 'ask for epsilon' });
  }

  /** How answers are found. */
  get method() { return this.report.method; }

  /** The ε that a published conversion from ρ states, rounded up: a guarantee, but a loose one. */
  zcdp_epsilon(delta, conversion = CONVERSION) { return this.published({ delta }, conversion); }

  /** The δ that a published conversion from ρ states, rounded up: a guarantee, but a loose one. */
  zcdp_delta(epsilon, conversion = CONVERSION) { return this.published({ epsilon }, conversion); }

  published(given, conversion) {
    const { stated } = ask('published', { composition: this, conversion, ...texts(given) });
    return stated ?? Infinity;
  }

  /**
   * The smallest common factor of all sigma2 that is certified to keep (ε, δ); with `mechanism`, an index,
   * the smallest sigma2 of that one.
   */
  calibrate(epsilon, delta, { mechanism = null } = {}) {
    const found = ask('factor', { composition: this, mechanism, ...texts({ epsilon, delta }) });
    const { mechanisms, ...rest } = found;
    const composition = new Composition(mechanisms.map(described), this);
    return Object.freeze({ ...rest, at_floor: found.failing === null, composition });
  }

  /**
   * Privacy loss distributions on a grid that dominate this one, and still do after composing both: one, or
   * one for each direction.
   */
  to_pld({ value_discretization_interval = 1e-4, tail_mass = 1e-20 } = {}) {
    const question = { interval: value_discretization_interval, tail: exact('tail_mass', tail_mass) };
    const laws = ask('laws', { composition: this, ...question });
    return laws.map((law) => Object.freeze({ ...law, masses: Float64Array.from(law.masses) }));
  }

  /** What the module is told of it. */
  toJSON() {
    const { mechanisms, direction, tolerance } = this;
    return { mechanisms, direction, tolerance };
  }
}

/** The largest ρ with which a published conversion states no more than (ε, δ): an exact decimal. */
export function largest_rho({ epsilon, delta, conversion = CONVERSION }) {
  return ask('largest', { conversion, ...texts({ epsilon, delta }) }).rho;
}

/**
 * The value of the one parameter that is '?', for which (ε, δ) is certified to be kept, and the one beside
 * it.
 */
export function parameter(mechanisms, { epsilon, delta, direction = 'both' }) {
  const target = { epsilon: exact('epsilon', epsilon), delta: exact('delta', delta) };
  const found = ask('parameter', { mechanisms: [mechanisms].flat(), direction, ...target });
  const next = found.next && { ...found.next, delta: Bounds.of(found.next.delta) };
  return { ...found, delta: Bounds.of(found.delta), next };
}

// ---- Allocations

/** A budget, as shares by level and by query. */
export class Allocation {
  constructor(product) {
    this.product = product;
    this.draft = Object.freeze(ask('read', { allocation: product }).draft);
    Object.freeze(this);
  }

  /** From the text of an allocation file. */
  static parse(text, { name = 'allocation.toml', neighbours = null } = {}) {
    return new Allocation({ file: { name, text, neighbours } });
  }

  get name() { return this.draft.name; }

  to_toml() { return ask('file', { allocation: this.product }).text; }

  /** What it promises; options as of `certificate`. */
  certificate(options) { return certificate([this], options); }
}

/** The names of the presets. */
export const presets = () => ask('presets', {}).map(({ preset: name }) => name);

/** A preset by its name. */
export const preset = (name) => new Allocation({ preset: name });

/** A line of a certificate: its ends are bounds. */
const lineOf = (line) => ({
  ...line,
  tight: Bounds.of(line.tight),
  main_path: line.main_path ? Bounds.of(line.main_path) : null,
});

/** What allocations about the same record promise together. */
export function certificate(allocations, options = {}) {
  const { delta, epsilon, conversion = null, reductions = true } = options;
  const release = [allocations].flat().map(({ product }) => product);
  const asked = { release, conversion, reductions, ...texts({ delta, epsilon }) };
  const { report } = ask('certificate', asked);
  const lines = report.lines.map(lineOf);
  return { ...report, lines, total: lines.find(({ scope }) => scope === 'total') };
}
