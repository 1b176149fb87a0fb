//! What a composition promises at given ε and δ.

use serde::Serialize;

use crate::composition::Composition;
use crate::error::{Error, Result};
use crate::mechanism::{Described, Mechanism};
use crate::number::{LogBounds, Magnitude, Number, Rational, Round, rounded_up};
use crate::profile::{Direction, Method};
use crate::quantity::{Alpha, Delta, Epsilon, Rho};
use crate::report::document::{Document, Table};
use crate::report::numerals::{brief, counted, lower, number_equals, up, upper};
use crate::report::words;

/// A composition and its guarantees.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Account {
    /// The answers: at every ε, then at every δ.
    pub points: Vec<AccountPoint>,
    /// The answers at every rate of false alarms.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<AccountRate>,
    /// How they were obtained.
    pub method: Method,
    /// The composition satisfies ρ-zCDP and no smaller ρ; for Gaussian noise alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rho: Option<Number>,
    /// The mechanisms, as given.
    pub mechanisms: Vec<Described>,
    /// The number of distinct ones among them.
    pub kinds: usize,
    /// Which neighbours the answers are for, where adding and removing a record differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// The relative width of δ that was demanded.
    pub tolerance: Option<f64>,
    /// Of this library.
    pub version: &'static str,
}

/// A point (ε, δ) of the privacy profile: one is given, the other bounded.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct AccountPoint {
    /// Which of the two was given.
    pub input: Input,
    /// ε.
    pub epsilon: Number,
    /// δ.
    pub delta: Number,
    /// log₁₀ δ.
    pub log10_delta: LogBounds,
    /// What the published conversions from zCDP say of ε, where δ was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zcdp: Option<Conversions>,
    /// The probability `P[L > ε]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_tail: Option<Number>,
    /// The probability `Q[L > ε]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q_tail: Option<Number>,
}

/// A point of the trade-off function. Guarantees are the lower end of misses, and the upper one of power.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct AccountRate {
    /// The rate of false alarms, as given.
    pub alpha: Rational,
    /// The least rate of misses.
    pub misses: Number,
    /// What is left of 1, to more digits where that is little.
    pub power: Number,
}

/// ε by the published conversions, rounded up: valid for the composition, and not tight.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Conversions {
    /// Canonne, Kamath and Steinke's.
    #[serde(serialize_with = "rounded_up")]
    pub canonne_kamath_steinke: Magnitude,
    /// Bun and Steinke's.
    #[serde(serialize_with = "rounded_up")]
    pub bun_steinke: Magnitude,
}

/// What was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// ε; δ is the answer.
    Epsilon,
    /// δ; ε is the answer.
    Delta,
}

impl Account {
    pub(crate) fn new(
        composition: &Composition,
        mechanisms: Vec<Described>,
        (epsilons, deltas, rates): (&[Epsilon], &[Delta], &[Alpha]),
        tails: bool,
    ) -> Result<Account> {
        let rho = composition.known_rho().ok();
        let mut points = vec![];
        for epsilon in epsilons {
            let place = |e: Error| e.at(format!("epsilon {}", brief(epsilon.value(), Round::Up)));
            let delta = composition.delta(epsilon).map_err(place)?;
            let tail = |tail: fn(&Composition, &Epsilon) -> _| {
                tails.then(|| tail(composition, epsilon)).transpose().map_err(place)
            };
            points.push(AccountPoint {
                input: Input::Epsilon,
                epsilon: Number::Exact(epsilon.value().clone()),
                delta: delta.into(),
                log10_delta: delta.into(),
                zcdp: None,
                p_tail: tail(Composition::p_tail)?.map(Number::from),
                q_tail: tail(Composition::q_tail)?.map(Number::from),
            });
        }
        for delta in deltas {
            let place = |e: Error| e.at(format!("delta {}", brief(delta.value(), Round::Up)));
            points.push(AccountPoint {
                input: Input::Delta,
                epsilon: composition.epsilon(delta).map_err(place)?.into(),
                delta: Number::Exact(delta.value().clone()),
                log10_delta: delta.value().to_bounds().into(),
                zcdp: rho.as_ref().and_then(|rho| conversions(rho, delta)),
                p_tail: None,
                q_tail: None,
            });
        }
        let rates = rates.iter().map(|alpha| {
            let place = |e: Error| e.at(format!("rate {}", brief(alpha.value(), Round::Up)));
            Ok(AccountRate {
                alpha: alpha.value().clone(),
                misses: composition.tradeoff(alpha).map_err(place)?.into(),
                power: composition.power(alpha).map_err(place)?.into(),
            })
        });
        Ok(Account {
            points,
            rates: rates.collect::<Result<_>>()?,
            method: composition.method(),
            rho,
            mechanisms,
            kinds: composition.kinds(),
            direction: (!composition.is_symmetric()).then_some(composition.direction()),
            tolerance: composition.demanded_tolerance(),
            version: env!("CARGO_PKG_VERSION"),
        })
    }

