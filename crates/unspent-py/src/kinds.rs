//! Every mechanism but Gaussian noise. Errors begin with the name of the class.

use pyo3::prelude::*;
use unspent::composition::Group;
use unspent::mechanism::{self, Base, Truth};
use unspent::{Error, Rational};

use crate::classes::TruncatedDiscreteGaussian;
pub use crate::classes::{
    ApproximateDp, DiscreteLaplace, Finite, Laplace, RandomisedResponse, RenyiDp, Subsampled,
    ZeroConcentratedDp,
};
use crate::error::{OrRaise, exception};
use crate::gaussian::{moved, stated};
use crate::group::{self, base};
use crate::number::{Items, Numbers, fraction, numbers, rational};

type Given<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// The arguments of one class.
struct Arguments<'py> {
    class: &'static str,
    py: Python<'py>,
}

impl<'py> Arguments<'py> {
    fn number(&self, name: &str, value: &Bound<'py, PyAny>) -> PyResult<Rational> {
        rational(&format!("{}: {name}", self.class), value)
    }

    fn or_one(&self, name: &str, value: Given<'_, 'py>) -> PyResult<Rational> {
        value.map_or(Ok(Rational::integer(1)), |value| self.number(name, value))
    }

    /// A whole number, 1 if none is given. What it may be is said by whoever takes it.
    fn whole(&self, name: &str, value: Given<'_, 'py>) -> PyResult<u64> {
        let number = self.or_one(name, value)?.to_decimal_or_fraction();
        number.parse().map_err(|_| {
            let hint = format!("{name} says how many, or how far, in whole numbers");
            let error = Error::input(name, &number, "a whole number of at least 0", hint);
            exception(self.py, &error.at(self.class))
        })
    }

    fn count(&self, value: Given<'_, 'py>) -> PyResult<u64> {
        self.named(mechanism::parse_count(&self.or_one("count", value)?.to_decimal_or_fraction()))
    }

    fn named<T>(&self, made: unspent::Result<T>) -> PyResult<T> {
        made.map_err(|error| error.at(self.class)).or_raise(self.py)
    }

    fn refused(&self, cause: &str, hint: &str) -> PyErr {
        exception(self.py, &Error::stated(cause.to_owned(), hint.to_owned()).at(self.class))
    }

    /// The masses of all outcomes.
    fn masses(&self, name: &str, value: &Bound<'py, PyAny>) -> PyResult<Vec<Rational>> {
        let place = format!("{}: {name}", self.class);
        let items = match numbers(&place, value)? {
            Numbers::One(mass) => Items::Exact(vec![mass]),
            Numbers::Many { items, .. } => items,
        };
        (0..items.len()).map(|i| items.get(&place, i).or_raise(self.py)).collect()
    }

    fn group<M: Into<unspent::Mechanism>>(
        &self,
        made: unspent::Result<M>,
        count: Given<'_, 'py>,
    ) -> PyResult<Group> {
        Ok(Group { mechanism: self.named(made)?.into(), count: self.count(count)? })
    }
}

/// What an object of a class holds.
macro_rules! holds {
    ($($class:ident),*) => {$(
        impl $class {
            fn of<'a>(slf: &'a Bound<'_, $class>) -> &'a mechanism::$class {
                match &slf.as_super().get().group.mechanism {
                    unspent::Mechanism::$class(held) => held,
                    _ => unreachable!("it was made of one"),
                }
            }
        }
    )*};
}
holds!(ApproximateDp, DiscreteLaplace, Finite, Laplace, RandomisedResponse);
holds!(TruncatedDiscreteGaussian, ZeroConcentratedDp, RenyiDp);

