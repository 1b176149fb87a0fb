//! Exact noise, into NumPy's arrays.

use std::ffi::CString;
use std::num::NonZeroUsize;

use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyTuple};
use unspent::Error;
use unspent::mechanism::kind_named;
use unspent::sampler::{Key, Sampler};
use unspent_data::{NoiseSource, all_cores};

use crate::error::{NotPrivateWarning, OrRaise, exception};
use crate::gaussian::{keywords_only, stated};
use crate::number::rational;

/// Draws that are made between looks for a signal: a tenth of a second.
const CHUNK: usize = 1 << 24;
/// Draws that are worth a second thread.
const WORTH_A_THREAD: usize = 1 << 16;

/// Exact discrete Gaussian noise: independent draws from N_Z(0, sigma2), an int or an int64 array of shape
/// `size`. With `mechanism="discrete_laplace"` exact discrete Laplace (geometric) noise.
///
/// The noise is stated as `sigma2`, the variance parameter, or as `sigma` or `scale`, its square root; that
/// of discrete Laplace noise as `scale`. The law is P[X = x] ~ exp(-x**2 / (2 * sigma2)), or ~ exp(-abs(x)
/// / scale), on all integers, exactly, with no floating-point number in between; the random bits are
/// ChaCha20's under a new key from the operating system for every call, also after a fork. With
/// `not_private_seed` the noise can be repeated, by anyone: a NotPrivateWarning says so, and
/// `noise.dtype.metadata["unspent.warning"]` of the array.
///
/// >>> import unspent
/// >>> noise = unspent.sample(sigma2="100000/9563", size=(1000, 3))
/// >>> noise.shape, noise.dtype
/// ((1000, 3), dtype('int64'))
#[pyfunction]
#[pyo3(
    signature = (
        *positional, sigma2=None, sigma=None, scale=None, size=None, threads=None, not_private_seed=None,
        mechanism="discrete_gaussian"
    ),
    text_signature = "(*, sigma2=None, sigma=None, scale=None, size=None, threads=None, \
     not_private_seed=None, mechanism='discrete_gaussian')"
)]
#[allow(clippy::too_many_arguments)] // Keywords, each with its name.
pub fn sample<'py>(
    py: Python<'py>,
    positional: &Bound<'py, PyTuple>,
    sigma2: Option<&Bound<'py, PyAny>>,
    sigma: Option<&Bound<'py, PyAny>>,
    scale: Option<&Bound<'py, PyAny>>,
    size: Option<&Bound<'py, PyAny>>,
    threads: Option<&Bound<'py, PyAny>>,
    not_private_seed: Option<&Bound<'py, PyAny>>,
    mechanism: &str,
) -> PyResult<Bound<'py, PyAny>> {
    keywords_only("sample", positional)?;
    let sampler = match (kind_named(mechanism).as_str(), sigma2.or(sigma), scale) {
        ("discrete_gaussian", ..) => {
            let sigma2 = stated(py, sigma2, sigma, scale)?;
            py.detach(|| Sampler::new(&sigma2))
        }
        ("discrete_laplace", None, Some(scale)) => {
            let scale = rational("scale", scale)?;
            py.detach(|| Sampler::discrete_laplace(&scale))
        }
        ("discrete_laplace", ..) => Err(Error::stated(
            "the width of discrete Laplace noise is its scale",
            "give scale alone, neither sigma nor sigma2",
        )),
        _ => Err(Error::input(
            "mechanism",
            mechanism,
            "discrete_gaussian or discrete_laplace",
            "other noise is not drawn",
        )),
    };
    let sampler = sampler.or_raise(py)?;
    let threads = threads_given(py, threads)?;
    let shape: Vec<usize> = match size {
        None => vec![],
        Some(given) => given.extract().map(|n| vec![n]).or_else(|_| given.extract()).map_err(|_| {
            let hint = "like 1000 or (1000, 3)";
            exception(py, &Error::input("size", given, "a whole number or a tuple of whole numbers", hint))
        })?,
    };
    let source = seeded(py, not_private_seed)?;
    let key = match source {
        NoiseSource::Private => Key::from_os().or_raise(py)?,
        NoiseSource::NotPrivate(seed) => Key::not_private(seed),
    };
    let mut noise = key.noise(&sampler);
    if size.is_none() {
        return noise.sample().or_raise(py)?.into_bound_py_any(py);
    }
    // NumPy's own allocation, which says MemoryError where there is not enough.
    let numpy = py.import("numpy")?;
    let kind = int64(py, source.warning().as_deref())?;
    let array = numpy.call_method1("empty", (shape, kind))?;
    let array = array.cast_into::<PyArrayDyn<i64>>()?;
    {
        let mut places = array.readwrite();
        for chunk in places.as_slice_mut()?.chunks_mut(CHUNK) {
            let threads = if chunk.len() < WORTH_A_THREAD { NonZeroUsize::MIN } else { threads };
            py.detach(|| noise.fill_on(threads, chunk)).or_raise(py)?;
            py.check_signals()?;
        }
    }
    Ok(array.into_any())
}

/// How many threads; as many as there are cores unless given.
pub fn threads_given(py: Python<'_>, threads: Option<&Bound<'_, PyAny>>) -> PyResult<NonZeroUsize> {
    let Some(given) = threads else { return Ok(all_cores()) };
    given.extract().ok().filter(|n: &NonZeroUsize| n.get() <= 1_024).ok_or_else(|| {
        let hint = "leave it out for all cores";
        exception(py, &Error::input("threads", given, "a whole number between 1 and 1024", hint))
    })
}

/// Where noise comes from; a warning says if it is not private.
pub fn seeded(py: Python<'_>, not_private_seed: Option<&Bound<'_, PyAny>>) -> PyResult<NoiseSource> {
    let Some(given) = not_private_seed else { return Ok(NoiseSource::Private) };
    let seed = given.extract().map_err(|_| {
        let hint = "leave it out for private noise";
        exception(py, &Error::input("not_private_seed", given, "a whole number between 0 and 2^64 - 1", hint))
    })?;
    let text = CString::new(Key::not_private_warning(seed))?;
    PyErr::warn(py, py.get_type::<NotPrivateWarning>().as_any(), &text, 1)?;
    Ok(NoiseSource::NotPrivate(seed))
}

/// The dtype int64, labelled with a warning if there is one. The label stays with views and copies, and is
/// lost in sums: those are not this noise.
pub fn int64<'py>(py: Python<'py>, warning: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let label = PyDict::new(py);
    if let Some(warning) = warning {
        label.set_item("metadata", [("unspent.warning", warning)].into_py_dict(py)?)?;
    }
    py.import("numpy")?.getattr("dtype")?.call(("int64",), Some(&label))
}
