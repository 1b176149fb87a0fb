//! A few mechanisms: add up the atoms of the loss, one by one.
//!
//! The law of the loss of two or three mechanisms is a product of short lists. It can be so sparse
//! that the tilted integrand is much larger than the answer, and it may lie on no usable lattice;
//! but then it can be enumerated. With `y = L − ε` and tilted weights
//! `T(x) = e^{−(x−cΔ)²/2σ²}`, every expectation is
//!
//! ```text
//! V = e^{μ²c(c−1)/2 − Σ n·ln Z − (c−1)ε} · Σ_atoms Π T(x) · w(y),     0 ≤ w ≤ 1,
//! ```
//!
//! a sum of non-negative terms, so rounding is relative to the answer whatever `c` is. The tilt
//! only says where the lists may be cut. Terms are added up relative to the largest, from their
//! logarithms (R9): with variances near 10⁻³ even the largest can be below every double.

mod list;

use super::Point;
use super::kernel::{Expectation, ln_one_minus_exp};
use super::spectrum::Spectrum;
use super::term::{Term, dropping};
use crate::number::float::{self, DD_UNIT, Dd, FUNCTION, Sum, UNIT};
use crate::number::{Bounds, Magnitude, Rational, Round};
use crate::stop;
pub(super) use list::List;

/// Most atoms that are enumerated for one answer.
const MAX_ATOMS: f64 = (1u64 << 20) as f64;
/// Most equal mechanisms that are enumerated, and whose sum is listed beside others.
const MAX_COUNT: f64 = 64.0;
pub(super) const MAX_SUM: f64 = (1u64 << 17) as f64;
/// Cuts that are tried, until one is enough.
pub(super) const CUTS: [f64; 4] = [80.0, 300.0, 1200.0, 4800.0];
/// What lies outside the lists is little against an answer if it is below this fraction of it.
pub(super) const LITTLE: f64 = 1e-12;

/// What is small enough to be bounded instead of computed.
#[derive(Clone, Copy)]
struct Thresholds {
    /// Lists are cut where a weight falls below `e^{−cut}` of its largest.
    cut: f64,
    /// Terms below `e^{−negligible}` of the largest are passed over.
    negligible: f64,
}

/// A million terms below `e^{−50}` of the largest are 2·10⁻¹⁶ of it.
const USUAL: Thresholds = Thresholds { cut: CUTS[0], negligible: 50.0 };

/// How many times the error of a double-double a loss must be away from ε to be left to it.
const NEAR: f64 = (1u64 << 20) as f64;

/// About how many atoms one answer takes; `None` if they are too many.
pub(crate) fn atoms(spectrum: &Spectrum) -> Option<f64> {
    let atoms = spectrum.kinds.iter().map(|kind| match &kind.noise {
        Some(noise) if kind.count <= MAX_COUNT => {
            let radius = (2.0 * CUTS[0] * noise.sigma2 * kind.count).sqrt() + 2.0 * kind.count;
            2.0 * radius
        }
        _ => f64::INFINITY,
    });
    Some(atoms.product::<f64>()).filter(|atoms| *atoms <= MAX_ATOMS)
}

/// The expectation at ε, or `None` if it takes too many atoms.
pub(crate) fn solve(spectrum: &Spectrum, expectation: Expectation, at: &Point) -> Option<Bounds<Magnitude>> {
    let (low, high) = expectation.domain();
    let c = (at.dd.hi / spectrum.mu2.hi + 0.5).clamp(low.max(-1e6), high.min(1e6));
    let mut best: Option<Bounds<Magnitude>> = None;
    for cut in CUTS {
        let Some(found) = solve_within(spectrum, expectation, at, c, Thresholds { cut, ..USUAL }) else {
            break;
        };
        let bounds = best.map_or(found.bounds, |b| b.intersect(&found.bounds));
        if found.outside <= bounds.lower().mul(Magnitude::from_f64(LITTLE), Round::Down) {
            return Some(bounds);
        }
        best = Some(bounds);
    }
    best
}

/// An answer, and the part of its upper end that is for what the lists leave out.
struct Found {
    bounds: Bounds<Magnitude>,
    outside: Magnitude,
}

