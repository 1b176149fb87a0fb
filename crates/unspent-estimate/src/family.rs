//! The recursion on a tree of units, for one block (Lemma E2 of `theory/estimates.md`).
//!
//! ```text
//! leaf, or sum of the children ─▶ with the unit's own measurements ─▶ … ─▶ root
//!                             ◀─ given what is known of the parent ◀─ … ◀─
//! ```
//!
//! A state is a [`Known`] and the covariance of its free functionals, which is positive definite. Exact and
//! unseen functionals are in the subspaces, never in a number.

use std::sync::Arc;

use crate::basis::Block;
use crate::known::{Knowledge, Known};
use crate::matrix::Matrix;
use crate::subspace::{Functional, Subspace, Tracked, to_matrix, track};

/// What is known of a block in a unit, and how precisely.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) known: Arc<Known>,
    /// Of the free functionals.
    pub(crate) covariance: Matrix,
}

impl State {
    /// The covariance of functionals that are seen.
    pub(crate) fn of(&self, a: &Matrix, b: &Matrix) -> Matrix {
        let (a, b) = (self.known.express_free(a), self.known.express_free(b));
        a.times(&self.covariance).times_transposed(&b)
    }

    /// The covariance of coordinates; right for functionals that are seen.
    pub(crate) fn of_coordinates(&self) -> Matrix {
        if self.known.plain {
            return self.covariance.clone();
        }
        self.known.free_lift().around(&self.covariance)
    }
}

/// What a unit's own rows say of a block.
#[derive(Debug)]
pub(crate) struct Own {
    /// The information of its measurements.
    pub(crate) information: Matrix,
    pub(crate) seen: Subspace,
    /// The functionals of each exact query, and of values that the unit lacks.
    pub(crate) exact: Vec<(ExactSource, Vec<Functional>)>,
}

/// Where an exact value is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExactSource {
    /// An exact query, by its place among those of the unit.
    Query(usize),
    /// Values that the unit lacks: zero.
    Lacking,
}

impl Own {
    pub(crate) fn new(block: &Block, variances: &[Option<f64>]) -> Own {
        let dimension = block.dimension;
        let mut own = Own {
            information: Matrix::zeros(dimension, dimension),
            seen: Subspace::zero(dimension),
            exact: vec![],
        };
        for query in &block.queries {
            if let Some(variance) = variances[query.query] {
                own.information.add(&query.information(), 1.0 / variance);
                own.seen = own.seen.sum(&query.seen);
            }
        }
        own
    }
}

/// Children of a unit that share all of their matrices.
#[derive(Clone, Copy)]
pub(crate) struct Children<'c> {
    pub(crate) state: &'c State,
    /// How many; in a regular tree this need not be whole.
    pub(crate) count: f64,
}

/// The sum of the children's tables, as their subtrees know it.
pub(crate) struct Sum {
    pub(crate) known: Arc<Known>,
    /// Of its free functionals.
    covariance: Matrix,
    /// The inverse of the covariance.
    pub(crate) inverse: Matrix,
}

