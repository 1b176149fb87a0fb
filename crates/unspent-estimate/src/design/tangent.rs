//! A linear function of the precisions below a sum of variances, in whole numbers (Lemma B5 of
//! `theory/design.md`).
//!
//! With G the sum of `g gᵀ` over the copies of a block, and any symmetric X on whose image all exact
//! functionals are zero,
//!
//! ```text
//! ⟨G, P_k(w)⁻¹⟩ ≥ 2⟨G, X⟩ − ⟨X G X, P_k(w)⟩   for all w,
//! ```
//!
//! with equality where X is `P_k(w)⁻¹`. So an inverse in doubles gives a bound that is exact, and nearly as
//! good as any: what is lost is the square of its error.

use std::collections::HashMap;

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Zero};

use super::evaluator::Inverse;
use super::exact::{self, fixed, fixed_up};
use super::program::{Frame, Variable, Variance};
use crate::matrix::Matrix;
use crate::subspace::Subspace;

/// `2 · constant − slopes · w`; all numbers are [`fixed`].
pub(super) struct Tangent {
    /// Rounded down.
    pub(super) constant: BigInt,
    /// One for each variable, rounded up.
    pub(super) slopes: Vec<BigInt>,
}

impl Frame {
    /// Below a sum of variances with positive factors, near precisions where these are the inverses.
    pub(super) fn tangent(&self, sum: &[(&BigRational, &Variance)], inverses: &[Inverse]) -> Tangent {
        // Factors of pairs at levels, over one denominator.
        let common = sum
            .iter()
            .fold(BigInt::one(), |common, (y, variance)| common.lcm(&(y.denom() * &variance.denominator)));
        let mut weights = vec![vec![BigInt::zero(); self.pairs.len()]; self.units.len()];
        for (y, variance) in sum {
            let factor = y.numer() * (&common / (y.denom() * &variance.denominator));
            for (level, pair, number) in &variance.factors {
                weights[*level][*pair] += number * &factor;
            }
        }
        let mut constant = BigInt::zero();
        let mut of_query: Vec<HashMap<usize, BigInt>> = vec![HashMap::new(); self.units.len()];
        for Inverse { level, block, matrix } in inverses {
            let (level, block) = (*level, *block);
            let asked = |p: &usize| self.pairs[*p].block == block && !weights[level][*p].is_zero();
            let pairs: Vec<usize> = (0..self.pairs.len()).filter(asked).collect();
            let Some(x) = WholeInverse::new(matrix, &self.exact_part(level, block)) else { continue };
            if pairs.is_empty() {
                continue;
            }
            let size = matrix.rows();
            let (directions, scales): (Vec<_>, Vec<_>) = (self.directions[block].iter())
                .map(|direction| exact::whole(&direction.iter().collect::<Vec<_>>()))
                .unzip();
            let scale = scales.iter().fold(BigInt::one(), |common, scale| common.lcm(scale));
            // ⟨G, X⟩, and X G X as a matrix that need not be symmetric: the others are, so that it does not
            // matter.
            let mut images: HashMap<usize, Vec<BigInt>> = HashMap::new();
            let mut inner = BigInt::zero();
            let mut around = vec![vec![BigInt::zero(); size]; size];
            for pair in pairs {
                let (first, second) = (self.pairs[pair].first, self.pairs[pair].second);
                let weight = &weights[level][pair] * (&scale / &scales[first]) * (&scale / &scales[second]);
                for at in [first, second] {
                    let image = || x.rows.iter().map(|row| exact::dot(row, &directions[at])).collect();
                    images.entry(at).or_insert_with(image);
                }
                let (a, b) = (&images[&first], &images[&second]);
                inner += exact::dot(&directions[first], b) * &weight;
                for (row, a) in around.iter_mut().zip(a) {
                    let a = a * &weight;
                    row.iter_mut().zip(b).for_each(|(sum, b)| *sum += &a * b);
                }
            }
            let denominator = &common * &scale * &scale * &x.denominator;
            constant += fixed(&inner, &denominator);
            let information = &self.information[block];
            let denominator = denominator * &x.denominator * &information.common;
            for query in &self.model.blocks()[block].queries {
                let slope = fixed_up(&information.inner(query.query, &around), &denominator);
                *of_query[level].entry(query.query).or_default() += slope;
            }
        }
        // 1/M_kl is U_k/U_l.
        let slope = |variable: &Variable| {
            let levels = (0..=variable.level).filter_map(|level| {
                Some(of_query[level].get(&variable.query)? * BigInt::from(self.units[level]))
            });
            let sum: BigInt = levels.sum();
            Integer::div_ceil(&sum, &BigInt::from(self.units[variable.level]))
        };
        Tangent { constant, slopes: self.variables.iter().map(slope).collect() }
    }
}

