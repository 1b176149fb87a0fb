//! One direction of a composition: ordered pairs (P, Q).

use std::sync::OnceLock;

use num_bigint::BigInt;

use super::super::contour::{Integral, Problem};
use super::super::kernel::{Expectation, Losses};
use super::super::spectrum::LogPhi;
use super::super::term::{Term, dropping};
use super::super::{DeltaBounds, Method, Point, at_most_one};
use super::atoms::{self, Part};
use super::cells::{self, Halves};
use super::line::{LONG, OnLine, SHORT};
use super::single::Single;
use crate::effort::Effort;
use crate::error::Result;
use crate::loss::{self, Loss, Way};
use crate::mechanism::Mechanism;
use crate::number::float::{self, DD_UNIT, Dd, UNIT};
use crate::number::{Bounds, Magnitude, Rational, Round};

/// `count` equal laws.
#[derive(Debug)]
pub(super) struct Kind {
    pub law: Box<dyn Loss>,
    pub count: f64,
    pub count_dd: Dd,
    pub whole: u128,
}

/// A grid of fractions on which all losses lie.
#[derive(Clone, Debug)]
pub(super) struct Lattice {
    pub step: Rational,
    /// Some loss.
    pub origin: Rational,
}

#[derive(Debug)]
pub(super) struct Ordered {
    pub kinds: Vec<Kind>,
    pub(super) single: Option<Single>,
    lattice: Option<Lattice>,
    /// Number of atoms, if they are few enough to be added up.
    atoms: Option<f64>,
    /// `ln` of the probability under Q that nothing is revealed for certain: by the mechanisms, and with the
    /// tails that are treated as if they did.
    pub infinity: (Bounds<Magnitude>, Bounds<Magnitude>),
    /// From this loss on δ is what is revealed for certain.
    largest: Largest,
    pub(super) scale: (f64, f64),
    way: Way,
    effort: Effort,
    rare: OnceLock<bool>,
    /// The law cut into cells, made when it is needed.
    halves: OnceLock<Option<Halves>>,
}

#[derive(Debug)]
enum Largest {
    Exact(Rational),
    AtMost(f64),
}

/// Most atoms that are added up one by one.
const MAX_ATOMS: f64 = (1u64 << 18) as f64;
const FAST_ATOMS: f64 = (1u64 << 13) as f64;
/// Relative width of δ in cells that is not worth an integral that will be long.
const FAIR: f64 = 0.02;
/// So many mechanisms are cut into cells rather than integrated for long.
const FEW: f64 = 32.0;
/// Relative width of δ from which on an integral over all nodes that matter is limited by rounding alone.
const GOOD: f64 = 1e-3;
/// The same where atoms can be taken out, and how much work is tried before.
const NARROW: f64 = 1e-9;
const PEELABLE: f64 = 2e5;

impl Ordered {
    pub fn new(groups: &[(Mechanism, u128)], effort: Effort, way: Way) -> Result<Ordered> {
        let mut kinds = vec![];
        for (mechanism, whole) in groups {
            let count = *whole as f64;
            // What has no pair is bounded from one side only.
            if let Some(law) = loss::of(mechanism, count, way)? {
                kinds.push(Kind { law, count, count_dd: Rational::integer(*whole).to_dd(), whole: *whole });
            }
        }
        let infinity = infinity(&kinds);
        let mut ordered = Ordered {
            lattice: find_lattice(&kinds),
            atoms: None,
            infinity,
            largest: largest(&kinds),
            single: Single::new(groups, effort, way),
            scale: (0.0, 0.0),
            way,
            effort,
            rare: OnceLock::new(),
            halves: OnceLock::new(),
            kinds,
        };
        let most = if effort == Effort::Fast { FAST_ATOMS } else { MAX_ATOMS };
        ordered.atoms = ordered.parts().map(|parts| atoms::count(&parts)).filter(|n| *n <= most);
        let here = ordered.log_phi(1.0);
        ordered.scale = (here.slope, here.spread.max(1e-300).sqrt());
        if ordered.kinds.is_empty() {
            ordered.scale = (0.0, 1e-3);
        }
        Ok(ordered)
    }

    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    pub fn way(&self) -> Way {
        self.way
    }

