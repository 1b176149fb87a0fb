//! A few mechanisms with few losses beside others: given what the few say, the others are a composition of
//! their own.
//!
//! With S the loss of the few and D that of the others, every expectation is exactly
//!
//! ```text
//! V(ε) = Σ_s Q[S = s]·V_D(ε − s),      P[L > ε] = Σ_s P[S = s]·P[D > ε − s]
//! ```
//!
//! (`theory/conditioning.md`, K1). All terms are non-negative. So noise far below 1, of which the integral
//! sees only spikes, is added up, and the others are answered by whatever suits them: where they lie on a
//! lattice, or are smooth by themselves, only rounding is left.

use super::allowance::Several;
use super::enumeration::{self, CUTS, LITTLE, List, MAX_SUM};
use super::gaussians::Gaussians;
use super::kernel::Expectation;
use super::spectrum::{Kind, Spectrum};
use super::term::{Term, dropping};
use super::{DeltaBounds, Point, at_most_one};
use crate::effort::Effort;
use crate::mechanism::Mechanism;
use crate::number::float::{self, DD_UNIT, Dd, UNIT};
use crate::number::{Bounds, Magnitude, Rational, Round};

/// Losses of the few that are worth listing usually, where sparse noise is among all, and at most.
const FEW: f64 = 128.0;
const MANY: f64 = (1u64 << 13) as f64;
const MOST: f64 = (1u64 << 15) as f64;
/// About how much work an answer may take without another choice being looked for.
const CHEAP: f64 = (1u64 << 17) as f64;
/// Relative width of δ that is enough of others that are known up to rounding.
const ENOUGH: f64 = 1e-4;
/// Halvings of half a unit on either side of a tilt.
const HALVINGS: usize = 24;
/// Answers about the others that one answer may take.
const MAX_ASKED: usize = 512;
const FAST_ASKED: usize = 16;
/// The same where each is a bracket and takes long.
const SLOW_ASKED: usize = 12;
/// `ln` of what is as good as nothing beside 1.
const NOTHING: f64 = -45.0;
/// What is left out, as a fraction of the answer.
const REST: f64 = UNIT / 16.0;
/// Noise whose transform, all of it together, need not fall below this power of e is sparse.
const SPARSE: f64 = 1.0;

/// The few, and the others.
#[derive(Debug)]
pub(super) struct Conditioned {
    few: Spectrum,
    others: Box<Gaussians>,
    effort: Effort,
}

/// What the few say once.
struct Outcome {
    /// Which entry of each list it is, as one number.
    index: usize,
    /// A bound of the logarithm of the whole term.
    most: f64,
}

/// About how many losses a kind has, if they are few.
fn losses(kind: &Kind) -> f64 {
    match &kind.noise {
        Some(noise) if kind.count <= MAX_SUM => {
            let spread = |variance: f64| (2.0 * CUTS[0] * variance * kind.count).sqrt();
            // A sum of many is about as wide as if each were as likely 0 as 1.
            2.0 * (spread(noise.sigma2) + kind.count).min(spread(noise.sigma2.max(0.25)))
        }
        _ => f64::INFINITY,
    }
}

fn is_sparse(kind: &Kind) -> bool {
    kind.most_decay() < SPARSE
}

/// Whether that may be of use.
pub(super) fn is_possible(spectrum: &Spectrum) -> bool {
    let kinds = &spectrum.kinds;
    let most = if kinds.iter().any(is_sparse) { MANY } else { FEW };
    kinds.len() > 1 && kinds.iter().any(|kind| losses(kind) <= most)
}

impl Conditioned {
    /// Takes out as few kinds as leave others that are answered up to rounding; if there are none such, what
    /// is sparse.
    pub fn find(spectrum: &Spectrum, groups: &[(Mechanism, u128)], effort: Effort) -> Option<Conditioned> {
        let any_sparse = spectrum.kinds.iter().any(is_sparse) && effort != Effort::Fast;
        let most = if any_sparse { MANY } else { FEW };
        let mut order: Vec<&Kind> = spectrum.kinds.iter().filter(|kind| losses(kind) <= most).collect();
        order.sort_by(|a, b| losses(a).total_cmp(&losses(b)));
        let sparse = order.iter().take_while(|kind| is_sparse(kind) && losses(kind) <= FEW).count();
        let mut found: Option<(f64, Conditioned)> = None;
        for taken in sparse.max(1)..=order.len().min(groups.len() - 1) {
            let few = &order[..taken];
            let listed: f64 = few.iter().map(|kind| losses(kind)).product();
            if listed > most {
                break;
            }
            let part = |is_few: bool| -> Vec<(Mechanism, u128)> {
                let chosen = |j: &usize| few.iter().any(|kind| kind.group == *j) == is_few;
                (0..groups.len()).filter(chosen).map(|j| groups[j].clone()).collect()
            };
            let others = Box::new(Gaussians::unconditioned(&part(false), effort));
            // What is not known up to rounding is the last resort.
            let cost = match others.cost() {
                Some(cost) => listed.min(MAX_ASKED as f64) * cost,
                None if taken == sparse => f64::INFINITY,
                None => continue,
            };
            if found.as_ref().is_none_or(|(least, _)| cost < *least) {
                found = Some((cost, Conditioned { few: Spectrum::new(&part(true)), others, effort }));
            }
            if cost <= CHEAP {
                break;
            }
        }
        found.map(|(_, found)| found)
    }