/// A symmetric matrix of fractions near one of doubles, zero on functionals that are exact.
struct WholeInverse {
    rows: Vec<Vec<BigInt>>,
    denominator: BigInt,
}

/// Bits of its largest entry.
const BITS: i32 = 60;

impl WholeInverse {
    /// None for zero, or for a matrix that is not finite.
    fn new(matrix: &Matrix, exact: &Subspace) -> Option<WholeInverse> {
        let largest = matrix.entries().iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
        if largest == 0.0 || !matrix.entries().iter().all(|x| x.is_finite()) {
            return None;
        }
        let shift = (BITS - pxfm::f_log2(largest).floor() as i32).clamp(0, 900);
        let power = 2f64.powi(shift);
        // Below 2^62, unless it is huge: then the integer saturates, and the bound is right but bad.
        let entry = |i: usize, j: usize| BigInt::from((matrix[(i, j)] * power).round() as i128);
        let size = matrix.rows();
        let mut denominator = BigInt::one() << shift;
        let near = |at: &[usize]| -> Vec<Vec<BigInt>> {
            // Both halves are rounded from the same entry.
            at.iter().map(|i| at.iter().map(|j| entry(*i.min(j), *i.max(j))).collect()).collect()
        };
        if exact.is_zero() {
            let all: Vec<usize> = (0..size).collect();
            return Some(WholeInverse { rows: near(&all), denominator });
        }
        // Coordinates on which they are zero: each basis vector has a coordinate of its own, where it is 1.
        let basis = exact.unseen();
        if basis.is_empty() {
            return None;
        }
        let own: Vec<usize> = (basis.iter().enumerate())
            .map(|(at, vector)| {
                let is_own = |i: &usize| {
                    vector[*i].is_one() && basis.iter().enumerate().all(|(b, v)| b == at || v[*i].is_zero())
                };
                (0..size).find(is_own).expect("a reduced echelon form")
            })
            .collect();
        let (entries, scale) = exact::whole(&basis.iter().flatten().collect::<Vec<_>>());
        let basis: Vec<Vec<BigInt>> = entries.chunks(size).map(<[BigInt]>::to_vec).collect();
        let turned: Vec<Vec<BigInt>> =
            (0..size).map(|i| basis.iter().map(|vector| vector[i].clone()).collect()).collect();
        denominator *= &scale * &scale;
        Some(WholeInverse { rows: times(&times(&turned, &near(&own)), &basis), denominator })
    }
}

fn times(a: &[Vec<BigInt>], b: &[Vec<BigInt>]) -> Vec<Vec<BigInt>> {
    let row = |of: &Vec<BigInt>| {
        let mut sum = vec![BigInt::zero(); b[0].len()];
        for (x, row) in of.iter().zip(b).filter(|(x, _)| !x.is_zero()) {
            sum.iter_mut().zip(row).filter(|(_, y)| !y.is_zero()).for_each(|(sum, y)| *sum += x * y);
        }
        sum
    };
    a.iter().map(row).collect()
}
