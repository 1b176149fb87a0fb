//! Mechanisms with finitely many privacy losses: randomised response, (ε, δ)-DP events, tables of masses,
//! truncated noise.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::number::Rational;

use super::{check_sigma2, shift_error};

/// Most outcomes of a table of masses, and of truncated noise.
const MAX_OUTCOMES: usize = 1 << 20;
/// Largest ε of an event, or of a randomised response.
const MAX_EPSILON: u64 = 10_000;

/// Randomised response over `k` values: the true one is reported with some probability, any other one with
/// equal probability.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RandomisedResponse {
    values: u64,
    truth: Truth,
}

/// How often a randomised response is true.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Truth {
    /// The true value is e^ε times as likely as any other.
    Epsilon(Rational),
    /// The true value is reported with this probability.
    Probability(Rational),
}

impl RandomisedResponse {
    /// At least two values; ε between 0 and 10⁴, or a probability of the truth between 1/k and 1.
    pub fn new(values: u64, truth: Truth) -> Result<RandomisedResponse> {
        if values < 2 {
            let hint = "a randomised response chooses among k values";
            return Err(Error::input("k", values, "a whole number of at least 2", hint));
        }
        let truth = match truth {
            Truth::Epsilon(epsilon) => Truth::Epsilon(check_epsilon(epsilon)?),
            Truth::Probability(truth) => {
                let fair = &Rational::integer(1) / &Rational::from(values);
                if truth <= fair || truth >= Rational::integer(1) {
                    let allowed = format!("a probability between 1/{values} and 1, both excluded");
                    let hint = "truth is the probability of reporting the true value; 1/k says nothing of it";
                    return Err(Error::input("truth", truth, allowed, hint));
                }
                Truth::Probability(truth)
            }
        };
        Ok(RandomisedResponse { values, truth })
    }

    /// k.
    #[must_use]
    pub fn values(&self) -> u64 {
        self.values
    }

    /// How often it is true.
    #[must_use]
    pub fn truth(&self) -> &Truth {
        &self.truth
    }
}

/// Any mechanism of which only (ε, δ)-differential privacy is known. With δ = 0, pure ε-DP.
///
/// Answers are for the pair of laws that is worst of all such mechanisms (Kairouz, Oh and Viswanath 2015):
/// they hold for each of them, and are attained by one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApproximateDp {
    epsilon: Rational,
    delta: Rational,
}

impl ApproximateDp {
    /// ε between 0 and 10⁴, δ at least 0 and below 1.
    pub fn new(epsilon: Rational, delta: Rational) -> Result<ApproximateDp> {
        let epsilon = check_epsilon(epsilon)?;
        if delta < Rational::integer(0) || delta >= Rational::integer(1) {
            let hint = "delta is the probability with which a mechanism may reveal everything; 0 for pure DP";
            return Err(Error::input("delta", delta, "a number of at least 0 and below 1", hint));
        }
        Ok(ApproximateDp { epsilon, delta })
    }

    /// ε.
    #[must_use]
    pub fn epsilon(&self) -> &Rational {
        &self.epsilon
    }

    /// δ.
    #[must_use]
    pub fn delta(&self) -> &Rational {
        &self.delta
    }
}

fn check_epsilon(epsilon: Rational) -> Result<Rational> {
    let range = Rational::integer(0)..=Rational::from(MAX_EPSILON);
    epsilon.within("epsilon", &range, "a number between 0 and 10000")
}

/// A mechanism given by its masses: `p` without the record, `q` with it, outcome by outcome.
///
/// An outcome that is possible only with the record (`p` = 0) reveals it: the privacy loss is infinite there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Finite {
    p: Arc<[Rational]>,
    q: Arc<[Rational]>,
}

impl Finite {
    /// Non-negative masses that sum to 1 exactly, as many of one as of the other.
    pub fn new(p: Vec<Rational>, q: Vec<Rational>) -> Result<Finite> {
        if p.len() != q.len() || p.is_empty() || p.len() > MAX_OUTCOMES {
            let cause = format!("finite: p has {} masses and q has {}", p.len(), q.len());
            return Err(Error::stated(
                cause,
                format!("give one p and one q for each outcome, at most {MAX_OUTCOMES}"),
            ));
        }
        for (name, masses) in [("p", &p), ("q", &q)] {
            let zero = Rational::integer(0);
            if let Some(mass) = masses.iter().find(|m| **m < zero) {
                return Err(Error::input(name, mass, "a mass of at least 0", "masses are probabilities"));
            }
            let total = Rational::sum(masses);
            if total != Rational::integer(1) {
                let hint = "masses are exact: write 1/3, not 0.333, and let them sum to 1";
                return Err(Error::input(name, total.to_short(), "masses that sum to 1 exactly", hint));
            }
        }
        Ok(Finite { p: p.into(), q: q.into() })
    }

    /// The masses without the record.
    #[must_use]
    pub fn p(&self) -> &[Rational] {
        &self.p
    }

    /// The masses with the record.
    #[must_use]
    pub fn q(&self) -> &[Rational] {
        &self.q
    }
}

/// Discrete Gaussian noise conditioned on `|x| ≤ bound`.
///
/// An answer that lies further out than the bound around one of the two true values reveals the other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TruncatedDiscreteGaussian {
    sigma2: Rational,
    shift: u64,
    bound: u64,
}

impl TruncatedDiscreteGaussian {
    /// σ² between 10⁻³ and 10¹², a shift of at least 1, a bound between the shift and 500,000.
    pub fn new(sigma2: Rational, shift: u64, bound: u64) -> Result<TruncatedDiscreteGaussian> {
        let sigma2 = check_sigma2(sigma2)?;
        if shift == 0 {
            return Err(shift_error(shift));
        }
        if bound < shift || bound > 500_000 {
            let allowed = format!("a whole number between the shift, {shift}, and 500000");
            return Err(Error::input("bound", bound, allowed, "the noise lies between −bound and bound"));
        }
        Ok(TruncatedDiscreteGaussian { sigma2, shift, bound })
    }

    /// σ².
    #[must_use]
    pub fn sigma2(&self) -> &Rational {
        &self.sigma2
    }

    /// How far one record can move the answer.
    #[must_use]
    pub fn shift(&self) -> u64 {
        self.shift
    }

    /// The largest noise.
    #[must_use]
    pub fn bound(&self) -> u64 {
        self.bound
    }
}