    /// Whether only rounding is left.
    pub fn is_exact(&self) -> bool {
        self.others.is_exact() || self.others.is_smooth()
    }

    /// The expectation at ε; `None` if that takes too long.
    pub fn solve(&self, expectation: Expectation, at: &Point, tolerance: f64) -> Option<Bounds<Magnitude>> {
        let mu2 = self.few.mu2.add(self.others.spectrum.mu2);
        let usual = at.dd.hi / mu2.hi + 0.5;
        let found = self.solve_at(usual, expectation, at, tolerance);
        let is_wide = |found: &Bounds<Magnitude>| found.relative_width() > tolerance;
        if found.as_ref().is_some_and(|found| !is_wide(found)) {
            return found;
        }
        // The lists of sparse noise may be cut around the wrong place.
        let other = self.tilt(usual, at.dd.hi).and_then(|c| self.solve_at(c, expectation, at, tolerance));
        match (found, other) {
            (Some(found), Some(other)) => Some(found.intersect(&other)),
            (found, other) => found.or(other),
        }
    }

    /// With lists cut around the tilt c.
    fn solve_at(
        &self,
        c: f64,
        expectation: Expectation,
        at: &Point,
        tolerance: f64,
    ) -> Option<Bounds<Magnitude>> {
        let (low, high) = expectation.domain();
        let c = c.clamp(low.max(-1e6), high.min(1e6));
        let mut best: Option<Bounds<Magnitude>> = None;
        for cut in CUTS {
            let Some((found, outside)) = self.solve_within(expectation, at, tolerance, c, cut) else {
                break;
            };
            let found = best.map_or(found, |b| b.intersect(&found));
            if outside <= found.lower().mul(Magnitude::from_f64(LITTLE), Round::Down) {
                return Some(found);
            }
            best = Some(found);
        }
        best
    }

    /// The tilt near the `usual` one at which the mean of the loss is x, which for sums of sparse noise may
    /// be another than for a Gaussian; `None` if it is not nearby.
    fn tilt(&self, usual: f64, x: f64) -> Option<f64> {
        let slope = |c: f64| {
            let of = |spectrum: &Spectrum| {
                let all: Vec<usize> = (0..spectrum.kinds.len()).collect();
                spectrum.log_phi(&all, 0.0, 0.0, c).slope
            };
            of(&self.few) + of(&self.others.spectrum)
        };
        // A noise of variance far below 1 moves from one loss to the next within less than half a unit of c.
        let (mut low, mut high) = (usual - 0.5, usual + 0.5);
        if !(slope(low) < x && x < slope(high)) {
            return None;
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if slope(middle) < x { low = middle } else { high = middle }
        }
        Some(0.5 * (low + high))
    }

    /// The same with lists cut at `e^{−cut}` of their largest weight, and what they leave out.
    fn solve_within(
        &self,
        expectation: Expectation,
        at: &Point,
        tolerance: f64,
        c: f64,
        cut: f64,
    ) -> Option<(Bounds<Magnitude>, Magnitude)> {
        let lists: Option<Vec<List>> = self.few.kinds.iter().map(|k| List::new(k, c, cut)).collect();
        let lists = lists?;
        if lists.iter().map(|l| l.logs.len() as f64).product::<f64>() > MOST {
            return None;
        }
        let (exponent, error) = enumeration::common(&self.few, &lists, expectation, at, c)?;
        // w ≤ Φ_D(c) ≤ e^{μ²c(c−1)/2} (K2, T7).
        let others = self.others.spectrum.mu2.mul(Dd::sum(c, -1.0).scale(c)).scale(0.5);
        let slack = error + 16.0 * DD_UNIT * others.hi.abs();
        let outside = Magnitude::exp(exponent.add(others), slack, Round::Up)
            .mul(enumeration::left_out(&lists), Round::Up);
        let few = Few { lists: &lists, kinds: &self.few.kinds, expectation, at, c, exponent, error };
        let outcomes = self.ranked(&few);
        let found = self.sum(&few, &outcomes, tolerance);
        Some((Bounds::new(found.lower(), found.upper().add(outside, Round::Up)), outside))
    }

