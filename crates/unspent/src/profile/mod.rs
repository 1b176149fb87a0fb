//! The privacy profile: certified δ(ε), its complement, and the tails of the privacy loss.
//!
//! Exact on a lattice of losses where there is a usable one ([`lattice`]) or where the atoms are few
//! ([`enumeration`]); bracketed between two
//! smoothed profiles otherwise ([`smoothing`]). Either way one integral on a tilted line
//! ([`contour`]) over the windows that a sieve leaves ([`sieve`]).

mod contour;
mod enumeration;
mod invert;
mod kernel;
mod lattice;
mod node;
mod sieve;
mod smoothing;
mod spectrum;
mod term;

#[cfg(test)]
mod inclusion;

use std::sync::OnceLock;

use num_bigint::BigInt;

use crate::effort::Effort;
use crate::mechanism::Mechanism;
use crate::named::named;
use crate::number::float::{self, Dd, PI};
use crate::number::{Bounds, Magnitude, Rational};
use crate::zcdp;
use contour::Problem;
pub(crate) use invert::log_gaussian_delta;
use kernel::{Losses, Payoff};
use lattice::{Lattice, Strike};
use sieve::Sieve;
use smoothing::Smoothing;
use spectrum::Spectrum;

/// How an answer was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// All losses lie on a lattice that is summed exactly: bounds as narrow as rounding allows.
    Lattice,
    /// No usable lattice, but so few mechanisms that the atoms of the loss are added one by one.
    Enumeration,
    /// No usable lattice: bounds from a smoothed profile above and below.
    Smoothing,
    /// A continuous Gaussian in the composition smooths the loss by itself: no bracket is needed.
    Continuous,
}

impl Method {
    /// All of them.
    pub const ALL: [Method; 4] =
        [Method::Lattice, Method::Enumeration, Method::Smoothing, Method::Continuous];

    /// `lattice`, `enumeration`, `smoothing` or `continuous`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::Lattice => "lattice",
            Method::Enumeration => "enumeration",
            Method::Smoothing => "smoothing",
            Method::Continuous => "continuous",
        }
    }
}

named!(Method, "method", "the method is how bounds were obtained");

/// An ε, exact.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub exact: Rational,
    pub dd: Dd,
}

impl Point {
    pub fn new(exact: Rational) -> Point {
        Point { dd: exact.to_dd(), exact }
    }

    pub fn from_f64(epsilon: f64) -> Point {
        let exact = Rational::from_f64("epsilon", epsilon).expect("a finite epsilon");
        Point { dd: Dd::from(epsilon), exact }
    }
}

/// Bounds of δ(ε) and of 1 − δ(ε): whichever is small is known to small relative error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeltaBounds {
    pub delta: Bounds<Magnitude>,
    pub complement: Bounds<Magnitude>,
}

impl DeltaBounds {
    fn from_delta(delta: Bounds<Magnitude>) -> DeltaBounds {
        let delta = at_most_one(delta);
        DeltaBounds { delta, complement: delta.complement() }
    }

    fn from_complement(complement: Bounds<Magnitude>) -> DeltaBounds {
        let complement = at_most_one(complement);
        DeltaBounds { delta: complement.complement(), complement }
    }

    fn intersect(self, other: DeltaBounds) -> DeltaBounds {
        DeltaBounds {
            delta: self.delta.intersect(&other.delta),
            complement: self.complement.intersect(&other.complement),
        }
    }
}

fn at_most_one(bounds: Bounds<Magnitude>) -> Bounds<Magnitude> {
    bounds.intersect(&Bounds::new(Magnitude::ZERO, Magnitude::ONE))
}

/// About the largest distance to an alias that lines of deviation `mu` need.
fn usual_distance(mu: f64) -> f64 {
    20.0 * mu + if mu > 1.0 { 80.0 } else { 0.0 }
}

