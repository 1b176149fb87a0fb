//! How precisely the table of a unit is known, as a quadratic form on its cells.

use num_rational::BigRational;
use num_traits::One;

use crate::basis::Block;
use crate::family::State;
use crate::matrix::Matrix;
use crate::model::{Contradiction, Leaf, Model, upward_values};
use crate::subspace::{Subspace, to_matrix};
use crate::tree::{Measured, Tree};

/// The weight of what nothing was measured of, as a share of the precision of what was.
///
/// Where the measurements do not determine a table, it is to be like its parent's. This must decide nothing
/// else: in directions that are seen it changes precisions by one in a hundred.
const FAINT: f64 = 0.01;

/// How precisely the table of a unit is known.
#[derive(Clone, Debug)]
pub struct Kind {
    /// One matrix for each block of the model.
    pub(crate) precision: Vec<Matrix>,
    /// For blocks of which something is not seen, the projection to it.
    pub(super) unseen: Vec<Option<Matrix>>,
    pub(super) total_variance: f64,
}

impl Kind {
    /// From what was measured of the unit and all units in it.
    #[must_use]
    pub fn upward(tree: &Tree, node: usize) -> Kind {
        Kind::new(tree.model(), tree.upward[node].iter())
    }

    /// From what was measured of the unit itself.
    #[must_use]
    pub fn own(model: &Model, leaf: &Leaf) -> Kind {
        Kind::new(model, leaf.upward.iter().map(|upward| &upward.state))
    }

    fn new<'s>(model: &Model, states: impl Iterator<Item = &'s State>) -> Kind {
        let states: Vec<&State> = states.collect();
        let mut precision: Vec<Matrix> = states.iter().map(|state| information(state)).collect();
        let is_complete = states.iter().all(|state| state.known.plain);
        let faint = if is_complete { 0.0 } else { FAINT * typical(model, &precision) };
        if faint > 0.0 {
            for (matrix, block) in precision.iter_mut().zip(model.blocks()) {
                let squares = model.basis().squares(block);
                squares.iter().enumerate().for_each(|(i, x)| matrix[(i, i)] += faint * x);
            }
        }
        let unseen = |state: &&State| {
            let known = &state.known;
            (!known.seen.is_full()).then(|| {
                let mut rest = Matrix::identity(known.seen.dimension());
                rest.add(&known.lift.times(&known.rows), -1.0);
                rest
            })
        };
        let unseen = states.iter().map(unseen).collect();
        Kind { precision, unseen, total_variance: variance_of_total(model, &states) }
    }

    /// The variance of the total: 0 if it is exact, and infinite if it is not determined.
    #[must_use]
    pub fn total_variance(&self) -> f64 {
        self.total_variance
    }

    /// Lets what is not seen of coordinates be as given.
    pub(crate) fn fill_unseen(&self, model: &Model, given: &[f64], coordinates: &mut [f64]) {
        for (block, unseen) in model.blocks().iter().zip(&self.unseen) {
            let Some(unseen) = unseen else { continue };
            let mut shift = vec![0.0; block.dimension];
            for copy in block.each_copy() {
                let missing: Vec<f64> =
                    given[copy.clone()].iter().zip(&coordinates[copy.clone()]).map(|(a, b)| a - b).collect();
                unseen.apply(&missing, &mut shift);
                coordinates[copy].iter_mut().zip(&shift).for_each(|(x, shift)| *x += shift);
            }
        }
    }

    /// Whether there is anything that is not seen.
    pub(crate) fn lacks(&self) -> bool {
        self.unseen.iter().any(Option::is_some)
    }
}

fn variance_of_total(model: &Model, states: &[&State]) -> f64 {
    let basis = model.basis();
    let told = vec![false; model.space().axes.len()];
    let at = basis.blocks.iter().position(|block| basis.pinned(block, &told).is_some());
    // Without a query that is a total, cells are independent.
    let Some(at) = at else { return f64::INFINITY };
    let d = basis.blocks[at].dimension;
    let sum = vec![BigRational::one(); d];
    if !states[at].known.seen.includes(&Subspace::span(d, std::slice::from_ref(&sum))) {
        return f64::INFINITY;
    }
    let sum = to_matrix(d, &[sum]);
    states[at].of(&sum, &sum)[(0, 0)]
}

/// The information of a state: of its free functionals.
fn information(state: &State) -> Matrix {
    let known = &state.known;
    if known.plain {
        return state.covariance.inverse();
    }
    if known.free_count() == 0 {
        return Matrix::zeros(known.seen.dimension(), known.seen.dimension());
    }
    known.free_rows().transposed().around(&state.covariance.inverse())
}

/// The geometric mean of the precisions that there are.
fn typical(model: &Model, precision: &[Matrix]) -> f64 {
    let of_block = |(matrix, block): (&'_ Matrix, &'_ Block)| {
        let squares = model.basis().squares(block).into_iter().enumerate();
        let precisions = squares.map(|(i, square)| (block.copies as f64, matrix[(i, i)] / square));
        precisions.filter(|(_, precision)| *precision > 0.0).collect::<Vec<_>>()
    };
    geometric_mean(precision.iter().zip(model.blocks()).flat_map(of_block))
}

/// The geometric mean of numbers with weights; 1 if there are none.
pub(super) fn geometric_mean(numbers: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (weight, x) in numbers {
        sum += weight * pxfm::f_log(x);
        weights += weight;
    }
    if weights == 0.0 { 1.0 } else { pxfm::f_exp(sum / weights) }
}

impl Leaf {
    /// The coordinates of the estimate of a unit by its own measurements.
    pub fn own_coordinates(
        &self,
        model: &Model,
        measured: &Measured,
        to: &mut [f64],
    ) -> Result<(), Contradiction> {
        for ((block, own), upward) in model.blocks().iter().zip(&self.class.own).zip(&self.upward) {
            upward_values(block, own, upward, None, &measured.gradient, &measured.exact, to)?;
            let known = &upward.state.known;
            if known.plain {
                continue;
            }
            let mut lifted = vec![0.0; block.dimension];
            for copy in block.each_copy() {
                known.lift.apply(&to[copy.start..][..known.count()], &mut lifted);
                to[copy].copy_from_slice(&lifted);
            }
        }
        Ok(())
    }
}
