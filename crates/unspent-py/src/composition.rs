//! Compositions and what they promise.

use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use unspent::Bounds as Ends;
use unspent::composition::Group;
use unspent::{
    Alpha, Conversion, Delta, Direction, DiscreteGaussian, Epsilon, Magnitude, Neighbours, Number, Rational,
    Rho, Round,
};

use crate::bounds::{Bounds, End};
use crate::calibration::Calibration;
pub use crate::composed::Composition;
use crate::composed::groups;
use crate::conversions::target;
use crate::error::OrRaise;
use crate::group::{self, as_group};
use crate::number::{self, Items, Numbers, fraction, rational};
use crate::work::interruptible;

/// ε, which is never negative, even where its lower end is.
fn epsilon(inner: &unspent::Composition, delta: &Delta) -> unspent::Result<Ends<Magnitude>> {
    Ok(Number::from(inner.epsilon(delta)?).bounds())
}

fn conversion(py: Python<'_>, name: &str) -> PyResult<Conversion> {
    Conversion::parse(name).or_raise(py)
}

#[pymethods]
impl Composition {
    #[new]
    #[pyo3(signature = (mechanisms, *, direction="both", tolerance=None))]
    fn py_new(
        mechanisms: &Bound<'_, PyAny>,
        direction: &str,
        tolerance: Option<f64>,
    ) -> PyResult<Composition> {
        let py = mechanisms.py();
        Composition::new(py, groups(mechanisms)?, direction.parse().or_raise(py)?, tolerance)
    }

    /// From the zCDP budget of every query, with discrete Gaussian noise that spends it.
    ///
    /// With neighbours "add-remove" a record moves one cell of a query, sigma2 = 1/(2 rho); with "bounded" it
    /// leaves one cell and enters another, so that there are two mechanisms of sigma2 = 1/rho. There is no
    /// default: figures for one are not figures for the other.
    ///
    /// >>> from unspent import Composition
    /// >>> Composition.from_rhos(["1/10"] * 10, neighbours="add-remove")
    /// Composition([DiscreteGaussian(sigma2='5', count=10, shift=1)])
    #[staticmethod]
    #[pyo3(signature = (rhos, *, neighbours, tolerance=None))]
    fn from_rhos(rhos: &Bound<'_, PyAny>, neighbours: &str, tolerance: Option<f64>) -> PyResult<Composition> {
        let py = rhos.py();
        let moves = Neighbours::parse(neighbours).or_raise(py)?.moves();
        let items = match number::numbers("rho", rhos)? {
            Numbers::One(rho) => Items::Exact(vec![rho]),
            Numbers::Many { items, .. } => items,
        };
        let mut groups: Vec<Group> = vec![];
        for i in 0..items.len() {
            if i % (1 << 12) == 0 {
                py.check_signals()?;
            }
            let noise = items.get("rho", i).and_then(Rho::new).and_then(|rho| {
                let sigma2 = &Rational::from(moves) / &(&Rational::integer(2) * rho.value());
                DiscreteGaussian::new(sigma2, 1)
            });
            let mechanism = noise.map_err(|error| error.at(format!("item {i}"))).or_raise(py)?.into();
            match groups.last_mut() {
                Some(last) if last.mechanism == mechanism => last.count += moves,
                _ => groups.push(Group { mechanism, count: moves }),
            }
        }
        Composition::new(py, groups, Direction::Both, tolerance)
    }

    /// From a tree of dp-accounting's events, for neighbours that add or remove a record ("add-remove"), or
    /// that replace one ("bounded").
    ///
    /// An event of which there is no pair of laws is refused by name, and so is one that does not say which
    /// answers a record moves; see `unspent.events`.
    #[staticmethod]
    #[pyo3(signature = (event, *, neighbours="add-remove", tolerance=None))]
    fn from_dp_event(
        event: &Bound<'_, PyAny>,
        neighbours: &str,
        tolerance: Option<f64>,
    ) -> PyResult<Composition> {
        let py = event.py();
        let neighbours = Neighbours::parse(neighbours).or_raise(py)?.name();
        let mechanisms = py.import("unspent.events")?.call_method1("mechanisms", (event, neighbours))?;
        Composition::new(py, groups(&mechanisms)?, Direction::Both, tolerance)
    }

    /// The same mechanisms for one direction of neighbours, "add" or "remove", or for "both".
    ///
    /// >>> from unspent import Composition, Gaussian, Subsampled
    /// >>> steps = Composition(Subsampled(Gaussian(sigma=1), q="0.01", count=100))
    /// >>> steps.in_direction("add").delta(1) < steps.delta(1)
    /// True
    fn in_direction(&self, py: Python<'_>, direction: &str) -> PyResult<Composition> {
        Composition::new(py, self.inner.groups().to_vec(), direction.parse().or_raise(py)?, self.tolerance)
    }