/// The sieve's threshold: the spectrum's cut, divided by the number of nodes up to `end`.
fn log_cut(spectrum: &Spectrum, end: f64) -> f64 {
    spectrum.cut + float::ln(1.0 + end * usual_distance(spectrum.mu2.to_f64().sqrt()))
}

/// Bound evaluations a lattice's sieve may take, and the number of nodes it may leave. For δ, which smoothing
/// knows to many digits too, less is worth trying than for tails, of which it knows half as many.
const QUICK_WORK: u64 = 1 << 19;
const THOROUGH_WORK: u64 = 1 << 22;
const LATTICE_NODES: f64 = (1u64 << 20) as f64;

/// The same in fast mode: a millisecond at most for an answer, and usually far less.
const FAST_WORK: u64 = 1 << 14;
const FAST_NODES: f64 = (1u64 << 11) as f64;
const FAST_ATOMS: f64 = (1u64 << 13) as f64;
const FAST_SUM: u64 = 1 << 15;

/// Fraction of an answer at a glance that aliases, and nodes not computed, may each make up.
const GLANCE: f64 = 1e-7;

/// Relative width of δ from which on smoothing is not slower than a lattice that takes long to sieve.
const QUICK_TOLERANCE: f64 = 1e-7;

/// Distances from a loss below this are left to the rationals: products of two such are still
/// normal doubles.
const TINY: f64 = 1e-140;

/// Relative width beyond which the law must be sparse, and worth enumerating.
const SPARSE: f64 = 1e-12;

/// Computes profiles of one composition.
#[derive(Debug)]
pub(crate) struct Accountant {
    spectrum: Spectrum,
    /// Number of atoms of the loss, if they are few enough to be added up.
    atoms: Option<f64>,
    lattice: Option<Lattice>,
    /// The sieve of the lattice's period, where that is how answers are obtained: with little work, and with
    /// more.
    quick: OnceLock<Option<Sieve>>,
    thorough: OnceLock<Option<Sieve>>,
    smoothing: Smoothing,
    effort: Effort,
}

impl Accountant {
    pub fn new(groups: &[(Mechanism, u128)], effort: Effort) -> Accountant {
        let spectrum = Spectrum::new(groups);
        let fast = effort == Effort::Fast;
        let spectrum = if fast { Spectrum { work: FAST_SUM, ..spectrum } } else { spectrum };
        Accountant {
            atoms: enumeration::atoms(&spectrum).filter(|atoms| !fast || *atoms <= FAST_ATOMS),
            lattice: Lattice::find(&spectrum),
            ..Accountant::smoothed(spectrum, effort)
        }
    }

    /// Fast, and by smoothing alone: for one of many compositions, of which few matter.
    pub fn at_a_glance(groups: &[(Mechanism, u128)]) -> Accountant {
        // What is left out is bounded all the same, and stays far below the width of the bracket.
        let spectrum = Spectrum { work: FAST_SUM, alias: GLANCE, rest: GLANCE, ..Spectrum::new(groups) };
        Accountant::smoothed(spectrum, Effort::Fast)
    }

    fn smoothed(spectrum: Spectrum, effort: Effort) -> Accountant {
        Accountant {
            atoms: None,
            lattice: None,
            spectrum,
            quick: OnceLock::new(),
            thorough: OnceLock::new(),
            smoothing: Smoothing::default(),
            effort,
        }
    }

    pub fn effort(&self) -> Effort {
        self.effort
    }

    fn is_fast(&self) -> bool {
        self.effort == Effort::Fast
    }

    pub fn kinds(&self) -> usize {
        self.spectrum.kinds.len()
    }

    /// μ² = 2ρ.
    pub fn mu2(&self) -> f64 {
        self.spectrum.mu2.to_f64()
    }

    pub fn method(&self) -> Method {
        match (self.is_exact(), &self.lattice) {
            (true, Some(_)) => Method::Lattice,
            (true, None) => Method::Enumeration,
            (false, _) if self.spectrum.continuous > 0.0 => Method::Continuous,
            (false, _) => Method::Smoothing,
        }
    }