#[pymethods]
impl TruncatedDiscreteGaussian {
    #[new]
    #[pyo3(
        signature = (*, bound, sigma2=None, sigma=None, scale=None, count=None, shift=None),
        text_signature = "(*, bound, sigma2=None, sigma=None, scale=None, count=1, shift=1)"
    )]
    fn new<'py>(
        bound: &Bound<'py, PyAny>,
        sigma2: Given<'_, 'py>,
        sigma: Given<'_, 'py>,
        scale: Given<'_, 'py>,
        count: Given<'_, 'py>,
        shift: Given<'_, 'py>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let read = Arguments { class: "TruncatedDiscreteGaussian", py: bound.py() };
        let sigma2 = stated(read.py, sigma2, sigma, scale)?;
        let (shift, bound) = (read.whole("shift", shift)?, read.whole("bound", Some(bound))?);
        let made = mechanism::TruncatedDiscreteGaussian::new(sigma2, shift, bound);
        Ok(base(read.group(made, count)?).add_subclass(TruncatedDiscreteGaussian))
    }

    /// sigma2, a Fraction.
    #[getter]
    fn sigma2<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        fraction(slf.py(), Self::of(slf).sigma2())
    }

    /// The largest noise.
    #[getter]
    fn bound(slf: &Bound<'_, Self>) -> u64 {
        Self::of(slf).bound()
    }

    /// How far one record can move the answer.
    #[getter]
    fn shift(slf: &Bound<'_, Self>) -> u64 {
        Self::of(slf).shift()
    }
}

#[pymethods]
impl Laplace {
    #[new]
    #[pyo3(
        signature = (*, scale, count=None, shift=None, sensitivity=None),
        text_signature = "(*, scale, count=1, shift=1, sensitivity=None)"
    )]
    fn new<'py>(
        scale: &Bound<'py, PyAny>,
        count: Given<'_, 'py>,
        shift: Given<'_, 'py>,
        sensitivity: Given<'_, 'py>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let read = Arguments { class: "Laplace", py: scale.py() };
        let shift = read.or_one("shift", moved(shift, sensitivity)?)?;
        let made = mechanism::Laplace::new(read.number("scale", scale)?, shift);
        Ok(base(read.group(made, count)?).add_subclass(Laplace))
    }

    /// The scale b, a Fraction: the standard deviation is the square root of 2 times it.
    #[getter]
    fn scale<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        fraction(slf.py(), Self::of(slf).scale())
    }

    /// How far one record can move the answer, a Fraction.
    #[getter]
    fn shift<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        fraction(slf.py(), Self::of(slf).shift())
    }
}

#[pymethods]
impl DiscreteLaplace {
    #[new]
    #[pyo3(
        signature = (*, scale, count=None, shift=None, sensitivity=None),
        text_signature = "(*, scale, count=1, shift=1, sensitivity=None)"
    )]
    fn new<'py>(
        scale: &Bound<'py, PyAny>,
        count: Given<'_, 'py>,
        shift: Given<'_, 'py>,
        sensitivity: Given<'_, 'py>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let read = Arguments { class: "DiscreteLaplace", py: scale.py() };
        let shift = read.whole("shift", moved(shift, sensitivity)?)?;
        let made = mechanism::DiscreteLaplace::new(read.number("scale", scale)?, shift);
        Ok(base(read.group(made, count)?).add_subclass(DiscreteLaplace))
    }

    /// The scale b, a Fraction.
    #[getter]
    fn scale<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        fraction(slf.py(), Self::of(slf).scale())
    }

    /// How far one record can move the answer.
    #[getter]
    fn shift(slf: &Bound<'_, Self>) -> u64 {
        Self::of(slf).shift()
    }
}

#[pymethods]
impl RandomisedResponse {
    #[new]
    #[pyo3(
        signature = (*, k, epsilon=None, truth=None, count=None),
        text_signature = "(*, k, epsilon=None, truth=None, count=1)"
    )]
    fn new<'py>(
        k: &Bound<'py, PyAny>,
        epsilon: Given<'_, 'py>,
        truth: Given<'_, 'py>,
        count: Given<'_, 'py>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let read = Arguments { class: "RandomisedResponse", py: k.py() };
        let truth = match (epsilon, truth) {
            (Some(epsilon), None) => Truth::Epsilon(read.number("epsilon", epsilon)?),
            (None, Some(truth)) => Truth::Probability(read.number("truth", truth)?),
            _ => {
                let hint = "epsilon is the logarithm of how much likelier the true value is than another, \
                            truth its probability";
                return Err(read.refused("give one of epsilon and truth", hint));
            }
        };
        let made = mechanism::RandomisedResponse::new(read.whole("k", Some(k))?, truth);
        Ok(base(read.group(made, count)?).add_subclass(RandomisedResponse))
    }

    /// The number of values.
    #[getter]
    fn k(slf: &Bound<'_, Self>) -> u64 {
        Self::of(slf).values()
    }

    /// The logarithm of how much likelier the true value is than another, a Fraction, if that was given.
    #[getter]
    fn epsilon<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match Self::of(slf).truth() {
            Truth::Epsilon(epsilon) => fraction(slf.py(), epsilon).map(Some),
            Truth::Probability(_) => Ok(None),
        }
    }

    /// The probability of the true value, a Fraction, if that was given.
    #[getter]
    fn truth<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match Self::of(slf).truth() {
            Truth::Probability(truth) => fraction(slf.py(), truth).map(Some),
            Truth::Epsilon(_) => Ok(None),
        }
    }
}

