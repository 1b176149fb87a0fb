//! Variances as functions of the precisions of measurements, on a regular tree (Lemmas B1 and B2 of
//! `theory/design.md`).
//!
//! The variance of every sum of cells, of every unit and set of units of one level, is
//!
//! ```text
//! Σ_k c_k Σ_p φ_p α_k(p),      α_k(p) = aᵀ P_k⁻¹ b,      P_k = Σ_{l ≥ k} Σ_q w_lq I_q / M_kl
//! ```
//!
//! over levels k and pairs p of directions a and b in a block. `I_q` is the information of a query in the
//! block, `M_kl` the number of units of level l in one of level k, and `w_lq` the precision (1/σ²) of a query
//! at a level. Numbers `c` depend on the units, `φ` on the sum of cells.

use std::collections::HashMap;
use std::sync::Arc;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};

use super::exact::{self, Solutions};
use crate::known::Known;
use crate::model::Model;
use crate::subspace::{Functional, Subspace};

/// A query at a level that may be measured.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) level: usize,
    /// By its place in the space.
    pub(super) query: usize,
    /// The ρ of precision 1.
    pub(super) cost: BigRational,
}

/// The variance of a sum of cells.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Variance {
    /// For each level `c_k`; zero from some level on.
    pub(super) levels: Vec<BigRational>,
    /// Pairs with their `φ`.
    pub(super) terms: Vec<(usize, BigRational)>,
}

/// Two directions of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pair {
    pub(super) block: usize,
    pub(super) first: usize,
    pub(super) second: usize,
}

/// What may be measured, and the directions in which it is asked how much is known.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) model: Arc<Model>,
    /// How many units each level has.
    pub(super) units: Vec<u64>,
    pub(super) variables: Vec<Variable>,
    /// For each level, the queries that are exact.
    exact: Vec<Vec<usize>>,
    /// For each block, directions that occur.
    pub(super) directions: Vec<Vec<Functional>>,
    pub(super) pairs: Vec<Pair>,
    numbers: HashMap<Pair, usize>,
}

impl Frame {
    pub(super) fn new(
        model: Arc<Model>,
        units: Vec<u64>,
        variables: Vec<Variable>,
        exact: Vec<Vec<usize>>,
    ) -> Frame {
        let directions = vec![vec![]; model.blocks().len()];
        Frame { model, units, variables, exact, directions, pairs: vec![], numbers: HashMap::new() }
    }

    /// Terms of the product of two functionals, each of which counts some of the values on each axis.
    pub(super) fn product(
        &mut self,
        first: &[Vec<bool>],
        second: &[Vec<bool>],
    ) -> HashMap<usize, BigRational> {
        let mut terms = HashMap::new();
        for common in self.model.clone().basis().common(first, second) {
            let (a, b) =
                (self.direction(common.block, common.first), self.direction(common.block, common.second));
            let pair = Pair { block: common.block, first: a.min(b), second: a.max(b) };
            let next = self.pairs.len();
            let number = *self.numbers.entry(pair).or_insert(next);
            if number == next {
                self.pairs.push(pair);
            }
            *terms.entry(number).or_insert_with(BigRational::zero) += common.factor;
        }
        terms
    }

    fn direction(&mut self, block: usize, direction: Functional) -> usize {
        let known = &mut self.directions[block];
        known.iter().position(|d| *d == direction).unwrap_or_else(|| {
            known.push(direction);
            known.len() - 1
        })
    }

    /// For each level, the queries that are exact.
    pub(super) fn exact(&self) -> &[Vec<usize>] {
        &self.exact
    }

    /// How many units of a level lie in one of a level above.
    pub(super) fn inside(&self, above: usize, below: usize) -> BigRational {
        BigRational::new(self.units[below].into(), self.units[above].into())
    }

    /// What is seen and exact in a block of the sums over units of a level, if these variables are measured.
    pub(super) fn known(&self, level: usize, block: usize, measured: &[bool]) -> Arc<Known> {
        let of_block = &self.model.blocks()[block];
        let mut exact = Subspace::zero(of_block.dimension);
        for query in self.exact[level..].iter().flatten() {
            if let Some(query) = of_block.query(*query) {
                exact = exact.sum(&query.seen);
            }
        }
        let mut seen = exact.clone();
        for (variable, _) in self.variables.iter().zip(measured).filter(|(_, measured)| **measured) {
            if variable.level >= level
                && let Some(query) = of_block.query(variable.query)
            {
                seen = seen.sum(&query.seen);
            }
        }
        self.model.knowledge(block).get(seen, exact)
    }