/// The logarithm of what all terms have in common, and the bound of its error.
pub(super) fn common(
    spectrum: &Spectrum,
    lists: &[List],
    expectation: Expectation,
    at: &Point,
    c: f64,
) -> Option<(Dd, f64)> {
    // Σ n·ln Z, each Z a short sum of positive terms.
    let mut exponent = spectrum.mu2.mul(Dd::sum(c, -1.0).scale(c)).scale(0.5);
    let mut magnitude = exponent.hi.abs();
    let mut error = 0.0;
    for kind in &spectrum.kinds {
        let norm = kind.count * float::ln(kind.noise.as_ref()?.normaliser);
        exponent = exponent.sub(Dd::from(norm));
        error += kind.count * 32.0 * UNIT + 8.0 * UNIT * norm.abs();
    }
    let factor = if expectation == Expectation::UpperP { Dd::from(c) } else { Dd::sum(c, -1.0) };
    let shift = factor.mul(at.dd);
    magnitude += shift.hi.abs();
    exponent = exponent.sub(shift);
    error += 16.0 * DD_UNIT * magnitude;
    for list in lists {
        exponent = exponent.add(list.peak);
        error += list.peak_error;
    }
    Some((exponent, error))
}

/// What lists leave out: each list's outside times all of the others.
pub(super) fn left_out(lists: &[List]) -> Magnitude {
    let outside = (0..lists.len()).fold(Magnitude::ZERO, |sum, j| {
        let others = lists.iter().enumerate().filter(|(i, _)| *i != j);
        let product = others.fold(lists[j].outside, |product, (_, l)| {
            product.mul(Magnitude::from_f64(l.total).add(l.outside, Round::Up), Round::Up)
        });
        sum.add(product, Round::Up)
    });
    if dropping(Term::Remainder, 1.0) == 0.0 { Magnitude::ZERO } else { outside }
}

fn solve_within(
    spectrum: &Spectrum,
    expectation: Expectation,
    at: &Point,
    c: f64,
    Thresholds { cut, negligible }: Thresholds,
) -> Option<Found> {
    let lists: Option<Vec<List>> = spectrum.kinds.iter().map(|k| List::new(k, c, cut)).collect();
    let lists = lists?;
    if lists.iter().map(|l| l.logs.len() as f64).product::<f64>() > MAX_ATOMS {
        return None;
    }
    let (exponent, error) = common(spectrum, &lists, expectation, at, c)?;
    // First along the last list only, through the middle of the others: its largest term says what is too
    // small to matter anywhere.
    let mut atoms = Atoms::new(spectrum, &lists, expectation, c, at);
    let start = spectrum.mu2.scale(0.5).add(at.dd).neg();
    let mut chosen = vec![0.0; lists.len()];
    atoms.add(0, start, 0.0, &mut chosen, true);
    let floor = atoms.top() - negligible;
    atoms = Atoms { floor, ..Atoms::new(spectrum, &lists, expectation, c, at) };
    atoms.add(0, start, 0.0, &mut chosen, false);
    let top = atoms.top();
    // With w ≤ 1.
    let outside = Magnitude::exp(exponent, error, Round::Up).mul(left_out(&lists), Round::Up);
    if top == f64::NEG_INFINITY {
        return Some(Found { bounds: Bounds::new(Magnitude::ZERO, outside), outside });
    }
    let of_lists: f64 = lists.iter().map(|l| l.error).sum();
    let (mut sum, mut error_sum) = (Sum::default(), 0.0);
    for (log, of_factor) in &atoms.terms {
        // Terms below e^{−700} of the largest are lost in the doubles; a million of them are nothing
        // next to the 8u of the sum below.
        let term = float::exp(log - top);
        sum.push(term);
        // Logarithms are within 8u of their size, and so are their sums (all are negative).
        error_sum += term * (of_lists + of_factor + 16.0 * UNIT * (log.abs() + top.abs()) + 2.0 * FUNCTION);
    }
    // Atoms that were passed over: all of them, were they as large as they may be.
    let passed = if floor > f64::NEG_INFINITY { MAX_ATOMS * float::exp(floor - top) } else { 0.0 };
    let error_sum = dropping(Term::AtomRounding, error_sum * 1.01)
        + dropping(Term::Negligible, passed * 1.01)
        + dropping(Term::AtomRounding, 8.0 * UNIT * sum.value());
    let end = |sum: f64, round| {
        Magnitude::exp(exponent.add(Dd::from(top)), error + DD_UNIT * top.abs(), round)
            .mul(Magnitude::from_f64(sum.max(0.0)), round)
    };
    let upper = end(float::up(sum.value() + error_sum, 8.0), Round::Up).add(outside, Round::Up);
    let lower = end(float::down(sum.value() - error_sum, 8.0), Round::Down);
    Some(Found { bounds: Bounds::new(lower, upper), outside })
}

