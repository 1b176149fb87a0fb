//! The cells that a parent's table has: its children have no others (Lemma T2 of `theory/tables.md`).

use super::kind::Kind;
use crate::basis::Part;
use crate::matrix::Matrix;
use crate::model::{Model, Scratch};

/// The cells of a space that a table has, and others with the same values on each axis.
#[derive(Debug)]
pub struct Support {
    pub(crate) part: Part,
    /// The number of each of its cells in the space.
    pub(crate) cells: Vec<u32>,
    /// What the table has there.
    pub(crate) counts: Vec<i64>,
    /// The coordinates of the table, in the whole space.
    coordinates: Vec<f64>,
    pub(crate) axes: usize,
}

/// What is estimated of a child, in the cells of the support.
#[derive(Clone, Debug)]
pub struct ChildEstimate {
    pub(crate) near: Vec<f64>,
    pub(crate) slope: Vec<f64>,
    pub(crate) cost: f64,
    pub(crate) total: f64,
}

impl Support {
    /// Of a table that is not empty: cells of the space, ascending, and their counts.
    #[must_use]
    pub fn new(model: &Model, table: &[(u32, i64)]) -> Support {
        let space = model.space();
        let sizes: Vec<usize> = space.axes.iter().map(|axis| axis.values.len()).collect();
        let mut there: Vec<Vec<bool>> = sizes.iter().map(|size| vec![false; *size]).collect();
        for (cell, _) in table {
            let mut rest = *cell as usize;
            for (there, size) in there.iter_mut().zip(&sizes).rev() {
                there[rest % size] = true;
                rest /= size;
            }
        }
        let kept: Vec<Vec<u32>> = there
            .iter()
            .map(|there| (0..there.len() as u32).filter(|value| there[*value as usize]).collect())
            .collect();
        let mut cells = vec![0u32];
        for (kept, size) in kept.iter().zip(&sizes) {
            let longer = |cell: &u32| {
                let start = cell * *size as u32;
                kept.iter().map(move |value| start + value)
            };
            cells = cells.iter().flat_map(longer).collect();
        }
        let mut counts = vec![0; cells.len()];
        for (cell, count) in table {
            counts[cells.binary_search(cell).expect("its values are kept")] = *count;
        }
        let mut whole = vec![0.0; space.cells()];
        table.iter().for_each(|(cell, count)| whole[*cell as usize] = *count as f64);
        let mut coordinates = vec![0.0; space.cells()];
        model.basis().coordinates(&mut whole, &mut vec![], &mut coordinates);
        let part = Part::of_values(model.basis(), &kept);
        Support { part, cells, counts, coordinates, axes: sizes.len() }
    }

    /// How many cells it has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.cells.len()
    }

    pub(crate) fn total(&self) -> i64 {
        self.counts.iter().sum()
    }

    /// The precision of a kind, in the blocks of the support.
    pub(crate) fn precision(&self, kind: &Kind) -> Vec<Matrix> {
        self.part.of_blocks(&kind.precision)
    }

    /// The precision of a kind, cell by cell.
    pub(crate) fn dense(&self, kind: &Kind) -> Matrix {
        let (basis, precision) = (&self.part.basis, self.precision(kind));
        let n = self.size();
        let (mut found, mut work) = (Matrix::zeros(n, n), vec![]);
        for cell in 0..n {
            let mut unit = vec![0.0; n];
            unit[cell] = 1.0;
            let mut coordinates = vec![0.0; n];
            basis.coordinates(&mut unit, &mut work, &mut coordinates);
            for (block, precision) in basis.blocks.iter().zip(&precision) {
                let mut product = vec![0.0; block.dimension];
                for copy in block.each_copy() {
                    precision.apply(&coordinates[copy.clone()], &mut product);
                    coordinates[copy].copy_from_slice(&product);
                }
            }
            basis.gradient_to_cells(&coordinates, &mut work, &mut unit);
            unit.iter().enumerate().for_each(|(other, x)| found[(cell, other)] = *x);
        }
        found
    }

    /// What is estimated of a child, by the coordinates of its estimate.
    pub fn child(
        &self,
        model: &Model,
        kind: &Kind,
        coordinates: &mut [f64],
        scratch: &mut Scratch,
    ) -> ChildEstimate {
        let basis = model.basis();
        let Scratch { cells: whole, work, .. } = scratch;
        whole.resize(model.space().cells(), 0.0);
        basis.to_cells(coordinates, work, whole);
        let total: f64 = whole.iter().sum();
        if kind.lacks() {
            // A child is like its parent, as large as it is estimated to be.
            let share = total.max(0.0) / self.total().max(1) as f64;
            let like: Vec<f64> = self.coordinates.iter().map(|x| share * x).collect();
            kind.fill_unseen(model, &like, coordinates);
            basis.to_cells(coordinates, work, whole);
        }
        let near: Vec<f64> = self.cells.iter().map(|cell| whole[*cell as usize]).collect();
        if self.size() == whole.len() {
            return ChildEstimate { slope: vec![0.0; near.len()], near, cost: 0.0, total };
        }
        // What the children cannot have, as the form sees it.
        self.cells.iter().for_each(|cell| whole[*cell as usize] = 0.0);
        basis.coordinates(whole, work, coordinates);
        let mut cost = 0.0;
        for (block, precision) in model.blocks().iter().zip(&kind.precision) {
            let mut product = vec![0.0; block.dimension];
            for copy in block.each_copy() {
                let own = &mut coordinates[copy];
                precision.apply(own, &mut product);
                cost += own.iter().zip(&product).map(|(x, y)| 0.5 * x * y).sum::<f64>();
                own.copy_from_slice(&product);
            }
        }
        basis.gradient_to_cells(coordinates, work, whole);
        let slope = self.cells.iter().map(|cell| whole[*cell as usize]).collect();
        ChildEstimate { near, slope, cost, total }
    }
}
