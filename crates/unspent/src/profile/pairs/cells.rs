//! Compositions of few mechanisms, or of rare large losses: laws cut into cells, composed by doubling
//! (M12).
//!
//! An integral along a line needs as many nodes as the largest loss is times the usual one. Here the number
//! of cells grows with the logarithm of that. What is lost is second order in the size of a cell.

use super::super::Point;
use super::ordered::Kind;
use crate::effort::Effort;
use crate::loss::{Cell, Cells};
use crate::number::float::{self, Sum, UNIT};
use crate::number::{Bounds, Magnitude};
use crate::stop;

/// Two independent halves of a composition: its finite losses, from either side.
#[derive(Debug)]
pub(super) struct Halves {
    lower: [Vec<Cell>; 2],
    upper: [Vec<Cell>; 2],
    missing: f64,
}

/// Half of the losses are then about so near to each other.
const RARE: f64 = 2e-3;
/// Cells that tell that.
const COARSE: usize = 100;
/// Pairs of cells that all convolutions together may take: about half a second, and what is worth waiting
/// for while somebody moves a slider.
const WORK: f64 = 8e6;
const FAST_WORK: f64 = 4e5;
const LEAST_CELLS: f64 = 150.0;
const MOST_CELLS: f64 = 2000.0;
/// Products of masses below this are not followed.
const LEAST: f64 = 1e-307;
/// A lower end below this is none: parts of such products have few digits.
const LEAST_DELTA: f64 = 1e-290;

impl Halves {
    /// `None` if the law of some kind is not cut, or if cells would be too large to say anything.
    pub fn new(kinds: &[Kind], effort: Effort) -> Option<Halves> {
        if kinds.is_empty() || kinds.iter().any(|kind| kind.whole > 1 << 40) {
            return None;
        }
        // Squares of powers, and products of all factors but the last.
        let of_kind = |k: &Kind| {
            let bits = u128::BITS - k.whole.leading_zeros();
            bits.saturating_sub(2) + k.whole.count_ones() + u32::from(bits > 1)
        };
        let convolutions = kinds.iter().map(of_kind).sum::<u32>().saturating_sub(2).max(1);
        let work = if effort == Effort::Fast { FAST_WORK } else { WORK };
        let cells = (work / (2.0 * f64::from(convolutions))).sqrt().clamp(LEAST_CELLS, MOST_CELLS) as usize;
        let mut factors = vec![];
        for kind in kinds {
            let mut power = kind.law.cells(cells)?;
            let mut left = kind.whole;
            while left > 1 {
                if left & 1 == 1 {
                    factors.push(power.clone());
                }
                if left < 4 {
                    // The largest power is not formed: its two halves are factors.
                    factors.push(power.clone());
                    break;
                }
                power = convolve(&power, &power, cells);
                left /= 2;
            }
            factors.push(power);
        }
        let last = factors.pop()?;
        let first = factors.into_iter().reduce(|a, b| convolve(&a, &b, cells)).unwrap_or_else(Cells::nothing);
        Some(Halves {
            missing: first.missing + last.missing,
            lower: [first.lower, last.lower],
            upper: [first.upper, last.upper],
        })
    }

    /// The part of finite losses of δ(ε).
    pub fn delta(&self, at: &Point) -> Bounds<Magnitude> {
        let epsilon = at.dd.to_f64();
        let end = |[a, b]: &[Vec<Cell>; 2], outward: f64| {
            let range = b.first().zip(b.last()).map_or(0.0, |(first, last)| last.loss - first.loss);
            // The sum over b is a chain of as many steps, each of a few roundings and of one of its exponent.
            let roundings = 64.0 + 24.0 * b.len() as f64 + 2.0 * range;
            above(a, b, epsilon, outward) * (1.0 + outward * UNIT * roundings)
        };
        let lower = end(&self.lower, -1.0);
        let lower = if lower > LEAST_DELTA { lower } else { 0.0 };
        let upper = end(&self.upper, 1.0) + self.missing * (1.0 + 4.0 * UNIT) + 1e-310;
        let upper = if upper < 1.0 { upper } else { 1.0 };
        Bounds::new(Magnitude::from_f64(lower), Magnitude::from_f64(upper))
    }
}

