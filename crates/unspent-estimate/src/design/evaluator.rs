//! Variances, their slopes and their curvature in doubles.

use std::ops::Range;
use std::sync::Arc;

use num_rational::BigRational;
use num_traits::ToPrimitive;

use super::program::{Frame, Variance};
use crate::known::Known;
use crate::matrix::{Cholesky, Matrix, dot};
use crate::subspace::{Functional, to_matrix};

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
    /// What queries say.
    told: Vec<Told>,
    /// The rows of all queries, one below the other, turned: one in each column.
    columns: Matrix,
    /// One in each row.
    directions: Matrix,
    /// Numbers of pairs, with the two directions.
    pairs: Vec<(usize, usize, usize)>,
}

/// What a query says in a stage: its information is `FᵀF`, with as many rows as it sees functionals.
#[derive(Debug)]
struct Told {
    query: usize,
    information: Matrix,
    /// Which rows of the stage are F.
    rows: Range<usize>,
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
    stages: Vec<AtStage>,
}

/// A stage at some precisions.
#[derive(Debug)]
struct AtStage {
    factored: Cholesky,
    /// What the rows of queries say of the solution for each direction.
    answers: Matrix,
}

impl Stage {
    /// Second derivatives of the sum of all `α`, each with its weight, by the precisions of two queries: for
    /// queries q and r `tr(I_q X I_r P⁻¹)`, where `X = Σ (a bᵀ + b aᵀ)` over the solutions of pairs.
    fn each_second(&self, at: &AtStage, weights: &[f64], mut found: impl FnMut(usize, usize, f64)) {
        // With F the rows of all queries it is the sum, over those of q and r, of the products of entries of
        // F X Fᵀ and F P⁻¹ Fᵀ.
        let half = at.factored.first_half(&self.columns).transposed();
        let pairs: Vec<(f64, &[f64], &[f64])> = (self.pairs.iter())
            .map(|(pair, a, b)| (weights[*pair], at.answers.row(*a), at.answers.row(*b)))
            .filter(|(weight, _, _)| *weight != 0.0)
            .collect();
        let mut around = vec![0.0; half.rows()];
        let mut sums = vec![0.0; self.told.len()];
        for (place, told) in self.told.iter().enumerate() {
            let around = &mut around[..told.rows.end];
            sums.fill(0.0);
            for i in told.rows.clone() {
                around.fill(0.0);
                for (weight, a, b) in &pairs {
                    let (of_a, of_b) = (weight * b[i], weight * a[i]);
                    let products = a.iter().zip(*b).map(|(a, b)| of_a * a + of_b * b);
                    around.iter_mut().zip(products).for_each(|(sum, x)| *sum += x);
                }
                for (sum, other) in sums.iter_mut().zip(&self.told[..=place]) {
                    let product = |j: usize| around[j] * dot(half.row(i), half.row(j));
                    *sum += other.rows.clone().map(product).sum::<f64>();
                }
            }
            for (sum, other) in sums.iter().zip(&self.told[..=place]) {
                found(told.query, other.query, *sum);
            }
        }
    }
}