    /// Everything that the few may say, what matters most first.
    fn ranked(&self, few: &Few<'_>) -> Vec<Outcome> {
        let halves: Vec<Dd> = few.kinds.iter().map(|kind| kind.mu2.to_dd().scale(0.5)).collect();
        let of_lists: f64 = few.lists.iter().map(|list| list.error).sum();
        let about = |index: usize| {
            let (mut left, mut size, mut log) = (few.at.dd, few.at.dd.hi.abs(), 0.0);
            for ((kind, half), (list, i)) in few.kinds.iter().zip(&halves).zip(few.entries(index)) {
                let step = kind.step_dd.scale(list.start + i as f64);
                left = left.add(*half).sub(step);
                size += half.hi + step.hi.abs();
                log += list.logs[i];
            }
            // Each sum and product of double-doubles is off by some units of its size.
            let off = 64.0 * DD_UNIT * size;
            let moved = few.factor().mul(left).hi;
            let most = few.exponent.hi + log + moved + self.most(few.expectation, left.to_f64(), off);
            let sizes = few.exponent.hi.abs() + log.abs() + moved.abs();
            let error = few.error + of_lists + (few.c.abs() + 1.0) * off + 1e-9 + 1e-12 * sizes;
            Outcome { index, most: most + error }
        };
        let all: usize = few.lists.iter().map(|list| list.logs.len()).product();
        let mut outcomes: Vec<Outcome> = (0..all).map(about).collect();
        // Weights that are not listed.
        outcomes.retain(|outcome| outcome.most > f64::NEG_INFINITY);
        outcomes.sort_by(|a, b| b.most.total_cmp(&a.most));
        outcomes
    }

    /// A bound of the logarithm of `V_D(x)`: Markov's inequality at the tilt that is best for a Gaussian, and
    /// 1 (K2). Tails may include their ends.
    fn most(&self, expectation: Expectation, x: f64, off: f64) -> f64 {
        let mu2 = self.others.spectrum.mu2.hi;
        let middle = 0.5 * mu2;
        // Distances are off by less than this, for an x that is itself known to within `off`.
        let blur = 4.0 * UNIT * (x.abs() + middle) + off;
        let away = match expectation {
            Expectation::Delta | Expectation::UpperQ => x - middle,
            Expectation::UpperP => x + middle,
            Expectation::Complement if x < -middle => return x + blur,
            Expectation::Complement | Expectation::LowerQ => middle - x,
        };
        let away = (away - blur).max(0.0);
        -away * away / (2.0 * mu2) * (1.0 - 1e-12)
    }

    /// The largest first; what is not asked for counts in the upper end.
    fn sum(&self, few: &Few<'_>, outcomes: &[Outcome], tolerance: f64) -> Bounds<Magnitude> {
        // What is left from each on, were V_D as large as it may be.
        let mut rest = vec![Magnitude::ZERO; outcomes.len() + 1];
        for (i, outcome) in outcomes.iter().enumerate().rev() {
            rest[i] = rest[i + 1].add(Magnitude::exp(Dd::from(outcome.most), 0.0, Round::Up), Round::Up);
        }
        let asked = match (self.is_exact(), self.effort) {
            (true, Effort::Fast) => FAST_ASKED,
            (true, _) => MAX_ASKED,
            (false, _) => SLOW_ASKED,
        };
        let (mut lower, mut upper) = (Magnitude::ZERO, Magnitude::ZERO);
        let mut next = 0;
        let several = Several::begin();
        while next < outcomes.len().min(asked)
            && several.is_left()
            && rest[next] > lower.mul(Magnitude::from_f64(REST), Round::Down)
        {
            let Weighted { log, error, left } = few.weighted(outcomes[next].index);
            let found = self.ask(few.expectation, &Point::new(left), tolerance);
            let error = dropping(Term::AtomRounding, error);
            lower = lower
                .add(Magnitude::exp(log, error, Round::Down).mul(found.lower(), Round::Down), Round::Down);
            upper = upper.add(Magnitude::exp(log, error, Round::Up).mul(found.upper(), Round::Up), Round::Up);
            next += 1;
        }
        let left_out = if dropping(Term::Negligible, 1.0) == 0.0 { Magnitude::ZERO } else { rest[next] };
        Bounds::new(lower, upper.add(left_out, Round::Up))
    }