#[pymethods]
impl ApproximateDp {
    #[new]
    #[pyo3(signature = (*, epsilon, delta, count=None), text_signature = "(*, epsilon, delta, count=1)")]
    fn new<'py>(
        epsilon: &Bound<'py, PyAny>,
        delta: &Bound<'py, PyAny>,
        count: Given<'_, 'py>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let read = Arguments { class: "ApproximateDp", py: epsilon.py() };
        let (epsilon, delta) = (read.number("epsilon", epsilon)?, read.number("delta", delta)?);
        let made = mechanism::ApproximateDp::new(epsilon, delta);
        Ok(base(read.group(made, count)?).add_subclass(ApproximateDp))
    }

    /// epsilon, a Fraction.
    #[getter]
    fn epsilon<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        fraction(slf.py(), Self::of(slf).epsilon())
    }

    /// delta, a Fraction.
    #[getter]
    fn delta<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        fraction(slf.py(), Self::of(slf).delta())
    }
}

#[pymethods]
impl Finite {
    #[new]
    #[pyo3(signature = (*, p, q, count=None), text_signature = "(*, p, q, count=1)")]
    fn new<'py>(
        p: &Bound<'py, PyAny>,
        q: &Bound<'py, PyAny>,
        count: Given<'_, 'py>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let read = Arguments { class: "Finite", py: p.py() };
        let made = mechanism::Finite::new(read.masses("p", p)?, read.masses("q", q)?);
        Ok(base(read.group(made, count)?).add_subclass(Finite))
    }

    /// The masses without the record, Fractions.
    #[getter]
    fn p<'py>(slf: &Bound<'py, Self>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        Self::of(slf).p().iter().map(|mass| fraction(slf.py(), mass)).collect()
    }

    /// The masses with the record, Fractions.
    #[getter]
    fn q<'py>(slf: &Bound<'py, Self>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        Self::of(slf).q().iter().map(|mass| fraction(slf.py(), mass)).collect()
    }
}

#[pymethods]
impl Subsampled {
    #[new]
    #[pyo3(signature = (base, *, q, count=None), text_signature = "(base, *, q, count=1)")]
    fn new<'py>(
        base: &Bound<'py, PyAny>,
        q: &Bound<'py, PyAny>,
        count: Given<'_, 'py>,
    ) -> PyResult<PyClassInitializer<Self>> {
        use unspent::Mechanism as Kind;
        let read = Arguments { class: "Subsampled", py: q.py() };
        let Group { mechanism, count: of_base } = group::group(base)?;
        if of_base != 1 {
            let hint = "the count is that of Subsampled: every one of them has a sample of its own";
            return Err(read.refused(&format!("the noise has a count of {of_base}"), hint));
        }
        let noise = match mechanism {
            Kind::Gaussian(noise) => Base::Gaussian(noise),
            Kind::DiscreteGaussian(noise) => Base::DiscreteGaussian(noise),
            Kind::Laplace(noise) => Base::Laplace(noise),
            Kind::DiscreteLaplace(noise) => Base::DiscreteLaplace(noise),
            other => {
                let hint = "Gaussian, DiscreteGaussian, Laplace and DiscreteLaplace noise is";
                let cause = format!("{} is not accounted for on a sample", group::class_name(&other));
                return Err(read.refused(&cause, hint));
            }
        };
        let made = mechanism::Subsampled::new(noise, read.number("q", q)?);
        // A sample of everything is no sample: then it holds the noise itself.
        Ok(group::base(read.group(made, count)?).add_subclass(Subsampled))
    }

    /// The noise.
    #[getter]
    fn base<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let mechanism = match &slf.as_super().get().group.mechanism {
            unspent::Mechanism::Subsampled(sampled) => sampled.base().clone().into(),
            noise => noise.clone(),
        };
        group::mechanism(slf.py(), &Group { mechanism, count: 1 })
    }

    /// The probability with which a record is in the sample, a Fraction.
    #[getter]
    fn q<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        match &slf.as_super().get().group.mechanism {
            unspent::Mechanism::Subsampled(sampled) => fraction(slf.py(), sampled.q()),
            _ => fraction(slf.py(), &Rational::integer(1)),
        }
    }
}

