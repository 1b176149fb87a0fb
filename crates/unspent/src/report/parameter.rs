//! The value of one parameter that keeps (ε, δ), beside the next one that does not.

use serde::Serialize;

use crate::calibrate::{Shape, Solution, Target};
use crate::mechanism::{Described, Open};
use crate::number::{Number, Rational, Round};
use crate::profile::{Direction, Method};
use crate::quantity::{Delta, Epsilon};
use crate::report::account;
use crate::report::document::{Document, Table};
use crate::report::numerals::{brief, lower, upper};
use crate::report::words;

/// What one parameter must be.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name, as it was asked for.
    pub parameter: String,
    /// The index of its mechanism in `mechanisms`, from 0.
    pub mechanism: usize,
    /// Which side of the value is more private.
    pub private: Side,
    /// The ε to keep.
    pub epsilon: Epsilon,
    /// The δ to keep.
    pub target: Delta,
    /// The value: certified to keep them.
    pub value: Rational,
    /// δ at ε with it.
    pub delta: Number,
    /// The value beside it on the less private side; none if there is none in the range of the parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<NextValue>,
    /// What is known of all other values.
    pub order: Known,
    /// More private than none of these, and certified to keep the promise although values between do not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub islands: Vec<Rational>,
    /// All mechanisms, with the value.
    pub mechanisms: Vec<Described>,
    /// The number of distinct ones among them.
    pub kinds: usize,
    /// How δ was obtained.
    pub method: Method,
    /// Which neighbours the answer is for, where adding and removing a record differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Of this library.
    pub version: &'static str,
}

/// The value beside the one that was found.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct NextValue {
    /// The value.
    pub value: Rational,
    /// δ at ε with it.
    pub delta: Number,
    /// Whether it is certified to break the promise, or only not certified to keep it.
    pub fails: bool,
}

/// Where more private values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Above.
    Larger,
    /// Below.
    Smaller,
}

/// What is known of other values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// δ is proved never to rise towards more private values.
    Monotone,
    /// Points on both sides were looked at, and agree with that.
    Scanned,
    /// Points on both sides were looked at, and some do not.
    Islands,
    /// Nothing.
    NotScanned,
}

impl Parameter {
    /// Of what was found for a mechanism of that index.
    pub(crate) fn new(
        open: &Open,
        (mechanism, mechanisms): (usize, Vec<Described>),
        target: &Target,
        found: Solution,
    ) -> Parameter {
        let Solution { value, delta, next, shape, composition, .. } = found;
        Parameter {
            parameter: open.parameter().into(),
            mechanism,
            private: if open.sought().rising { Side::Larger } else { Side::Smaller },
            epsilon: target.epsilon.clone(),
            target: target.delta.clone(),
            value,
            delta: delta.into(),
            next: next.map(|next| NextValue {
                value: next.value,
                delta: next.delta.into(),
                fails: next.fails,
            }),
            order: match &shape {
                Shape::Monotone => Known::Monotone,
                Shape::Scanned(_) => Known::Scanned,
                Shape::Islands(_) => Known::Islands,
                Shape::NotScanned => Known::NotScanned,
            },
            islands: if let Shape::Islands(islands) = shape { islands } else { vec![] },
            mechanisms,
            kinds: composition.kinds(),
            method: composition.method(),
            direction: (!composition.is_symmetric()).then_some(composition.direction()),
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// The answer for people.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut text = Document::default();
        account::mechanisms(&mut text, &self.mechanisms, self.kinds, None);
        text.line("");
        let (epsilon, delta) =
            (brief(self.epsilon.value(), Round::Up), brief(self.target.value(), Round::Up));
        text.line(format!(
            "To keep: delta ≤ {delta} at epsilon {epsilon}. Looked for: {} of mechanism {}, {}.",
            self.parameter,
            self.mechanism + 1,
            self.mechanisms[self.mechanism].mechanism.name()
        ));
        text.line("");
        let at = format!("delta at epsilon {epsilon} (≤)");
        let mut table = Table::new(&[&self.parameter, "", &at, "at least (≥)"]);
        let mut row = |value: &Rational, verdict: &str, delta: &Number| {
            table.row(vec![value.to_decimal_or_fraction(), verdict.into(), upper(delta), lower(delta)]);
        };
        row(&self.value, "keeps it, certified", &self.delta);
        match &self.next {
            Some(next) if next.fails => row(&next.value, "does not, certified", &next.delta),
            Some(next) => row(&next.value, "not known", &next.delta),
            None => {}
        }
        text.table(table);
        text.line("");
        text.line(self.order_in_words());
        if self.method == Method::OneSided {
            text.line(
                "Of a zCDP or RDP event only an upper bound is known, so that no value is certified to \
                 fail: beyond the one above nothing is certified.",
            );
        }
        text.line(format!("Method: {}", words::method(self.method)));
        match self.direction {
            None => text.line(words::NEIGHBOURS_AS_GIVEN),
            Some(direction) => text.line(words::direction(direction)),
        }
        text
    }

    fn order_in_words(&self) -> String {
        let (least, private) = match self.private {
            Side::Larger => ("smallest", "larger"),
            Side::Smaller => ("largest", "smaller"),
        };
        match (self.order, &self.next) {
            (_, None) => format!("It is the {least} value that is looked at: every one keeps it."),
            (Known::Monotone, _) => format!(
                "Every {private} value keeps it, too: delta does not rise there (proved). So the {least} \
                 value is between the two."
            ),
            (Known::Scanned, _) => format!(
                "Delta is not monotone in this parameter. Values were looked at up to where all \
                 {private} ones are proved to keep it, and down to an eighth: none disagrees. A scan is \
                 no proof for what lies between."
            ),
            (Known::Islands, _) => {
                let shown = |value: Option<&Rational>| {
                    value.map_or_else(String::new, Rational::to_decimal_or_fraction)
                };
                format!(
                    "Delta is not monotone in this parameter. Of the values looked at on the other side {} \
                     keep it, too, from {} to {}, with some between that do not.",
                    self.islands.len(),
                    shown(self.islands.first()),
                    shown(self.islands.last())
                )
            }
            (Known::NotScanned, _) => format!(
                "That delta does not rise towards {private} values is not proved for this parameter: only \
                 the values above are certified."
            ),
        }
    }
}