/// Whether most losses are so small beside those that matter that an integral would be long.
pub(super) fn is_rare(kinds: &[Kind]) -> bool {
    let spread = |kind: &Kind| Some(kind.count * bulk(&kind.law.cells(COARSE)?).1.powi(2));
    kinds.iter().map(spread).sum::<Option<f64>>().is_some_and(|square| square.sqrt() < RARE)
}

impl Cells {
    fn nothing() -> Cells {
        let one = vec![Cell { loss: 0.0, mass: 1.0 }];
        Cells { lower: one.clone(), upper: one, missing: 0.0 }
    }
}

/// `E_Q[(1 − e^{ε − L})₊]` of a sum of two losses; ε is moved by the rounding of differences, outward.
fn above(a: &[Cell], b: &[Cell], epsilon: f64, outward: f64) -> f64 {
    // From each loss of b on: its mass, and the same sum with ε at that loss.
    let mut tails = vec![(0.0, 0.0); b.len() + 1];
    let mut next = f64::INFINITY;
    for (j, cell) in b.iter().enumerate().rev() {
        let (mass, value) = tails[j + 1];
        let fall = cell.loss - next;
        tails[j] = if next.is_finite() {
            (mass + cell.mass, -float::expm1(fall) * mass + float::exp(fall) * value)
        } else {
            (cell.mass, 0.0)
        };
        next = cell.loss;
    }
    let mut sum = Sum::default();
    for cell in a {
        let blur = 4.0 * UNIT * (epsilon.abs() + cell.loss.abs());
        let threshold = epsilon - cell.loss - outward * blur;
        let j = b.partition_point(|other| other.loss <= threshold);
        if let Some(other) = b.get(j) {
            let fall = threshold - other.loss;
            sum.push(cell.mass * (-float::expm1(fall) * tails[j].0 + float::exp(fall) * tails[j].1));
        }
    }
    sum.value()
}

/// The ends of cells for a sum of two losses: about as fine as the bulk of the law in its middle, and growing
/// in proportion to the distance from there.
fn ends(a: &Cells, b: &Cells, cells: usize) -> Vec<f64> {
    let (ma, sa, a0, a1) = bulk(a);
    let (mb, sb, b0, b1) = bulk(b);
    // No sum is outside, however it is rounded.
    let blur = 1e-15 * (a0.abs() + a1.abs() + b0.abs() + b1.abs());
    let (middle, low, high) = (ma + mb, a0 + b0 - blur, a1 + b1 + blur);
    let scale = (sa * sa + sb * sb).sqrt().max(1e-12 * (high - low)).max(1e-300);
    let asinh = |x: f64| {
        if x < 0.0 { -float::ln(-x + (x * x + 1.0).sqrt()) } else { float::ln(x + (x * x + 1.0).sqrt()) }
    };
    let (from, to) = (asinh((low - middle) / scale), asinh((high - middle) / scale));
    let at = |i: usize| middle + scale * float::sinh_cosh(from + (to - from) * i as f64 / cells as f64).0;
    let mut ends: Vec<f64> = (0..=cells).map(at).filter(|end| low < *end && *end < high).collect();
    ends.insert(0, low);
    ends.push(high);
    ends.dedup_by(|next, last| *next <= *last);
    ends
}

/// Middle and spread of the half of the mass that is in the middle, and the ends; these only steer.
fn bulk(law: &Cells) -> (f64, f64, f64, f64) {
    let cells = &law.upper;
    let total: f64 = cells.iter().map(|cell| cell.mass).sum();
    let quantile = |share: f64| {
        let mut sum = 0.0;
        let found = cells.iter().find(|cell| {
            sum += cell.mass;
            sum >= share * total
        });
        found.map_or(0.0, |cell| cell.loss)
    };
    let (a, b) = (quantile(0.25), quantile(0.75));
    let end = |cell: Option<&Cell>| cell.map_or(0.0, |cell| cell.loss);
    let low = end(cells.first()).min(end(law.lower.first()));
    (0.5 * (a + b), 0.5 * (b - a), low, end(cells.last()))
}

