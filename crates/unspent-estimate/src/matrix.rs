//! Small dense matrices, and the solution of positive definite systems.

use std::ops::{Index, IndexMut};

/// A dense matrix, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    entries: Vec<f64>,
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (row, column): (usize, usize)) -> &f64 {
        &self.entries[row * self.columns + column]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut f64 {
        &mut self.entries[row * self.columns + column]
    }
}

impl Matrix {
    /// All entries are 0.
    #[must_use]
    pub fn zeros(rows: usize, columns: usize) -> Matrix {
        Matrix { rows, columns, entries: vec![0.0; rows * columns] }
    }

    /// 1 on the diagonal.
    #[must_use]
    pub fn identity(size: usize) -> Matrix {
        let mut matrix = Matrix::zeros(size, size);
        (0..size).for_each(|i| matrix[(i, i)] = 1.0);
        matrix
    }

    /// The entries are given row by row.
    #[must_use]
    pub fn new(rows: usize, columns: usize, entries: Vec<f64>) -> Matrix {
        assert_eq!(entries.len(), rows * columns);
        Matrix { rows, columns, entries }
    }

    /// How many rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All entries, row by row.
    #[must_use]
    pub fn entries(&self) -> &[f64] {
        &self.entries
    }

    pub(crate) fn row(&self, row: usize) -> &[f64] {
        &self.entries[row * self.columns..][..self.columns]
    }

    /// Some rows, one after the other.
    pub(crate) fn rows_from(&self, start: usize) -> Matrix {
        let entries = self.entries[start * self.columns..].to_vec();
        Matrix::new(self.rows - start, self.columns, entries)
    }

    /// Some columns, from that one on.
    pub(crate) fn columns_from(&self, start: usize) -> Matrix {
        self.columns_between(start, self.columns)
    }

    pub(crate) fn columns_between(&self, start: usize, end: usize) -> Matrix {
        let mut part = Matrix::zeros(self.rows, end - start);
        for i in 0..self.rows {
            part.entries[i * (end - start)..][..end - start].copy_from_slice(&self.row(i)[start..end]);
        }
        part
    }

    /// With as many more rows and columns of zeros before all others.
    pub(crate) fn padded(&self, before: usize) -> Matrix {
        let mut padded = Matrix::zeros(self.rows + before, self.columns + before);
        for i in 0..self.rows {
            padded.entries[(i + before) * (self.columns + before) + before..][..self.columns]
                .copy_from_slice(self.row(i));
        }
        padded
    }

    pub(crate) fn transposed(&self) -> Matrix {
        let mut turned = Matrix::zeros(self.columns, self.rows);
        for i in 0..self.rows {
            for j in 0..self.columns {
                turned[(j, i)] = self[(i, j)];
            }
        }
        turned
    }

    pub(crate) fn times(&self, other: &Matrix) -> Matrix {
        assert_eq!(self.columns, other.rows);
        let mut product = Matrix::zeros(self.rows, other.columns);
        for i in 0..self.rows {
            let row = &mut product.entries[i * other.columns..][..other.columns];
            for (k, x) in self.row(i).iter().enumerate().filter(|(_, x)| **x != 0.0) {
                row.iter_mut().zip(other.row(k)).for_each(|(sum, y)| *sum += x * y);
            }
        }
        product
    }

    /// Self times the transpose of the other.
    pub(crate) fn times_transposed(&self, other: &Matrix) -> Matrix {
        self.times(&other.transposed())
    }

    /// `self · middle · selfᵀ` for a symmetric `middle`.
    pub(crate) fn around(&self, middle: &Matrix) -> Matrix {
        let mut found = self.times(middle).times_transposed(self);
        found.symmetrise();
        found
    }

    pub(crate) fn add(&mut self, other: &Matrix, factor: f64) {
        assert_eq!((self.rows, self.columns), (other.rows, other.columns));
        self.entries.iter_mut().zip(&other.entries).for_each(|(x, y)| *x += factor * y);
    }

    pub(crate) fn symmetrise(&mut self) {
        for i in 0..self.rows {
            for j in 0..i {
                let mean = (self[(i, j)] + self[(j, i)]) / 2.0;
                (self[(i, j)], self[(j, i)]) = (mean, mean);
            }
        }
    }

    /// Writes the product with a vector.
    pub(crate) fn apply(&self, vector: &[f64], to: &mut [f64]) {
        for (i, x) in to.iter_mut().enumerate().take(self.rows) {
            *x = dot(self.row(i), vector);
        }
    }

    /// Adds the product with a vector.
    pub(crate) fn apply_add(&self, vector: &[f64], to: &mut [f64]) {
        for (i, x) in to.iter_mut().enumerate().take(self.rows) {
            *x += dot(self.row(i), vector);
        }
    }

    /// The sum of products of entries: the trace of `selfᵀ · other`.
    #[must_use]
    pub fn inner(&self, other: &Matrix) -> f64 {
        dot(&self.entries, &other.entries)
    }

