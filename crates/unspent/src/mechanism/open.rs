//! A mechanism with one parameter that is to be found: written `?`.
//!
//! Which parameters may be looked for, in which range, and on which side of a value the privacy is. That δ
//! does not rise towards that side is proved for most of them (`theory/mechanisms.md`, M10): then the value
//! that is found is the least, or the largest, of all.

use std::fmt;

use super::Described;
use crate::error::{Error, Result};
use crate::number::Rational;

/// A mechanism all of whose parameters are given but one.
///
/// ```
/// # use unspent::mechanism::{Entry, Open};
/// let Entry::Open(laplace) = Entry::parse("laplace:b=?,count=10")? else { panic!() };
/// assert_eq!(laplace.parameter(), "b");
/// assert_eq!(laplace.with(&"2.5".parse()?)?.to_string(), "laplace:scale=5/2,shift=1,count=10");
/// assert!(Entry::parse("randomised_response:k=?,epsilon=1").is_err());
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    kind: &'static str,
    /// All of them, as given.
    parameters: Vec<(String, String)>,
    parameter: String,
    sought: Sought,
}

/// Where the values of a parameter are looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sought {
    /// The smallest and the largest value that are tried.
    pub range: (f64, f64),
    /// Whether they are whole numbers.
    pub whole: bool,
    /// Whether larger values are more private.
    pub rising: bool,
    /// Whether δ is proved never to rise towards more private values.
    pub monotone: bool,
}

impl Eq for Sought {}

impl Sought {
    /// For a parameter of a kind; `None` if it is not looked for.
    fn of(kind: &str, parameter: &str) -> Option<Sought> {
        let (base, sampled) = match kind.strip_prefix("subsampled_") {
            Some(base) => (base, true),
            None => (kind, false),
        };
        let more = |range, monotone| Sought { range, whole: false, rising: true, monotone };
        let less = |range| Sought { range, whole: false, rising: false, monotone: true };
        let whole = |most| Sought { whole: true, ..less((1.0, most)) };
        Some(match (base, parameter) {
            (_, "count") => whole(1e15),
            (_, "q") if sampled => less((1e-12, 1.0)),
            ("gaussian", "sigma2") => more((1e-3, 1e12), true),
            // A sample of discrete noise is summed outcome by outcome.
            ("discrete_gaussian", "sigma2") if sampled => more((1e-3, 1e8), false),
            ("discrete_gaussian", "sigma" | "scale") if sampled => more((DEVIATIONS.0, 1e4), false),
            ("discrete_gaussian" | "truncated_discrete_gaussian", "sigma2") => more((1e-3, 1e12), false),
            // Roots of the same, as decimals inside.
            ("gaussian", "sigma" | "scale") => more(DEVIATIONS, true),
            ("discrete_gaussian" | "truncated_discrete_gaussian", "sigma" | "scale") => {
                more(DEVIATIONS, false)
            }
            ("laplace" | "discrete_laplace", "b" | "scale") => more((1e-3, 1e12), true),
            ("gaussian" | "laplace", "shift") => less((1e-6, 1e6)),
            ("discrete_gaussian", "shift") => whole(1e6),
            ("discrete_laplace", "shift") => whole(1e5),
            ("randomised_response" | "pure_dp" | "approximate_dp", "epsilon") => less((1e-12, 1e4)),
            ("zcdp", "rho") => less((1e-12, 1e6)),
            ("gdp", "mu") => less((1e-6, 31.622_776_601_6)),
            _ => return None,
        })
    }
}

/// Standard deviations whose squares are between 10⁻³ and 10¹².
const DEVIATIONS: (f64, f64) = (0.031_622_776_601_7, 1e6);

impl Open {
    /// What stands for the value that is looked for.
    pub const MARK: &'static str = "?";

