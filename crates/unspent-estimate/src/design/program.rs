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
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::exact::{self, Solutions};
use crate::basis::Block;
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variance {
    /// For each level `c_k`; zero from some level on.
    pub(super) levels: Vec<BigRational>,
    /// Pairs with their `φ`.
    pub(super) terms: Vec<(usize, BigRational)>,
    /// Levels and pairs with `c_k φ_p`, as whole numbers over one denominator.
    factors: Vec<(usize, usize, BigInt)>,
    denominator: BigInt,
}

impl Variance {
    pub(super) fn new(levels: Vec<BigRational>, terms: Vec<(usize, BigRational)>) -> Variance {
        let (of_levels, first) = exact::whole(&levels.iter().collect::<Vec<_>>());
        let (of_terms, second) = exact::whole(&terms.iter().map(|(_, phi)| phi).collect::<Vec<_>>());
        let mut factors = vec![];
        for (level, c) in of_levels.iter().enumerate().filter(|(_, c)| !c.is_zero()) {
            factors.extend(terms.iter().zip(&of_terms).map(|((pair, _), phi)| (level, *pair, c * phi)));
        }
        Variance { levels, terms, factors, denominator: first * second }
    }
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
    /// For each block, what each query says, as whole numbers over one denominator.
    information: Vec<Information>,
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
        let information = model.blocks().iter().map(Information::new).collect();
        let (pairs, numbers) = (vec![], HashMap::new());
        Frame { model, units, variables, exact, information, directions, pairs, numbers }
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

    /// All `α`, exactly, at these precisions of the variables.
    pub(super) fn exactly(&self, precisions: &[BigRational]) -> ExactPoint {
        let levels = self.units.len();
        let mut point = ExactPoint {
            alpha: vec![vec![None; self.pairs.len()]; levels],
            solutions: (0..levels).map(|_| HashMap::new()).collect(),
            scale: BigInt::one(),
        };
        // P_k = U_k Σ (w_l/U_l) I_q, with U_l units of level l. The sum is over levels from k on.
        let of_unit = |(v, w): (&Variable, &BigRational)| w / BigInt::from(self.units[v.level]);
        let per_unit: Vec<BigRational> = self.variables.iter().zip(precisions).map(of_unit).collect();
        let (per_unit, scale) = exact::whole(&per_unit.iter().collect::<Vec<_>>());
        for (block, of_block) in self.model.blocks().iter().enumerate() {
            let pairs: Vec<usize> = (0..self.pairs.len()).filter(|p| self.pairs[*p].block == block).collect();
            if pairs.is_empty() {
                continue;
            }
            let information = &self.information[block];
            let directions: Vec<(Vec<BigInt>, BigInt)> = (self.directions[block].iter())
                .map(|direction| exact::whole(&direction.iter().collect::<Vec<_>>()))
                .collect();
            let dimension = of_block.dimension;
            let mut sum = vec![vec![BigInt::zero(); dimension]; dimension];
            for level in (0..levels).rev() {
                for (variable, weight) in self.variables.iter().zip(&per_unit) {
                    if variable.level == level && !weight.is_zero() {
                        information.add(variable.query, weight, &mut sum);
                    }
                }
                let exact = self.known(level, block, &vec![false; per_unit.len()]).exact.rows();
                let solutions = bordered(&sum, &exact, &directions);
                // x = P_k⁻¹ a is (common · scale/U_k) times the solution.
                let denominator = &solutions.denominator * BigInt::from(self.units[level]);
                let factor = &information.common * &scale;
                for pair in &pairs {
                    let Pair { first, second, .. } = self.pairs[*pair];
                    if let (Some(_), Some(y)) = (&solutions.numerators[first], &solutions.numerators[second])
                    {
                        let ((a, of_a), (_, of_b)) = (&directions[first], &directions[second]);
                        let numerator = exact::dot(a, &y[..dimension]) * &factor;
                        point.alpha[level][*pair] =
                            Some(exact::fixed(&numerator, &(&denominator * of_a * of_b)));
                    }
                }
                point.solutions[level].insert(block, solutions);
            }
        }
        point.scale = scale;
        point
    }

    /// Fractions between which a variance is at a point, the lower and the upper end; none if it is not
    /// determined.
    pub(super) fn exact_value(&self, variance: &Variance, at: &ExactPoint) -> Option<[BigRational; 2]> {
        let (mut low, mut high) = (BigInt::zero(), BigInt::zero());
        for (level, pair, factor) in &variance.factors {
            let alpha = at.alpha[*level][*pair].as_ref()?;
            let product = factor * alpha;
            // α is at most one step above.
            if factor.is_negative() {
                low += &product + factor;
                high += product;
            } else {
                high += &product + factor;
                low += product;
            }
        }
        let denominator = &variance.denominator << exact::POINT;
        Some([low, high].map(|end| BigRational::new_raw(end, denominator.clone())))
    }