    /// `V_D` at any real number x (K3).
    fn ask(&self, expectation: Expectation, at: &Point, tolerance: f64) -> Bounds<Magnitude> {
        let tolerance = if self.is_exact() { tolerance.max(ENOUGH) } else { tolerance };
        let x = at.dd.hi;
        let tail = |other: Expectation, tail: &dyn Fn() -> Bounds<Magnitude>| {
            // What is missing to 1 is a tail on the other side.
            let missing = self.most(other, -x, 0.0);
            if missing > NOTHING {
                return at_most_one(tail());
            }
            let missing = Magnitude::exp(Dd::from(missing), 1e-9, Round::Up);
            Bounds::new(Magnitude::ONE.sub(missing, Round::Down), Magnitude::ONE)
        };
        match expectation {
            Expectation::Delta | Expectation::Complement => {
                let found = self.mirrored(at, tolerance);
                if expectation == Expectation::Delta { found.delta } else { found.complement }
            }
            Expectation::UpperP => tail(Expectation::UpperQ, &|| self.others.p_tail(at, tolerance)),
            Expectation::UpperQ => tail(Expectation::UpperP, &|| self.others.q_tail(at, tolerance)),
            Expectation::LowerQ => at_most_one(self.others.q_tail(at, tolerance)).complement(),
        }
    }

    /// δ and its complement, at `x < 0` from those at `−x`: `1 − δ(x) = e^x(1 − δ(−x))` (K3).
    fn mirrored(&self, at: &Point, tolerance: f64) -> DeltaBounds {
        if at.dd.hi >= 0.0 {
            return self.others.delta(at, tolerance);
        }
        let there = self.others.delta(&Point::new(&Rational::integer(0) - &at.exact), tolerance);
        let (x, error) = (at.dd, DD_UNIT * at.dd.hi.abs());
        let up = |round| Magnitude::exp(x, error, round);
        let rise = -float::expm1(x.to_f64());
        let both = |bounds: &Bounds<Magnitude>, more: (f64, f64)| {
            let end = |end: Magnitude, more: f64, round| {
                Magnitude::from_f64(more).add(up(round).mul(end, round), round)
            };
            Bounds::new(end(bounds.lower(), more.0, Round::Down), end(bounds.upper(), more.1, Round::Up))
        };
        // x as a double is off by u, relatively, and so is 1 − e^x, at most; 4u for the function.
        let rise = (float::down(rise, 8.0).max(0.0), float::up(rise, 8.0));
        DeltaBounds {
            delta: at_most_one(both(&there.delta, rise)),
            complement: at_most_one(both(&there.complement, (0.0, 0.0))),
        }
    }
}

/// The few, listed, for one question; and what all outcomes have in common.
struct Few<'a> {
    lists: &'a [List],
    kinds: &'a [Kind],
    expectation: Expectation,
    at: &'a Point,
    c: f64,
    exponent: Dd,
    error: f64,
}

/// An outcome: the logarithm of its weight with all factors, the bound of its error, and `ε − s`.
struct Weighted {
    log: Dd,
    error: f64,
    left: Rational,
}

impl<'a> Few<'a> {
    /// The entries of the lists that make an outcome.
    fn entries(&self, mut index: usize) -> impl Iterator<Item = (&'a List, usize)> {
        self.lists.iter().map(move |list| {
            let i = index % list.logs.len();
            index /= list.logs.len();
            (list, i)
        })
    }

    /// Of `e^{−(c−1)(s−ε)}`, or with c for P.
    fn factor(&self) -> Dd {
        if self.expectation == Expectation::UpperP { Dd::from(self.c) } else { Dd::sum(self.c, -1.0) }
    }

