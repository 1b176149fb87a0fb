//! What was asked and what is known: the one source of the table and of the JSON.

use serde::ser::{Serialize, SerializeStruct, Serializer};
use unspent::{Bounds, Magnitude, Method, Rational, Round};

use crate::decimal::FULL;

/// A release and its guarantees.
#[derive(serde::Serialize)]
pub struct Report {
    /// The answers, in the order of the questions.
    pub points: Vec<Point>,
    /// How they were obtained.
    #[serde(serialize_with = "method_name")]
    pub method: Method,
    /// The release satisfies ρ-zCDP and no smaller ρ.
    pub rho: Figure,
    /// The mechanisms, as given.
    pub mechanisms: Vec<Mechanism>,
    /// The number of distinct ones among them.
    pub kinds: usize,
    /// The relative width of δ that was demanded.
    pub tolerance: Option<f64>,
    /// Of this program.
    pub version: &'static str,
}

/// Equal discrete Gaussian mechanisms.
#[derive(serde::Serialize)]
pub struct Mechanism {
    /// The variance of the noise.
    #[serde(serialize_with = "decimal_or_fraction")]
    pub sigma2: Rational,
    /// How many there are.
    pub count: u64,
    /// How far one record moves each answer.
    pub shift: u64,
}

/// A point (ε, δ) of the privacy profile: one is given, the other bounded.
#[derive(serde::Serialize)]
pub struct Point {
    /// Which of the two was given.
    pub input: Input,
    /// ε.
    pub epsilon: Figure,
    /// δ.
    pub delta: Figure,
    /// log₁₀ δ.
    pub log10_delta: LogBounds,
    /// What the published conversions from zCDP say of ε, where δ was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zcdp: Option<Conversions>,
    /// P[L > ε].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_tail: Option<Figure>,
    /// Q[L > ε].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q_tail: Option<Figure>,
}

/// ε by the published conversions, rounded up: valid for the release, and not tight.
#[derive(serde::Serialize)]
pub struct Conversions {
    /// Canonne, Kamath and Steinke's.
    #[serde(serialize_with = "rounded_up")]
    pub canonne_kamath_steinke: Magnitude,
    /// Bun and Steinke's.
    #[serde(serialize_with = "rounded_up")]
    pub bun_steinke: Magnitude,
}

/// What was given.
#[derive(Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// ε; δ is the answer.
    Epsilon,
    /// δ; ε is the answer.
    Delta,
}

/// A non-negative number that was given, or is known to lie between two ends.
pub enum Figure {
    /// Given, and exact.
    Exact(Rational),
    /// Computed, and certified.
    Between {
        /// It is at least this.
        lower: Magnitude,
        /// It is at most this.
        upper: Magnitude,
    },
}

impl Figure {
    /// A decimal that is not above the number.
    pub fn at_least(&self, digits: u32) -> String {
        match self {
            Figure::Exact(x) => x.to_decimal(digits, Round::Down),
            Figure::Between { lower, .. } => lower.to_decimal(digits, Round::Down),
        }
    }

    /// A decimal that is not below the number.
    pub fn at_most(&self, digits: u32) -> String {
        match self {
            Figure::Exact(x) => x.to_decimal(digits, Round::Up),
            Figure::Between { upper, .. } => upper.to_decimal(digits, Round::Up),
        }
    }
}

impl From<Bounds<Magnitude>> for Figure {
    fn from(bounds: Bounds<Magnitude>) -> Figure {
        Figure::Between { lower: bounds.lower(), upper: bounds.upper() }
    }
}

impl From<Bounds<f64>> for Figure {
    fn from(bounds: Bounds<f64>) -> Figure {
        // An ε is never negative, even where its lower end is.
        let end = |x: f64| Magnitude::from_f64(x.max(0.0));
        Figure::Between { lower: end(bounds.lower()), upper: end(bounds.upper()) }
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pair = serializer.serialize_struct("Figure", 2)?;
        pair.serialize_field("lower", &self.at_least(FULL))?;
        pair.serialize_field("upper", &self.at_most(FULL))?;
        pair.end()
    }
}

/// Ends of log₁₀ δ; `None` is −∞.
#[derive(serde::Serialize)]
pub struct LogBounds {
    lower: Option<f64>,
    upper: Option<f64>,
}

impl LogBounds {
    /// Of δ.
    pub fn of(delta: Bounds<Magnitude>) -> LogBounds {
        let bounds = delta.log10();
        LogBounds::new(bounds.lower(), bounds.upper())
    }

    fn new(lower: f64, upper: f64) -> LogBounds {
        let finite = |x: f64| x.is_finite().then_some(x);
        LogBounds { lower: finite(lower), upper: finite(upper) }
    }
}

fn method_name<S: Serializer>(method: &Method, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(method.name())
}

fn rounded_up<S: Serializer>(x: &Magnitude, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&x.to_decimal(FULL, Round::Up))
}

fn decimal_or_fraction<S: Serializer>(x: &Rational, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&x.to_decimal_or_fraction())
}