    /// By how much a sum of variances falls with each precision, at a point where all are determined.
    pub(super) fn exact_slopes(
        &self,
        sum: &[(&BigRational, &Variance)],
        at: &ExactPoint,
    ) -> Vec<BigRational> {
        let levels = self.units.len();
        // Weights of pairs at levels, over one denominator.
        let common = sum
            .iter()
            .fold(BigInt::one(), |common, (y, variance)| common.lcm(&(y.denom() * &variance.denominator)));
        let mut weights = vec![vec![BigInt::zero(); self.pairs.len()]; levels];
        for (y, variance) in sum {
            let factor = y.numer() * (&common / (y.denom() * &variance.denominator));
            for (level, pair, number) in &variance.factors {
                weights[*level][*pair] += number * &factor;
            }
        }
        // −∂α/∂w_lq = xᵀ I_q y / M_kl with x = P_k⁻¹ a.
        let mut of_query: Vec<HashMap<usize, BigRational>> = vec![HashMap::new(); levels];
        for (level, of_level) in at.solutions.iter().enumerate() {
            for (block, solutions) in of_level {
                let information = &self.information[*block];
                let dimension = self.model.blocks()[*block].dimension;
                let scales: Vec<BigInt> = (self.directions[*block].iter())
                    .map(|direction| exact::whole(&direction.iter().collect::<Vec<_>>()).1)
                    .collect();
                let common_scale = scales.iter().fold(BigInt::one(), |common, scale| common.lcm(scale));
                let mut products = vec![vec![BigInt::zero(); dimension]; dimension];
                for (at, weight) in weights[level].iter().enumerate().filter(|(_, w)| !w.is_zero()) {
                    let Pair { block: of, first, second } = self.pairs[at];
                    if of != *block {
                        continue;
                    }
                    let x = solutions.numerators[first].as_ref().expect("determined");
                    let y = solutions.numerators[second].as_ref().expect("determined");
                    let weight =
                        weight * (&common_scale / &scales[first]) * (&common_scale / &scales[second]);
                    for (row, x) in products.iter_mut().zip(x) {
                        let x = x * &weight;
                        row.iter_mut().zip(y).for_each(|(sum, y)| *sum += &x * y);
                    }
                }
                // Both x and y have the factor common · scale/U_k, and I_q has 1/common.
                let factor = &at.scale * &at.scale * &information.common;
                let denominator = &solutions.denominator * BigInt::from(self.units[level]) * &common_scale;
                let denominator = &denominator * &denominator * &common;
                for query in &self.model.blocks()[*block].queries {
                    let slope = information.inner(query.query, &products) * &factor;
                    let of_level = of_query[level].entry(query.query).or_insert_with(BigRational::zero);
                    *of_level += BigRational::new(slope, denominator.clone());
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

/// For each direction a the x with `sum · x = a`, and with exact functionals E the x of
/// `[[sum, Eᵀ], [E, 0]] (x, λ) = (a, 0)`.
fn bordered(sum: &[Vec<BigInt>], exact: &[Functional], directions: &[(Vec<BigInt>, BigInt)]) -> Solutions {
    let exact: Vec<Vec<BigInt>> =
        exact.iter().map(|row| exact::whole(&row.iter().collect::<Vec<_>>()).0).collect();
    let size = sum.len() + exact.len();
    let mut matrix = sum.to_vec();
    for (i, row) in matrix.iter_mut().enumerate() {
        row.extend(exact.iter().map(|functional| functional[i].clone()));
    }
    let lengthened = |row: &Vec<BigInt>| {
        let mut row = row.clone();
        row.resize(size, BigInt::zero());
        row
    };
    matrix.extend(exact.iter().map(lengthened));
    let right: Vec<Vec<BigInt>> = directions.iter().map(|(direction, _)| lengthened(direction)).collect();
    exact::solve(matrix, &right)
}

/// What each query says of a block, as whole numbers over one denominator.
#[derive(Debug)]
struct Information {
    of_query: HashMap<usize, Vec<Vec<BigInt>>>,
    common: BigInt,
}

impl Information {
    fn new(block: &Block) -> Information {
        let fractions: Vec<(usize, Vec<Vec<BigRational>>)> =
            block.queries.iter().map(|query| (query.query, query.exact_information())).collect();
        let entries = fractions.iter().flat_map(|(_, rows)| rows.iter().flatten());
        let common = entries.fold(BigInt::one(), |common, x| common.lcm(x.denom()));
        let whole = |x: &BigRational| x.numer() * (&common / x.denom());
        let rows =
            |rows: &Vec<Vec<BigRational>>| rows.iter().map(|row| row.iter().map(whole).collect()).collect();
        Information { of_query: fractions.iter().map(|(query, of)| (*query, rows(of))).collect(), common }
    }

    fn add(&self, query: usize, weight: &BigInt, to: &mut [Vec<BigInt>]) {
        let Some(rows) = self.of_query.get(&query) else { return };
        for (row, of_row) in to.iter_mut().zip(rows) {
            for (x, y) in row.iter_mut().zip(of_row).filter(|(_, y)| !y.is_zero()) {
                *x += weight * y;
            }
        }
    }

    fn inner(&self, query: usize, products: &[Vec<BigInt>]) -> BigInt {
        let rows = self.of_query[&query].iter().zip(products);
        rows.fold(BigInt::zero(), |sum, (row, of_row)| sum + exact::dot(row, of_row))
    }
}

/// What was found at some precisions, exactly.
#[derive(Debug)]
pub(super) struct ExactPoint {
    /// For each level and pair `α`, rounded down ([`exact::fixed`]); none if it is not determined.
    alpha: Vec<Vec<Option<BigInt>>>,
    /// For each level and block, solutions for all directions.
    solutions: Vec<HashMap<usize, Solutions>>,
    /// The denominator of all `w_l/U_l`.
    scale: BigInt,
}
