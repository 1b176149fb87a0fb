//! The classes that several modules know: what they hold. What they do is in the module of each.

use pyo3::prelude::*;
use unspent::composition::Group;
use unspent::file::FileDigest;
use unspent::question::Product;
use unspent::{Bounds as Ends, Magnitude};

/// Bounds in the shape of the array that was asked for; an index gives those of one place. Pickled, they are
/// as good as whoever sent them, like Bounds.
///
/// >>> import numpy as np
/// >>> from unspent import Composition, DiscreteGaussian
/// >>> deltas = Composition([DiscreteGaussian(sigma2=5, count=10)]).delta(np.array([1.0, 5.0, 40.0]))
/// >>> deltas.upper.shape, deltas[2].decimal(4)
/// ((3,), ('1.537e-169', '1.538e-169'))
#[pyclass(frozen, sequence, module = "unspent")]
pub struct BoundsArray {
    pub shape: Vec<usize>,
    pub ends: Vec<Ends<Magnitude>>,
    pub guarantee: End,
}

/// Two ends with the truth between them, every rounding error included: lower <= truth <= upper.
///
/// For a delta or an epsilon `upper` is the guarantee; for a trade-off function `lower` is. There is no
/// midpoint, and it does not turn into a float: say which end you mean. Bounds that were pickled are as good
/// as whoever sent them: nothing shows that they were computed here.
///
/// In a format the guarantee is written, rounded away from the truth: an epsilon up, a trade-off function
/// down. A comparison with a number is answered where both ends agree; where the number lies between them an
/// UnspentError is raised.
///
/// >>> from unspent import Composition, DiscreteGaussian
/// >>> epsilon = Composition([DiscreteGaussian(sigma2=5, count=10)]).epsilon("1e-11")
/// >>> print(epsilon)
/// [10.124830, 10.124831]
/// >>> f"{epsilon:.3f}"
/// '10.125'
/// >>> epsilon < 10.1249
/// True
/// >>> float(epsilon)
/// Traceback (most recent call last):
///     ...
/// TypeError: Bounds are not one number: say which end you mean, .upper or .lower
#[pyclass(frozen, module = "unspent")]
#[derive(Clone, Copy)]
pub struct Bounds {
    pub ends: Ends<Magnitude>,
    pub guarantee: End,
}

/// Which of two ends is the guarantee.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Lower,
    Upper,
}

/// `count` equal answers with discrete Gaussian noise N_Z(0, sigma2), each of which one record can move by
/// `shift`.
///
/// The noise is stated as `sigma2`, the parameter of P[X = x] ~ exp(-x**2 / (2 * sigma2)) on the integers, or
/// as `sigma` or `scale`, the square root of it; each has its name, because libraries differ in what a bare
/// number means. Numbers are exact: an int, a str like "100000/9563", a Fraction, a Decimal; a float is taken
/// as exactly the double it is.
///
/// >>> from unspent import DiscreteGaussian
/// >>> DiscreteGaussian(sigma2="100000/9563", count=2)
/// DiscreteGaussian(sigma2='100000/9563', count=2, shift=1)
/// >>> DiscreteGaussian(sigma="2.5") == DiscreteGaussian(scale="2.5") == DiscreteGaussian(sigma2="6.25")
/// True
/// >>> DiscreteGaussian(sigma2="0.1").sigma2, DiscreteGaussian(sigma2=0.1).sigma2
/// (Fraction(1, 10), Fraction(3602879701896397, 36028797018963968))
///
/// A number that was computed in floats, like math.sqrt(2), is a fraction with a denominator of 2**52: losses
/// on so fine a lattice take longer and are known less closely. Where the fraction that is meant is known,
/// say it: sigma2=2, or Fraction(x).limit_denominator(1000), if the noise is then drawn with that, too.
///
/// `sensitivity` is the L2 sensitivity of a vector of integers, by its usual name. Only that of 1 says which
/// of them move: one, by 1. Otherwise give `shift`, how far each moves, and `count`, how many do: the L2
/// sensitivity of `count` answers that move by 1 is the square root of `count`.
///
/// `n * mechanism` is n times as many, and `+` makes a Composition:
///
/// >>> 3 * DiscreteGaussian(sigma2=5) + 2 * DiscreteGaussian(sigma2=7)  # doctest: +NORMALIZE_WHITESPACE
/// Composition([DiscreteGaussian(sigma2='5', count=3, shift=1), DiscreteGaussian(sigma2='7', count=2,
/// shift=1)])
#[pyclass(frozen, module = "unspent")]
pub struct DiscreteGaussian {
    pub group: Group,
}

/// `count` equal answers with continuous Gaussian noise N(0, sigma2), each of which one record can move by
/// `shift`.
///
/// Here the shift need not be an integer; for a vector it is the L2 sensitivity, and `sensitivity` is another
/// name for it. The noise is stated as `sigma2`, the variance, or as `sigma` or `scale`, its square root.
///
/// >>> from unspent import Gaussian
/// >>> Gaussian(sigma=2, shift="1/2").rho
/// Fraction(1, 32)
#[pyclass(frozen, module = "unspent")]
pub struct Gaussian {
    pub group: Group,
}

/// A privacy budget and how it is divided among levels and queries.
///
/// From `preset`, from a file with `Allocation.read`, from a text with `Allocation.parse`.
#[pyclass(frozen, module = "unspent")]
pub struct Allocation(pub unspent::Allocation, pub Option<FileDigest>);

impl From<unspent::Allocation> for Allocation {
    fn from(allocation: unspent::Allocation) -> Allocation {
        Allocation(allocation, None)
    }
}

impl From<&Allocation> for Product {
    fn from(Allocation(allocation, file): &Allocation) -> Product {
        Product::Allocation(Box::new(allocation.clone()), file.clone())
    }
}