#[pymethods]
impl ZeroConcentratedDp {
    #[new]
    #[pyo3(signature = (*, rho, count=None), text_signature = "(*, rho, count=1)")]
    fn new<'py>(rho: &Bound<'py, PyAny>, count: Given<'_, 'py>) -> PyResult<PyClassInitializer<Self>> {
        let read = Arguments { class: "ZeroConcentratedDp", py: rho.py() };
        let made = mechanism::ZeroConcentratedDp::new(read.number("rho", rho)?);
        Ok(base(read.group(made, count)?).add_subclass(ZeroConcentratedDp))
    }

    /// rho of each of them, a Fraction.
    #[getter]
    fn rho<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        fraction(slf.py(), Self::of(slf).rho())
    }
}

#[pymethods]
impl RenyiDp {
    #[new]
    #[pyo3(
        signature = (*, orders, epsilons, count=None),
        text_signature = "(*, orders, epsilons, count=1)"
    )]
    fn new<'py>(
        orders: &Bound<'py, PyAny>,
        epsilons: &Bound<'py, PyAny>,
        count: Given<'_, 'py>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let read = Arguments { class: "RenyiDp", py: orders.py() };
        let made =
            mechanism::RenyiDp::new(read.masses("orders", orders)?, read.masses("epsilons", epsilons)?);
        Ok(base(read.group(made, count)?).add_subclass(RenyiDp))
    }

    /// The orders, ascending: Fractions.
    #[getter]
    fn orders<'py>(slf: &Bound<'py, Self>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        Self::of(slf).points().iter().map(|(order, _)| fraction(slf.py(), order)).collect()
    }

    /// The bound of each order: Fractions.
    #[getter]
    fn epsilons<'py>(slf: &Bound<'py, Self>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        Self::of(slf).points().iter().map(|(_, epsilon)| fraction(slf.py(), epsilon)).collect()
    }
}

/// `count` mechanisms of which no more is known than that they are epsilon-differentially private: an
/// ApproximateDp with a delta of 0.
///
/// >>> from unspent import PureDp
/// >>> PureDp(epsilon="1/2", count=3)
/// ApproximateDp(epsilon='0.5', delta='0', count=3)
#[pyfunction]
#[pyo3(name = "PureDp", signature = (*, epsilon, count=None), text_signature = "(*, epsilon, count=1)")]
pub fn pure_dp<'py>(epsilon: &Bound<'py, PyAny>, count: Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let read = Arguments { class: "PureDp", py: epsilon.py() };
    let made = mechanism::ApproximateDp::new(read.number("epsilon", epsilon)?, Rational::integer(0));
    group::mechanism(read.py, &read.group(made, count)?)
}

/// `count` mechanisms of which no more is known than that they are mu-Gaussian differentially private: the
/// Gaussian noise that is, with a shift of 1 and sigma = 1 / mu.
///
/// >>> from unspent import GaussianDp
/// >>> GaussianDp(mu="1/2")
/// Gaussian(sigma2='4', count=1, shift=1)
#[pyfunction]
#[pyo3(name = "GaussianDp", signature = (*, mu, count=None), text_signature = "(*, mu, count=1)")]
pub fn gaussian_dp<'py>(mu: &Bound<'py, PyAny>, count: Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let read = Arguments { class: "GaussianDp", py: mu.py() };
    let mu = read.number("mu", mu)?;
    let described = mechanism::Described::read("gdp", &[("mu", &mu.to_string())]).or_raise(read.py)?;
    group::mechanism(read.py, &read.group(Ok(described.mechanism), count)?)
}
