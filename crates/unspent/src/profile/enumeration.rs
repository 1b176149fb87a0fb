//! A few mechanisms: add up the atoms of the loss, one by one.
//!
//! The law of the loss of two or three mechanisms is a product of short lists. It can be so sparse
//! that the tilted integrand is much larger than the answer, and it may lie on no usable lattice;
//! but then it can be enumerated. With `y = L − ε` and tilted weights
//! `T(x) = e^{−(x−cΔ)²/2σ²}`, every payoff is
//!
//! ```text
//! V = e^{μ²c(c−1)/2 − Σ n·ln Z − (c−1)ε} · Σ_atoms Π T(x) · w(y),     0 ≤ w ≤ 1,
//! ```
//!
//! a sum of non-negative terms, so rounding is relative to the answer whatever `c` is. The tilt
//! only keeps the terms in range and says where the lists may be cut.

use super::Point;
use super::contour::{Term, dropping};
use super::kernel::Payoff;
use super::spectrum::{Kind, Spectrum};
use crate::bounds::{Bounds, Magnitude, Round};
use crate::exact::Rational;
use crate::float::{self, DD_UNIT, Dd, FUNCTION, Sum, UNIT};

/// Most atoms that are enumerated for one answer.
const MAX_ATOMS: f64 = (1u64 << 20) as f64;
/// Most equal mechanisms that are convolved.
const MAX_COUNT: f64 = 64.0;
/// Lists are cut where a weight falls below `e^{−CUT}`, at first and at last.
const CUTS: [f64; 2] = [80.0, 300.0];

/// The tilted weights of the sum of a group's noise, from `start` on.
struct List {
    start: f64,
    weights: Vec<f64>,
    /// Bounds: of the weight outside the list, and relative, of each weight inside.
    outside: f64,
    relative: f64,
    total: f64,
}

/// About how many atoms one answer takes; `None` if they are too many.
pub(crate) fn atoms(spectrum: &Spectrum) -> Option<f64> {
    let atoms = spectrum.kinds.iter().map(|kind| match &kind.noise {
        Some(noise) if kind.count <= MAX_COUNT => {
            let radius = (2.0 * CUTS[0] * noise.sigma2).sqrt() + 2.0;
            2.0 * radius * kind.count
        }
        _ => f64::INFINITY,
    });
    Some(atoms.product::<f64>()).filter(|atoms| *atoms <= MAX_ATOMS)
}

/// The payoff at ε, or `None` if it takes too many atoms.
pub(crate) fn solve(spectrum: &Spectrum, payoff: Payoff, at: &Point) -> Option<Bounds<Magnitude>> {
    let (low, high) = payoff.domain();
    let c = (at.dd.hi / spectrum.mu2.hi + 0.5).clamp(low.max(-1e6), high.min(1e6));
    let mut best: Option<Bounds<Magnitude>> = None;
    for cut in CUTS {
        let bounds = solve_within(spectrum, payoff, at, c, cut)?;
        let bounds = best.map_or(bounds, |b| b.intersect(&bounds));
        if bounds.relative_width() < 1e-11 {
            return Some(bounds);
        }
        best = Some(bounds);
    }
    best
}

fn solve_within(
    spectrum: &Spectrum,
    payoff: Payoff,
    at: &Point,
    c: f64,
    cut: f64,
) -> Option<Bounds<Magnitude>> {
    let lists: Option<Vec<List>> = spectrum.kinds.iter().map(|k| List::new(k, c, cut)).collect();
    let lists = lists?;
    if lists.iter().map(|l| l.weights.len() as f64).product::<f64>() > MAX_ATOMS {
        return None;
    }
    // Σ n·ln Z, each Z a short sum of positive terms.
    let mut exponent = spectrum.mu2.mul(Dd::sum(c, -1.0).scale(c)).scale(0.5);
    let mut magnitude = exponent.hi.abs();
    let mut error = 0.0;
    for kind in &spectrum.kinds {
        let norm = kind.count * float::ln(kind.noise.as_ref()?.normaliser);
        exponent = exponent.sub(Dd::from(norm));
        error += kind.count * 32.0 * UNIT + 8.0 * UNIT * norm.abs();
    }
    let factor = if payoff == Payoff::UpperP { Dd::from(c) } else { Dd::sum(c, -1.0) };
    let shift = factor.mul(at.dd);
    magnitude += shift.hi.abs();
    exponent = exponent.sub(shift);
    error += 16.0 * DD_UNIT * magnitude;

    let mut atoms = Atoms { spectrum, lists: &lists, payoff, c, at, sum: Sum::default(), error: 0.0 };
    let start = spectrum.mu2.scale(0.5).add(at.dd).neg();
    atoms.add(0, start, 1.0, &mut vec![0.0; lists.len()]);
    // What the lists leave out, with w ≤ 1: each list's outside times all of the others.
    let outside: f64 = (0..lists.len())
        .map(|j| {
            let others = lists.iter().enumerate().filter(|(i, _)| *i != j);
            lists[j].outside * others.map(|(_, l)| l.total + l.outside).product::<f64>()
        })
        .sum();
    // Relative to the sum, whose terms are all positive: the weights, their product, and the
    // compensated additions.
    let sum = atoms.sum.value();
    let relative = lists.iter().map(|l| l.relative + 2.0 * UNIT).sum::<f64>() + 8.0 * UNIT;
    let error_sum = dropping(Term::Rounding, relative * sum * 1.01 + atoms.error);
    let upper = Magnitude::exp(exponent, error, Round::Up)
        .mul(Magnitude::from_f64(float::up(sum + error_sum + outside * 1.01, 8.0)), Round::Up);
    let lower = Magnitude::exp(exponent, error, Round::Down)
        .mul(Magnitude::from_f64(float::down(sum - error_sum, 8.0).max(0.0)), Round::Down);
    Some(Bounds::new(lower, upper))
}

