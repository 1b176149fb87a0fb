//! Variances by their definition: all tables of all smallest units at once, in exact fractions.

use num_rational::BigRational;
use num_traits::Zero;

use crate::design::exact::solve;
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
        let mut matrix = vec![vec![BigRational::zero(); size]; size];
        for (level, query, precision) in &self.measured {
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
                matrix[*i][unknown + row] = BigRational::from_integer(1.into());
                matrix[unknown + row][*i] = BigRational::from_integer(1.into());
            }
        }
        let right: Vec<Vec<BigRational>> = sums
            .iter()
            .map(|sum| {
                let mut side = vec![BigRational::zero(); size];
                let inside = leaves / self.units[sum.level] as usize;
                for leaf in sum.units.iter().flat_map(|unit| unit * inside..(unit + 1) * inside) {
                    for (cell, weight) in sum.weights.iter().enumerate() {
                        side[leaf * cells + cell] += BigRational::from_integer((*weight).into());
                    }
                }
                side
            })
            .collect();
        let found = solve(&matrix, &right);
        let variance = |(numerators, side): (&Option<Vec<num_bigint::BigInt>>, &Vec<BigRational>)| {
            let x = numerators.as_ref()?;
            let sum = side.iter().zip(x).fold(BigRational::zero(), |sum, (a, x)| sum + a * x);
            Some(sum / &found.denominator)
        };
        found.numerators.iter().zip(&right).map(variance).collect()
    }
}