struct Atoms<'a> {
    spectrum: &'a Spectrum,
    lists: &'a [List],
    expectation: Expectation,
    c: f64,
    at: &'a Point,
    /// The largest logarithm that the lists from each on can add.
    reach: Vec<f64>,
    /// Atoms whose weight has a logarithm below this are passed over.
    floor: f64,
    /// The logarithm of each term, and the bound of what rounding its factor `w` adds to it.
    terms: Vec<(f64, f64)>,
}

impl<'a> Atoms<'a> {
    fn new(
        spectrum: &'a Spectrum,
        lists: &'a [List],
        expectation: Expectation,
        c: f64,
        at: &'a Point,
    ) -> Atoms<'a> {
        let mut reach = vec![0.0; lists.len() + 1];
        for (j, list) in lists.iter().enumerate().rev() {
            reach[j] = reach[j + 1] + list.logs[list.middle()];
        }
        Atoms { spectrum, lists, expectation, c, at, reach, floor: f64::NEG_INFINITY, terms: vec![] }
    }

    fn top(&self) -> f64 {
        self.terms.iter().fold(f64::NEG_INFINITY, |top, term| top.max(term.0))
    }

    /// Adds every atom that extends the chosen ones: `y` is L − ε so far, `log` that of the weights. Only
    /// `through` the largest weight of all lists but the last, if so asked.
    fn add(&mut self, depth: usize, y: Dd, log: f64, chosen: &mut Vec<f64>, through: bool) {
        if depth == self.lists.len() {
            return self.add_atom(y, log, chosen);
        }
        let (list, kind) = (&self.lists[depth], &self.spectrum.kinds[depth]);
        // The last list may begin where the loss passes ε, for expectations of what is zero below.
        let upper =
            matches!(self.expectation, Expectation::Delta | Expectation::UpperQ | Expectation::UpperP);
        let first = if upper && depth + 1 == self.lists.len() {
            // Two steps of margin are more than the rounding of either.
            (-y.hi / kind.step_dd.hi - list.start - 2.0).clamp(0.0, list.logs.len() as f64) as usize
        } else {
            0
        };
        let only = (through && depth + 1 < self.lists.len()).then(|| list.middle());
        for (i, l) in list.logs.iter().enumerate().skip(first) {
            // The factor `w` is at most 1. A rounding error or two is nothing to e^{−50}.
            let reaches = log + l + self.reach[depth + 1] >= self.floor;
            if *l > f64::NEG_INFINITY && reaches && only.is_none_or(|middle| middle == i) {
                let x = list.start + i as f64;
                chosen[depth] = x;
                self.add(depth + 1, y.add(kind.step_dd.scale(x)), log + l, chosen, through);
            }
        }
    }

    fn add_atom(&mut self, y: Dd, log: f64, chosen: &[f64]) {
        stop::check();
        let scale: f64 = self.spectrum.mu2.hi
            + self.at.dd.hi.abs()
            + self.spectrum.kinds.iter().zip(chosen).map(|(k, x)| k.step_dd.hi * x.abs()).sum::<f64>();
        let blur = 32.0 * DD_UNIT * scale;
        let c = self.c;
        // Nearer than that, the double-double has few digits or none: ask the rationals.
        let (above, y, log_y, dy) = if y.hi.abs() > NEAR * blur {
            let y = y.to_f64();
            (y > 0.0, y, None, 2.0 * UNIT * y.abs() + blur)
        } else {
            let gap = self.gap(chosen);
            let log = gap.to_bounds().ln();
            let y = y.to_f64().abs().min(2.0 * NEAR * blur);
            (gap.is_positive(), if gap.is_positive() { y } else { -y }, Some(log), 4.0 * NEAR * blur)
        };
        let log_factor = match (self.expectation, above) {
            // 1 − e^{−y} is y, up to a relative y/2.
            (Expectation::Delta, true) => {
                -(c - 1.0) * y + log_y.map_or_else(|| ln_one_minus_exp(y), |l| l.lower())
            }
            (Expectation::UpperQ, true) => -(c - 1.0) * y,
            (Expectation::Complement | Expectation::UpperP, true) => -c * y,
            (Expectation::Complement | Expectation::LowerQ, false) => (1.0 - c) * y,
            (Expectation::Delta | Expectation::UpperQ | Expectation::UpperP, false)
            | (Expectation::LowerQ, true) => return,
        };
        // The logarithm of `w` moves by at most (|c| + 1)·|dy|, and that of δ's factor
        // 1 − e^{−y} by at most |dy|/y more, or by the width of the exact logarithm.
        let near = match (self.expectation, log_y) {
            (Expectation::Delta, None) => dy / y,
            (Expectation::Delta, Some(log)) => log.upper() - log.lower() + dy,
            _ => 0.0,
        };
        let error = (c.abs() + 1.0) * dy + near + 8.0 * UNIT * log_factor.abs();
        self.terms.push((log + log_factor, error * 1.01));
    }

    /// L − ε, exactly.
    fn gap(&self, chosen: &[f64]) -> Rational {
        let mut loss = Rational::integer(0);
        for (kind, x) in self.spectrum.kinds.iter().zip(chosen) {
            let step = kind.step.as_ref().expect("enumerated kinds are on a lattice");
            let half = &kind.mu2 / &Rational::integer(2);
            loss = loss + step * &Rational::integer(*x as i64) - half;
        }
        loss - self.at.exact.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::term::DROPPED;
    use super::*;
    use crate::oracle;

    /// Truths of chosen compositions that are above the upper end with these thresholds, and those that are
    /// inside.
    fn above_and_inside(thresholds: Thresholds, term: Option<Term>) -> (usize, usize) {
        DROPPED.set(term);
        let (mut above, mut inside) = (0, 0);
        for case in oracle::file("standard.json")["cases"].as_array().unwrap() {
            let groups: Vec<_> =
                oracle::groups(&case["groups"]).into_iter().map(|(m, n)| (m, u128::from(n))).collect();
            let spectrum = Spectrum::new(&groups);
            if atoms(&spectrum).is_none() {
                continue;
            }
            for point in case["points"].as_array().unwrap() {
                let at = Point::new(oracle::exact(&point["e"]));
                let c = (at.dd.hi / spectrum.mu2.hi + 0.5).max(1.0);
                let Some(Found { bounds: found, .. }) =
                    solve_within(&spectrum, Expectation::Delta, &at, c, thresholds)
                else {
                    continue;
                };
                let (low, high) = oracle::enclosure(&point["d"]);
                if low.to_bounds().lower() > found.upper() {
                    above += 1;
                } else {
                    assert!(found.lower() <= high.to_bounds().upper(), "{case}: {point}");
                    inside += 1;
                }
            }
        }
        DROPPED.set(None);
        (above, inside)
    }

    /// With thresholds so low that what lies beyond them matters; with the usual ones it is below every
    /// rounding.
    #[test]
    fn a_dropped_remainder_of_the_enumeration_is_noticed() {
        let short = Thresholds { cut: 6.0, ..USUAL };
        let coarse = Thresholds { negligible: 4.0, ..USUAL };
        for (thresholds, term) in [(short, Term::Remainder), (coarse, Term::Negligible)] {
            let (above, inside) = above_and_inside(thresholds, None);
            assert!(above == 0 && inside > 300, "{term:?}: {above} above, {inside} inside");
            let (above, _) = above_and_inside(thresholds, Some(term));
            eprintln!("without {term:?}: {above} above");
            assert!(above > 0, "dropping {term:?} goes unnoticed");
        }
    }
}
