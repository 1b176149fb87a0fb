//! Linear systems in whole numbers, without fractions (Bareiss 1968).

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

/// Solutions of a system: whole numbers over one denominator.
#[derive(Debug)]
pub(super) struct Solutions {
    pub(super) denominator: BigInt,
    /// For each right side one; none if there is none.
    pub(super) numerators: Vec<Option<Vec<BigInt>>>,
}

/// Solutions `x` of `matrix · x = right`, for each right side.
///
/// Where there are several, one of them is given: coordinates that nothing decides are 0.
pub(super) fn solve(matrix: Vec<Vec<BigInt>>, right: &[Vec<BigInt>]) -> Solutions {
    let size = matrix.len();
    let mut rows = matrix;
    for (i, row) in rows.iter_mut().enumerate() {
        row.extend(right.iter().map(|column| column[i].clone()));
    }
    let mut before = BigInt::one();
    let mut pivots: Vec<usize> = vec![];
    for column in 0..size {
        let rank = pivots.len();
        let Some(found) = (rank..size).find(|row| !rows[*row][column].is_zero()) else { continue };
        rows.swap(rank, found);
        let pivot_row = rows[rank].clone();
        let pivot = &pivot_row[column];
        for (i, row) in rows.iter_mut().enumerate() {
            if i == rank {
                continue;
            }
            let factor = row[column].clone();
            // Every division is exact: the entries are determinants of parts of the matrix.
            for (x, y) in row.iter_mut().zip(&pivot_row) {
                if x.is_zero() && (y.is_zero() || factor.is_zero()) {
                    continue;
                }
                let product = pivot * &*x - &factor * y;
                *x = if before.is_one() { product } else { product / &before };
            }
        }
        before = pivot.clone();
        pivots.push(column);
    }
    // All pivots are the last one now.
    let solution = |which: usize| {
        let at = size + which;
        if rows[pivots.len()..].iter().any(|row| !row[at].is_zero()) {
            return None;
        }
        let mut x = vec![BigInt::zero(); size];
        for (row, column) in rows.iter().zip(&pivots) {
            x[*column] = row[at].clone();
        }
        Some(x)
    };
    let numerators = (0..right.len()).map(solution).collect();
    Solutions { denominator: before, numerators }
}

/// Fractions as whole numbers over their common denominator.
pub(super) fn whole(values: &[&BigRational]) -> (Vec<BigInt>, BigInt) {
    let common = values.iter().fold(BigInt::one(), |common, x| common.lcm(x.denom()));
    (values.iter().map(|x| x.numer() * (&common / x.denom())).collect(), common)
}

/// Bits after the point of [`fixed`] numbers.
pub(super) const POINT: u64 = 192;

/// `numerator/denominator` times 2^[`POINT`], rounded down, whatever the sign of the denominator.
pub(super) fn fixed(numerator: &BigInt, denominator: &BigInt) -> BigInt {
    match denominator.is_negative() {
        true => (-(numerator << POINT)).div_floor(&-denominator),
        false => (numerator << POINT).div_floor(denominator),
    }
}

/// The same, rounded up.
pub(super) fn fixed_up(numerator: &BigInt, denominator: &BigInt) -> BigInt {
    -fixed(&-numerator, denominator)
}

/// The product of two vectors.
pub(super) fn dot(a: &[BigInt], b: &[BigInt]) -> BigInt {
    let terms = a.iter().zip(b).filter(|(x, y)| !x.is_zero() && !y.is_zero());
    terms.fold(BigInt::zero(), |sum, (x, y)| sum + x * y)
}

/// The double as a fraction of `bits` bits, not larger.
pub(super) fn fraction(value: f64, bits: i32) -> BigRational {
    if value == 0.0 || !value.is_finite() {
        return BigRational::zero();
    }
    let shift = bits - (pxfm::f_log2(value.abs()).floor() as i32);
    let whole = BigRational::from_float(value).expect("finite") * power_of_two(shift);
    whole.floor() * power_of_two(-shift)
}

/// A positive number, rounded down to about so many bits.
pub(super) fn shortened(value: &BigRational, kept: i64) -> BigRational {
    let bits = value.numer().bits() as i64 - value.denom().bits() as i64;
    let shift = (kept - bits) as i32;
    (value * power_of_two(shift)).floor() * power_of_two(-shift)
}

fn power_of_two(exponent: i32) -> BigRational {
    let power = BigInt::one() << exponent.unsigned_abs();
    if exponent < 0 { BigRational::new(BigInt::one(), power) } else { BigRational::from_integer(power) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(matrix: &[Vec<BigInt>], x: &[BigInt]) -> Vec<BigInt> {
        matrix.iter().map(|row| dot(row, x)).collect()
    }

    #[test]
    fn solutions_solve_and_contradictions_are_none() {
        let mut state = 7u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            BigInt::from((state >> 60) as i64 - 8)
        };
        let mut without = 0;
        for size in 1..9 {
            for rank in 0..=size {
                // A matrix of at most that rank: a sum of products.
                let mut matrix = vec![vec![BigInt::zero(); size]; size];
                for _ in 0..rank {
                    let (a, b): (Vec<BigInt>, Vec<BigInt>) = (0..size).map(|_| (next(), next())).unzip();
                    for i in 0..size {
                        for j in 0..size {
                            matrix[i][j] += &a[i] * &b[j];
                        }
                    }
                }
                let inside: Vec<BigInt> = (0..size).map(|_| next()).collect();
                let reached = image(&matrix, &inside);
                let any: Vec<BigInt> = (0..size).map(|_| next()).collect();
                let found = solve(matrix.clone(), &[reached.clone(), any.clone()]);
                let times =
                    |y: &[BigInt]| -> Vec<BigInt> { y.iter().map(|y| y * &found.denominator).collect() };
                assert_eq!(image(&matrix, found.numerators[0].as_ref().expect("one")), times(&reached));
                match &found.numerators[1] {
                    Some(x) => assert_eq!(image(&matrix, x), times(&any)),
                    None => without += 1,
                }
            }
        }
        // A vector is in the image of a matrix of smaller rank only by chance.
        assert!(without > 25, "{without}");
    }

    #[test]
    fn fixed_numbers_are_rounded_down() {
        for (n, d) in [(1i64, 3i64), (-7, 11), (0, 5), (1 << 40, -3), (-5, -(1 << 50))] {
            let found = BigRational::new(fixed(&n.into(), &d.into()), BigInt::one() << POINT);
            let exact = BigRational::new(n.into(), d.into());
            let step = BigRational::new(BigInt::one(), BigInt::one() << POINT);
            assert!(found <= exact && exact < &found + &step);
            let above = BigRational::new(fixed_up(&n.into(), &d.into()), BigInt::one() << POINT);
            assert!(above >= exact && above < exact + step);
        }
    }

    #[test]
    fn fractions_are_not_larger_than_the_double() {
        for value in [1.0, 0.1, 3e-9, 7.7e12, 0.0] {
            let found = fraction(value, 30);
            let exact = BigRational::from_float(value).unwrap();
            assert!(found <= exact && (&exact - &found) * BigInt::from(1 << 29) <= exact, "{value}");
        }
    }
}