    pub fn scale(&self) -> (f64, f64) {
        self.scale
    }

    pub fn method(&self) -> Method {
        if self.lattice.is_some() {
            Method::Lattice
        } else if self.kinds.iter().any(|k| k.law.atoms().is_none()) {
            Method::Continuous
        } else if self.atoms.is_some() {
            Method::Enumeration
        } else {
            Method::Smoothing
        }
    }

    /// `Q[L = ∞]`, by the mechanisms alone.
    pub fn infinity(&self) -> Bounds<Magnitude> {
        self.infinity.0
    }

    pub fn log_phi(&self, c: f64) -> LogPhi {
        let mut out = LogPhi { value: Dd::ZERO, error: 0.0, drift: Dd::ZERO, slope: 0.0, spread: 0.0 };
        for kind in &self.kinds {
            let tilted = kind.law.tilt(c);
            let part = kind.count_dd.mul(tilted.log);
            out.value = out.value.add(part);
            out.error += kind.count * tilted.error + 16.0 * DD_UNIT * part.hi.abs();
            out.slope += kind.count * tilted.mean;
            out.spread += kind.count * tilted.variance;
        }
        out
    }

    /// δ(ε) at any real ε (M1).
    pub fn delta(&self, at: &Point, tolerance: f64) -> DeltaBounds {
        if let Some(found) = self.single.as_ref().and_then(|single| single.delta(at, tolerance)) {
            return found;
        }
        if self.is_beyond(at) {
            return self.with_infinity(Bounds::new(Magnitude::ZERO, Magnitude::ZERO));
        }
        let (mean, deviation) = self.scale;
        let below = (mean - at.dd.hi) / deviation;
        let delta = || self.with_infinity(self.solve(Expectation::Delta, at, tolerance));
        // 1 − δ = E_P[min(e^L, e^ε); L finite]: nothing is added.
        let complement = || {
            let found = at_most_one(self.solve(Expectation::Complement, at, tolerance));
            // Tails that were taken for revealed are not.
            let more = self.infinity.1.upper();
            let upper = found.upper().add(more, Round::Up);
            let real = self.infinity.0;
            let found = if real.upper() < more { Bounds::new(found.lower(), upper) } else { found };
            DeltaBounds::from_complement(found)
        };
        DeltaBounds::by_either(below, delta, complement)
    }

    /// Adds what is revealed for certain to the part of finite losses.
    fn with_infinity(&self, finite: Bounds<Magnitude>) -> DeltaBounds {
        let lower = finite.lower().add(self.infinity.0.lower(), Round::Down);
        let upper = finite.upper().add(self.infinity.1.upper(), Round::Up);
        DeltaBounds::from_delta(Bounds::new(lower, if lower < upper { upper } else { lower }))
    }

    /// A double that is not below any finite loss.
    pub fn largest_loss(&self) -> f64 {
        match &self.largest {
            Largest::Exact(largest) => largest.to_f64_bounds().1,
            Largest::AtMost(largest) => largest.next_up(),
        }
    }

    /// Whether no finite loss is above ε.
    pub fn is_beyond(&self, at: &Point) -> bool {
        match &self.largest {
            Largest::Exact(largest) => at.exact >= *largest,
            Largest::AtMost(largest) => at.dd.hi > *largest,
        }
    }

    /// From the atoms themselves.
    pub fn exact(&self, expectation: Expectation, at: &Point) -> Option<Bounds<Magnitude>> {
        let on_lattice = self.on_lattice(expectation, at);
        if on_lattice.is_some_and(|found| found.relative_width() < 1e-9) {
            return on_lattice;
        }
        let listed = self.listed(expectation, at);
        match (on_lattice, listed) {
            (Some(a), Some(b)) => Some(a.intersect(&b)),
            (a, b) => a.or(b),
        }
    }