impl Evaluator {
    /// For the variables that are `measured`, with which this is [known](Frame::known), and the pairs that
    /// are asked for.
    pub(super) fn new(
        frame: &Frame,
        measured: &[bool],
        known: &[Vec<Arc<Known>>],
        asked: &[bool],
    ) -> Evaluator {
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
            let here = |pair: &usize| asked[*pair] && frame.pairs[*pair].block == block;
            let pairs: Vec<usize> = (0..frame.pairs.len()).filter(here).collect();
            if pairs.is_empty() {
                continue;
            }
            // Only directions that are asked for.
            let mut used: Vec<usize> =
                pairs.iter().flat_map(|at| [frame.pairs[*at].first, frame.pairs[*at].second]).collect();
            used.sort_unstable();
            used.dedup();
            let row = |direction: usize| used.binary_search(&direction).expect("one of them");
            let pairs: Vec<(usize, usize, usize)> = (pairs.iter())
                .map(|at| (*at, row(frame.pairs[*at].first), row(frame.pairs[*at].second)))
                .collect();
            let used: Vec<Functional> = used.iter().map(|at| frame.directions[block][*at].clone()).collect();
            let directions = to_matrix(of_block.dimension, &used);
            let roots: Vec<(usize, Matrix, Matrix)> = (queries.iter().enumerate())
                .filter_map(|(place, query)| Some((place, of_block.query(*query)?)))
                .map(|(place, query)| {
                    let information = query.information();
                    let root = root(&information, query.seen.rank());
                    (place, information, root)
                })
                .collect();
            for (level, known) in known.iter().enumerate() {
                let known = &known[block];
                let lift = known.free_lift();
                let turned = lift.transposed();
                let mut rows: Vec<f64> = vec![];
                let mut told = vec![];
                for (query, information, root) in &roots {
                    let start = told.last().map_or(0, |before: &Told| before.rows.end);
                    rows.extend(root.times(&lift).entries());
                    let information = turned.around(information);
                    told.push(Told { query: *query, information, rows: start..start + root.rows() });
                }
                let count = told.last().map_or(0, |before| before.rows.end);
                stages.push(Stage {
                    level,
                    block,
                    size: known.free_count(),
                    columns: Matrix::new(count, known.free_count(), rows).transposed(),
                    lift,
                    told,
                    directions: known.express_free(&directions),
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
            Point { alpha: vec![0.0; count], slopes: vec![0.0; count * self.queries], stages: vec![] };
        for stage in &self.stages {
            let mut factors = vec![0.0; self.queries];
            for ((level, query, shares), precision) in self.variables.iter().zip(precisions) {
                if *level >= stage.level {
                    factors[*query] += precision * shares[stage.level];
                }
            }
            let mut matrix = Matrix::zeros(stage.size, stage.size);
            for Told { query, information, .. } in &stage.told {
                if factors[*query] > 0.0 {
                    matrix.add(information, factors[*query]);
                }
            }
            let factored = Cholesky::new(&matrix);
            let solved = factored.solve(&stage.directions.transposed()).transposed();
            let answers = solved.times(&stage.columns);
            for (pair, first, second) in &stage.pairs {
                let at = stage.level * self.pairs + pair;
                point.alpha[at] = dot(stage.directions.row(*first), solved.row(*second));
                let (first, second) = (answers.row(*first), answers.row(*second));
                for Told { query, rows, .. } in &stage.told {
                    point.slopes[at * self.queries + query] =
                        dot(&first[rows.clone()], &second[rows.clone()]);
                }
            }
            point.stages.push(AtStage { factored, answers });
        }
        point
    }

    /// All inverses at a point.
    pub(super) fn inverses(&self, at: &Point) -> Vec<Inverse> {
        let inverse = |(stage, at): (&Stage, &AtStage)| {
            let mut inverse = at.factored.solve(&Matrix::identity(stage.size));
            inverse.symmetrise();
            Inverse { level: stage.level, block: stage.block, matrix: stage.lift.around(&inverse) }
        };
        self.stages.iter().zip(&at.stages).map(inverse).collect()
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
        for (stage, at) in self.stages.iter().zip(&at.stages) {
            let weights = &of_pairs[stage.level * self.pairs..][..self.pairs];
            if stage.pairs.iter().all(|(pair, _, _)| weights[*pair] == 0.0) {
                continue;
            }
            let to = &mut by_level[stage.level * squared..][..squared];
            stage.each_second(at, weights, |q, r, sum| {
                to[q * self.queries + r] += sum;
                if q != r {
                    to[r * self.queries + q] += sum;
                }
            });
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

/// Rows F, as many as the rank, with `FᵀF` the matrix: Cholesky's method with the largest pivot first.
fn root(matrix: &Matrix, rank: usize) -> Matrix {
    let size = matrix.rows();
    let mut rest = matrix.clone();
    let mut rows = vec![];
    for _ in 0..rank {
        let pivot = (0..size).max_by(|i, j| rest[(*i, *i)].total_cmp(&rest[(*j, *j)])).expect("it has rows");
        let scale = 1.0 / rest[(pivot, pivot)].sqrt();
        let row: Vec<f64> = rest.row(pivot).iter().map(|x| x * scale).collect();
        for i in 0..size {
            for j in 0..size {
                rest[(i, j)] -= row[i] * row[j];
            }
        }
        rows.extend(row);
    }
    Matrix::new(rank, size, rows)
}
