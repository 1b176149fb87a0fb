/** A number: a text is exact ('0.1' is a tenth), a number is the double it is. */
export type Exact = string | number | bigint;
export type Direction = 'both' | 'add' | 'remove';
export type Conversion = 'canonne-kamath-steinke' | 'bun-steinke';
export type Neighbours = 'bounded' | 'add-remove';

/** The bounds of an answer, with the exact value between them. For an ε or a δ `upper` is the guarantee. */
export class Bounds {
  private constructor();
  /** A double that is not above the lower end. */
  readonly lower: number;
  /** A double that is not below the upper end. */
  readonly upper: number;
  /** Of a δ. */
  readonly log10_lower: number | undefined;
  readonly log10_upper: number | undefined;
  /** Both ends as decimals of so many digits, 17 at most, rounded outward. */
  decimal(digits?: number): [string, string];
  toString(): string;
  toJSON(): { lower: string; upper: string };
}

/** What was asked has no answer, and why. */
export class UnspentError extends Error {
  readonly hint: string;
  readonly field: string | null;
}

interface Many { count?: Exact }
interface Moved extends Many { shift?: Exact }
/** One of the three says how wide the noise is. */
interface Wide extends Moved { sigma2?: Exact; sigma?: Exact; scale?: Exact }

export abstract class Mechanism {
  readonly kind: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly count: bigint;
  toJSON(): Record<string, string>;
}
export class DiscreteGaussian extends Mechanism { constructor(options: Wide) }
export class Gaussian extends Mechanism { constructor(options: Wide) }
export class TruncatedDiscreteGaussian extends Mechanism { constructor(options: Wide & { bound: Exact }) }
export class Laplace extends Mechanism { constructor(options: Moved & { scale: Exact }) }
export class DiscreteLaplace extends Mechanism { constructor(options: Moved & { scale: Exact }) }
export class RandomisedResponse extends Mechanism {
  constructor(options: Many & { k: Exact; epsilon?: Exact; truth?: Exact });
}
export class ApproximateDp extends Mechanism { constructor(options: Many & { epsilon: Exact; delta: Exact }) }
export class PureDp extends Mechanism { constructor(options: Many & { epsilon: Exact }) }
export class GaussianDp extends Mechanism { constructor(options: Many & { mu: Exact }) }
export class ZeroConcentratedDp extends Mechanism { constructor(options: Many & { rho: Exact }) }
export class RenyiDp extends Mechanism { constructor(options: Many & { orders: Exact[]; epsilons: Exact[] }) }
export class Finite extends Mechanism { constructor(options: Many & { p: Exact[]; q: Exact[] }) }
export class Subsampled extends Mechanism {
  constructor(base: Gaussian | DiscreteGaussian | Laplace | DiscreteLaplace, options: Many & { q: Exact });
}

/** Independent mechanisms about the same record. */
export class Composition {
  constructor(
    mechanisms: Mechanism | readonly Mechanism[],
    options?: { direction?: Direction; tolerance?: number | null },
  );
  readonly mechanisms: readonly Mechanism[];
  readonly direction: Direction;
  readonly tolerance: number | null;
  /** The least δ of an ε. */
  delta(epsilon: Exact): Bounds;
  delta(epsilon: readonly Exact[]): Bounds[];
  /** The least ε of a δ. */
  epsilon(delta: Exact): Bounds;
  epsilon(delta: readonly Exact[]): Bounds[];
  /** The least rate of misses at a rate of false alarms. Its guarantee is the lower end. */
  tradeoff(alpha: Exact): Bounds;
  tradeoff(alpha: readonly Exact[]): Bounds[];
  /** The largest rate of hits at a rate of false alarms. */
  power(alpha: Exact): Bounds;
  power(alpha: readonly Exact[]): Bounds[];
  /** How often the privacy loss exceeds ε, without the record. */
  p_tail(epsilon: Exact): Bounds;
  p_tail(epsilon: readonly Exact[]): Bounds[];
  /** The same with the record. */
  q_tail(epsilon: Exact): Bounds;
  q_tail(epsilon: readonly Exact[]): Bounds[];
  total_variation(): Bounds;
  in_direction(direction: Direction): Composition;
  /** ρ of zCDP, for Gaussian noise alone. */
  readonly rho: Bounds;
  readonly method: string;
  /** The ε that a published conversion from ρ states, rounded up: a guarantee, but a loose one. */
  zcdp_epsilon(delta: Exact, conversion?: Conversion): number;
  /** The δ that a published conversion from ρ states, rounded up: a guarantee, but a loose one. */
  zcdp_delta(epsilon: Exact, conversion?: Conversion): number;
  /** The smallest common factor of all sigma2 that keeps (ε, δ), or the smallest sigma2 of one mechanism. */
  calibrate(epsilon: Exact, delta: Exact, options?: { mechanism?: number | null }): Calibration;
  /** Laws of the privacy loss that dominate: one, or two, if the record is removed and if it is added. */
  to_pld(options?: { value_discretization_interval?: number; tail_mass?: Exact }): PrivacyLossDistribution[];
}

