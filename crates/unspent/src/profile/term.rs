//! What bounds are made of, so that a test can leave one part out and see that it is missed.

/// One part of the error bounds of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    /// Floating-point error of the sum over nodes.
    Rounding,
    /// Floating-point error of the exponent before the sum: of `log Φ` at the tilt.
    Exponent,
    /// The aliases of the trapezoidal rule.
    Alias,
    /// All windows but the central one.
    Windows,
    /// The nodes outside the windows.
    Outside,
    /// The nodes of a window that are bounded together, because their modulus is known to fall.
    Rest,
    /// What smoothing adds to δ.
    Smoothing,
    /// Floating-point error of the sum over atoms.
    AtomRounding,
    /// Atoms so near to ε that it is not known on which side they are.
    Unsure,
    /// Tails of discrete noise that are not listed.
    Tails,
    /// What reveals the record for certain.
    Infinity,
    /// The atoms beyond the ends of the lists.
    Remainder,
    /// The atoms of the lists that are too small to be computed.
    Negligible,
}

#[cfg(not(test))]
pub(crate) fn dropping(_: Term, error: f64) -> f64 {
    error
}

/// In tests one term can be dropped.
#[cfg(test)]
pub(crate) fn dropping(term: Term, error: f64) -> f64 {
    if DROPPED.get() == Some(term) { 0.0 } else { error }
}

#[cfg(test)]
thread_local! {
    pub(crate) static DROPPED: std::cell::Cell<Option<Term>> = const { std::cell::Cell::new(None) };
}
