//! Blocks without the sums that are given.

use crate::basis::{Basis, Block, Pinned};
use crate::matrix::Matrix;

/// A block, without what is given of it.
pub(super) struct Free<'b> {
    pub(super) block: &'b Block,
    /// From free coordinates to all of them; none if all are free.
    pub(super) lift: Option<Matrix>,
    pub(super) squares: Matrix,
    pub(super) dimension: usize,
}

impl<'b> Free<'b> {
    pub(super) fn new(basis: &Basis, block: &'b Block, pinned: Option<&Vec<bool>>) -> Free<'b> {
        let d = block.dimension;
        let mut squares = Matrix::zeros(d, d);
        basis.squares(block).iter().enumerate().for_each(|(i, x)| squares[(i, i)] = *x);
        let lift = pinned.and_then(|told| basis.pinned(block, told)).map(|pinned| contrasts(&pinned));
        let dimension = lift.as_ref().map_or(d, Matrix::columns);
        let squares = lift.as_ref().map_or(squares.clone(), |lift| lift.transposed().around(&squares));
        Free { block, lift, squares, dimension }
    }

    pub(super) fn reduced(&self, matrix: &Matrix) -> Matrix {
        self.lift.as_ref().map_or(matrix.clone(), |lift| lift.transposed().around(matrix))
    }
}

/// Orthonormal directions in which no given sum changes.
fn contrasts(pinned: &Pinned) -> Matrix {
    let d = pinned.sum_of.len();
    let mut columns: Vec<Vec<f64>> = vec![];
    for sum in 0..pinned.sums {
        let members: Vec<usize> = (0..d).filter(|i| pinned.sum_of[*i] == sum).collect();
        for j in 1..members.len() {
            let scale = 1.0 / (j as f64 * (j as f64 + 1.0)).sqrt();
            let mut column = vec![0.0; d];
            members[..j].iter().for_each(|i| column[*i] = scale);
            column[members[j]] = -(j as f64) * scale;
            columns.push(column);
        }
    }
    let mut lift = Matrix::zeros(d, columns.len());
    for (j, column) in columns.iter().enumerate() {
        column.iter().enumerate().for_each(|(i, x)| lift[(i, j)] = *x);
    }
    lift
}