impl Sum {
    pub(crate) fn new(knowledge: &Knowledge, children: &[Children<'_>]) -> Sum {
        let first = &children[0].state.known;
        let (mut seen, mut exact) = (first.seen.clone(), first.exact.clone());
        for child in &children[1..] {
            seen = seen.intersection(&child.state.known.seen);
            exact = exact.intersection(&child.state.known.exact);
        }
        let known = if seen == first.seen && exact == first.exact {
            first.clone()
        } else {
            knowledge.get(seen, exact)
        };
        let mut sum = Sum { covariance: Matrix::default(), inverse: Matrix::default(), known };
        sum.covariance = sum.total(children, None);
        sum.inverse = sum.covariance.inverse();
        sum
    }

    /// The covariance of the sum of all children, or of all but one.
    fn total(&self, children: &[Children<'_>], without: Option<usize>) -> Matrix {
        let mut total = Matrix::zeros(self.known.free_count(), self.known.free_count());
        let free = self.known.free_rows();
        for (i, Children { state, count }) in children.iter().enumerate() {
            let count = if without == Some(i) { count - 1.0 } else { *count };
            if count == 0.0 {
                continue;
            }
            match Arc::ptr_eq(&self.known, &state.known) {
                true => total.add(&state.covariance, count),
                false => total.add(&state.known.express_free(&free).around(&state.covariance), count),
            }
        }
        total
    }

    /// Whether no free functional of the sum is exact in all the others, so that their covariance is positive
    /// definite.
    fn others_vary(&self, children: &[Children<'_>], which: usize) -> bool {
        let mut exact = self.known.seen.clone();
        for (i, child) in children.iter().enumerate() {
            if i != which || child.count > 1.0 {
                exact = exact.intersection(&child.state.known.exact);
            }
        }
        self.known.free_count() > 0 && exact == self.known.exact
    }

    /// The covariance of the sum of the others. A difference would lose digits where the one that is left
    /// out has most of the variance; that can be so for few of many children.
    fn others(&self, children: &[Children<'_>], which: usize, own: &Matrix) -> Matrix {
        let most = (0..own.rows()).any(|i| own[(i, i)] > self.covariance[(i, i)] / 2.0);
        if most {
            return self.total(children, Some(which));
        }
        let mut others = self.covariance.clone();
        others.add(own, -1.0);
        others
    }
}

/// How a unit's upward estimate follows from its own rows and the sum of its children.
#[derive(Debug)]
pub(crate) struct Upward {
    pub(crate) state: State,
    /// How its exact functionals follow from the exact functionals of the sum and of its own rows, one after
    /// the other; none if there are none.
    pub(crate) exact: Option<Tracked>,
    /// The free functionals: `from_own · (gradient − information · lifted exact) + from_sum · (sum − …)`.
    pub(crate) from_own: Matrix,
    /// Of the free functionals of the sum.
    pub(crate) from_sum: Option<Matrix>,
    /// What is subtracted for each exact functional.
    pub(crate) from_exact: Matrix,
}

impl Upward {
    pub(crate) fn new(knowledge: &Knowledge, own: &Own, sum: Option<&Sum>) -> Upward {
        let dimension = own.seen.dimension();
        let mut seen = own.seen.clone();
        let mut exact = Subspace::zero(dimension);
        let mut given: Vec<Functional> = vec![];
        if let Some(sum) = sum {
            seen = seen.sum(&sum.known.seen);
            exact = sum.known.exact.clone();
            given = exact.rows();
        }
        for (_, rows) in &own.exact {
            let rows_span = Subspace::span(dimension, rows);
            (seen, exact) = (seen.sum(&rows_span), exact.sum(&rows_span));
            given.extend(rows.iter().cloned());
        }
        let tracked = (!given.is_empty()).then(|| track(dimension, &given, &exact.rows()));
        let known = knowledge.get(seen, exact);
        let (free_lift, exact_lift) = (known.free_lift(), known.exact_lift());
        // Information on the free functionals; and what an exact value takes from the right side.
        let own_side = free_lift.transposed();
        let mut information = own_side.around(&own.information);
        let mut right_of_exact = own_side.times(&own.information).times(&exact_lift);
        let mut sum_side = None;
        if let Some(sum) = sum {
            let free = sum.known.free_rows();
            let (in_free, in_exact) = (free.times(&free_lift), free.times(&exact_lift));
            let weighted = in_free.transposed().times(&sum.inverse);
            information.add(&weighted.times(&in_free), 1.0);
            right_of_exact.add(&weighted.times(&in_exact), 1.0);
            sum_side = Some(weighted);
        }
        information.symmetrise();
        let covariance = match known.free_count() {
            0 => Matrix::zeros(0, 0),
            _ => information.inverse(),
        };
        Upward {
            from_own: covariance.times(&own_side),
            from_sum: sum_side.map(|side| covariance.times(&side)),
            from_exact: covariance.times(&right_of_exact),
            exact: tracked,
            state: State { known, covariance },
        }
    }
}

/// How the final estimate of a child follows from its upward estimate, its siblings and its parent.
pub(crate) struct Downward {
    pub(crate) state: State,
    /// Of the child's own functionals.
    pub(crate) from_child: Matrix,
    /// What is taken from each of the other children; none where all is seen by the child itself.
    pub(crate) from_others: Option<Matrix>,
    /// Of the parent's coordinates.
    pub(crate) from_parent: Matrix,
    /// Of the sum's functionals, subtracted.
    pub(crate) from_sum: Matrix,
    /// The functionals by the child, all of them, before they are expressed in its basis.
    pub(crate) by_child: Matrix,
    /// Their covariance with the free functionals of the sum.
    pub(crate) with_sum: Matrix,
}

impl Downward {
    /// `which` of the children, whose sum and parent are given.
    pub(crate) fn new(
        knowledge: &Knowledge,
        children: &[Children<'_>],
        which: usize,
        sum: &Sum,
        parent: &State,
    ) -> Downward {
        let child = &children[which];
        let own = &child.state.known;
        // What all others know, and the parent: the child has the rest of it.
        let several = child.count > 1.0;
        let others = |of: fn(&Known) -> &Subspace| {
            let mut common = of(&parent.known).clone();
            for (i, other) in children.iter().enumerate() {
                if several || i != which {
                    common = common.intersection(of(&other.state.known));
                }
            }
            common
        };
        let (rest_seen, rest_exact) = (others(|known| &known.seen), others(|known| &known.exact));
        let known = match own.seen.includes(&rest_seen) && own.exact.includes(&rest_exact) {
            true => own.clone(),
            false => knowledge.get(own.seen.sum(&rest_seen), own.exact.sum(&rest_exact)),
        };
        // Each functional of the child is e + b: e is seen by the child, b by all others and the parent.
        let (by_child, by_rest) = split(&known, own, &rest_seen, &rest_exact);
        let free_of_sum = sum.known.free_rows();
        let mut with_sum = child.state.of(&by_child, &free_of_sum);
        let mut residual = child.state.of(&by_child, &by_child);
        if let Some(by_rest) = &by_rest {
            for (i, other) in children.iter().enumerate().filter(|(i, _)| *i != which) {
                debug_assert!(i != which && !several);
                with_sum.add(&other.state.of(by_rest, &free_of_sum), -other.count);
                residual.add(&other.state.of(by_rest, by_rest), other.count);
            }
        }
        let gain = with_sum.times(&sum.inverse);
        if by_rest.is_none() && Arc::ptr_eq(own, &sum.known) {
            // V − V D⁻¹ V = V D⁻¹ (D − V), without the difference.
            let exact = own.exact_count();
            let others = sum.others(children, which, &child.state.covariance);
            let mut free = child.state.covariance.times(&sum.inverse).times(&others);
            free.symmetrise();
            residual = free.padded(exact);
        } else if by_rest.is_none() && sum.others_vary(children, which) {
            // (V⁻¹ + Cᵀ O⁻¹ C)⁻¹, where C are the functionals of the sum and O is the others' covariance.
            let of_sum = own.express_free(&free_of_sum);
            let others = sum.others(children, which, &of_sum.around(&child.state.covariance));
            let mut information = child.state.covariance.inverse();
            information.add(&of_sum.transposed().around(&others.inverse()), 1.0);
            residual = information.inverse().padded(own.exact_count());
        } else {
            residual.add(&gain.times_transposed(&with_sum), -1.0);
        }
        let mut from_parent = gain.times(&free_of_sum);
        if let Some(by_rest) = &by_rest {
            from_parent.add(by_rest, 1.0);
        }
        // Exact functionals have no covariance, to the last bit.
        let exact = known.exact_count();
        let mut covariance = residual.rows_from(exact).columns_from(exact);
        let of_parent = parent.known.express_free(&from_parent.rows_from(exact));
        covariance.add(&of_parent.around(&parent.covariance), 1.0);
        covariance.symmetrise();
        let mut from_sum = Matrix::zeros(known.count(), sum.known.count());
        let exact_of_sum = sum.known.exact_count();
        for i in 0..gain.rows() {
            for j in 0..gain.columns() {
                from_sum[(i, exact_of_sum + j)] = gain[(i, j)];
            }
        }
        Downward {
            from_child: own.express(&by_child),
            from_others: by_rest,
            from_parent,
            from_sum,
            by_child,
            with_sum,
            state: State { known, covariance },
        }
    }
}

/// The functionals of a basis as sums: of one in what the child sees, and one in the rest. Exact ones are
/// sums of exact ones.
fn split(
    known: &Arc<Known>,
    own: &Arc<Known>,
    rest_seen: &Subspace,
    rest_exact: &Subspace,
) -> (Matrix, Option<Matrix>) {
    if Arc::ptr_eq(known, own) {
        return (known.rows.clone(), None);
    }
    let dimension = known.seen.dimension();
    let basis: Vec<Functional> =
        known.exact.rows().into_iter().chain(known.seen.beyond(&known.exact)).collect();
    let exact = known.exact.rank();
    let mut by_child = vec![];
    let mut by_rest = vec![];
    let parts = [
        (&basis[..exact], own.exact.rows(), rest_exact.rows()),
        (&basis[exact..], own.seen.rows(), rest_seen.rows()),
    ];
    for (wanted, mine, theirs) in parts {
        let rows: Vec<Functional> = mine.iter().chain(&theirs).cloned().collect();
        let coefficients = track(dimension, &rows, wanted).coefficients;
        let (mine_count, rows) = (mine.len(), to_matrix(dimension, &rows));
        let first = coefficients.columns_between(0, mine_count);
        let second = coefficients.columns_from(mine_count);
        let mine_rows = Matrix::new(mine_count, dimension, rows.entries()[..mine_count * dimension].to_vec());
        by_child.extend_from_slice(first.times(&mine_rows).entries());
        by_rest.extend_from_slice(second.times(&rows.rows_from(mine_count)).entries());
    }
    let by_child = Matrix::new(basis.len(), dimension, by_child);
    let by_rest = Matrix::new(basis.len(), dimension, by_rest);
    (by_child, Some(by_rest))
}
