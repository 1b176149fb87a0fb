//! What is known of a block in a unit: which functionals are seen, and which of them are exact.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::matrix::Matrix;
use crate::subspace::{Functional, Subspace, to_matrix};

/// Functionals that can be estimated, and those of them that are exact, with a basis: first of the exact
/// ones, then of the rest, which are called free.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) seen: Subspace,
    pub(crate) exact: Subspace,
    /// The basis in doubles, a functional in each row.
    pub(crate) rows: Matrix,
    /// A right inverse: coordinates whose functionals are given.
    pub(crate) lift: Matrix,
    /// Whether the functionals are the coordinates themselves, all free.
    pub(crate) plain: bool,
}

impl Known {
    fn new(seen: Subspace, exact: Subspace) -> Known {
        let dimension = seen.dimension();
        if seen.is_full() && exact.is_zero() {
            let (rows, lift) = (Matrix::identity(dimension), Matrix::identity(dimension));
            return Known { seen, exact, rows, lift, plain: true };
        }
        let basis: Vec<Functional> = exact.rows().into_iter().chain(seen.beyond(&exact)).collect();
        let rows = to_matrix(dimension, &basis);
        // The smallest coordinates with given functionals: rows · (rowsᵀ (rows · rowsᵀ)⁻¹) is the identity.
        let lift = match basis.is_empty() {
            true => Matrix::zeros(dimension, 0),
            false => rows.transposed().times(&rows.times_transposed(&rows).inverse()),
        };
        Known { seen, exact, rows, lift, plain: false }
    }

    /// The number of exact functionals.
    pub(crate) fn exact_count(&self) -> usize {
        self.exact.rank()
    }

    /// The number of functionals.
    pub(crate) fn count(&self) -> usize {
        self.seen.rank()
    }

    pub(crate) fn free_count(&self) -> usize {
        self.count() - self.exact_count()
    }

    /// The functionals that are not exact.
    pub(crate) fn free_rows(&self) -> Matrix {
        self.rows.rows_from(self.exact_count())
    }

    /// Coordinates for free functionals.
    pub(crate) fn free_lift(&self) -> Matrix {
        self.lift.columns_from(self.exact_count())
    }

    pub(crate) fn exact_lift(&self) -> Matrix {
        self.lift.columns_between(0, self.exact_count())
    }

    /// Functionals (rows) in terms of the basis. They must be seen.
    pub(crate) fn express(&self, functionals: &Matrix) -> Matrix {
        if self.plain { functionals.clone() } else { functionals.times(&self.lift) }
    }

    /// The same in terms of the free ones alone.
    pub(crate) fn express_free(&self, functionals: &Matrix) -> Matrix {
        if self.plain { functionals.clone() } else { functionals.times(&self.free_lift()) }
    }
}

/// All that was found to be known of some unit, each once.
#[derive(Debug, Default)]
pub(crate) struct Knowledge(Mutex<HashMap<(Subspace, Subspace), Arc<Known>>>);

impl Knowledge {
    pub(crate) fn get(&self, seen: Subspace, exact: Subspace) -> Arc<Known> {
        let mut all = self.0.lock().expect("not poisoned");
        let key = (seen, exact);
        if let Some(known) = all.get(&key) {
            return known.clone();
        }
        let known = Arc::new(Known::new(key.0.clone(), key.1.clone()));
        all.insert(key, known.clone());
        known
    }
}