    /// The answers for people.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut text = Document::default();
        self.composition(&mut text);
        let epsilon = ["epsilon, given", "delta: upper (≤)", "delta: lower (≥)"];
        self.answers(&mut text, Input::Epsilon, epsilon, |point| Some(&point.delta));
        let delta = ["delta, given", "epsilon: upper (≤)", "epsilon: lower (≥)"];
        self.answers(&mut text, Input::Delta, delta, |point| Some(&point.epsilon));
        self.conversions(&mut text);
        let p_tail = ["epsilon, given", "P[L > epsilon], record absent (≤)", "at least (≥)"];
        self.answers(&mut text, Input::Epsilon, p_tail, |point| point.p_tail.as_ref());
        let q_tail = ["epsilon, given", "Q[L > epsilon], record present (≤)", "at least (≥)"];
        self.answers(&mut text, Input::Epsilon, q_tail, |point| point.q_tail.as_ref());
        text.line(
            "Every (≤) is a guarantee for this composition: one record moves only these answers, each by its \
             shift.",
        );
        match self.direction {
            None => text.line(words::NEIGHBOURS_AS_GIVEN),
            Some(direction) => text.line(words::direction(direction)),
        }
        if self.method == Method::OneSided {
            text.line(
                "Lower ends are those of the other mechanisms alone: \
                 of a zCDP or RDP event only an upper bound is known.",
            );
        }
        text
    }

    fn composition(&self, text: &mut Document) {
        mechanisms(text, &self.mechanisms, self.kinds, self.rho.as_ref());
        text.line("");
        text.line(format!("Method: {}", words::method(self.method)));
        let any_delta = self.points.iter().any(|point| point.input == Input::Epsilon);
        if let Some(tolerance) = self.tolerance.filter(|_| any_delta) {
            text.line(format!(
                "Tolerance: each delta asked for is known to a relative width of {tolerance:e}."
            ));
        }
        text.line("");
    }

    /// The answers to one sort of question, if any was asked.
    fn answers(
        &self,
        text: &mut Document,
        input: Input,
        heads: [&str; 3],
        answer: impl Fn(&AccountPoint) -> Option<&Number>,
    ) {
        let mut table = Table::new(&heads);
        for point in self.points.iter().filter(|point| point.input == input) {
            let given = match input {
                Input::Epsilon => &point.epsilon,
                Input::Delta => &point.delta,
            };
            if let (Number::Exact(given), Some(answer)) = (given, answer(point)) {
                table.row(vec![brief(given, Round::Up), upper(answer), lower(answer)]);
            }
        }
        if !table.groups[0].rows.is_empty() {
            text.table(table);
            text.line("");
        }
    }

    /// What zCDP alone would say, for comparison.
    fn conversions(&self, text: &mut Document) {
        let heads = ["for comparison", "from rho, Canonne–Kamath–Steinke (≤)", "from rho, Bun–Steinke (≤)"];
        let mut table = Table::new(&heads);
        for point in &self.points {
            if let (Number::Exact(delta), Some(zcdp)) = (&point.delta, &point.zcdp) {
                let (tighter, looser) = (up(&zcdp.canonne_kamath_steinke), up(&zcdp.bun_steinke));
                table.row(vec![brief(delta, Round::Up), tighter, looser]);
            }
        }
        if !table.groups[0].rows.is_empty() {
            text.table(table);
            text.line("");
        }
    }
}

/// What is composed, group by group.
pub(super) fn mechanisms(text: &mut Document, list: &[Described], kinds: usize, rho: Option<&Number>) {
    /// Groups of mechanisms shown before the rest is only counted.
    const SHOWN: usize = 20;
    let total: u128 = list.iter().map(|m| u128::from(m.count)).sum();
    let gaussian = list.iter().all(Described::is_discrete_gaussian);
    let (one, many) = if gaussian { ("answer", "answers") } else { ("mechanism", "mechanisms") };
    let noise = if gaussian { " with discrete Gaussian noise" } else { "" };
    text.line(format!(
        "Release: {total} {}{noise} of {}{}",
        if total == 1 { one } else { many },
        counted(kinds, "kind", "kinds"),
        rho.map_or(String::new(), |rho| format!("; zCDP rho{}", number_equals(rho))),
    ));
    let heads: &[&str] =
        if gaussian { &["count", "sigma2", "shift"] } else { &["count", "mechanism", "parameters"] };
    let mut table = Table::new(heads);
    for Described { mechanism, count } in list.iter().take(SHOWN) {
        table.row(match (gaussian, mechanism.sigma2(), mechanism.shift()) {
            (true, Some(sigma2), Some(shift)) => {
                vec![count.to_string(), brief(sigma2, Round::Down), shift.to_string()]
            }
            _ => vec![count.to_string(), mechanism.name().to_string(), parameters(mechanism)],
        });
    }
    if list.len() > SHOWN {
        table.note(format!("… and {} more groups", list.len() - SHOWN));
    }
    text.table(table);
}

/// Parameters in a line, long ones cut.
fn parameters(mechanism: &Mechanism) -> String {
    const LONGEST: usize = 24;
    let shown = |(name, value): (&str, String)| {
        let value = value.parse::<Rational>().map_or(value, |number| number.to_decimal_or_fraction());
        let short: String = value.chars().take(LONGEST).collect();
        if value.chars().count() > LONGEST {
            format!("{name} = {short}…")
        } else {
            format!("{name} = {value}")
        }
    };
    mechanism.parameters().into_iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// ε by the published conversions; `None` where ρ is too small for them.
fn conversions(rho: &Number, delta: &Delta) -> Option<Conversions> {
    let rho = Rho::new(rho.upper()).ok()?;
    Some(Conversions {
        canonne_kamath_steinke: Magnitude::from_f64(rho.epsilon_canonne_kamath_steinke(delta)),
        bun_steinke: Magnitude::from_f64(rho.epsilon_bun_steinke(delta)),
    })
}