impl List {
    /// `None` if the group is too large to convolve.
    fn new(kind: &Kind, c: f64, cut: f64) -> Option<List> {
        let noise = kind.noise.as_ref()?;
        if kind.count > MAX_COUNT {
            return None;
        }
        let centre = (c * noise.shift).round();
        let phi = c.mul_add(noise.shift, -centre);
        let radius = (2.0 * cut * noise.sigma2).sqrt().ceil() + 1.0;
        if radius > MAX_ATOMS {
            return None;
        }
        let one: Vec<f64> = (-(radius as i64)..=radius as i64)
            .map(|x| {
                let d = x as f64 - phi;
                float::exp(-d * d / (2.0 * noise.sigma2))
            })
            .collect();
        // −d²/2σ² is within 6u of its size, d is at most two beyond √(2·cut·σ²); and the exponential.
        let of_one = UNIT * 6.0 * (cut + 3.0 * (radius + 1.0) / noise.sigma2) + FUNCTION;
        // From half a step beyond the radius: a geometric series with ratio e^{−edge/σ²}, twice.
        let edge = radius + 0.5;
        let tail =
            2.0 * float::exp(-edge * edge / (2.0 * noise.sigma2)) / -float::expm1(-edge / noise.sigma2);
        let mass: f64 = one.iter().sum();
        let (mut weights, mut start, mut total, mut outside, mut relative) =
            (one.clone(), centre - radius, mass, tail * 1.01, of_one);
        for _ in 1..kind.count as u64 {
            if weights.len() as f64 * one.len() as f64 > 64.0 * MAX_ATOMS {
                return None;
            }
            let mut next = vec![0.0; weights.len() + one.len() - 1];
            for (i, a) in weights.iter().enumerate() {
                for (j, b) in one.iter().enumerate() {
                    next[i + j] += a * b;
                }
            }
            outside = (outside * (mass + tail) + total * tail) * 1.01;
            weights = next;
            start += centre - radius;
            total *= mass;
            relative += of_one + UNIT * (one.len() as f64 + 2.0);
        }
        Some(List { start, weights, outside, relative, total: total * 1.01 })
    }
}

struct Atoms<'a> {
    spectrum: &'a Spectrum,
    lists: &'a [List],
    payoff: Payoff,
    c: f64,
    at: &'a Point,
    sum: Sum,
    /// Bound of the error of the payoffs.
    error: f64,
}

impl Atoms<'_> {
    /// Adds every atom that extends the chosen ones: `y` is L − ε so far, `weight` their product.
    fn add(&mut self, depth: usize, y: Dd, weight: f64, chosen: &mut Vec<f64>) {
        if depth == self.lists.len() {
            return self.add_atom(y, weight, chosen);
        }
        let (list, kind) = (&self.lists[depth], &self.spectrum.kinds[depth]);
        for (i, w) in list.weights.iter().enumerate() {
            let x = list.start + i as f64;
            chosen[depth] = x;
            self.add(depth + 1, y.add(kind.step_dd.scale(x)), weight * w, chosen);
        }
    }

    fn add_atom(&mut self, y: Dd, weight: f64, chosen: &[f64]) {
        let scale: f64 = self.spectrum.mu2.hi
            + self.at.dd.hi.abs()
            + self.spectrum.kinds.iter().zip(chosen).map(|(k, x)| k.step_dd.hi * x.abs()).sum::<f64>();
        let blur = 32.0 * DD_UNIT * scale;
        let above = if y.hi.abs() > blur { y.hi > 0.0 } else { self.is_above(chosen) };
        let (y, c) = (y.to_f64(), self.c);
        let w = match (self.payoff, above) {
            (Payoff::Call, true) => float::exp(-(c - 1.0) * y) * -float::expm1(-y),
            (Payoff::UpperQ, true) => float::exp(-(c - 1.0) * y),
            (Payoff::Covered | Payoff::UpperP, true) => float::exp(-c * y),
            (Payoff::Covered | Payoff::LowerQ, false) => float::exp((1.0 - c) * y),
            (Payoff::Call | Payoff::UpperQ | Payoff::UpperP, false) | (Payoff::LowerQ, true) => {
                return;
            }
        };
        let term = weight * w;
        self.sum.push(term);
        // y is within 2u and `blur`; a payoff moves by at most (|c| + 1)·|dy| relative, and the
        // call's factor 1 − e^{−y} by at most |dy|/|y| more.
        let dy = 2.0 * UNIT * y.abs() + blur;
        let near = if self.payoff == Payoff::Call { dy / y.abs().max(blur) } else { 0.0 };
        self.error += term * ((c.abs() + 1.0) * dy + near + 16.0 * UNIT) * 1.01;
    }

    /// L > ε, exactly.
    fn is_above(&self, chosen: &[f64]) -> bool {
        let mut loss = Rational::integer(0);
        for (kind, x) in self.spectrum.kinds.iter().zip(chosen) {
            let step = kind.step.as_ref().expect("enumerated kinds are on a lattice");
            let half = &kind.mu2 / &Rational::integer(2);
            loss = loss + step * &Rational::integer(*x as i64) - half;
        }
        loss > self.at.exact
    }
}
