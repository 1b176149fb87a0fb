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

use std::collections::{BTreeSet, HashMap};
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
    pub(super) factors: Vec<(usize, usize, BigInt)>,
    pub(super) denominator: BigInt,
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
    pub(super) information: Vec<Information>,
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

    /// What is exact in a block of the sums over units of a level.
    pub(super) fn exact_part(&self, level: usize, block: usize) -> Subspace {
        let of_block = &self.model.blocks()[block];
        let mut exact = Subspace::zero(of_block.dimension);
        for query in self.exact[level..].iter().flatten() {
            if let Some(query) = of_block.query(*query) {
                exact = exact.sum(&query.seen);
            }
        }
        exact
    }

    /// For each level and block, what is seen and exact of the sums over units of the level, if these
    /// variables are measured.
    pub(super) fn known(&self, measured: &[bool]) -> Vec<Vec<Arc<Known>>> {
        let levels = self.units.len();
        let mut found: Vec<Vec<Arc<Known>>> = vec![vec![]; levels];
        for (block, of_block) in self.model.blocks().iter().enumerate() {
            let mut seen = Subspace::zero(of_block.dimension);
            // Queries that were measured below already tell nothing new.
            let mut told = BTreeSet::new();
            for (level, of_level) in found.iter_mut().enumerate().rev() {
                let exact = self.exact_part(level, block);
                seen = seen.sum(&exact);
                for (variable, measured) in self.variables.iter().zip(measured) {
                    if *measured
                        && variable.level == level
                        && told.insert(variable.query)
                        && let Some(query) = of_block.query(variable.query)
                    {
                        seen = seen.sum(&query.seen);
                    }
                }
                of_level.push(self.model.knowledge(block).get(seen.clone(), exact));
            }
        }
        found
    }

    /// Whether all of these variances are finite if this is known.
    pub(super) fn are_seen<'v>(
        &self,
        variances: impl IntoIterator<Item = &'v Variance>,
        known: &[Vec<Arc<Known>>],
    ) -> bool {
        // Each direction at each level once.
        let mut asked = BTreeSet::new();
        for (level, pair, _) in variances.into_iter().flat_map(|variance| &variance.factors) {
            let Pair { block, first, second } = self.pairs[*pair];
            asked.extend([first, second].map(|direction| (*level, block, direction)));
        }
        asked.into_iter().all(|(level, block, direction)| {
            known[level][block].seen.contains(&self.directions[block][direction])
        })
    }

    /// Whether a variance is 0 whatever is measured.
    pub(super) fn is_exact(&self, variance: &Variance) -> bool {
        variance.terms.iter().all(|(pair, _)| {
            let Pair { block, first, second } = self.pairs[*pair];
            (0..self.units.len()).filter(|level| !variance.levels[*level].is_zero()).all(|level| {
                let exact = self.exact_part(level, block);
                [first, second].iter().any(|d| exact.contains(&self.directions[block][*d]))
            })
        })
    }

    /// All `α`, exactly, at these precisions of the variables.
    pub(super) fn exactly(&self, precisions: &[BigRational]) -> ExactPoint {
        let mut alpha = vec![vec![None; self.pairs.len()]; self.units.len()];
        let mut pairs: Vec<Vec<usize>> = vec![vec![]; self.model.blocks().len()];
        (0..self.pairs.len()).for_each(|pair| pairs[self.pairs[pair].block].push(pair));
        self.each_solution(precisions, |level, block, found| {
            // x = P_k⁻¹ a is (common · scale/U_k) times the solution.
            let denominator = &found.solutions.denominator * BigInt::from(self.units[level]);
            let factor = &self.information[block].common * found.scale;
            let numerators = &found.solutions.numerators;
            for pair in &pairs[block] {
                let Pair { first, second, .. } = self.pairs[*pair];
                if let (Some(_), Some(y)) = (&numerators[first], &numerators[second]) {
                    let ((a, of_a), (_, of_b)) = (&found.directions[first], &found.directions[second]);
                    let numerator = exact::dot(a, &y[..a.len()]) * &factor;
                    alpha[level][*pair] = Some(exact::fixed(&numerator, &(&denominator * of_a * of_b)));
                }
            }
        });
        ExactPoint { alpha }
    }

    /// Goes through all levels and blocks with directions.
    pub(super) fn each_solution(
        &self,
        precisions: &[BigRational],
        mut visit: impl FnMut(usize, usize, ExactSolutions<'_>),
    ) {
        // P_k = U_k Σ (w_l/U_l) I_q, with U_l units of level l. The sum is over levels from k on.
        let of_unit = |(v, w): (&Variable, &BigRational)| w / BigInt::from(self.units[v.level]);
        let per_unit: Vec<BigRational> = self.variables.iter().zip(precisions).map(of_unit).collect();
        let (per_unit, scale) = exact::whole(&per_unit.iter().collect::<Vec<_>>());
        for (block, of_block) in self.model.blocks().iter().enumerate() {
            if self.directions[block].is_empty() {
                continue;
            }
            let directions: Vec<(Vec<BigInt>, BigInt)> = (self.directions[block].iter())
                .map(|direction| exact::whole(&direction.iter().collect::<Vec<_>>()))
                .collect();
            let mut sum = vec![vec![BigInt::zero(); of_block.dimension]; of_block.dimension];
            for level in (0..self.units.len()).rev() {
                for (variable, weight) in self.variables.iter().zip(&per_unit) {
                    if variable.level == level && !weight.is_zero() {
                        self.information[block].add(variable.query, weight, &mut sum);
                    }
                }
                let solutions = bordered(&sum, &self.exact_part(level, block).rows(), &directions);
                visit(level, block, ExactSolutions { solutions, directions: &directions, scale: &scale });
            }
        }
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
pub(super) struct Information {
    of_query: HashMap<usize, Vec<Vec<BigInt>>>,
    pub(super) common: BigInt,
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

    pub(super) fn inner(&self, query: usize, products: &[Vec<BigInt>]) -> BigInt {
        let rows = self.of_query[&query].iter().zip(products);
        rows.fold(BigInt::zero(), |sum, (row, of_row)| sum + exact::dot(row, of_row))
    }
}

/// What was found at some precisions, exactly.
#[derive(Debug)]
pub(super) struct ExactPoint {
    /// For each level and pair `α`, rounded down ([`exact::fixed`]); none if it is not determined.
    alpha: Vec<Vec<Option<BigInt>>>,
}

/// Solutions for all directions of a block at a level: `P_k⁻¹ a` is `common · scale/U_k` times a solution.
pub(super) struct ExactSolutions<'s> {
    pub(super) solutions: Solutions,
    /// As whole numbers, with their denominators.
    pub(super) directions: &'s [(Vec<BigInt>, BigInt)],
    /// The denominator of all `w_l/U_l`.
    pub(super) scale: &'s BigInt,
}
