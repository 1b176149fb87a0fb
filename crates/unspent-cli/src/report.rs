//! What `unspent account` was asked and what is known: the one source of its table and of its JSON.

use serde::ser::Serializer;
use unspent::report::{self, Figure, LogBounds};
use unspent::{Magnitude, Method, Rational};

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
    #[serde(serialize_with = "report::exactly")]
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
    #[serde(serialize_with = "report::rounded_up")]
    pub canonne_kamath_steinke: Magnitude,
    /// Bun and Steinke's.
    #[serde(serialize_with = "report::rounded_up")]
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

fn method_name<S: Serializer>(method: &Method, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(method.name())
}
