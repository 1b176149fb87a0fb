//! The privacy profile: certified δ(ε), its complement, and the tails of the privacy loss.
//!
//! Exact on a lattice of losses where there is a usable one ([`lattice`]); bracketed between two
//! smoothed profiles otherwise ([`smoothing`]). Either way one integral on a tilted line
//! ([`contour`]) over the windows that a sieve leaves ([`sieve`]).

mod contour;
mod invert;
mod kernel;
mod lattice;
mod sieve;
mod smoothing;
mod spectrum;

#[cfg(test)]
mod inclusion;

use std::sync::OnceLock;

use num_bigint::BigInt;

use crate::bounds::{Bounds, Magnitude};
use crate::exact::Rational;
use crate::float::{self, Dd, PI};
use crate::mechanism::Mechanism;
use contour::Problem;
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
    /// No usable lattice: bounds from a smoothed profile above and below.
    Smoothing,
    /// A continuous Gaussian in the composition smooths the loss by itself: no bracket is needed.
    Continuous,
}

impl Method {
    /// `lattice`, `smoothing` or `continuous`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::Lattice => "lattice",
            Method::Smoothing => "smoothing",
            Method::Continuous => "continuous",
        }
    }
}

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

/// δ(ε) and 1 − δ(ε): whichever is small is known to small relative error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delta {
    pub delta: Bounds<Magnitude>,
    pub complement: Bounds<Magnitude>,
}

impl Delta {
    fn from_delta(delta: Bounds<Magnitude>) -> Delta {
        let delta = at_most_one(delta);
        Delta { delta, complement: delta.complement() }
    }

    fn from_complement(complement: Bounds<Magnitude>) -> Delta {
        let complement = at_most_one(complement);
        Delta { delta: complement.complement(), complement }
    }

    fn intersect(self, other: Delta) -> Delta {
        Delta {
            delta: self.delta.intersect(&other.delta),
            complement: self.complement.intersect(&other.complement),
        }
    }
}

fn at_most_one(bounds: Bounds<Magnitude>) -> Bounds<Magnitude> {
    bounds.intersect(&Bounds::new(Magnitude::ZERO, Magnitude::ONE))
}

/// The part of the line to be sieved has to be longer than the windows by this much in nodes
/// before discarded nodes could add up; `e^{−40}` is 4·10⁻¹⁸.
fn log_cut(end: f64, mu: f64) -> f64 {
    // At most about D·end/2π nodes are discarded, and D is rarely above 60 + 10μ.
    40.0 + float::ln(1.0 + end * (10.0 + 2.0 * mu))
}

/// Bound evaluations a lattice's sieve may take before smoothing is the better method, and the
/// number of nodes it may leave.
const LATTICE_WORK: u64 = 1 << 22;
const LATTICE_NODES: f64 = (1u64 << 20) as f64;

/// Computes profiles of one composition.
#[derive(Debug)]
pub(crate) struct Accountant {
    spectrum: Spectrum,
    lattice: OnceLock<Option<(Lattice, Sieve)>>,
    smoothing: Smoothing,
}

impl Accountant {
    pub fn new(groups: &[(Mechanism, u128)]) -> Accountant {
        Accountant {
            spectrum: Spectrum::new(groups),
            lattice: OnceLock::new(),
            smoothing: Smoothing::default(),
        }
    }

    pub fn kinds(&self) -> usize {
        self.spectrum.kinds.len()
    }

    /// μ² = 2ρ.
    pub fn mu2(&self) -> f64 {
        self.spectrum.mu2.to_f64()
    }

    pub fn method(&self) -> Method {
        if self.lattice().is_some() {
            Method::Lattice
        } else if self.spectrum.continuous > 0.0 {
            Method::Continuous
        } else {
            Method::Smoothing
        }
    }

    fn lattice(&self) -> Option<&(Lattice, Sieve)> {
        self.lattice.get_or_init(|| self.find_lattice()).as_ref()
    }