export interface Calibration {
  /** Certified to keep the ε and δ; an exact decimal or fraction. */
  readonly smallest: string;
  /** Right below it and certified to miss them; null if the smallest noise that is allowed keeps them. */
  readonly failing: string | null;
  readonly at_floor: boolean;
  readonly shape: 'monotone' | 'scanned' | 'islands' | 'not scanned';
  /** Smaller values that keep them, too. */
  readonly islands: readonly string[];
  /** The composition with that noise. */
  readonly composition: Composition;
}

/** Masses at the losses interval · (lowest + i), and at infinity. */
export interface PrivacyLossDistribution {
  readonly interval: number;
  readonly lowest: number;
  readonly masses: Float64Array;
  readonly infinite: number;
}

/** The largest ρ with which a published conversion states no more than (ε, δ): an exact decimal. */
export function largest_rho(asked: { epsilon: Exact; delta: Exact; conversion?: Conversion }): string;

export interface Parameter {
  readonly parameter: string;
  /** Certified to keep the ε and δ; an exact decimal or fraction. */
  readonly value: string;
  readonly delta: Bounds;
  /** The value beside it on the less private side. */
  readonly next?: { readonly value: string; readonly delta: Bounds; readonly fails: boolean };
  /** What is known of all other values. */
  readonly order: 'monotone' | 'scanned' | 'islands' | 'not-scanned';
  readonly [name: string]: unknown;
}

/** The value of the one parameter that is '?', for which (ε, δ) is certified to be kept. */
export function parameter(
  mechanisms: Mechanism | readonly Mechanism[],
  options: { epsilon: Exact; delta: Exact; direction?: Direction },
): Parameter;

export interface Line {
  readonly scope: 'total' | 'level' | 'keeping' | 'attribute' | 'within';
  readonly name: string | null;
  readonly label: string;
  readonly tight: Bounds;
  readonly attained: boolean;
  readonly cases: number;
  readonly main_path: Bounds | null;
  readonly [name: string]: unknown;
}

export interface Certificate {
  readonly name: string;
  readonly record: string;
  readonly kept: boolean | null;
  readonly lines: readonly Line[];
  readonly total: Line;
  readonly assumptions: readonly string[];
  readonly [name: string]: unknown;
}

interface Asked { delta?: Exact; epsilon?: Exact; conversion?: Conversion; reductions?: boolean }

/** A budget, as shares by level and by query. */
export class Allocation {
  private constructor();
  static parse(text: string, options?: { name?: string; neighbours?: Neighbours }): Allocation;
  readonly name: string;
  /** As the explorer edits it. */
  readonly draft: Readonly<Record<string, unknown>>;
  to_toml(): string;
  certificate(options?: Asked): Certificate;
}

/** The names of the presets. */
export function presets(): string[];
/** A preset by its name. */
export function preset(name: string): Allocation;
/** What allocations about the same record promise together. */
export function certificate(allocations: Allocation | readonly Allocation[], options?: Asked): Certificate;
/** The report on a question of that name, as `unspent serve` describes it in openapi.json. */
export function ask(name: string, question: object): unknown;