    /// Whether a variance is finite if these variables are measured.
    pub(super) fn is_seen(&self, variance: &Variance, measured: &[bool]) -> bool {
        variance.terms.iter().all(|(pair, _)| {
            let Pair { block, first, second } = self.pairs[*pair];
            (0..self.units.len()).filter(|level| !variance.levels[*level].is_zero()).all(|level| {
                let known = self.known(level, block, measured);
                [first, second].iter().all(|d| known.seen.contains(&self.directions[block][*d]))
            })
        })
    }

    /// Whether a variance is 0 whatever is measured.
    pub(super) fn is_exact(&self, variance: &Variance) -> bool {
        let none = vec![false; self.variables.len()];
        variance.terms.iter().all(|(pair, _)| {
            let Pair { block, first, second } = self.pairs[*pair];
            (0..self.units.len()).filter(|level| !variance.levels[*level].is_zero()).all(|level| {
                let exact = &self.known(level, block, &none).exact;
                [first, second].iter().any(|d| exact.contains(&self.directions[block][*d]))
            })
        })
    }

    /// All `α` in fractions, at these precisions of the variables.
    pub(super) fn exactly(&self, precisions: &[BigRational]) -> ExactPoint {
        let levels = self.units.len();
        let mut point = ExactPoint {
            alpha: vec![vec![None; self.pairs.len()]; levels],
            solutions: (0..levels).map(|_| HashMap::new()).collect(),
        };
        // P_k = U_k Σ (w_l/U_l) I_q, with U_l units of level l.
        let per_unit: Vec<BigRational> = self
            .variables
            .iter()
            .zip(precisions)
            .map(|(v, w)| w / BigInt::from(self.units[v.level]))
            .collect();
        for (block, of_block) in self.model.blocks().iter().enumerate() {
            let pairs: Vec<usize> = (0..self.pairs.len()).filter(|p| self.pairs[*p].block == block).collect();
            if pairs.is_empty() {
                continue;
            }
            let information: HashMap<usize, Vec<Vec<BigRational>>> =
                of_block.queries.iter().map(|q| (q.query, q.exact_information())).collect();
            for level in 0..levels {
                let solutions = self.solutions(level, block, &per_unit, &information);
                let units = BigInt::from(self.units[level]);
                let denominator = &solutions.denominator * units;
                for pair in &pairs {
                    let Pair { first, second, .. } = self.pairs[*pair];
                    if let (Some(_), Some(y)) = (&solutions.numerators[first], &solutions.numerators[second])
                    {
                        let (a, common) =
                            exact::whole(&self.directions[block][first].iter().collect::<Vec<_>>());
                        let alpha = exact::enclosed(&exact::dot(&a, y), &(&denominator * common));
                        point.alpha[level][*pair] = Some(alpha);
                    }
                }
                point.solutions[level].insert(block, solutions);
            }
        }
        point
    }

    /// For each direction a of a block the x with `(Σ (w_l/U_l) I_q) x = a`, at a level.
    fn solutions(
        &self,
        level: usize,
        block: usize,
        per_unit: &[BigRational],
        information: &HashMap<usize, Vec<Vec<BigRational>>>,
    ) -> Solutions {
        let dimension = self.model.blocks()[block].dimension;
        let mut matrix = vec![vec![BigRational::zero(); dimension]; dimension];
        for (variable, weight) in self.variables.iter().zip(per_unit) {
            let Some(of_query) = information.get(&variable.query) else { continue };
            if variable.level < level || weight.is_zero() {
                continue;
            }
            for (row, of_row) in matrix.iter_mut().zip(of_query) {
                for (x, y) in row.iter_mut().zip(of_row).filter(|(_, y)| !y.is_zero()) {
                    *x += weight * y;
                }
            }
        }
        // With exact functionals E: [[P, Eᵀ], [E, 0]] (x, λ) = (a, 0).
        let exact = self.known(level, block, &vec![false; per_unit.len()]).exact.rows();
        for (i, row) in matrix.iter_mut().enumerate() {
            row.extend(exact.iter().map(|functional| functional[i].clone()));
        }
        let size = dimension + exact.len();
        let lengthened = |row: &Functional| {
            let mut row = row.clone();
            row.resize(size, BigRational::zero());
            row
        };
        matrix.extend(exact.iter().map(lengthened));
        let right: Vec<Functional> = self.directions[block].iter().map(lengthened).collect();
        exact::solve(&matrix, &right)
    }