    fn find_lattice(&self) -> Option<(Lattice, Sieve)> {
        let lattice = Lattice::find(&self.spectrum)?;
        let mu = self.mu2().sqrt();
        let end = PI / lattice.step.to_f64() * (1.0 + 1e-12);
        let sieve = Sieve::new(&self.spectrum, 0.0, end, log_cut(end, mu), LATTICE_WORK)?;
        let nodes = sieve.measure * (60.0 + 10.0 * mu) / (2.0 * PI);
        (nodes <= LATTICE_NODES).then_some((lattice, sieve))
    }

    /// Never uses a lattice: for tests, where both methods must overlap.
    #[cfg(test)]
    pub fn without_lattice(self) -> Accountant {
        Accountant { lattice: OnceLock::from(None), ..self }
    }

    /// δ(ε) at ε ≥ 0, to a relative width of about `tolerance` where smoothing is needed.
    pub fn delta(&self, at: &Point, tolerance: f64) -> Delta {
        let mu2 = self.mu2();
        // How many deviations ε lies below the mean loss under Q. There δ is near 1 and its
        // complement is what can be computed well.
        let below = (0.5 * mu2 - at.dd.hi) / mu2.sqrt();
        if below <= 1.5 {
            let delta = Delta::from_delta(self.solve(Payoff::Call, at, tolerance));
            if delta.delta.lower() < Magnitude::from_f64(0.9) {
                return delta;
            }
            delta.intersect(Delta::from_complement(self.solve(Payoff::Covered, at, tolerance)))
        } else {
            let delta = Delta::from_complement(self.solve(Payoff::Covered, at, tolerance));
            if delta.complement.upper() < Magnitude::from_f64(0.5) {
                return delta;
            }
            // The noise is so small that the loss is nothing like a Gaussian.
            delta.intersect(Delta::from_delta(self.solve(Payoff::Call, at, tolerance)))
        }
    }

    /// P[L > ε], strictly.
    pub fn p_tail(&self, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        match self.lattice() {
            Some(_) => at_most_one(self.solve(Payoff::UpperP, at, tolerance)),
            None => at_most_one(self.smoothing.p_tail(self, at, tolerance)),
        }
    }

    /// Q[L > ε], strictly.
    pub fn q_tail(&self, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        if self.lattice().is_none() {
            // Q[L > ε] = δ(ε) + e^ε·P[L > ε].
            return at_most_one(self.smoothing.q_tail(self, at, tolerance));
        }
        let upper = || at_most_one(self.solve(Payoff::UpperQ, at, tolerance));
        let lower = || at_most_one(self.solve(Payoff::LowerQ, at, tolerance)).complement();
        if at.dd.hi >= 0.5 * self.mu2() {
            let tail = upper();
            if tail.lower() < Magnitude::from_f64(0.9) { tail } else { tail.intersect(&lower()) }
        } else {
            let tail = lower();
            if tail.lower() > Magnitude::from_f64(0.1) { tail } else { tail.intersect(&upper()) }
        }
    }

    fn solve(&self, payoff: Payoff, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        match self.lattice() {
            Some((lattice, sieve)) => self
                .solve_on(lattice, sieve, payoff, at)
                .unwrap_or_else(|| Bounds::new(Magnitude::ZERO, Magnitude::ONE)),
            None => self.smoothing.solve(self, payoff, at, tolerance),
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
        let x = kernel::reference_loss(payoff, at.dd, gap, rest);
        let index = if payoff == Payoff::LowerQ { above - BigInt::from(1) } else { above };
        let problem = Problem {
            spectrum: &self.spectrum,
            sieve,
            s2: 0.0,
            payoff,
            losses: Losses::Lattice {
                step: lattice.step_f64,
                gap: gap.to_f64(),
                rest: rest.to_f64(),
            },
            x,
            markov: if payoff == Payoff::Covered { at.dd } else { x },
            lattice: Some((lattice, &index)),
        };
        Some(problem.solve()?.value)
    }

    /// The lattice of losses, if answers come from one.
    pub fn losses(&self) -> Option<&Lattice> {
        self.lattice().map(|(lattice, _)| lattice)
    }
}