    /// One by one, if all losses are atoms and few.
    fn listed(&self, expectation: Expectation, at: &Point) -> Option<Bounds<Magnitude>> {
        self.atoms.filter(|_| self.kinds.iter().all(|k| k.law.atoms().is_some()))?;
        Some(atoms::solve(&self.parts()?, None, expectation, at))
    }

    /// The atomic parts of all laws, if each has no other but on a segment.
    fn parts(&self) -> Option<Vec<Part<'_>>> {
        self.kinds.iter().map(|k| Some((k.law.parts()?.0, u64::try_from(k.whole).ok()?))).collect()
    }

    fn solve(&self, expectation: Expectation, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        if let Some(found) = self.exact(expectation, at) {
            return found;
        }
        // Where there is another way, a long sum is not begun.
        let rare = expectation == Expectation::Delta && self.is_rare();
        if rare {
            let cells = self.in_cells(expectation, at);
            if let Some(found) = cells.filter(|found| found.relative_width() < FAIR) {
                return found;
            }
        }
        let (work, good) = match (self.atoms.is_some(), rare) {
            (true, _) => (PEELABLE, NARROW),
            (false, true) => (SHORT, GOOD),
            (false, false) => (LONG, GOOD),
        };
        let own = self.on_line(expectation, at, 0.0, work).map(|found| found.value);
        // What is known to some digits is limited by rounding, for which smoothing is no remedy.
        if let Some(found) = own.filter(|found| found.relative_width() < good) {
            return found;
        }
        if let Some(found) = self.peeled(expectation, at).filter(|found| found.relative_width() < GOOD) {
            return own.map_or(found, |own| own.intersect(&found));
        }
        let mut found = own.unwrap_or(Bounds::new(Magnitude::ZERO, Magnitude::ONE));
        let smoothed = || self.smoothed(expectation, at, tolerance);
        let cells = || self.in_cells(expectation, at);
        // Smoothing takes long where it says little, which is not of few mechanisms.
        let ways: [&dyn Fn() -> Option<Bounds<Magnitude>>; 2] =
            if self.is_few() && !rare { [&smoothed, &cells] } else { [&cells, &smoothed] };
        for way in ways {
            if let Some(other) = way() {
                found = found.intersect(&other);
                if rare || !self.is_few() || found.relative_width() < GOOD {
                    break;
                }
            }
        }
        if expectation != Expectation::Delta {
            return found;
        }
        // Never say less than Markov's inequality does.
        let most = self.markov(at).unwrap_or(Magnitude::ONE);
        found.intersect(&Bounds::new(Magnitude::ZERO, most))
    }

    fn on_lattice(&self, expectation: Expectation, at: &Point) -> Option<Bounds<Magnitude>> {
        let lattice = self.lattice.as_ref()?;
        let (below, part) = (&(&at.exact - &lattice.origin) / &lattice.step).floor_and_fraction();
        let rest = (&part * &lattice.step).to_dd();
        let gap = (&(&Rational::integer(1) - &part) * &lattice.step).to_dd();
        let index = if expectation == Expectation::LowerQ { below } else { below + BigInt::from(1) };
        let exact = &lattice.origin + &(&lattice.step * &Rational::from_bigint(index));
        let x = exact.to_dd();
        let integrand =
            OnLine { ordered: self, s2: 0.0, step: Some(lattice.step.to_dd()), peeled: false, work: LONG };
        let problem = Problem {
            integrand: &integrand,
            expectation,
            losses: Losses::Lattice { step: lattice.step.to_f64(), gap: gap.to_f64(), rest: rest.to_f64() },
            x,
            markov: if expectation == Expectation::Complement { at.dd } else { x },
        };
        Some(problem.solve()?.value)
    }

    /// Without smoothing, or with a Gaussian of μ² = s² in addition.
    fn on_line(&self, expectation: Expectation, at: &Point, s2: f64, work: f64) -> Option<Integral> {
        if !matches!(expectation, Expectation::Delta | Expectation::Complement) {
            return None;
        }
        let integrand = OnLine { ordered: self, s2, step: None, peeled: false, work };
        Problem { integrand: &integrand, expectation, losses: Losses::Line, x: at.dd, markov: at.dd }.solve()
    }

    /// Atoms, and atoms with one continuous loss, one by one; what is left has a continuous density, and its
    /// transform falls fast enough for the integral (M8).
    fn peeled(&self, expectation: Expectation, at: &Point) -> Option<Bounds<Magnitude>> {
        self.atoms?;
        let parts = self.parts()?;
        let mut total = atoms::solve(&parts, None, expectation, at);
        for (i, kind) in self.kinds.iter().enumerate() {
            let Some(segment) = kind.law.parts()?.1 else {
                continue;
            };
            let mut others = parts.clone();
            others[i].1 -= 1;
            let one = atoms::solve(&others, Some(segment), expectation, at);
            let times = |end: Magnitude, round| end.mul(kind.magnitude(round), round);
            total = sum(&total, &Bounds::new(times(one.lower(), Round::Down), times(one.upper(), Round::Up)));
        }
        let integrand = OnLine { ordered: self, s2: 0.0, step: None, peeled: true, work: LONG };
        let rest =
            Problem { integrand: &integrand, expectation, losses: Losses::Line, x: at.dd, markov: at.dd }
                .solve()?;
        Some(sum(&total, &rest.value))
    }

    /// Whether there are so few mechanisms that cells lose little.
    fn is_few(&self) -> bool {
        self.kinds.iter().map(|kind| kind.count).sum::<f64>() <= FEW
    }

    /// Whether besides an integral would be long.
    fn is_rare(&self) -> bool {
        *self.rare.get_or_init(|| self.is_few() && cells::is_rare(&self.kinds))
    }

    /// From laws that are cut into cells.
    fn in_cells(&self, expectation: Expectation, at: &Point) -> Option<Bounds<Magnitude>> {
        if expectation != Expectation::Delta {
            return None;
        }
        Some(self.halves()?.delta(at))
    }

    fn halves(&self) -> Option<&Halves> {
        self.halves.get_or_init(|| Halves::new(&self.kinds, self.effort)).as_ref()
    }

    /// Between two smoothed profiles (S1 to S5).
    pub fn smoothed(
        &self,
        expectation: Expectation,
        at: &Point,
        tolerance: f64,
    ) -> Option<Bounds<Magnitude>> {
        let (mean, deviation) = self.scale;
        let c = 1.0 + ((at.dd.hi - mean) / (deviation * deviation)).max(0.0) + 2.5 / deviation;
        let curvature = if expectation == Expectation::Complement { 0.25 } else { c * (c - 1.0) };
        let finest = 0.9 * tolerance / curvature;
        let first = (-0.5 * float::ln(finest) / std::f64::consts::LN_2).ceil();
        let mut level = first.clamp(-2.0, 40.0) as i32;
        let mut best: Option<Bounds<Magnitude>> = None;
        for _ in 0..5 {
            let s2 = 2f64.powi(-2 * level);
            if let Some(Integral { value, density }) = self.on_line(expectation, at, s2, LONG) {
                let factor = float::up(s2 * float::exp(s2 / 8.0), 8.0);
                let excess = density.mul(Magnitude::from_f64(dropping(Term::Smoothing, factor)), Round::Up);
                let found = match expectation {
                    Expectation::Complement => {
                        Bounds::new(value.lower(), value.upper().add(excess, Round::Up))
                    }
                    _ => Bounds::new(value.lower().sub(excess, Round::Down), value.upper()),
                };
                let both = best.map_or(found, |b| b.intersect(&found));
                let coarsened = f64::from(level) < first;
                if both.relative_width() <= tolerance || coarsened {
                    return Some(both);
                }
                best = Some(both);
                level += 1;
            } else {
                if best.is_some() || level <= -2 {
                    break;
                }
                level -= 2;
            }
        }
        best
    }
}