    /// The least delta for which the release is (epsilon, delta)-differentially private: `.upper` is the
    /// guarantee.
    ///
    /// `epsilon` is a number or an array of them, up to 1e12.
    fn delta<'py>(&self, epsilon: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.each("epsilon", epsilon, Epsilon::new, unspent::Composition::delta, End::Upper)
    }

    /// The least epsilon for which the release is (epsilon, delta)-differentially private: `.upper` is the
    /// guarantee.
    ///
    /// `delta` is a number strictly between 0 and 1, as small as you like ("1e-5000"), or an array of them.
    fn epsilon<'py>(&self, delta: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.each("delta", delta, Delta::new, epsilon, End::Upper)
    }

    /// The trade-off function: how often the best attacker misses at a rate `alpha` of false alarms. `.lower`
    /// is the guarantee.
    fn tradeoff<'py>(&self, alpha: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.each("alpha", alpha, Alpha::new, unspent::Composition::tradeoff, End::Lower)
    }

    /// The best attacker's power at a rate `alpha` of false alarms, 1 - tradeoff(alpha): `.upper` is the
    /// guarantee.
    ///
    /// >>> from unspent import Composition, DiscreteGaussian
    /// >>> print(Composition([DiscreteGaussian(sigma2=50)]).power("0.05"))
    /// [0.066360058, 0.066360059]
    fn power<'py>(&self, alpha: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.each("alpha", alpha, Alpha::new, unspent::Composition::power, End::Upper)
    }

    /// P[L > epsilon]: how often the privacy loss exceeds epsilon when the record is absent.
    ///
    /// P is the law of the answers without the record and Q with it, and L = log Q/P. Papers often name them
    /// the other way round, and write the loss under the law it favours: that is `q_tail`, from which
    /// delta(epsilon) = q_tail - exp(epsilon) * p_tail.
    fn p_tail<'py>(&self, epsilon: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.each("epsilon", epsilon, Epsilon::new, unspent::Composition::p_tail, End::Upper)
    }

    /// Q[L > epsilon]: how often the privacy loss exceeds epsilon when the record is present.
    ///
    /// See `p_tail` for the names.
    fn q_tail<'py>(&self, epsilon: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.each("epsilon", epsilon, Epsilon::new, unspent::Composition::q_tail, End::Upper)
    }

    /// The total variation distance between the releases with and without the record: delta(0).
    fn total_variation(&self, py: Python<'_>) -> PyResult<Bounds> {
        self.one(py, unspent::Composition::total_variation).map(Bounds::at_most)
    }

    /// The epsilon that a published conversion from rho states, a float rounded up: a guarantee, but a loose
    /// one.
    ///
    /// `conversion` is "canonne-kamath-steinke" or "bun-steinke".
    #[pyo3(signature = (delta, conversion="canonne-kamath-steinke"))]
    fn zcdp_epsilon(&self, delta: &Bound<'_, PyAny>, conversion: &str) -> PyResult<f64> {
        let py = delta.py();
        let conversion = self::conversion(py, conversion)?;
        let delta = Delta::new(rational("delta", delta)?).or_raise(py)?;
        Ok(self.published_rho().or_raise(py)?.epsilon(conversion, &delta))
    }

    /// The delta that a published conversion from rho states, a float rounded up: a guarantee, but a loose
    /// one.
    #[pyo3(signature = (epsilon, conversion="canonne-kamath-steinke"))]
    fn zcdp_delta(&self, epsilon: &Bound<'_, PyAny>, conversion: &str) -> PyResult<f64> {
        let py = epsilon.py();
        let conversion = self::conversion(py, conversion)?;
        let epsilon = Epsilon::new(rational("epsilon", epsilon)?).or_raise(py)?;
        Ok(self.published_rho().or_raise(py)?.delta(conversion, &epsilon).to_f64(Round::Up))
    }

    /// How much noise could go: the smallest common factor of all sigma2 that is certified to meet (epsilon,
    /// delta).
    ///
    /// With `mechanism`, an index into `mechanisms`, the smallest sigma2 of that one, all others as they are.
    /// No sigma2 goes below 1e-3: `at_floor` says so where that already meets the target. Gaussian and
    /// discrete Gaussian noise can be calibrated, and other mechanisms are refused: `unspent.parameter` finds
    /// any parameter of any kind, that of noise on samples too.
    ///
    /// >>> from unspent import Composition, DiscreteGaussian
    /// >>> ten = Composition([DiscreteGaussian(sigma2=5, count=10)])
    /// >>> least = ten.calibrate(epsilon="11.07", delta="1e-11")
    /// >>> float(least.smallest)
    /// 0.848680985669
    /// >>> print(least.composition.epsilon("1e-11"))
    /// [11.069999, 11.070000]
    #[pyo3(signature = (epsilon, delta, *, mechanism=None))]
    fn calibrate<'py>(
        &self,
        epsilon: &Bound<'py, PyAny>,
        delta: &Bound<'py, PyAny>,
        mechanism: Option<isize>,
    ) -> PyResult<Calibration> {
        let py = epsilon.py();
        let mechanism = mechanism.map(|i| self.index(i)).transpose().or_raise(py)?;
        let target = target(epsilon, delta)?;
        let inner = self.inner.clone();
        let found = interruptible(py, move || {
            let found = match mechanism {
                None => inner.smallest_scale(&target)?,
                Some(index) => inner.smallest_sigma2(index, &target)?,
            };
            let scaled = inner.with_sigma2(|i, sigma2| match mechanism {
                None => sigma2 * &found.satisfying,
                Some(index) if index == i => found.satisfying.clone(),
                Some(_) => sigma2.clone(),
            })?;
            Ok((found, scaled))
        })?;
        let (found, scaled) = found.or_raise(py)?;
        Ok(Calibration { found, composition: Composition::wrap(scaled, self.tolerance).into_py_any(py)? })
    }

    /// A privacy loss distribution of dp-accounting's that dominates this one, to be composed further there.
    ///
    /// The losses are multiples of `value_discretization_interval`; at most `tail_mass`, or a little more, is
    /// at infinity. Its delta is at least that of this composition at every epsilon, and after composing both
    /// with anything else; what the FFT of a composition then loses is dp-accounting's own. The smaller the
    /// noise, the further the losses reach: take a longer interval then. If adding and removing a record
    /// differ, it has a distribution for each, whatever the direction of this composition; steps of DP-SGD
    /// take about a millisecond for every point of the grid.
    #[pyo3(signature = (value_discretization_interval=1e-4, tail_mass=1e-20))]
    fn to_pld<'py>(
        &self,
        py: Python<'py>,
        value_discretization_interval: f64,
        tail_mass: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let tail = Rational::from_f64("tail_mass", tail_mass).and_then(Delta::new).or_raise(py)?;
        let events = py.import("unspent.events")?;
        events.call_method0("require")?;
        let inner = self.inner.clone();
        let laws = interruptible(py, move || {
            let interval = value_discretization_interval;
            if inner.is_symmetric() {
                return Ok(vec![inner.dominating_law(interval, &tail)?]);
            }
            Ok(inner.dominating_laws(interval, &tail)?.into())
        })?;
        let laws = laws.or_raise(py)?.into_iter().map(|law| {
            let masses = PyArray1::from_vec(py, law.masses);
            (law.interval, law.lowest, masses, law.infinite)
        });
        events.call_method1("privacy_loss_distribution", PyTuple::new(py, laws)?)
    }

    /// mu of Gaussian differential privacy, as Bounds: Gaussian noise is mu-GDP and no less, with
    /// mu**2 = 2 * rho. Of any other mechanism it is refused, also of discrete Gaussian noise.
    ///
    /// >>> from unspent import Composition, Gaussian
    /// >>> print(Composition(Gaussian(sigma=2, count=9)).mu)
    /// [1.5, 1.5]
    #[getter]
    fn mu(&self, py: Python<'_>) -> PyResult<Bounds> {
        let is_gaussian = |group: &&Group| matches!(group.mechanism, unspent::Mechanism::Gaussian(_));
        if let Some(group) = self.inner.groups().iter().find(|group| !is_gaussian(group)) {
            let cause = format!("{}: this mechanism has no mu of Gaussian DP", group.mechanism.name());
            let hint = "its trade-off function is no Gaussian one: ask for tradeoff() itself";
            return Err(unspent::Error::stated(cause, hint)).or_raise(py);
        }
        let rho = py.detach(|| self.inner.rho()).or_raise(py)?;
        Ok(Bounds::at_most(Number::from((&rho * &Rational::integer(2)).square_root()).bounds()))
    }

    /// What it spends in zCDP, a Fraction: it satisfies rho-zCDP and no smaller rho.
    #[getter]
    fn rho<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rho = py.detach(|| self.inner.rho()).or_raise(py)?;
        fraction(py, &rho)
    }

    /// Which neighbours answers are for: "both", "remove" or "add".
    #[getter]
    fn direction(&self) -> &'static str {
        self.inner.direction().name()
    }

    /// The probability that the record is revealed whatever epsilon is: no delta below it has a finite
    /// epsilon.
    ///
    /// >>> from unspent import ApproximateDp, Composition
    /// >>> print(Composition(ApproximateDp(epsilon=1, delta="1/4", count=2)).infinity)
    /// [0.43749999, 0.43750001]
    #[getter]
    fn infinity(&self) -> Bounds {
        Bounds::at_most(self.inner.infinity())
    }

    /// How answers are obtained: "lattice", "enumeration", "smoothing", "continuous" or "one-sided", which is
    /// an upper bound only.
    #[getter]
    fn method(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.one(py, |inner| Ok(inner.method().name()))
    }

    /// The mechanisms, as they were given.
    #[getter]
    fn mechanisms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mechanisms: PyResult<Vec<_>> =
            self.inner.groups().iter().map(|group| group::mechanism(py, group)).collect();
        PyList::new(py, mechanisms?)
    }

    /// The relative width that was demanded of every delta, if any was.
    #[getter]
    fn tolerance(&self) -> Option<f64> {
        self.tolerance
    }

    /// Both, released together: another composition, or a mechanism.
    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let both = |more: &[Group]| self.inner.groups().iter().chain(more).cloned().collect();
        let direction = self.inner.direction();
        let made = match (other.cast::<Composition>(), as_group(other)) {
            (Ok(other), _) => {
                let other = other.get();
                if other.inner.direction() != direction {
                    let cause = format!("direction: one is for {direction}, one for {}", other.direction());
                    let hint = "the same record is added, or removed, everywhere: in_direction() changes it";
                    return Err(unspent::Error::stated(cause, hint)).or_raise(py);
                }
                let tolerance = match (self.tolerance, other.tolerance) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
                Composition::new(py, both(other.inner.groups()), direction, tolerance)
            }
            (Err(_), Some(group)) => Composition::new(py, both(&[group]), direction, self.tolerance),
            (Err(_), None) => return Ok(py.NotImplemented()),
        };
        made?.into_py_any(py)
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.__add__(other)
    }

    /// It, so many times.
    fn __mul__(&self, times: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = times.py();
        let repeated = self.inner.groups().iter().map(|group| group::repeated(group, times));
        match repeated.collect::<PyResult<Option<Vec<Group>>>>()? {
            Some(groups) => {
                Composition::new(py, groups, self.inner.direction(), self.tolerance)?.into_py_any(py)
            }
            None => Ok(py.NotImplemented()),
        }
    }

    fn __rmul__(&self, times: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.__mul__(times)
    }

    fn __richcmp__(&self, other: &Composition, op: CompareOp) -> Option<bool> {
        let same = self.inner.is_same(&other.inner);
        match op {
            CompareOp::Eq => Some(same),
            CompareOp::Ne => Some(!same),
            _ => None,
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        const SHOWN: usize = 10;
        let groups = self.inner.groups();
        let shown: PyResult<Vec<String>> = groups
            .iter()
            .take(SHOWN)
            .map(|group| Ok(group::mechanism(py, group)?.repr()?.to_string()))
            .collect();
        let mut shown = shown?;
        if groups.len() > SHOWN {
            shown.push(format!("... {} in all", groups.len()));
        }
        let direction = match self.inner.direction() {
            Direction::Both => String::new(),
            one => format!(", direction='{one}'"),
        };
        let tolerance = self.tolerance.map_or_else(String::new, |t| format!(", tolerance={t:?}"));
        Ok(format!("Composition([{}]{direction}{tolerance})", shown.join(", ")))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let arguments = (slf.get().mechanisms(py)?, slf.get().direction(), slf.get().tolerance);
        Ok((slf.get_type().getattr("_restore")?, arguments.into_pyobject(py)?))
    }

    /// What `__reduce__` took apart.
    #[staticmethod]
    fn _restore(
        mechanisms: &Bound<'_, PyAny>,
        direction: &str,
        tolerance: Option<f64>,
    ) -> PyResult<Composition> {
        Composition::py_new(mechanisms, direction, tolerance)
    }
}

impl Composition {
    /// The place of a mechanism, counted from the end if it is negative.
    fn index(&self, i: isize) -> unspent::Result<usize> {
        let n = self.inner.groups().len();
        let place = if i < 0 { n.checked_add_signed(i) } else { usize::try_from(i).ok() };
        place.filter(|place| *place < n).ok_or_else(|| {
            let hint = "mechanisms are counted from 0 in the order they were given";
            unspent::Error::input("mechanism", i, format!("an index below {n}"), hint)
        })
    }

    /// A ρ that is not below that of the mechanisms.
    fn published_rho(&self) -> unspent::Result<Rho> {
        Rho::new(self.inner.known_rho()?.upper())
    }
}
