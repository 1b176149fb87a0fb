//! Compositions: how they are made, and how they are asked.

use std::sync::{Arc, OnceLock};

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use unspent::Bounds as Ends;
use unspent::composition::Group;
use unspent::{Direction, Magnitude, Method, Rational, parallel};

use crate::bounds::{Bounds, BoundsArray, End};
use crate::error::OrRaise;
use crate::group::{as_group, group};
use crate::number::{self, Numbers};
use crate::work::interruptible;

/// Kinds of which it takes milliseconds at most to find out how they are best answered.
const FEW: usize = 32;

/// Independent mechanisms, released together, and what they promise.
///
/// Equal mechanisms are merged; neither that nor their order changes an answer. `count` of a mechanism is how
/// many of these noisy answers one record can change, not how many cells are published. `tolerance` demands
/// that every delta be known to this relative width: a ToleranceError is raised where it is not.
///
/// `direction` says which neighbours are compared. "remove" is from the data with the record to those without
/// it, "add" the other way round, and "both" the larger of the two, which is what differential privacy asks
/// for. They differ only if some mechanism is Subsampled or Finite.
///
/// >>> from unspent import Composition, DiscreteGaussian
/// >>> release = Composition(
/// ...     [DiscreteGaussian(sigma2="5", count=10), DiscreteGaussian(sigma2="104/7", count=20)])
/// >>> print(release.epsilon(delta="1e-10"))
/// [12.880185, 12.880186]
/// >>> print(release.delta(epsilon=4))
/// [0.049079533, 0.049079534]
///
/// Any mechanisms go together:
///
/// >>> from unspent import Gaussian, Laplace, Subsampled
/// >>> model = Subsampled(Gaussian(sigma="1.1"), q="256/60000", count=1000)
/// >>> print(Composition([Laplace(scale=10, count=3), model]).epsilon("1e-6"))
/// [0.91425830, 0.91425831]
#[pyclass(frozen, module = "unspent")]
pub struct Composition {
    pub inner: Arc<unspent::Composition>,
    /// Whether every question takes microseconds, once that has been found out.
    quick: Arc<OnceLock<bool>>,
    pub tolerance: Option<f64>,
}

impl Composition {
    pub fn new(
        py: Python<'_>,
        groups: Vec<Group>,
        direction: Direction,
        tolerance: Option<f64>,
    ) -> PyResult<Composition> {
        let is_quick = is_gaussian(&groups);
        let make = move || {
            let mut made = unspent::Composition::new(groups.into_iter().map(|g| (g.mechanism, g.count)))?;
            if direction != Direction::Both {
                made = made.in_direction(direction)?;
            }
            match tolerance {
                Some(tolerance) => made.with_tolerance(tolerance),
                None => Ok(made),
            }
        };
        // The law of other losses may be a long list.
        let made = if is_quick { py.detach(make) } else { interruptible(py, make)? };
        Ok(Composition::wrap(made.or_raise(py)?, tolerance))
    }

    /// For both directions, and without a tolerance.
    pub fn of(py: Python<'_>, groups: Vec<Group>) -> PyResult<Composition> {
        Composition::new(py, groups, Direction::Both, None)
    }

    pub fn wrap(inner: unspent::Composition, tolerance: Option<f64>) -> Composition {
        Composition { inner: Arc::new(inner), quick: Arc::default(), tolerance }
    }

    /// One answer. On a lattice it takes microseconds; otherwise it may take long.
    pub fn one<T: Send + 'static>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&unspent::Composition) -> unspent::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let find_out = || *self.quick.get_or_init(|| is_quick(&self.inner));
        if self.quick.get() == Some(&true) || (self.inner.kinds() <= FEW && py.detach(find_out)) {
            return py.detach(|| question(&self.inner)).or_raise(py);
        }
        let (inner, quick) = (self.inner.clone(), self.quick.clone());
        let answer = interruptible(py, move || {
            quick.get_or_init(|| is_quick(&inner));
            question(&inner)
        })?;
        answer.or_raise(py)
    }

    /// The same question of every number: an answer, or an array of them.
    pub fn each<'py, N: 'static>(
        &self,
        field: &'static str,
        asked: &Bound<'py, PyAny>,
        read: fn(Rational) -> unspent::Result<N>,
        question: fn(&unspent::Composition, &N) -> unspent::Result<Ends<Magnitude>>,
        guarantee: End,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = asked.py();
        let (shape, items) = match number::numbers(field, asked)? {
            Numbers::One(x) => {
                let ends = self.one(py, move |inner| question(inner, &read(x)?))?;
                return Bounds { ends, guarantee }.into_bound_py_any(py);
            }
            Numbers::Many { shape, items } => (shape, items),
        };
        let inner = self.inner.clone();
        let ends = interruptible(py, move || {
            let place = |i: usize| move |error: unspent::Error| error.at(format!("item {i}"));
            // All of them make sense, before any is answered.
            for i in 0..items.len() {
                items.get(field, i).and_then(read).map_err(place(i))?;
            }
            let places: Vec<usize> = (0..items.len()).collect();
            let answer =
                |i: &usize| question(&inner, &items.get(field, *i).and_then(read)?).map_err(place(*i));
            parallel::map(&places, answer).into_iter().collect::<unspent::Result<Vec<_>>>()
        })?;
        BoundsArray { shape, ends: ends.or_raise(py)?, guarantee }.into_bound_py_any(py)
    }
}

/// Whether the sieve of Gaussian noise answers (`Accountant`), which is so fast that nobody waits.
fn is_quick(inner: &unspent::Composition) -> bool {
    is_gaussian(inner.groups()) && inner.method() == Method::Lattice
}

fn is_gaussian(groups: &[Group]) -> bool {
    groups.iter().all(|group| group.mechanism.sigma2().is_some())
}

/// What a mechanism or an iterable of them comes to.
pub fn groups(mechanisms: &Bound<'_, PyAny>) -> PyResult<Vec<Group>> {
    if let Some(one) = as_group(mechanisms) {
        return Ok(vec![one]);
    }
    let Ok(items) = mechanisms.try_iter() else {
        return group(mechanisms).map(|one| vec![one]);
    };
    let mut found = vec![];
    for (i, item) in items.enumerate() {
        if i % (1 << 12) == 0 {
            mechanisms.py().check_signals()?;
        }
        found.push(group(&item?).map_err(|error| number::at(mechanisms.py(), i, error))?);
    }
    Ok(found)
}
