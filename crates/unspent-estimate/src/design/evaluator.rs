//! Variances, their slopes and their curvature in doubles.

use std::sync::Arc;

use num_rational::BigRational;
use num_traits::ToPrimitive;

use super::program::{Frame, Variance};
use crate::known::Known;
use crate::matrix::{Cholesky, Matrix, dot};
use crate::subspace::to_matrix;

/// Variances of a frame in doubles, for variables that are all measured.
#[derive(Debug)]
pub(super) struct Evaluator {
    levels: usize,
    pairs: usize,
    /// The queries of the variables.
    queries: usize,
    /// Level and query of each variable, and `1/M_kl` for the levels k above.
    pub(super) variables: Vec<(usize, usize, Vec<f64>)>,
    stages: Vec<Stage>,
}

/// A block at a level, in the coordinates of what is seen there and not exact.
#[derive(Debug)]
struct Stage {
    level: usize,
    block: usize,
    size: usize,
    /// Coordinates of the block, by these.
    lift: Matrix,
    /// What each query says.
    information: Vec<Option<Matrix>>,
    /// One in each row.
    directions: Matrix,
    /// Numbers of pairs, with the two directions.
    pairs: Vec<(usize, usize, usize)>,
}

/// A limit of a variance, in doubles.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    pub(super) levels: Vec<f64>,
    pub(super) terms: Vec<(usize, f64)>,
    pub(super) limit: f64,
}

impl Limit {
    pub(super) fn new(variance: &Variance, limit: f64) -> Limit {
        let double = |x: &BigRational| x.to_f64().expect("finite");
        Limit {
            levels: variance.levels.iter().map(double).collect(),
            terms: variance.terms.iter().map(|(pair, phi)| (*pair, double(phi))).collect(),
            limit,
        }
    }
}

/// The inverse of `P_k` in a block, in the coordinates of the block.
#[derive(Debug)]
pub(super) struct Inverse {
    pub(super) level: usize,
    pub(super) block: usize,
    pub(super) matrix: Matrix,
}

/// All `α` and their slopes at some precisions.
#[derive(Debug)]
pub(super) struct Point {
    alpha: Vec<f64>,
    slopes: Vec<f64>,
    /// Of each stage the inverse of its matrix, and the solutions for its directions, one in each row.
    inverses: Vec<(Matrix, Matrix)>,
}

impl Evaluator {
    /// For the variables that are `measured`, with which this is [known](Frame::known).
    pub(super) fn new(frame: &Frame, measured: &[bool], known: &[Vec<Arc<Known>>]) -> Evaluator {
        let mut queries: Vec<usize> = frame.variables.iter().map(|variable| variable.query).collect();
        queries.sort_unstable();
        queries.dedup();
        let place = |query: usize| queries.binary_search(&query).expect("one of them");
        let double = |x: BigRational| x.to_f64().expect("finite");
        let kept = frame.variables.iter().zip(measured).filter(|(_, measured)| **measured);
        let variables = kept.map(|(variable, _)| {
            let shares = (0..=variable.level).map(|above| 1.0 / double(frame.inside(above, variable.level)));
            (variable.level, place(variable.query), shares.collect())
        });
        let mut stages = vec![];
        for (block, of_block) in frame.model.blocks().iter().enumerate() {
            let pairs: Vec<(usize, usize, usize)> = (0..frame.pairs.len())
                .filter(|pair| frame.pairs[*pair].block == block)
                .map(|pair| (pair, frame.pairs[pair].first, frame.pairs[pair].second))
                .collect();
            if pairs.is_empty() {
                continue;
            }
            let directions = to_matrix(of_block.dimension, &frame.directions[block]);
            for (level, known) in known.iter().enumerate() {
                let known = &known[block];
                let lift = known.free_lift();
                let reduced = known.express_free(&directions);
                let turned = lift.transposed();
                let information =
                    queries.iter().map(|query| Some(turned.around(&of_block.query(*query)?.information())));
                stages.push(Stage {
                    level,
                    block,
                    size: known.free_count(),
                    lift: lift.clone(),
                    information: information.collect(),
                    directions: reduced,
                    pairs: pairs.clone(),
                });
            }
        }
        Evaluator {
            levels: frame.units.len(),
            pairs: frame.pairs.len(),
            queries: queries.len(),
            variables: variables.collect(),
            stages,
        }
    }

    /// At these precisions, all above 0.
    pub(super) fn at(&self, precisions: &[f64]) -> Point {
        let count = self.levels * self.pairs;
        let mut point =
            Point { alpha: vec![0.0; count], slopes: vec![0.0; count * self.queries], inverses: vec![] };
        for stage in &self.stages {
            let mut factors = vec![0.0; self.queries];
            for ((level, query, shares), precision) in self.variables.iter().zip(precisions) {
                if *level >= stage.level {
                    factors[*query] += precision * shares[stage.level];
                }
            }
            let mut matrix = Matrix::zeros(stage.size, stage.size);
            for (information, factor) in stage.information.iter().zip(&factors) {
                if let (Some(information), true) = (information, *factor > 0.0) {
                    matrix.add(information, *factor);
                }
            }
            // Directions that are well known do not go through the inverse, which is large for all others.
            let (inverse, solved) = match stage.size {
                1 => {
                    let inverse = matrix.inverse();
                    let solved = stage.directions.times(&inverse);
                    (inverse, solved)
                }
                size => {
                    let factored = Cholesky::new(&matrix);
                    let solved = factored.solve(&stage.directions.transposed()).transposed();
                    let mut inverse = factored.solve(&Matrix::identity(size));
                    inverse.symmetrise();
                    (inverse, solved)
                }
            };
            for (pair, first, second) in &stage.pairs {
                let at = stage.level * self.pairs + pair;
                point.alpha[at] = dot(stage.directions.row(*first), solved.row(*second));
            }
            let mut told = vec![0.0; solved.entries().len()];
            for (query, information) in stage.information.iter().enumerate() {
                let Some(information) = information else { continue };
                for (i, to) in told.chunks_exact_mut(stage.size.max(1)).enumerate() {
                    information.apply(solved.row(i), to);
                }
                for (pair, first, second) in &stage.pairs {
                    let at = stage.level * self.pairs + pair;
                    let told = &told[second * stage.size..][..stage.size];
                    point.slopes[at * self.queries + query] = dot(solved.row(*first), told);
                }
            }
            point.inverses.push((inverse, solved));
        }
        point
    }

