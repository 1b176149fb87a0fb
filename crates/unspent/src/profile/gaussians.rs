//! Compositions of Gaussian noise, on the line and on the integers.

use std::sync::OnceLock;

use num_bigint::BigInt;

use super::conditioned::{self, Conditioned};
use super::contour::Problem;
use super::enumeration;
use super::kernel::{self, Expectation, Losses};
use super::lattice::{Lattice, Position};
use super::sieve::Sieve;
use super::sieved::Sieved;
use super::smoothing::Smoothing;
use super::spectrum::Spectrum;
use super::{DeltaBounds, Method, Point, at_most_one};
use crate::effort::Effort;
use crate::mechanism::Mechanism;
use crate::number::float::{self, PI};
use crate::number::{Bounds, Magnitude};
use crate::zcdp;

/// About the largest distance to an alias that lines of deviation `mu` need.
fn usual_distance(mu: f64) -> f64 {
    20.0 * mu + if mu > 1.0 { 80.0 } else { 0.0 }
}

/// The sieve's threshold: the spectrum's cut, divided by the number of nodes up to `end`.
pub(super) fn log_cut(spectrum: &Spectrum, end: f64) -> f64 {
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

/// What a sieve leaves out at a glance: `e^{−20}` is 2·10⁻⁹.
const GLANCE_CUT: f64 = 20.0;

/// Relative width of δ from which on smoothing is not slower than a lattice that takes long to sieve.
const QUICK_TOLERANCE: f64 = 1e-7;

/// Distances from a loss below this are left to the rationals: products of two such are still
/// normal doubles.
const TINY: f64 = 1e-140;

/// Relative width beyond which the law must be sparse, and worth enumerating.
const SPARSE: f64 = 1e-12;

/// Computes profiles of one composition of Gaussian noise.
#[derive(Debug)]
pub(crate) struct Gaussians {
    pub(super) spectrum: Spectrum,
    /// Number of atoms of the loss, if they are few enough to be added up.
    pub(super) atoms: Option<f64>,
    pub(super) lattice: Option<Lattice>,
    /// The sieve of the lattice's period, where that is how answers are obtained: with little work, and with
    /// more.
    pub(super) quick: OnceLock<Option<Sieve>>,
    pub(super) thorough: OnceLock<Option<Sieve>>,
    pub(super) smoothing: Smoothing,
    pub(super) effort: Effort,
    /// What it is made of, where a few kinds may be worth taking out; and those and the others.
    pub(super) groups: Vec<(Mechanism, u128)>,
    pub(super) conditioned: OnceLock<Option<Conditioned>>,
}

impl Gaussians {
    pub fn new(groups: &[(Mechanism, u128)], effort: Effort) -> Gaussians {
        let made = Gaussians::unconditioned(groups, effort);
        let possible = made.atoms.is_none() && conditioned::is_possible(&made.spectrum);
        Gaussians { groups: if possible { groups.to_vec() } else { vec![] }, ..made }
    }

    /// The same as a whole, whatever its parts are.
    pub(super) fn unconditioned(groups: &[(Mechanism, u128)], effort: Effort) -> Gaussians {
        let spectrum = Spectrum::new(groups);
        let fast = effort == Effort::Fast;
        let spectrum = if fast { Spectrum { work: FAST_SUM, ..spectrum } } else { spectrum };
        Gaussians {
            atoms: enumeration::atoms(&spectrum).filter(|atoms| !fast || *atoms <= FAST_ATOMS),
            lattice: Lattice::find(&spectrum),
            ..Gaussians::smoothed(spectrum, effort)
        }
    }

    /// Fast, and by smoothing alone: for one of many compositions, of which few matter.
    pub fn at_a_glance(groups: &[(Mechanism, u128)]) -> Gaussians {
        // What is left out is bounded all the same, and stays far below the width of the bracket.
        let spectrum = Spectrum::new(groups);
        let spectrum = Spectrum { work: FAST_SUM, alias: GLANCE, rest: GLANCE, cut: GLANCE_CUT, ..spectrum };
        Gaussians::smoothed(spectrum, Effort::Fast)
    }

    fn smoothed(spectrum: Spectrum, effort: Effort) -> Gaussians {
        Gaussians {
            atoms: None,
            lattice: None,
            spectrum,
            quick: OnceLock::new(),
            thorough: OnceLock::new(),
            smoothing: Smoothing::default(),
            effort,
            groups: vec![],
            conditioned: OnceLock::new(),
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
            (false, _) if self.conditioned().is_some_and(Conditioned::is_exact) => Method::Enumeration,
            (false, _) => Method::Smoothing,
        }
    }

    /// A few kinds and the others, where that is better than all of them together.
    fn conditioned(&self) -> Option<&Conditioned> {
        if self.groups.is_empty() || self.is_exact() {
            return None;
        }
        self.conditioned.get_or_init(|| Conditioned::find(&self.spectrum, &self.groups, self.effort)).as_ref()
    }

    /// The lattice and the windows of its period, unless another method is better.
    pub(super) fn period(&self) -> Option<(&Lattice, &Sieve)> {
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
    pub fn restrict_to(self, method: Method) -> Gaussians {
        match method {
            Method::Lattice => Gaussians { atoms: None, groups: vec![], ..self },
            Method::Enumeration => Gaussians { lattice: None, groups: vec![], ..self },
            _ => Gaussians { atoms: None, lattice: None, groups: vec![], ..self },
        }
    }

    /// δ(ε) at any real ε, to a relative width of about `tolerance` where smoothing is needed.
    pub fn delta(&self, at: &Point, tolerance: f64) -> DeltaBounds {
        let mu2 = self.mu2();
        // How many deviations ε lies below the mean loss under Q.
        let below = (0.5 * mu2 - at.dd.hi) / mu2.sqrt();
        let delta = || DeltaBounds::from_delta(self.solve(Expectation::Delta, at, tolerance));
        let complement = || DeltaBounds::from_complement(self.solve(Expectation::Complement, at, tolerance));
        // Both may be needed too where the noise is so small that the loss is nothing like a Gaussian.
        let found = DeltaBounds::by_either(below, delta, complement);
        if found.delta.upper() < Magnitude::ONE || at.dd.hi < 0.0 {
            return found;
        }
        // Nothing is known, or δ is 1 to all digits: at least never say less than zCDP does.
        let rho = self.spectrum.mu2.scale(0.5);
        let cap = zcdp::canonne_kamath_steinke_delta(rho, at.dd);
        found.intersect(DeltaBounds::from_delta(Bounds::new(Magnitude::ZERO, cap)))
    }

    /// `P[L > ε]`, strictly.
    pub fn p_tail(&self, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        let direct = match self.given_few(Expectation::UpperP, at, tolerance) {
            Some((found, true)) => return at_most_one(found),
            Some((found, false)) => {
                at_most_one(found.intersect(&self.solve(Expectation::UpperP, at, tolerance)))
            }
            None => at_most_one(self.solve(Expectation::UpperP, at, tolerance)),
        };
        if (self.has_exact_tails() && direct.relative_width() < 1.0) || direct.relative_width() <= tolerance {
            return direct;
        }
        direct.intersect(&self.smoothing.p_tail(self, at, tolerance))
    }

    /// `Q[L > ε]`, strictly.
    pub fn q_tail(&self, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        let few = self.given_few(Expectation::UpperQ, at, tolerance);
        if let Some((found, true)) = few {
            return at_most_one(found);
        }
        let upper = || at_most_one(self.solve(Expectation::UpperQ, at, tolerance));
        let lower = || at_most_one(self.solve(Expectation::LowerQ, at, tolerance)).complement();
        let direct = if at.dd.hi >= 0.5 * self.mu2() {
            let tail = upper();
            if tail.lower() < Magnitude::from_f64(0.9) { tail } else { tail.intersect(&lower()) }
        } else {
            let tail = lower();
            if tail.lower() > Magnitude::from_f64(0.1) { tail } else { tail.intersect(&upper()) }
        };
        let direct = few.map_or(direct, |(few, _)| direct.intersect(&at_most_one(few)));
        if (self.has_exact_tails() && direct.relative_width() < 1.0) || direct.relative_width() <= tolerance {
            return direct;
        }
        // Q[L > ε] = δ(ε) + e^ε·P[L > ε].
        direct.intersect(&at_most_one(self.smoothing.q_tail(self, at, tolerance)))
    }

    /// With a few kinds taken out, and whether that is narrow enough.
    fn given_few(
        &self,
        expectation: Expectation,
        at: &Point,
        tolerance: f64,
    ) -> Option<(Bounds<Magnitude>, bool)> {
        let found = self.conditioned()?.solve(expectation, at, tolerance)?;
        Some((found, found.relative_width() <= 100.0 * tolerance.max(SPARSE)))
    }

    /// About how much work an answer is that is known up to rounding; `None` if none is.
    pub(super) fn cost(&self) -> Option<f64> {
        let on_period = |(_, sieve): (&Lattice, &Sieve)| {
            sieve.measure * usual_distance(self.mu2().sqrt()) / (2.0 * PI) * self.kinds() as f64
        };
        let smooth = || self.is_smooth().then_some(self.kinds() as f64);
        self.period().map(on_period).or(self.atoms).or_else(smooth)
    }

    /// Whether the continuous Gaussians among them make the sum over nodes short.
    pub(super) fn is_smooth(&self) -> bool {
        let smooth = self.spectrum.continuous > 0.0;
        smooth && self.smoothing.own_is_short(&self.spectrum)
    }

    /// Whether δ comes from the atoms themselves.
    pub(super) fn is_exact(&self) -> bool {
        self.atoms.is_some() || self.period().is_some()
    }

    /// Whether tails do.
    fn has_exact_tails(&self) -> bool {
        self.atoms.is_some() || self.thorough_period().is_some()
    }

    fn solve(&self, expectation: Expectation, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        let is_delta = matches!(expectation, Expectation::Delta | Expectation::Complement);
        let few = is_delta.then(|| self.given_few(expectation, at, tolerance)).flatten();
        if let Some((found, true)) = few {
            return found;
        }
        let patient = tolerance < QUICK_TOLERANCE || !is_delta;
        let period = if patient { self.thorough_period() } else { self.period() };
        let exact = period.and_then(|(l, sieve)| self.solve_on(l, sieve, expectation, at));
        // Who asks for less gets by with less.
        let enough = SPARSE.max(1e-6 * tolerance);
        let narrow = exact.is_some_and(|bounds| bounds.relative_width() <= enough);
        let enumerated = match self.atoms {
            Some(_) if !narrow => enumeration::solve(&self.spectrum, expectation, at),
            _ => None,
        };
        match (exact, enumerated) {
            (Some(a), Some(b)) => a.intersect(&b),
            (Some(bounds), None) | (None, Some(bounds)) => bounds,
            (None, None) => match expectation {
                Expectation::Delta | Expectation::Complement => {
                    let found = self.smoothing.solve(self, expectation, at, tolerance);
                    few.map_or(found, |(few, _)| few.intersect(&found))
                }
                _ => self
                    .smoothing
                    .own(&self.spectrum, expectation, at)
                    .unwrap_or(Bounds::new(Magnitude::ZERO, Magnitude::ONE)),
            },
        }
    }

    fn solve_on(
        &self,
        lattice: &Lattice,
        sieve: &Sieve,
        expectation: Expectation,
        at: &Point,
    ) -> Option<Bounds<Magnitude>> {
        let Position { above, gap, rest } = lattice.position(&at.exact);
        // So near to a loss that the distance is hardly a double any more.
        if [gap, rest].iter().any(|d| d.hi != 0.0 && d.hi < TINY) || (gap.hi == 0.0) {
            return None;
        }
        let x = kernel::reference_loss(expectation, at.dd, gap, rest);
        let index = if expectation == Expectation::LowerQ { above - BigInt::from(1) } else { above };
        let integrand = Sieved { spectrum: &self.spectrum, sieve, s2: 0.0, lattice: Some((lattice, &index)) };
        let problem = Problem {
            integrand: &integrand,
            expectation,
            losses: Losses::Lattice { step: lattice.step_f64, gap: gap.to_f64(), rest: rest.to_f64() },
            x,
            markov: if expectation == Expectation::Complement { at.dd } else { x },
        };
        Some(problem.solve()?.value)
    }

    /// The lattice of losses, if answers come from one.
    pub fn losses(&self) -> Option<&Lattice> {
        self.lattice.as_ref().filter(|_| self.has_exact_tails())
    }
}