    fn weighted(&self, index: usize) -> Weighted {
        // ε − s, exactly: the sum of the steps less μ²/2.
        let mut left = self.at.exact.clone();
        let (mut log, mut size, mut error) = (0.0, 0.0, self.error);
        for (kind, (list, i)) in self.kinds.iter().zip(self.entries(index)) {
            let step = kind.step.as_ref().expect("discrete noise");
            let x = Rational::integer((list.start + i as f64) as i64);
            left = left + &kind.mu2 / &Rational::integer(2) - step * &x;
            log += list.logs[i];
            size += list.logs[i].abs();
            error += list.error;
        }
        let moved = self.factor().mul(left.to_dd());
        let found = self.exponent.add(Dd::from(log)).add(moved);
        let sizes = self.exponent.hi.abs() + moved.hi.abs() + found.hi.abs();
        Weighted { log: found, error: error + 16.0 * UNIT * size + 16.0 * DD_UNIT * sizes, left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::Described;
    use crate::profile::Accountant;

    fn groups(mechanisms: &[&str]) -> Vec<(Mechanism, u128)> {
        let parse = |text: &&str| {
            let Described { mechanism, count } = Described::parse(text).unwrap();
            (mechanism, u128::from(count))
        };
        mechanisms.iter().map(parse).collect()
    }

    fn at(epsilon: &str) -> Point {
        Point::new(epsilon.parse().unwrap())
    }

    /// Compositions on a lattice, of which the first kind is taken out although nobody needs that.
    #[test]
    fn what_is_found_given_a_few_is_what_is_found_without() {
        let all = [
            &["sigma2=0.01,shift=2", "sigma2=3,count=4"][..],
            &["sigma2=0.125,count=3", "sigma2=5/2,count=20", "sigma2=10,shift=3"],
            &["sigma2=1/2", "sigma2=1/3,count=2", "sigma2=7,count=9"],
            &["sigma2=0.005,count=2", "sigma2=40"],
            // Sums of many.
            &["sigma2=0.01,count=400", "sigma2=3,count=4"],
            &["sigma2=0.08,count=1000,shift=3", "sigma2=2,count=9"],
        ];
        let mut checked = 0;
        for (taken, mechanisms) in [1, 1, 2, 1, 1, 1].into_iter().zip(all) {
            let groups = groups(mechanisms);
            let whole = Gaussians::new(&groups, Effort::Normal);
            assert!(whole.is_exact());
            let few = Conditioned {
                few: Spectrum::new(&groups[..taken]),
                others: Box::new(Gaussians::unconditioned(&groups[taken..], Effort::Normal)),
                effort: Effort::Normal,
            };
            for epsilon in ["0", "1/7", "0.9", "3", "11", "40", "99.5", "150", "333", "801.25", "1500"] {
                let at = at(epsilon);
                let delta = whole.delta(&at, 1e-6);
                let truths = [
                    (Expectation::Delta, delta.delta),
                    (Expectation::Complement, delta.complement),
                    (Expectation::UpperP, whole.p_tail(&at, 1e-6)),
                    (Expectation::UpperQ, whole.q_tail(&at, 1e-6)),
                ];
                for (expectation, truth) in truths {
                    let found = few.solve(expectation, &at, 1e-6).unwrap();
                    let what = format!("{mechanisms:?} {expectation:?} at {epsilon}: {found:?} {truth:?}");
                    assert!(found.overlaps(&truth), "{what}");
                    // Far above the mean loss nobody asks for the complement, which is 1.
                    let is_asked =
                        expectation != Expectation::Complement || at.dd.hi < whole.mu2() + whole.mu2().sqrt();
                    assert!(!is_asked || found.relative_width() < 1e-8, "{what}");
                    checked += 1;
                }
            }
        }
        assert_eq!(checked, 6 * 11 * 4);
    }

    /// Answers that were `[0, …]` or took seconds when all was smoothed together.
    #[test]
    fn sparse_noise_beside_dense_noise_is_no_obstacle() {
        let mixes = [
            (&["sigma2=0.0071164,shift=2", "sigma2=65.977,count=100", "sigma2=65.9770001"][..], "341", 1e-4),
            (&["sigma2=0.001,count=3,shift=2", "gaussian:sigma2=238538.7,count=5"], "12000", 1e-9),
            (&["sigma2=0.001,count=3,shift=2", "gaussian:sigma2=238538.7,count=5"], "8000.001", 1e-9),
            (
                &["sigma2=192006295493/200000600000", "sigma2=0.15915500000003,count=300,shift=2"],
                "4244.97",
                1e-9,
            ),
            // Many sparse ones, beside which no few leave what is on a usable lattice.
            (
                &[
                    "sigma2=0.6423166625793987,count=2,shift=2",
                    "sigma2=0.01079509266370627,count=4002",
                    "sigma2=0.777,count=4",
                ],
                "185396.95",
                1e-6,
            ),
        ];
        for (mechanisms, epsilon, width) in mixes {
            let accountant =
                Accountant::new(&groups(mechanisms), Effort::Normal, Default::default()).unwrap();
            let at = at(epsilon);
            for found in [
                accountant.delta(&at, 1e-6).delta,
                accountant.p_tail(&at, 1e-6),
                accountant.q_tail(&at, 1e-6),
            ] {
                assert!(found.relative_width() < width, "{mechanisms:?}: {found:?}");
            }
        }
    }
}