    /// The lattice and the windows of its period, unless another method is better.
    fn period(&self) -> Option<(&Lattice, &Sieve)> {
        let lattice = self.lattice.as_ref()?;
        let work = if self.is_fast() { FAST_WORK } else { QUICK_WORK };
        let sieve = self.quick.get_or_init(|| self.sieve_period(lattice, work)).as_ref()?;
        Some((lattice, sieve))
    }

    /// The same, with more work.
    fn thorough_period(&self) -> Option<(&Lattice, &Sieve)> {
        self.period().or_else(|| {
            let lattice = self.lattice.as_ref().filter(|_| !self.is_fast())?;
            let sieve = self.thorough.get_or_init(|| self.sieve_period(lattice, THOROUGH_WORK)).as_ref()?;
            Some((lattice, sieve))
        })
    }

    fn sieve_period(&self, lattice: &Lattice, work: u64) -> Option<Sieve> {
        let mu = self.mu2().sqrt();
        let end = PI / lattice.step_f64 * (1.0 + 1e-12);
        // A few mechanisms on a fine lattice: there are far fewer atoms than nodes. Otherwise the lattice is
        // narrower, by a digit or so.
        if self.atoms.is_some_and(|atoms| 16.0 * atoms < usual_distance(mu) / lattice.step_f64) {
            return None;
        }
        let sieve = Sieve::new(&self.spectrum, 0.0, end, log_cut(&self.spectrum, end), work)?;
        // Up to half a turn of every kind the sum stops by itself.
        let nodes = (sieve.measure - sieve.plain_end) * usual_distance(mu) / (2.0 * PI);
        let most = if self.is_fast() { FAST_NODES } else { LATTICE_NODES };
        (nodes <= most).then_some(sieve)
    }

    /// Forgets what it could use: in tests all methods must overlap.
    #[cfg(test)]
    pub fn restrict_to(self, method: Method) -> Accountant {
        match method {
            Method::Lattice => Accountant { atoms: None, ..self },
            Method::Enumeration => Accountant { lattice: None, ..self },
            _ => Accountant { atoms: None, lattice: None, ..self },
        }
    }

    /// δ(ε) at ε ≥ 0, to a relative width of about `tolerance` where smoothing is needed.
    pub fn delta(&self, at: &Point, tolerance: f64) -> DeltaBounds {
        let mu2 = self.mu2();
        // How many deviations ε lies below the mean loss under Q. There δ is near 1 and its
        // complement is what can be computed well.
        let below = (0.5 * mu2 - at.dd.hi) / mu2.sqrt();
        let call = || DeltaBounds::from_delta(self.solve(Payoff::Call, at, tolerance));
        let covered = || DeltaBounds::from_complement(self.solve(Payoff::Covered, at, tolerance));
        let (first, good): (DeltaBounds, bool) = if below <= 1.5 {
            let found = call();
            (found, found.delta.upper() < Magnitude::from_f64(0.9))
        } else {
            let found = covered();
            (found, found.complement.upper() < Magnitude::from_f64(0.5))
        };
        if good {
            return first;
        }
        // δ is near 1 after all, or the noise is so small that the loss is nothing like a Gaussian.
        let both = first.intersect(if below <= 1.5 { covered() } else { call() });
        if both.delta.upper() < Magnitude::ONE {
            return both;
        }
        // Nothing is known, or δ is 1 to all digits: at least never say less than zCDP does.
        let rho = self.spectrum.mu2.scale(0.5);
        let cap = zcdp::canonne_kamath_steinke_delta(rho, at.dd);
        both.intersect(DeltaBounds::from_delta(Bounds::new(Magnitude::ZERO, cap)))
    }