    /// Reads a mechanism of a kind from its parameters, one of which is `?`.
    pub fn read(kind: &str, parameters: &[(&str, &str)]) -> Result<Open> {
        let (kind, allowed) = Described::find_kind(kind)?;
        let mut open = parameters.iter().filter(|(_, value)| *value == Open::MARK);
        let (Some((parameter, _)), None) = (open.next(), open.next()) else {
            return Err(Error::stated(
                format!("{kind}: more than one parameter is `?`"),
                "one parameter of one mechanism is looked for, all others are given",
            ));
        };
        let Some(sought) = Sought::of(kind, parameter) else {
            let names = ["sigma2", "sigma", "scale", "b", "shift", "q", "epsilon", "rho", "mu", "count"];
            let known: Vec<&str> = names.into_iter().filter(|n| Sought::of(kind, n).is_some()).collect();
            return Err(Error::stated(
                format!("{kind}: `{parameter}` is not looked for"),
                format!("it takes {allowed}; `?` may stand for {}", known.join(", ")),
            ));
        };
        let parameters = parameters.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let open = Open { kind, parameters, parameter: (*parameter).to_owned(), sought };
        // What else is wrong is said before anything is looked for: one of the ends is a value.
        let (low, high) = sought.range;
        let end = if sought.rising { high } else { low };
        open.with(&Rational::parse(parameter, &format!("{end:e}"))?)?;
        Ok(open)
    }

    /// The name of the parameter that is looked for, as it was written.
    #[must_use]
    pub fn parameter(&self) -> &str {
        &self.parameter
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Where its values are looked for.
    #[must_use]
    pub fn sought(&self) -> Sought {
        self.sought
    }

    /// The mechanism with that value.
    pub fn with(&self, value: &Rational) -> Result<Described> {
        let value = value.to_string();
        let filled = |(name, text): &'_ (String, String)| {
            (name.clone(), if text == Open::MARK { value.clone() } else { text.clone() })
        };
        let filled: Vec<(String, String)> = self.parameters.iter().map(filled).collect();
        let filled: Vec<(&str, &str)> = filled.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        Described::read(self.kind, &filled)
    }
}

impl fmt::Display for Open {
    /// As [`Entry::parse`](super::Entry::parse) reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list: Vec<String> = self.parameters.iter().map(|(n, v)| format!("{n}={v}")).collect();
        write!(f, "{}:{}", self.kind, list.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::Entry;

    /// Both ends of every range are values of the parameter.
    #[test]
    fn ends_of_ranges_are_allowed() {
        for text in [
            "discrete_gaussian:sigma2=?",
            "discrete_gaussian:sigma=?",
            "discrete_gaussian:sigma2=3,shift=?",
            "gaussian:scale=?",
            "gaussian:sigma=2,shift=?",
            "laplace:b=?",
            "laplace:b=2,shift=?",
            "discrete_laplace:scale=?",
            "discrete_laplace:b=3,shift=?",
            "randomised_response:k=3,epsilon=?",
            "pure_dp:epsilon=?",
            "approximate_dp:epsilon=?,delta=1e-6",
            "truncated_discrete_gaussian:sigma2=?,bound=40",
            "subsampled_gaussian:sigma=?,q=0.1",
            "subsampled_gaussian:sigma=1,q=?",
            "subsampled_discrete_laplace:b=1,q=0.1,shift=?",
            "zcdp:rho=?",
            "gdp:mu=?",
            "sigma2=3,count=?",
        ] {
            let Entry::Open(open) = Entry::parse(text).unwrap() else { panic!("{text}") };
            for end in [open.sought().range.0, open.sought().range.1] {
                open.with(&format!("{end:e}").parse().unwrap()).unwrap_or_else(|e| panic!("{text}: {e}"));
            }
        }
    }

    #[test]
    fn what_cannot_be_looked_for_is_refused_by_name() {
        for (text, words) in [
            ("laplace:b=?,shift=?", ["laplace", "more than one", "`?`"]),
            ("randomised_response:k=?,epsilon=1", ["randomised_response", "`k`", "not looked for"]),
            ("finite:p=?,q=1/2;1/2", ["finite", "`p`", "not looked for"]),
            ("laplace:b=?,sigma=1", ["laplace", "sigma", "parameter"]),
            ("laplace:b=?,shift=-1", ["laplace", "-1", "shift"]),
            ("truncated_discrete_gaussian:sigma2=2,bound=?", ["truncated", "`bound`", "not looked for"]),
        ] {
            let message = Entry::parse(text).unwrap_err().to_string();
            for word in words {
                assert!(message.contains(word), "{text}: {word} in {message}");
            }
        }
        let message = Described::parse("laplace:b=?").unwrap_err().to_string();
        assert_eq!(message, "b: `?` is not a number: nothing is looked for here");
    }
}
