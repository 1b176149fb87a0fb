//! Subspaces of functionals, in exact arithmetic: which sums of cells measurements see, and which are exact.
//!
//! Whether a sum can be estimated is a yes or no that does not depend on any variance. It is decided by
//! rational elimination, so that no tolerance is needed.

use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use crate::matrix::Matrix;

/// A functional: one coefficient for each coordinate.
pub(crate) type Functional = Vec<BigRational>;

/// A subspace of the functionals on ℝᵈ, by its reduced row echelon form: equal subspaces are equal values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subspace {
    /// All functionals.
    Full(usize),
    /// Fewer than all: a reduced echelon form, without rows that are zero.
    Span(usize, Vec<Functional>),
}

/// A functional with 1 at one coordinate.
pub(crate) fn unit(dimension: usize, at: usize) -> Functional {
    (0..dimension).map(|i| if i == at { BigRational::one() } else { BigRational::zero() }).collect()
}

/// The first coordinate that is not zero.
fn pivot(row: &[BigRational]) -> Option<usize> {
    row.iter().position(|x| !x.is_zero())
}

/// Subtracts the multiple of `other` that makes the row zero at its pivot.
fn reduce_by(row: &mut [BigRational], other: &[BigRational], at: usize) {
    if row[at].is_zero() {
        return;
    }
    let factor = row[at].clone();
    for (x, y) in row.iter_mut().zip(other).skip(at) {
        if !y.is_zero() {
            *x -= &factor * y;
        }
    }
}

/// Adds a row to a reduced echelon form; whether it was independent.
fn insert(rows: &mut Vec<Functional>, mut row: Functional) -> bool {
    for other in rows.iter() {
        reduce_by(&mut row, other, pivot(other).expect("rows are not zero"));
    }
    let Some(at) = pivot(&row) else { return false };
    let factor = row[at].clone();
    row.iter_mut().for_each(|x| *x /= &factor);
    rows.iter_mut().for_each(|other| reduce_by(other, &row, at));
    let place = rows.partition_point(|other| pivot(other) < Some(at));
    rows.insert(place, row);
    true
}

impl Subspace {
    pub(crate) fn zero(dimension: usize) -> Subspace {
        if dimension == 0 { Subspace::Full(0) } else { Subspace::Span(dimension, vec![]) }
    }