    /// `P[L > ε]`, strictly.
    pub fn p_tail(&self, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        let direct = at_most_one(self.solve(Payoff::UpperP, at, tolerance));
        if (self.has_exact_tails() && direct.relative_width() < 1.0) || direct.relative_width() <= tolerance {
            return direct;
        }
        direct.intersect(&self.smoothing.p_tail(self, at, tolerance))
    }

    /// `Q[L > ε]`, strictly.
    pub fn q_tail(&self, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        let upper = || at_most_one(self.solve(Payoff::UpperQ, at, tolerance));
        let lower = || at_most_one(self.solve(Payoff::LowerQ, at, tolerance)).complement();
        let direct = if at.dd.hi >= 0.5 * self.mu2() {
            let tail = upper();
            if tail.lower() < Magnitude::from_f64(0.9) { tail } else { tail.intersect(&lower()) }
        } else {
            let tail = lower();
            if tail.lower() > Magnitude::from_f64(0.1) { tail } else { tail.intersect(&upper()) }
        };
        if (self.has_exact_tails() && direct.relative_width() < 1.0) || direct.relative_width() <= tolerance {
            return direct;
        }
        // Q[L > ε] = δ(ε) + e^ε·P[L > ε].
        direct.intersect(&at_most_one(self.smoothing.q_tail(self, at, tolerance)))
    }

    /// Whether δ comes from the atoms themselves.
    fn is_exact(&self) -> bool {
        self.atoms.is_some() || self.period().is_some()
    }

    /// Whether tails do.
    fn has_exact_tails(&self) -> bool {
        self.atoms.is_some() || self.thorough_period().is_some()
    }

    fn solve(&self, payoff: Payoff, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        let patient = tolerance < QUICK_TOLERANCE || !matches!(payoff, Payoff::Call | Payoff::Covered);
        let period = if patient { self.thorough_period() } else { self.period() };
        let exact = period.and_then(|(l, sieve)| self.solve_on(l, sieve, payoff, at));
        // Who asks for less gets by with less.
        let enough = SPARSE.max(1e-6 * tolerance);
        let narrow = exact.is_some_and(|bounds| bounds.relative_width() <= enough);
        let enumerated = match self.atoms {
            Some(_) if !narrow => enumeration::solve(&self.spectrum, payoff, at),
            _ => None,
        };
        match (exact, enumerated) {
            (Some(a), Some(b)) => a.intersect(&b),
            (Some(bounds), None) | (None, Some(bounds)) => bounds,
            (None, None) => match payoff {
                Payoff::Call | Payoff::Covered => self.smoothing.solve(self, payoff, at, tolerance),
                _ => self
                    .smoothing
                    .own(&self.spectrum, payoff, at)
                    .unwrap_or(Bounds::new(Magnitude::ZERO, Magnitude::ONE)),
            },
        }
    }

    fn solve_on(
        &self,
        lattice: &Lattice,
        sieve: &Sieve,
        payoff: Payoff,
        at: &Point,
    ) -> Option<Bounds<Magnitude>> {
        let Strike { above, gap, rest } = lattice.strike(&at.exact);
        // So near to a loss that the distance is hardly a double any more.
        if [gap, rest].iter().any(|d| d.hi != 0.0 && d.hi < TINY) || (gap.hi == 0.0) {
            return None;
        }
        let x = kernel::reference_loss(payoff, at.dd, gap, rest);
        let index = if payoff == Payoff::LowerQ { above - BigInt::from(1) } else { above };
        let problem = Problem {
            spectrum: &self.spectrum,
            sieve,
            s2: 0.0,
            payoff,
            losses: Losses::Lattice { step: lattice.step_f64, gap: gap.to_f64(), rest: rest.to_f64() },
            x,
            markov: if payoff == Payoff::Covered { at.dd } else { x },
            lattice: Some((lattice, &index)),
        };
        Some(problem.solve()?.value)
    }

    /// The lattice of losses, if answers come from one.
    pub fn losses(&self) -> Option<&Lattice> {
        self.lattice.as_ref().filter(|_| self.has_exact_tails())
    }
}