impl Kind {
    fn magnitude(&self, round: Round) -> Magnitude {
        let (down, up) = Rational::integer(self.whole).to_magnitude_bounds();
        if round == Round::Down { down } else { up }
    }
}

fn sum(a: &Bounds<Magnitude>, b: &Bounds<Magnitude>) -> Bounds<Magnitude> {
    Bounds::new(a.lower().add(b.lower(), Round::Down), a.upper().add(b.upper(), Round::Up))
}

/// `1 − Π(1 − q∞)^n`: of the mechanisms, and with the tails that are treated as if they revealed.
fn infinity(kinds: &[Kind]) -> (Bounds<Magnitude>, Bounds<Magnitude>) {
    let total = |keep: &dyn Fn(bool) -> bool| {
        let parts = || {
            let listed = kinds.iter().filter_map(|k| k.law.atoms().map(|a| (a, k)));
            listed.filter(|(a, _)| keep(a.reveals)).map(|(a, k)| (a.infinity(), k))
        };
        // At most the sum s of all n·q∞, and at least s(1 − s): products of what may be below every double.
        let sum = |end: &dyn Fn(&Bounds<Magnitude>) -> Magnitude, round| {
            let term = |(q, k): (Bounds<Magnitude>, &Kind)| end(&q).mul(k.magnitude(round), round);
            parts().map(term).fold(Magnitude::ZERO, |a, b| a.add(b, round))
        };
        let least = sum(&|q| q.lower(), Round::Down);
        let most = sum(&|q| q.upper(), Round::Up);
        if most < Magnitude::from_f64(1e-6) {
            let rest = Magnitude::ONE.sub(most, Round::Down);
            return Bounds::new(least.mul(rest, Round::Down), most);
        }
        let log = |end: &dyn Fn(&Bounds<Magnitude>) -> f64| {
            let sum: f64 = parts().map(|(q, k)| k.count * float::ln1p(-end(&q))).sum();
            -float::expm1(sum)
        };
        // Each logarithm within 5u and the sum of one sign.
        let slack = 16.0 + 2.0 * kinds.len() as f64;
        let lower = log(&|q| q.lower().to_f64(Round::Down)) * (1.0 - slack * UNIT);
        let upper = (log(&|q| q.upper().to_f64(Round::Up)) * (1.0 + slack * UNIT)).min(1.0);
        Bounds::new(Magnitude::from_f64(lower), Magnitude::from_f64(upper))
    };
    let real = total(&|reveals| reveals);
    let all = total(&|_| true);
    let zero = Bounds::new(Magnitude::ZERO, Magnitude::ZERO);
    let all = if dropping(Term::Tails, 1.0) == 0.0 { real } else { all };
    if dropping(Term::Infinity, 1.0) == 0.0 { (zero, zero) } else { (real, all) }
}

fn find_lattice(kinds: &[Kind]) -> Option<Lattice> {
    let grids: Option<Vec<_>> = kinds.iter().map(|k| k.law.grid().map(|g| (g, k.whole))).collect();
    let grids = grids?;
    let mut step = grids.first()?.0.step.clone();
    for (grid, _) in &grids[1..] {
        step = step.gcd(&grid.step);
    }
    let offsets: Vec<Rational> = grids.iter().map(|(g, n)| &g.offset * &Rational::integer(*n)).collect();
    let origin = Rational::sum(&offsets);
    Some(Lattice { step, origin })
}

fn largest(kinds: &[Kind]) -> Largest {
    let exact: Option<Vec<Rational>> =
        kinds.iter().map(|k| k.law.largest_exact().map(|l| &l * &Rational::integer(k.whole))).collect();
    match exact {
        Some(terms) => Largest::Exact(Rational::sum(&terms)),
        None => {
            let sum: f64 = kinds.iter().map(|k| k.count * k.law.largest()).sum();
            let size: f64 = kinds.iter().map(|k| (k.count * k.law.largest()).abs()).sum();
            Largest::AtMost(sum + 16.0 * UNIT * size * (1.0 + kinds.len() as f64))
        }
    }
}
