//! `unspent` for Python: exact numbers in, [`bounds::Bounds`] out, in NumPy's terms.
//!
//! ```text
//! int, str, Fraction, Decimal, float ─▶ Rational ─▶ the library, without the GIL ─▶ Bounds, BoundsArray
//! ```
//!
//! Nothing is computed here. What takes microseconds is answered at once; what may take longer runs on a
//! thread of its own while this one listens for Ctrl-C ([`work`]). What needs other packages (pandas,
//! matplotlib, dp-accounting) is Python, in `python/unspent`.

// Whoever imports the module reads the docstrings; here they would be said twice.
#![allow(missing_docs, reason = "the classes' documentation is for Python")]

mod accuracy;
mod allocation;
mod answers;
mod arrow;
mod bounds;
mod calibration;
mod certificate;
mod classes;
mod columns;
mod composed;
mod composition;
mod conversions;
mod design;
mod distributed;
mod error;
mod estimate;
mod gaussian;
mod group;
mod interval;
mod kinds;
mod lines;
mod measure;
mod measurements;
mod mechanism;
mod memory;
mod needs;
mod noise;
mod number;
mod parameter;
mod texts;
mod units;
mod utility;
mod whole;
mod work;
mod worst;

use std::panic;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _native {
    use pyo3::prelude::*;

    use crate::quiet_about_damaged_files;

    #[pymodule_export]
    use crate::accuracy::{Accuracy, accuracy};
    #[pymodule_export]
    use crate::allocation::{Allocation, Measurement, preset, presets};
    #[pymodule_export]
    use crate::bounds::{Bounds, BoundsArray};
    #[pymodule_export]
    use crate::calibration::Calibration;
    #[pymodule_export]
    use crate::certificate::{CalibratedLine, Certificate, Line, Recalibration, Reduction, certificate};
    #[pymodule_export]
    use crate::composition::Composition;
    #[pymodule_export]
    use crate::conversions::{largest_mu, largest_rho};
    #[pymodule_export]
    use crate::design::{Checked, Design, Explained};
    #[pymodule_export]
    use crate::distributed::{ReleaseKey, ReleasePlan, TableReader, UnitNoise};
    #[pymodule_export]
    use crate::error::{NotPrivateWarning, ToleranceError, UnspentError};
    #[pymodule_export]
    use crate::estimate::{Estimates, estimate};
    #[pymodule_export]
    use crate::gaussian::{DiscreteGaussian, Gaussian, TruncatedDiscreteGaussian};
    #[pymodule_export]
    use crate::interval::{Interval, IntervalArray, interval};
    #[pymodule_export]
    use crate::kinds::{
        ApproximateDp, DiscreteLaplace, Finite, Laplace, RandomisedResponse, RenyiDp, Subsampled,
        ZeroConcentratedDp, gaussian_dp, pure_dp,
    };
    #[pymodule_export]
    use crate::measure::{Measured, measure, read_measurements};
    #[pymodule_export]
    use crate::measurements::{Measurements, NoisyMeasurement};
    #[pymodule_export]
    use crate::mechanism::Mechanism;
    #[pymodule_export]
    use crate::needs::{Needs, design};
    #[pymodule_export]
    use crate::noise::sample;
    #[pymodule_export]
    use crate::parameter::{Parameter, parameter};
    #[pymodule_export]
    use crate::utility::{UtilityReport, utility};
    #[pymodule_export]
    use crate::whole::WholeTables;
    #[pymodule_export]
    use crate::worst::WorstCase;

    /// Runs the command with these arguments, the first of which is its name; the exit code. For a process
    /// that does nothing else.
    #[pyfunction]
    fn command(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
        py.detach(|| unspent_cli::main(arguments))
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        quiet_about_damaged_files();
        // Errors made in Python have one too, if only an empty one.
        module.getattr("UnspentError")?.setattr("hint", "")?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// A library that trips over a damaged file panics, which becomes an error: that is not to be reported
/// besides.
fn quiet_about_damaged_files() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !unspent_data::panics::is_caught() {
            before(info);
        }
    }));
}
