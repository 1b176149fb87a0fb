//! What an attacker gains: how often a test finds the truth, and what is believed after it.
//!
//! The attacker knows everything but one secret, has the release, and raises a false alarm in a fraction α of
//! all cases with nothing to find. Its power β is at most `1 − f(α)`, and a test with that power exists. Who
//! believed the secret true with probability π before believes it with `πβ/(πβ + (1 − π)α)` after an alarm.
//! (That is for tests of just that α: rarer alarms weigh more.)

use serde::Serialize;

use crate::allocation::Neighbours;
use crate::effort::Effort;
use crate::error::{Error, Result};
use crate::number::{Bounds, Number, Rational, Round};
use crate::quantity::Alpha;
use crate::release::Release;
use crate::scope::Scope;
use crate::worst::WorstCase;

/// What one attack reaches.
#[derive(Clone, Debug, Serialize)]
pub struct Attack {
    /// How often it raises an alarm about nothing.
    pub alpha: Rational,
    /// How often it finds what is there: never more than the upper end; the best attack reaches the lower.
    pub power: Number,
    /// What is believed after the alarm of an attack with that α: at most, and for the best one.
    pub posterior: Number,
}

impl Attack {
    /// The best attack with false alarms at the rate α, by someone who believed the secret with probability
    /// `prior`.
    pub fn best(cases: &WorstCase, alpha: &Alpha, prior: &Rational) -> Result<Attack> {
        let one = Rational::integer(1);
        if !(prior.is_positive() && *prior < one) {
            let hint = "what is believed before is a probability, like 1/1000";
            return Err(Error::input("prior", prior, "a number strictly between 0 and 1", hint));
        }
        let power = cases.power(alpha)?;
        let wrong = &(&one - prior) * alpha.value();
        let believed = |beta: Rational, round_up: bool| {
            let right = prior * &beta;
            let sum = &right + &wrong;
            // An attack that never raises an alarm teaches nothing.
            let posterior = if sum.is_zero() { prior.clone() } else { &right / &sum };
            let bounds = posterior.to_bounds();
            if round_up { bounds.upper() } else { bounds.lower() }
        };
        let posterior = Number::from(Bounds::new(
            believed(power.lower().to_rational(), false),
            believed(power.upper().to_rational(), true),
        ));
        Ok(Attack { alpha: alpha.value().clone(), power: power.into(), posterior })
    }
}

/// What the best attacker reaches at the rates of false alarms that people think in, in numbers and in words.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Reading {
    /// What is believed before.
    pub prior: Rational,
    /// What one record is.
    pub record: String,
    /// What the total protects.
    pub neighbours: Neighbours,
    /// One for each rate.
    pub attacks: Vec<Attack>,
    /// Who attacks, what is secret, and what they see.
    pub intro: String,
    /// What each attack reaches.
    pub words: Vec<String>,
    /// For whom all this holds.
    pub note: String,
}

/// The rates of false alarms that people think in.
const RATES: [&str; 2] = ["0.01", "0.05"];

impl Reading {
    pub(crate) fn new(release: &Release, scope: &Scope, prior: &Rational, effort: Effort) -> Result<Reading> {
        let cases = release.worst_case_with(scope, effort)?;
        let attacks = RATES.iter().map(|rate| Attack::best(&cases, &Alpha::parse(rate)?, prior));
        let attacks: Vec<Attack> = attacks.collect::<Result<_>>()?;
        let (record, neighbours) = (release.record(), release.neighbours());
        Ok(Reading {
            prior: prior.clone(),
            record: record.into(),
            neighbours,
            intro: intro(scope, record, neighbours),
            words: attacks.iter().map(|attack| in_words(attack, prior)).collect(),
            note: note(neighbours),
            attacks,
        })
    }
}

/// Who attacks, what is secret, and what they see.
fn intro(scope: &Scope, record: &str, neighbours: Neighbours) -> String {
    let second = "it is the second of the two".to_string();
    let (secret, suspicion) = match (scope, neighbours) {
        (Scope::Keeping(name), _) => (
            format!("which of two given records, counted in the same {name}, one {record} really has"),
            second,
        ),
        (Scope::Attribute(name), _) => (format!("which of two values of “{name}” one {record} has"), second),
        (Scope::Within(name), _) => {
            (format!("in which of two places inside one {name} one {record} is counted"), second)
        }
        (Scope::Total | Scope::Level(_), Neighbours::Bounded) => {
            (format!("which of two given records one {record} really has"), second)
        }
        (Scope::Total | Scope::Level(_), Neighbours::AddRemove) => {
            (format!("whether one {record} is in the data at all"), format!("the {record} is there"))
        }
    };
    let sees = match scope {
        Scope::Level(name) => format!("what is released at the level {name}, and nothing else"),
        _ => "everything that is released".into(),
    };
    format!(
        "Someone knows everything about the data but one thing: {secret}. They see {sees}, and say “alarm” \
         when \
         they come to believe that {suspicion}."
    )
}