/// The law of the sum of two losses, cut again.
fn convolve(a: &Cells, b: &Cells, cells: usize) -> Cells {
    let grid = ends(a, b, cells);
    let (upper, missing) = spread(a, b, &grid);
    Cells { lower: merge(&a.lower, &b.lower, &grid), upper, missing }
}

/// Every pair's mass goes to the two ends of its cell, so that the masses under P and under Q are kept.
fn spread(a: &Cells, b: &Cells, grid: &[f64]) -> (Vec<Cell>, f64) {
    let mut sums = vec![Sum::default(); grid.len()];
    let mut missing = Sum::default();
    let wide: Vec<f64> = grid.windows(2).map(|ends| -float::expm1(ends[0] - ends[1])).collect();
    let top = grid.len() - 1;
    for x in &a.upper {
        stop::check();
        let mut i = 0;
        for y in &b.upper {
            let mass = x.mass * y.mass;
            if mass < LEAST {
                missing.push(mass);
                continue;
            }
            let loss = (x.loss + y.loss).next_up();
            while i < top && grid[i + 1] <= loss {
                i += 1;
            }
            if loss <= grid[0] {
                sums[0].push(mass);
            } else if i == top {
                // The sum of the largest losses may be an end.
                if loss > grid[top] { missing.push(mass) } else { sums[top].push(mass) }
            } else {
                // Parts (1 − e^{−x})/(1 − e^{−w}) and e^{−x}(1 − e^{x−w})/(1 − e^{−w}), x above the lower
                // end.
                let (above, below) = (grid[i] - loss, loss - grid[i + 1]);
                sums[i + 1].push(mass * (-float::expm1(above) / wide[i]));
                sums[i].push(mass * (float::exp(above) * -float::expm1(below) / wide[i]));
            }
        }
    }
    // A product, a difference, three functions and their product are within 40u and the width of a cell; a
    // compensated sum of positive terms within 3u.
    let list = grid.iter().zip(&sums).enumerate().map(|(i, (loss, sum))| {
        let width = if i > 0 { grid[i] - grid[i - 1] } else { 0.0 }
            + if i < top { grid[i + 1] - grid[i] } else { 0.0 };
        Cell { loss: *loss, mass: sum.value() * (1.0 + UNIT * (48.0 + width)) }
    });
    // What is not a number is kept, and then nothing is known.
    let upper = list.filter(|cell| cell.mass != 0.0).collect();
    (upper, float::up(missing.value() + a.missing + b.missing, 16.0) + 1e-310)
}

/// The mass of all pairs in a cell goes to where their mean of `e^{−L}` is.
fn merge(a: &[Cell], b: &[Cell], grid: &[f64]) -> Vec<Cell> {
    let mut sums = vec![(Sum::default(), Sum::default()); grid.len()];
    let top = grid.len() - 1;
    for x in a {
        stop::check();
        let mut i = 0;
        for y in b {
            let mass = x.mass * y.mass;
            let loss = (x.loss + y.loss).next_down();
            if mass < LEAST || loss < grid[0] {
                continue;
            }
            while i < top && grid[i + 1] <= loss {
                i += 1;
            }
            sums[i].0.push(mass);
            if i < top {
                sums[i].1.push(mass * -float::expm1(grid[i] - loss));
            }
        }
    }
    let list = grid.iter().zip(&sums).map(|(end, (mass, part))| {
        let mass = mass.value();
        // Within 40u, and far from the 1 at which the logarithm would make more of that.
        let share = (part.value() / mass * (1.0 - 64.0 * UNIT)).min(0.9);
        let above = -float::ln1p(-share) * (1.0 - 64.0 * UNIT);
        Cell { loss: (end + above).next_down(), mass: mass * (1.0 - 16.0 * UNIT) }
    });
    let mut list: Vec<Cell> = list.filter(|cell| cell.mass > LEAST).collect();
    list.sort_by(|x, y| x.loss.total_cmp(&y.loss));
    list
}
