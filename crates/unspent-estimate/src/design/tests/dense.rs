//! Variances by their definition: all tables of all smallest units at once, in exact fractions.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};

use crate::design::exact::{dot, solve, whole};
use crate::space::Space;

/// Units of a level, and how often each cell of each of them counts.
pub(super) struct Sum<'s> {
    pub(super) level: usize,
    pub(super) units: &'s [usize],
    pub(super) weights: &'s [i32],
}

/// A tree with as many units in every unit of a level; what is measured at each level, and exact.
pub(super) struct Dense<'s> {
    pub(super) space: &'s Space,
    pub(super) units: &'s [u64],
    /// Level, query and precision.
    pub(super) measured: Vec<(usize, usize, BigRational)>,
    /// Level and query.
    pub(super) exact: Vec<(usize, usize)>,
}

impl Dense<'_> {
    /// How many unknown numbers and exact answers there are.
    pub(super) fn size(&self) -> usize {
        let leaves = *self.units.last().expect("a level") as usize;
        let answers = |(level, query): &(usize, usize)| {
            self.units[*level] as usize * self.space.queries()[*query].length()
        };
        leaves * self.space.cells() + self.exact.iter().map(answers).sum::<usize>()
    }

    /// The cells of smallest units that each answer of a query at a level counts.
    fn answers(&self, level: usize, query: usize) -> Vec<Vec<usize>> {
        let cells = self.space.cells();
        let leaves = *self.units.last().expect("a level") as usize;
        let inside = leaves / self.units[level] as usize;
        let length = self.space.queries()[query].length();
        let mut answers = vec![vec![]; self.units[level] as usize * length];
        for leaf in 0..leaves {
            for cell in 0..cells {
                if let Some(place) = self.space.place_of(query, cell) {
                    answers[leaf / inside * length + place].push(leaf * cells + cell);
                }
            }
        }
        answers
    }

    /// The variance of each sum; none if it is not determined.
    pub(super) fn variances(&self, sums: &[Sum<'_>]) -> Vec<Option<BigRational>> {
        let cells = self.space.cells();
        let leaves = *self.units.last().expect("a level") as usize;
        let unknown = leaves * cells;
        let exact: Vec<Vec<usize>> = self.exact.iter().flat_map(|(l, q)| self.answers(*l, *q)).collect();
        let size = unknown + exact.len();
        let precisions: Vec<&BigRational> = self.measured.iter().map(|(_, _, precision)| precision).collect();
        // In whole numbers: all precisions times the same.
        let (precisions, scale) = whole(&precisions);
        let mut matrix = vec![vec![BigInt::zero(); size]; size];
        for ((level, query, _), precision) in self.measured.iter().zip(&precisions) {
            for answer in self.answers(*level, *query) {
                for i in &answer {
                    for j in &answer {
                        matrix[*i][*j] += precision;
                    }
                }
            }
        }
        for (row, answer) in exact.iter().enumerate() {
            for i in answer {
                matrix[*i][unknown + row] = BigInt::one();
                matrix[unknown + row][*i] = BigInt::one();
            }
        }
        let right = sums.iter().map(|sum| {
            let mut side = vec![BigInt::zero(); size];
            let inside = leaves / self.units[sum.level] as usize;
            for leaf in sum.units.iter().flat_map(|unit| unit * inside..(unit + 1) * inside) {
                for (cell, weight) in sum.weights.iter().enumerate() {
                    side[leaf * cells + cell] += *weight;
                }
            }
            side
        });
        let right: Vec<Vec<BigInt>> = right.collect();
        let found = solve(matrix, &right);
        let variance = |(numerators, side): (&Option<Vec<BigInt>>, &Vec<BigInt>)| {
            Some(BigRational::new(dot(side, numerators.as_ref()?) * &scale, found.denominator.clone()))
        };
        found.numerators.iter().zip(&right).map(variance).collect()
    }
}
