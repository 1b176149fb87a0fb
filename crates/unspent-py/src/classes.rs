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
/// midpoint, no conversion to float and no arithmetic: calculate with the end that you mean. Bounds that were
/// pickled are as good as whoever sent them: nothing shows that they were computed here.
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

/// `count` equal mechanisms: what all kinds of them share.
///
/// A mechanism is a pair of laws of what is published, without and with one record. Its numbers are exact: an
/// int, a str like "256/60000", a Fraction, a Decimal; a float is taken as exactly the double it is.
///
/// `n * mechanism` is n times as many, and `+` makes a Composition. Mechanisms are equal if their kinds,
/// their parameters and their counts are.
#[pyclass(frozen, subclass, module = "unspent")]
pub struct Mechanism {
    pub group: Group,
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
#[pyclass(frozen, extends = Mechanism, module = "unspent")]
pub struct DiscreteGaussian;

/// `count` equal answers with continuous Gaussian noise N(0, sigma2), each of which one record can move by
/// `shift`.
///
/// Here the shift need not be an integer; for a vector it is the L2 sensitivity, and `sensitivity` is another
/// name for it. The noise is stated as `sigma2`, the variance, or as `sigma` or `scale`, its square root.
///
/// >>> from unspent import Gaussian
/// >>> Gaussian(sigma=2, shift="1/2").rho
/// Fraction(1, 32)
#[pyclass(frozen, extends = Mechanism, module = "unspent")]
pub struct Gaussian;

/// `count` equal answers with discrete Gaussian noise that is drawn again until it lies between -bound and
/// bound.
///
/// An answer further out than that around one of the two true values shows that it is the other: no delta
/// below the probability of that has a finite epsilon.
///
/// >>> from unspent import Composition, TruncatedDiscreteGaussian
/// >>> noise = TruncatedDiscreteGaussian(sigma2=4, bound=12)
/// >>> print(Composition(noise).delta(1), Composition(noise).infinity)
/// [0.0072487770, 0.0072487771] [3.0379414e-9, 3.0379415e-9]
#[pyclass(frozen, extends = Mechanism, module = "unspent")]
pub struct TruncatedDiscreteGaussian;

/// `count` equal answers with Laplace noise of density exp(-abs(x) / scale) / (2 * scale), each of which one
/// record can move by `shift`.
///
/// `sensitivity` is another name for the shift. For a vector with independent noise it is the L1 sensitivity:
/// one coordinate that moves by all of it is the worst (N15).
///
/// >>> from unspent import Composition, Laplace
/// >>> print(Composition(Laplace(scale=2, count=10)).epsilon("1e-3"))
/// [4.5213081, 4.5213082]
#[pyclass(frozen, extends = Mechanism, module = "unspent")]
pub struct Laplace;

/// `count` equal answers with discrete Laplace (geometric) noise, P[X = x] ~ exp(-abs(x) / scale) on the
/// integers, each of which one record can move by `shift`, a whole number.
///
/// `sensitivity` is another name for the shift. For a vector of integers it is the L1 sensitivity: one
/// coordinate that moves by all of it is the worst (N15).
///
/// >>> from unspent import DiscreteLaplace
/// >>> 3 * DiscreteLaplace(scale="3/2", shift=2)
/// DiscreteLaplace(scale='1.5', count=3, shift=2)
#[pyclass(frozen, extends = Mechanism, module = "unspent")]
pub struct DiscreteLaplace;

/// `count` randomised responses over `k` values: the true one is reported with probability `truth`, each of
/// the others with the same, smaller one.
///
/// Instead of `truth`, `epsilon` may be given: the true value is exp(epsilon) times as likely as any other.
/// Neighbours differ in the value of one record.
///
/// >>> from unspent import Composition, RandomisedResponse
/// >>> print(Composition(RandomisedResponse(k=4, truth="1/2", count=20)).epsilon("1e-6"))
/// [20.845291, 20.845292]
#[pyclass(frozen, extends = Mechanism, module = "unspent")]
pub struct RandomisedResponse;

/// `count` mechanisms of which no more is known than that they are (epsilon, delta)-differentially private.
///
/// Answers hold for all such mechanisms, and one of them attains the answers. `PureDp(epsilon=…)` is the same
/// with a delta of 0.
///
/// >>> from unspent import ApproximateDp, Composition, Gaussian
/// >>> bought = ApproximateDp(epsilon="0.5", delta="1e-6")
/// >>> print(Composition([bought, Gaussian(sigma=5, count=3)]).epsilon("1e-5"))
/// [1.7947841, 1.7947842]
#[pyclass(frozen, extends = Mechanism, module = "unspent")]
pub struct ApproximateDp;

/// `count` mechanisms given by their masses, outcome by outcome: `p` without the record and `q` with it.
///
/// Masses are exact and sum to 1. An outcome with a mass of 0 in one of the two reveals the other. Adding a
/// record and removing it may differ: see `direction` of a Composition.
///
/// >>> from unspent import Composition, Finite
/// >>> coin = Finite(p=["1/2", "1/2"], q=["1/4", "3/4"])
/// >>> print(Composition(coin, direction="remove").delta("1/4"))
/// [0.10798729, 0.10798730]
#[pyclass(frozen, extends = Mechanism, module = "unspent")]
pub struct Finite;

/// `count` times noise on a Poisson sample: every record is in it with probability `q`, independently. Of
/// Gaussian noise that is DP-SGD.
///
/// The noise is a Gaussian, DiscreteGaussian, Laplace or DiscreteLaplace; `count` is said here and not of the
/// noise. Neighbours add or remove one record, so that the shift is what one record adds to an answer: the
/// clipping norm. The two directions differ; see `direction` of a Composition.
///
/// >>> from unspent import Composition, Gaussian, Subsampled
/// >>> step = Subsampled(Gaussian(sigma="1.1"), q="256/60000")
/// >>> print(Composition(14000 * step).epsilon("1e-5"))
/// [2.3758376, 2.3758377]
#[pyclass(frozen, extends = Mechanism, module = "unspent")]
pub struct Subsampled;

/// `count` mechanisms of which no more is known than that they are rho-zero-concentrated differentially
/// private.
///
/// That bounds what they reveal from above only. In a composition the upper end is a guarantee; the lower end
/// is that of the other mechanisms, as if these revealed nothing. Gaussian noise is better stated as noise.
///
/// >>> from unspent import Composition, ZeroConcentratedDp
/// >>> release = Composition(ZeroConcentratedDp(rho="1/8"))
/// >>> print(release.epsilon("1e-6"), release.method)
/// [0, 2.4190932] one-sided
#[pyclass(frozen, extends = Mechanism, module = "unspent")]
pub struct ZeroConcentratedDp;

/// `count` mechanisms of which no more is known than that their Rényi divergence of each of these orders is
/// at most the epsilon beside it: (order, epsilon)-RDP.
///
/// The upper end is a guarantee, and the lower end that of the other mechanisms, as with ZeroConcentratedDp.
///
/// >>> from unspent import Composition, RenyiDp
/// >>> release = Composition(RenyiDp(orders=[2, 8, 32], epsilons=["1/8", "1/2", 2]))
/// >>> print(release.epsilon("1e-6").lower, release.method)
/// 0.0 one-sided
#[pyclass(frozen, extends = Mechanism, module = "unspent")]
pub struct RenyiDp;

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