    /// Fractions between which a variance is at a point, the lower and the upper end; none if it is not
    /// determined.
    pub(super) fn exact_value(&self, variance: &Variance, at: &ExactPoint) -> Option<[BigRational; 2]> {
        let mut value = [BigRational::zero(), BigRational::zero()];
        for (level, factor) in variance.levels.iter().enumerate().filter(|(_, c)| !c.is_zero()) {
            let mut sums = [BigRational::zero(), BigRational::zero()];
            for (pair, phi) in &variance.terms {
                let [low, high] = at.alpha[level][*pair].as_ref()?;
                let ends = if phi.is_negative() { [high, low] } else { [low, high] };
                sums.iter_mut().zip(ends).for_each(|(sum, alpha)| *sum += phi * alpha);
            }
            let ends = if factor.is_negative() { [1, 0] } else { [0, 1] };
            value.iter_mut().zip(ends).for_each(|(value, end)| *value += factor * &sums[end]);
        }
        Some(value)
    }

    /// By how much a sum of variances falls with each precision, at a point where all are determined.
    ///
    /// `weights` are of pairs at levels: `Σ c_k φ_p` over what is summed.
    pub(super) fn exact_slopes(&self, weights: &[Vec<BigRational>], at: &ExactPoint) -> Vec<BigRational> {
        let levels = self.units.len();
        // −∂α/∂w_lq = xᵀ I_q y / M_kl with x = P_k⁻¹ a; solutions are U_k times as large.
        let mut of_query: Vec<HashMap<usize, BigRational>> = vec![HashMap::new(); levels];
        for (level, of_level) in at.solutions.iter().enumerate() {
            for (block, solutions) in of_level {
                let pairs: Vec<usize> = (0..self.pairs.len())
                    .filter(|p| self.pairs[*p].block == *block && !weights[level][*p].is_zero())
                    .collect();
                let of_pairs: Vec<&BigRational> = pairs.iter().map(|p| &weights[level][*p]).collect();
                let (numbers, common) = exact::whole(&of_pairs);
                let dimension = self.model.blocks()[*block].dimension;
                let mut sum = vec![vec![BigInt::zero(); dimension]; dimension];
                for (pair, number) in pairs.iter().zip(numbers) {
                    let Pair { first, second, .. } = self.pairs[*pair];
                    let x = solutions.numerators[first].as_ref().expect("determined");
                    let y = solutions.numerators[second].as_ref().expect("determined");
                    for (row, x) in sum.iter_mut().zip(x) {
                        let x = x * &number;
                        row.iter_mut().zip(y).for_each(|(sum, y)| *sum += &x * y);
                    }
                }
                let units = BigInt::from(self.units[level]);
                let denominator = &solutions.denominator * &units;
                let denominator = &denominator * &denominator * common;
                for query in &self.model.blocks()[*block].queries {
                    let mut slope = BigRational::zero();
                    for (row, of_row) in sum.iter().zip(query.exact_information()) {
                        let entries: Vec<&BigRational> = of_row.iter().collect();
                        let (entries, common) = exact::whole(&entries);
                        slope += BigRational::new(exact::dot(row, &entries), common);
                    }
                    let of_level = of_query[level].entry(query.query).or_insert_with(BigRational::zero);
                    *of_level += slope / &denominator;
                }
            }
        }
        let slope = |variable: &Variable| {
            let levels = (0..=variable.level).filter_map(|level| {
                of_query[level].get(&variable.query).map(|slope| slope / self.inside(level, variable.level))
            });
            levels.fold(BigRational::zero(), |sum, x| sum + x)
        };
        self.variables.iter().map(slope).collect()
    }
}

/// What was found at some precisions, in exact fractions.
#[derive(Debug)]
pub(super) struct ExactPoint {
    /// For each level and pair, ends between which `α` is; none if it is not determined.
    alpha: Vec<Vec<Option<[BigRational; 2]>>>,
    /// For each level and block.
    solutions: Vec<HashMap<usize, Solutions>>,
}