    pub(crate) fn span<'r>(dimension: usize, rows: impl IntoIterator<Item = &'r Functional>) -> Subspace {
        let mut reduced: Vec<Functional> = vec![];
        for row in rows {
            insert(&mut reduced, row.clone());
            if reduced.len() == dimension {
                return Subspace::Full(dimension);
            }
        }
        if dimension == 0 { Subspace::Full(0) } else { Subspace::Span(dimension, reduced) }
    }

    pub(crate) fn dimension(&self) -> usize {
        match self {
            Subspace::Full(dimension) | Subspace::Span(dimension, _) => *dimension,
        }
    }

    pub(crate) fn rank(&self) -> usize {
        match self {
            Subspace::Full(dimension) => *dimension,
            Subspace::Span(_, rows) => rows.len(),
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Subspace::Full(_))
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.rank() == 0
    }

    /// A basis.
    pub(crate) fn rows(&self) -> Vec<Functional> {
        match self {
            Subspace::Full(dimension) => (0..*dimension).map(|i| unit(*dimension, i)).collect(),
            Subspace::Span(_, rows) => rows.clone(),
        }
    }

    pub(crate) fn contains(&self, row: &[BigRational]) -> bool {
        let Subspace::Span(_, rows) = self else { return true };
        let mut row = row.to_vec();
        rows.iter().for_each(|other| reduce_by(&mut row, other, pivot(other).expect("not zero")));
        row.iter().all(BigRational::is_zero)
    }

    pub(crate) fn includes(&self, other: &Subspace) -> bool {
        if self.is_full() || other.is_zero() || self == other {
            return true;
        }
        other.rank() <= self.rank() && other.rows().iter().all(|row| self.contains(row))
    }

    pub(crate) fn sum(&self, other: &Subspace) -> Subspace {
        if self.includes(other) {
            return self.clone();
        }
        if other.is_full() {
            return other.clone();
        }
        Subspace::span(self.dimension(), self.rows().iter().chain(&other.rows()))
    }

    pub(crate) fn intersection(&self, other: &Subspace) -> Subspace {
        if self.is_full() || self.is_zero() || self == other {
            return if self.is_full() { other.clone() } else { self.clone() };
        }
        if other.is_full() || other.is_zero() {
            return if other.is_full() { self.clone() } else { other.clone() };
        }
        // a A = b B: the rows (A, A) and (B, 0) are eliminated by their first halves; what is left of the
        // second halves where the first are zero spans the intersection.
        let dimension = self.dimension();
        let zeros = || std::iter::repeat_n(BigRational::zero(), dimension);
        let twice = self.rows().into_iter().map(|row| row.iter().chain(&row).cloned().collect());
        let once = other.rows().into_iter().map(|row| row.into_iter().chain(zeros()).collect());
        let mut reduced: Vec<Functional> = vec![];
        twice.chain(once).for_each(|row| _ = insert(&mut reduced, row));
        let second = |row: &Functional| (pivot(row) >= Some(dimension)).then(|| row[dimension..].to_vec());
        let found: Vec<Functional> = reduced.iter().filter_map(second).collect();
        Subspace::span(dimension, &found)
    }

    /// A basis of the coordinates on which all of its functionals are zero.
    pub(crate) fn unseen(&self) -> Vec<Functional> {
        let Subspace::Span(dimension, rows) = self else { return vec![] };
        let pivots: Vec<usize> = rows.iter().filter_map(|row| pivot(row)).collect();
        let free = (0..*dimension).filter(|at| !pivots.contains(at));
        let solution = |at: usize| {
            let mut solution = unit(*dimension, at);
            for (row, pivot) in rows.iter().zip(&pivots) {
                solution[*pivot] = -row[at].clone();
            }
            solution
        };
        free.map(solution).collect()
    }

    /// All products of functionals of both: the product of two reduced echelon forms is one again.
    pub(crate) fn product(&self, other: &Subspace) -> Subspace {
        let dimension = self.dimension() * other.dimension();
        if self.is_full() && other.is_full() {
            return Subspace::Full(dimension);
        }
        let theirs = other.rows();
        let times =
            |a: &Functional, b: &Functional| a.iter().flat_map(|x| b.iter().map(move |y| x * y)).collect();
        let rows =
            self.rows().iter().flat_map(|a| theirs.iter().map(|b| times(a, b)).collect::<Vec<_>>()).collect();
        Subspace::Span(dimension, rows)
    }

    /// Rows that make a basis of this one together with one of `part`, which lies in it.
    pub(crate) fn beyond(&self, part: &Subspace) -> Vec<Functional> {
        if part.is_zero() {
            return self.rows();
        }
        let pivots: Vec<usize> = match part {
            Subspace::Full(_) => return vec![],
            Subspace::Span(_, rows) => rows.iter().filter_map(|row| pivot(row)).collect(),
        };
        if let Subspace::Full(dimension) = self {
            return (0..*dimension).filter(|i| !pivots.contains(i)).map(|i| unit(*dimension, i)).collect();
        }
        let mut rows = vec![];
        let known = part.rows();
        for mut row in self.rows() {
            known.iter().for_each(|other| reduce_by(&mut row, other, pivot(other).expect("not zero")));
            insert(&mut rows, row);
        }
        rows
    }
}

/// Rows that were chosen as a basis, in terms of the rows they came from.
#[derive(Clone, Debug)]
pub(crate) struct Tracked {
    /// For each functional that was asked for, its coefficients in the given rows.
    pub(crate) coefficients: Matrix,
    /// Combinations of the given rows that are zero, whatever the coordinates are.
    pub(crate) relations: Matrix,
}

/// Writes functionals as combinations of rows whose span they lie in.
pub(crate) fn track(dimension: usize, rows: &[Functional], wanted: &[Functional]) -> Tracked {
    let count = rows.len();
    let with_unit = |(i, row): (usize, &Functional)| -> Functional {
        row.iter().cloned().chain(unit(count, i)).collect()
    };
    let mut reduced: Vec<Functional> = vec![];
    rows.iter().enumerate().map(with_unit).for_each(|row| _ = insert(&mut reduced, row));
    let is_relation = |row: &&Functional| pivot(row) >= Some(dimension);
    let relations = reduced.iter().filter(is_relation).map(|row| row[dimension..].to_vec());
    let coefficients = wanted.iter().map(|row| {
        let mut row: Functional =
            row.iter().cloned().chain(std::iter::repeat_n(BigRational::zero(), count)).collect();
        for other in reduced.iter().filter(|row| !is_relation(row)) {
            reduce_by(&mut row, other, pivot(other).expect("not zero"));
        }
        debug_assert!(row[..dimension].iter().all(BigRational::is_zero));
        row[dimension..].iter().map(|x| -x).collect::<Functional>()
    });
    Tracked {
        coefficients: to_matrix(count, &coefficients.collect::<Vec<_>>()),
        relations: to_matrix(count, &relations.collect::<Vec<_>>()),
    }
}