    /// The inverse of a positive definite matrix.
    pub(crate) fn inverse(&self) -> Matrix {
        if let [x] = self.entries[..] {
            return Matrix::new(1, 1, vec![1.0 / x]);
        }
        let mut inverse = Cholesky::new(self).solve(&Matrix::identity(self.rows));
        inverse.symmetrise();
        inverse
    }
}

/// Long sums are made of four, which do not wait for each other.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() < 16 {
        return a.iter().zip(b).map(|(x, y)| x * y).sum();
    }
    assert_eq!(a.len(), b.len());
    let (fours, others) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = fours.remainder().iter().zip(others.remainder()).map(|(x, y)| x * y).sum();
    let mut sums = [0.0; 4];
    for (x, y) in fours.zip(others) {
        (0..4).for_each(|i| sums[i] += x[i] * y[i]);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// A positive definite matrix as the product of a lower triangular one with its transpose.
#[derive(Debug)]
pub(crate) struct Cholesky {
    lower: Matrix,
    /// 1 / √ of the diagonal: the matrix is scaled before it is factored.
    scale: Vec<f64>,
}

impl Cholesky {
    /// Which subspaces are seen is decided exactly before, so that the matrix is positive definite; scaled to
    /// a unit diagonal, its pivots can be too small only if measurements differ by 10¹⁵ in variance.
    pub(crate) fn new(matrix: &Matrix) -> Cholesky {
        let n = matrix.rows;
        let scale: Vec<f64> = (0..n).map(|i| 1.0 / matrix[(i, i)].sqrt()).collect();
        let mut lower = matrix.clone();
        for i in 0..n {
            for j in 0..=i {
                lower[(i, j)] *= scale[i] * scale[j];
            }
        }
        for i in 0..n {
            for j in 0..=i {
                let (head, tail) = lower.entries.split_at_mut(i * n);
                let sum = match j < i {
                    true => dot(&head[j * n..][..j], &tail[..j]),
                    false => dot(&tail[..j], &tail[..j]),
                };
                let rest = tail[j] - sum;
                tail[j] = match j < i {
                    true => rest / head[j * n + j],
                    false => rest.max(f64::MIN_POSITIVE).sqrt(),
                };
            }
        }
        Cholesky { lower, scale }
    }

    /// The solution for each column of the right side.
    pub(crate) fn solve(&self, right: &Matrix) -> Matrix {
        self.second_half(self.first_half(right))
    }

    /// L⁻¹ times the right side, where the matrix is L Lᵀ.
    pub(crate) fn first_half(&self, right: &Matrix) -> Matrix {
        let mut found = right.clone();
        self.scale_rows(&mut found);
        for i in 0..self.lower.rows {
            self.eliminate(&mut found, i, 0..i, |i, j| (i, j));
        }
        found
    }

    /// L⁻ᵀ times the right side.
    pub(crate) fn second_half(&self, mut found: Matrix) -> Matrix {
        let n = self.lower.rows;
        for i in (0..n).rev() {
            self.eliminate(&mut found, i, i + 1..n, |i, j| (j, i));
        }
        self.scale_rows(&mut found);
        found
    }

    fn scale_rows(&self, of: &mut Matrix) {
        let columns = of.columns;
        for (i, scale) in self.scale.iter().enumerate() {
            of.entries[i * columns..][..columns].iter_mut().for_each(|x| *x *= scale);
        }
    }

    fn eliminate(
        &self,
        found: &mut Matrix,
        i: usize,
        others: std::ops::Range<usize>,
        place: impl Fn(usize, usize) -> (usize, usize),
    ) {
        let columns = found.columns;
        for j in others {
            let factor = self.lower[place(i, j)];
            if factor == 0.0 {
                continue;
            }
            let (low, high) = (i.min(j), i.max(j));
            let (head, tail) = found.entries.split_at_mut(high * columns);
            let (a, b) = (&mut head[low * columns..][..columns], &mut tail[..columns]);
            let (to, from) = if i < j { (a, b) } else { (b, a) };
            to.iter_mut().zip(from.iter()).for_each(|(x, y)| *x -= factor * y);
        }
        let pivot = self.lower[(i, i)];
        found.entries[i * columns..][..columns].iter_mut().for_each(|x| *x /= pivot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_times_its_matrix_is_the_identity() {
        for n in 1..12 {
            // Positive definite, with variances from 10⁻³ to 10⁶.
            let size = |i: usize| 10f64.powi(i as i32 - 3);
            let mut matrix = Matrix::zeros(n, n);
            for i in 0..n {
                for j in 0..n {
                    let shared = if i == j { 1.5 } else { 1.0 / (1.0 + i.abs_diff(j) as f64) };
                    matrix[(i, j)] = shared * (size(i % 7) * size(j % 7)).sqrt();
                }
            }
            let product = matrix.times(&matrix.inverse());
            for i in 0..n {
                for j in 0..n {
                    let scaled = product[(i, j)] * (size(j % 7) / size(i % 7)).sqrt();
                    assert!((scaled - f64::from(i == j)).abs() < 1e-12, "{n} {i} {j} {scaled}");
                }
            }
        }
    }
}