    /// All inverses at a point.
    pub(super) fn inverses(&self, at: &Point) -> Vec<Inverse> {
        let inverse = |(stage, (inverse, _)): (&Stage, &(Matrix, Matrix))| {
            let matrix = stage.lift.around(inverse);
            Inverse { level: stage.level, block: stage.block, matrix }
        };
        self.stages.iter().zip(&at.inverses).map(inverse).collect()
    }

    /// A variance.
    pub(super) fn value(&self, limit: &Limit, at: &Point) -> f64 {
        let of_level = |(level, factor): (usize, &f64)| {
            let sum: f64 =
                limit.terms.iter().map(|(pair, phi)| phi * at.alpha[level * self.pairs + pair]).sum();
            factor * sum
        };
        limit.levels.iter().enumerate().filter(|(_, c)| **c != 0.0).map(of_level).sum()
    }

    /// By how much a variance falls with each precision.
    pub(super) fn slopes(&self, limit: &Limit, at: &Point) -> Vec<f64> {
        let mut of_query = vec![0.0; self.levels * self.queries];
        for (level, factor) in limit.levels.iter().enumerate().filter(|(_, c)| **c != 0.0) {
            let sums = &mut of_query[level * self.queries..][..self.queries];
            for (pair, phi) in &limit.terms {
                let slopes = &at.slopes[(level * self.pairs + pair) * self.queries..][..self.queries];
                sums.iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += factor * phi * slope);
            }
        }
        let of_variable = |(level, query, shares): &(usize, usize, Vec<f64>)| {
            (0..=*level).map(|k| of_query[k * self.queries + query] * shares[k]).sum()
        };
        self.variables.iter().map(of_variable).collect()
    }

    /// Adds the second derivatives of a sum of variances, each with its weight.
    pub(super) fn add_curvature(&self, limits: &[Limit], weights: &[f64], at: &Point, to: &mut Matrix) {
        let mut of_pairs = vec![0.0; self.levels * self.pairs];
        for (limit, weight) in limits.iter().zip(weights) {
            for (level, factor) in limit.levels.iter().enumerate().filter(|(_, c)| **c != 0.0) {
                for (pair, phi) in &limit.terms {
                    of_pairs[level * self.pairs + pair] += weight * factor * phi;
                }
            }
        }
        // Second derivatives by the precisions of queries in the sums over units of each level.
        let squared = self.queries * self.queries;
        let mut by_level = vec![0.0; self.levels * squared];
        for (stage, (inverse, solved)) in self.stages.iter().zip(&at.inverses) {
            let of_stage = &of_pairs[stage.level * self.pairs..][..self.pairs];
            if stage.pairs.iter().all(|(pair, _, _)| of_stage[*pair] == 0.0) {
                continue;
            }
            let mut middle = Matrix::zeros(stage.size, stage.size);
            for (pair, first, second) in &stage.pairs {
                let weight = of_stage[*pair] / 2.0;
                if weight == 0.0 {
                    continue;
                }
                let (a, b) = (solved.row(*first), solved.row(*second));
                for i in 0..stage.size {
                    for j in 0..stage.size {
                        middle[(i, j)] += weight * (a[i] * b[j] + b[i] * a[j]);
                    }
                }
            }
            let to = &mut by_level[stage.level * squared..][..squared];
            let present = || stage.information.iter().enumerate().filter_map(|(q, i)| Some((q, i.as_ref()?)));
            if stage.size == 1 {
                let factor = 2.0 * middle[(0, 0)] * inverse[(0, 0)];
                for (q, a) in present() {
                    let a = factor * a[(0, 0)];
                    present().for_each(|(r, b)| to[q * self.queries + r] += a * b[(0, 0)]);
                }
                continue;
            }
            // All matrices are symmetric: (I P⁻¹)ᵀ = P⁻¹ I.
            let with_middle: Vec<(usize, Matrix)> = present().map(|(q, i)| (q, i.times(&middle))).collect();
            let with_inverse: Vec<(usize, Matrix)> = present().map(|(q, i)| (q, inverse.times(i))).collect();
            for (q, a) in &with_middle {
                for (r, b) in &with_inverse {
                    // tr(I_q X I_r P⁻¹), and the same with q and r exchanged.
                    let trace = a.inner(b);
                    to[q * self.queries + r] += trace;
                    to[r * self.queries + q] += trace;
                }
            }
        }
        for (i, (level, query, shares)) in self.variables.iter().enumerate() {
            for (j, (other, second, others)) in self.variables.iter().enumerate().take(i + 1) {
                let sum: f64 = (0..=*level.min(other))
                    .map(|k| by_level[k * squared + query * self.queries + second] * shares[k] * others[k])
                    .sum();
                to[(i, j)] += sum;
                if i != j {
                    to[(j, i)] += sum;
                }
            }
        }
    }
}