/// To the nearest doubles.
pub(crate) fn to_matrix(columns: usize, rows: &[Functional]) -> Matrix {
    let mut matrix = Matrix::zeros(rows.len(), columns);
    for (i, row) in rows.iter().enumerate() {
        for (j, x) in row.iter().enumerate() {
            matrix[(i, j)] = to_double(x);
        }
    }
    matrix
}

fn to_double(x: &BigRational) -> f64 {
    let double = x.to_f64().expect("a fraction has a nearest double");
    debug_assert!(double.is_finite() && (double == 0.0) == x.abs().is_zero());
    double
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(entries: &[i64]) -> Functional {
        entries.iter().map(|x| BigRational::from_integer((*x).into())).collect()
    }

    fn span(rows: &[&[i64]]) -> Subspace {
        let rows: Vec<Functional> = rows.iter().map(|r| row(r)).collect();
        Subspace::span(3, &rows)
    }

    #[test]
    fn a_subspace_does_not_depend_on_the_rows_that_span_it() {
        assert_eq!(span(&[&[1, 1, 0], &[0, 1, 1]]), span(&[&[1, 2, 1], &[3, 3, 0], &[1, 0, -1]]));
        assert_eq!(span(&[&[1, 0, 0], &[1, 1, 0], &[1, 1, 1]]), Subspace::Full(3));
        assert_ne!(span(&[&[1, 1, 0]]), span(&[&[1, 0, 1]]));
    }

    #[test]
    fn sums_and_intersections() {
        let (a, b) = (span(&[&[1, 0, 0], &[0, 1, 0]]), span(&[&[0, 1, 0], &[0, 0, 1]]));
        assert_eq!(a.intersection(&b), span(&[&[0, 1, 0]]));
        assert_eq!(a.sum(&b), Subspace::Full(3));
        let (a, b) = (span(&[&[1, 1, 1], &[1, 0, 0]]), span(&[&[0, 1, 1], &[0, 1, 0]]));
        assert_eq!(a.intersection(&b), span(&[&[0, 1, 1]]));
        assert!(a.includes(&span(&[&[0, 2, 2]])) && !a.includes(&b));
        assert!(a.intersection(&span(&[&[0, 1, 0]])).is_zero());
    }

    #[test]
    fn all_functionals_are_zero_on_what_they_do_not_see() {
        let space = span(&[&[1, 1, 0], &[0, 1, 2]]);
        let unseen = space.unseen();
        assert_eq!(unseen, [row(&[2, -2, 1])]);
        assert_eq!(span(&[]).unseen().len(), 3);
        assert!(Subspace::Full(3).unseen().is_empty());
    }

    #[test]
    fn a_product_is_the_span_of_all_products() {
        let (a, b) = (span(&[&[1, 1, 0], &[0, 0, 1]]), span(&[&[1, 0, 2]]));
        let rows = [row(&[1, 0, 2, 1, 0, 2, 0, 0, 0]), row(&[0, 0, 0, 0, 0, 0, 1, 0, 2])];
        assert_eq!(a.product(&b), Subspace::span(9, &rows));
        assert_eq!(b.product(&a).rank(), 2);
        assert_eq!(Subspace::Full(3).product(&Subspace::Full(2)), Subspace::Full(6));
    }

    #[test]
    fn what_is_beyond_a_part_makes_a_basis_with_it() {
        let whole = span(&[&[1, 1, 1], &[1, 0, 0]]);
        let part = span(&[&[2, 1, 1]]);
        let beyond = whole.beyond(&part);
        assert_eq!(beyond.len(), 1);
        assert_eq!(part.sum(&Subspace::span(3, &beyond)), whole);
        assert_eq!(Subspace::Full(3).beyond(&part), [row(&[0, 1, 0]), row(&[0, 0, 1])]);
    }

    #[test]
    fn a_functional_is_tracked_to_the_rows_it_comes_from() {
        let rows = [row(&[1, 1, 0]), row(&[0, 1, 1]), row(&[1, 2, 1])];
        let tracked = track(3, &rows, &[row(&[1, 0, -1])]);
        let found: Vec<f64> = (0..3).map(|i| tracked.coefficients[(0, i)]).collect();
        let at = |j: usize| -> f64 { (0..3).map(|i| found[i] * to_double(&rows[i][j])).sum() };
        assert_eq!([at(0), at(1), at(2)], [1.0, 0.0, -1.0]);
        assert_eq!(tracked.relations.rows(), 1);
        let relation: Vec<f64> = (0..3).map(|i| tracked.relations[(0, i)]).collect();
        assert_eq!([relation[0] / relation[2], relation[1] / relation[2]], [-1.0, -1.0]);
    }
}