/// What one attack reaches: at most rounded up, and really reached rounded down.
fn in_words(attack: &Attack, prior: &Rational) -> String {
    let alpha = percent(&attack.alpha, Round::Up);
    let Attack { power, posterior, .. } = attack;
    let at_most = percent(&posterior.upper(), Round::Up);
    let quarter = &Rational::integer(1) / &Rational::integer(4);
    let rare = if posterior.upper() < quarter {
        format!(" ({})", one_in(&posterior.upper()))
    } else {
        String::new()
    };
    format!(
        "An attack that raises a false alarm in {alpha} of cases finds the truth in at most {}, and some \
         attack \
         really reaches {}. (Guessing reaches {alpha}.) What was thought {} likely before is, after its \
         alarm, at \
         most {at_most} likely{rare}, and with the best attack really {}.",
        percent(&power.upper(), Round::Up),
        percent(&power.lower(), Round::Down),
        one_in(prior),
        percent(&posterior.lower(), Round::Down)
    )
}

fn note(neighbours: Neighbours) -> String {
    let rest = match neighbours {
        Neighbours::Bounded => ", and says nothing of what the rest of the data tell about everybody",
        Neighbours::AddRemove => "",
    };
    format!(
        "An attack that raises fewer false alarms finds less, but its alarms weigh more. All this holds for \
         neighbours that agree on what is published without noise{rest}."
    )
}

/// A part of one in percent, to three digits; more where it is close to certainty, which rounding must not
/// make of it.
fn percent(x: &Rational, round: Round) -> String {
    let value = x * &Rational::integer(100);
    let rest = &Rational::integer(100) - &value;
    let is_close = rest.is_positive() && rest < Rational::integer(1);
    let digits = if is_close { 3.0 - rest.to_bounds().log10().lower().floor() } else { 3.0 };
    format!("{}\u{a0}%", value.to_decimal(digits.clamp(3.0, 20.0) as u32, round))
}

/// `1 in 1000`, not less likely than it is.
fn one_in(x: &Rational) -> String {
    if x.is_zero() {
        return "impossible".into();
    }
    format!("1 in {}", (&Rational::integer(1) / x).to_decimal(4, Round::Down))
}

#[cfg(test)]
mod tests {
    use super::Attack;
    use crate::{Alpha, Composition, DiscreteGaussian, Effort, Rational, WorstCase};

    fn believed(sigma2: &str, alpha: &str, prior: &str) -> crate::Result<(f64, f64)> {
        let composition = Composition::new([(DiscreteGaussian::parse(sigma2, "1")?, 1)])?;
        let attack = Attack::best(&composition.into(), &Alpha::parse(alpha)?, &prior.parse::<Rational>()?)?;
        let ends = attack.posterior.bounds().to_f64();
        Ok((ends.lower(), ends.upper()))
    }

    #[test]
    fn belief_follows_bayes() {
        // Much noise: the power is hardly more than α, and the belief hardly more than before.
        let (lower, upper) = believed("1000000", "0.05", "1/1000").unwrap();
        assert!(0.001 < lower && lower <= upper && upper < 0.00101, "{lower} {upper}");
        // No noise to speak of: every alarm that is not false is true.
        let (lower, upper) = believed("0.001", "0.01", "1/1000").unwrap();
        let certain = 0.001 / (0.001 + 0.999 * 0.01);
        assert!(lower <= certain && certain <= upper + 1e-15 && upper - lower < 1e-9, "{lower} {upper}");
    }

    /// Each end of the belief is that of the same end of the power, rounded outward.
    #[test]
    fn ends_go_with_ends() {
        let composition =
            Composition::with_effort([(DiscreteGaussian::parse("0.37", "1").unwrap(), 3)], Effort::Fast)
                .unwrap();
        let (alpha, prior) = (Alpha::parse("0.05").unwrap(), "1/1000".parse::<Rational>().unwrap());
        let attack = Attack::best(&WorstCase::from(composition), &alpha, &prior).unwrap();
        let believed = |power: Rational| {
            let right = &prior * &power;
            &right / &(&right + &(&(&Rational::integer(1) - &prior) * alpha.value()))
        };
        let (power, belief) = (attack.power.bounds(), attack.posterior.bounds());
        assert!(power.lower() < power.upper());
        assert!(belief.upper().to_rational() >= believed(power.upper().to_rational()));
        assert!(belief.lower().to_rational() <= believed(power.lower().to_rational()));
        assert!(belief.upper().to_f64(crate::Round::Up) - belief.lower().to_f64(crate::Round::Down) < 1e-3);
    }

    #[test]
    fn percentages_do_not_become_certain_by_rounding() {
        let percent = |text: &str, round| super::percent(&text.parse().unwrap(), round);
        assert_eq!(percent("0.05", crate::Round::Up), "5\u{a0}%");
        assert_eq!(percent("0.123456", crate::Round::Up), "12.4\u{a0}%");
        assert_eq!(percent("0.99999987", crate::Round::Up), "99.999987\u{a0}%");
        assert_eq!(percent("1", crate::Round::Up), "100\u{a0}%");
        assert_eq!(super::one_in(&"0.0123".parse().unwrap()), "1 in 81.3");
    }

    #[test]
    fn beliefs_are_probabilities() {
        for prior in ["0", "1", "-1", "2"] {
            let error = believed("5", "0.05", prior).unwrap_err().to_string();
            assert!(error.starts_with("prior: "), "{error}");
        }
        assert_eq!(believed("5", "0", "1/4").unwrap(), (0.25, 0.25));
    }
}
