//! The catalogue of words: every sentence that more than one report, or more than one front end, says.

use crate::number::{Number, Rational};
use crate::profile::{Direction, Method};
use crate::report::numerals::{READABLE, equals};
use crate::scope::Scope;
use crate::zcdp::Conversion;

/// Below every table with certified ε.
pub const UPPER_BOUNDS: &str = "Columns marked ≤ are valid upper bounds, rounded up. \
                                The exact epsilon lies between lower (≥) and upper (≤).";
/// Below every table with both conversions.
pub const CONVERSIONS: &str =
    "Bun–St.: Bun and Steinke's conversion from rho. C.–K.–St.: Canonne, Kamath and Steinke's.";
/// What ρ is of noise that is not Gaussian.
pub const LAPLACE_RHO: &str = "No least rho is known of Laplace noise: the one shown is epsilon^2/2, which \
                               its pure differential privacy implies. What is converted from it is an upper \
                               bound.";
/// Where units may have been bypassed.
pub const WORST_PATHS: &str = "Each line is the worst case over all pairs of paths. The column main path is \
 the upper \
                               bound where no unit was bypassed; it is not a guarantee for other records.";
/// Of noise, where units may have been bypassed.
pub const BYPASSED: &str = "This is the noise where no unit was bypassed. Where one was, the unit above it \
 has its \
                            budget, and less noise.";
/// Where the worst case is only bounded.
pub const NOT_ATTAINED: &str = "° No neighbours are known that attain the upper end. The lower end is that \
 of \
                                neighbours that are known.";
/// Where other mechanisms for the same record are counted.
pub const ALSO: &str = "Mechanisms under `also` are for the same record. They are counted in the whole \
 release, and in every line about a change of the record. A reader of one level does not see them: lines of \
 single levels are without them.";
/// Where of some mechanism only a bound is known.
pub const ONE_SIDED: &str = "Of some mechanism only zCDP is known: upper ends are guarantees, and the lower \
                             end is that of everything else, as if that mechanism revealed nothing.";
/// Where zCDP bounds no budget.
pub const NO_RHO: &str = "Where rho is none, zCDP bounds nothing of some mechanism.";
/// Where there is no trade-off function.
pub const NO_READING: &str = "What an attacker gains is not worked out: some mechanism under `also` has no \
                              trade-off function.";
/// Of a factor of variances.
pub const FACTOR: &str = "The factor is certified: all variances of the row, times this factor, keep the \
 row's epsilon at this delta.";
/// Of reductions of single levels.
pub const EACH_ALONE: &str =
    "Each row is by itself: levels that are reduced together may exceed the epsilon of the whole.";
/// Of a composition of symmetric mechanisms.
pub const NEIGHBOURS_AS_GIVEN: &str =
    "Whether neighbours add, remove or replace a record is up to the counts and shifts given.";
/// Where no promise is known.
pub const NO_PROMISE: &str = "no promise: the allocation does not say what epsilon was published";

/// What the rows of a scope are about.
pub fn heading(scope: &Scope) -> Option<&'static str> {
    match scope {
        Scope::Total => None,
        Scope::Level(_) => Some("one level, to a reader of that level only"),
        Scope::Keeping(_) => {
            Some("the record inside one unit, whose total stays: two moves of each query that can change")
        }
        Scope::Attribute(_) => Some("the value of one attribute: two moves of each query that touches it"),
        Scope::Within(_) => Some("the place inside one unit: two moves of each query at the levels below"),
    }
}

/// The conversion that is marked in a table.
pub fn marked(conversion: Conversion) -> String {
    format!("* marks the conversion behind the published epsilon ({}).", conversion.authors())
}

/// `delta = 1e-10`.
pub fn at_delta(delta: &Rational) -> String {
    format!("delta{}", equals(delta))
}

/// The whole of a release in one sentence.
pub fn whole(when: &str, name: &str, epsilon: &Number, delta: &Rational) -> String {
    let epsilon = epsilon.at_most(READABLE);
    format!("{when}: {name}; the whole release has epsilon ≤ {epsilon} at delta {}.", delta.to_short())
}

/// Which neighbours answers are for, where it matters.
pub(crate) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Both => {
            "Neighbours add or remove one record: each delta is the larger of the two directions."
        }
        Direction::Remove => "One direction only: the record is removed. Ask for both for a guarantee.",
        Direction::Add => "One direction only: the record is added. Ask for both for a guarantee.",
    }
}

/// How answers are obtained.
pub fn method(method: Method) -> &'static str {
    match method {
        Method::Lattice => {
            "lattice. The privacy losses lie on a lattice and are summed; only rounding is left."
        }
        Method::Enumeration => {
            "enumeration. The privacy losses, or those of some mechanisms, are so few that they are added up \
             one by one; only rounding is left."
        }
        Method::Smoothing => {
            "smoothing. No usable lattice; the two ends are a certified bracket around the exact value."
        }
        Method::OneSided => {
            "one-sided. Of some mechanism only zCDP or RDP is known: the upper end is a guarantee, and the \
             lower end is that of the others."
        }
        Method::Continuous => "continuous. The privacy loss is smooth by itself; only rounding is left.",
    }
}
