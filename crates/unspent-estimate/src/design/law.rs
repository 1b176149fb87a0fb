//! How often an error is within a margin.

use super::needs::Law;

/// How often an error is within so many deviations: by the normal law, or at least, by the sub-Gaussian one.
pub(super) fn coverage(law: Law, deviations: f64) -> f64 {
    match law {
        Law::Normal => pxfm::f_erf(deviations / std::f64::consts::SQRT_2),
        Law::Guaranteed => (1.0 - 2.0 * pxfm::f_exp(-deviations * deviations / 2.0)).max(0.0),
    }
}
