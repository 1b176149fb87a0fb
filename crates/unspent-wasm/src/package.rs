//! What only the package for JavaScript asks: what Python has as methods of a composition, and no page needs.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use unspent::calibrate::Shape;
use unspent::mechanism::Described;
use unspent::{
    Composition, Conversion, Delta, Direction, DominatingLaw, Epsilon, Error, Group, Rational, Result, Rho,
    Round, Target,
};

/// Which composition.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Composed {
    mechanisms: Vec<Described>,
    #[serde(default)]
    direction: Direction,
    #[serde(default)]
    tolerance: Option<f64>,
}

impl Composed {
    fn made(&self) -> Result<Composition> {
        let groups = self.mechanisms.iter().map(|one| (one.mechanism.clone(), one.count));
        let mut made = Composition::new(groups)?;
        if self.direction != Direction::Both {
            made = made.in_direction(self.direction)?;
        }
        if let Some(tolerance) = self.tolerance {
            made = made.with_tolerance(tolerance)?;
        }
        Ok(made)
    }
}

/// The least common factor of all σ² that keeps (ε, δ), or the least σ² of the mechanism of an index.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Factor {
    composition: Composed,
    epsilon: Epsilon,
    delta: Delta,
    #[serde(default)]
    mechanism: Option<usize>,
}

#[derive(Serialize)]
struct Least {
    smallest: Rational,
    /// Just below it, and certified to miss.
    failing: Option<Rational>,
    shape: &'static str,
    islands: Vec<Rational>,
    /// All of them, with that noise.
    mechanisms: Vec<Texts>,
}

/// A kind, parameters and a count. Not every count is a number of JavaScript.
type Texts = BTreeMap<&'static str, String>;

fn described(group: &Group) -> Texts {
    let mut texts: Texts = group.mechanism.parameters().into_iter().collect();
    texts.insert("kind", group.mechanism.kind().into());
    texts.insert("count", group.count.to_string());
    texts
}

fn factor(asked: &Factor) -> Result<Least> {
    let Factor { composition, epsilon, delta, mechanism } = asked;
    let made = composition.made()?;
    let target = Target { epsilon: epsilon.clone(), delta: delta.clone() };
    let found = match *mechanism {
        None => made.smallest_scale(&target)?,
        Some(index) => made.smallest_sigma2(index, &target)?,
    };
    let scaled = made.with_sigma2(|i, sigma2| match *mechanism {
        None => sigma2 * &found.satisfying,
        Some(index) if index == i => found.satisfying.clone(),
        Some(_) => sigma2.clone(),
    })?;
    Ok(Least {
        mechanisms: scaled.groups().iter().map(described).collect(),
        smallest: found.satisfying,
        failing: found.failing,
        shape: match &found.shape {
            Shape::Monotone => "monotone",
            Shape::NotScanned => "not scanned",
            Shape::Scanned(_) => "scanned",
            Shape::Islands(_) => "islands",
        },
        islands: if let Shape::Islands(islands) = found.shape { islands } else { vec![] },
    })
}

/// What a published conversion from ρ states of a δ, or of an ε.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    composition: Composed,
    conversion: Conversion,
    #[serde(default)]
    epsilon: Option<Epsilon>,
    #[serde(default)]
    delta: Option<Delta>,
}

/// Rounded up; beyond all doubles it is `null`.
#[derive(Serialize)]
struct Stated {
    stated: f64,
}

fn published(asked: &Published) -> Result<Stated> {
    let rho = Rho::new(asked.composition.made()?.known_rho()?.upper())?;
    Ok(Stated {
        stated: match (&asked.epsilon, &asked.delta) {
            (None, Some(delta)) => rho.epsilon(asked.conversion, delta),
            (Some(epsilon), None) => rho.delta(asked.conversion, epsilon).to_f64(Round::Up),
            _ => return Err(Error::stated("either epsilon or delta is given", "ask for one at a time")),
        },
    })
}

/// The largest ρ with which a published conversion states no more than (ε, δ).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Largest {
    epsilon: Epsilon,
    delta: Delta,
    conversion: Conversion,
}

#[derive(Serialize)]
struct Budget {
    rho: Rational,
}

fn largest(asked: &Largest) -> Result<Budget> {
    let rho = asked.conversion.largest_rho(&asked.epsilon, &asked.delta)?;
    Ok(Budget { rho: rho.value().clone() })
}

/// Masses on a grid that dominate the composition: one law, or one for each direction.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Laws {
    composition: Composed,
    interval: f64,
    tail: Delta,
}

#[derive(Serialize)]
struct Law {
    interval: f64,
    lowest: i64,
    masses: Vec<f64>,
    infinite: f64,
}

impl From<DominatingLaw> for Law {
    fn from(law: DominatingLaw) -> Law {
        let DominatingLaw { interval, lowest, masses, infinite } = law;
        Law { interval, lowest, masses, infinite }
    }
}

fn laws(asked: &Laws) -> Result<Vec<Law>> {
    let made = asked.composition.made()?;
    let found = if made.is_symmetric() {
        vec![made.dominating_law(asked.interval, &asked.tail)?]
    } else {
        made.dominating_laws(asked.interval, &asked.tail)?.into()
    };
    Ok(found.into_iter().map(Law::from).collect())
}

/// The answer in JSON to a question of that name; `None` if there is none of it here.
pub fn asked(name: &str, json: &[u8]) -> Option<Result<String>> {
    match name {
        "factor" => Some(answered(json, factor)),
        "published" => Some(answered(json, published)),
        "largest" => Some(answered(json, largest)),
        "laws" => Some(answered(json, laws)),
        _ => None,
    }
}

fn answered<Q: DeserializeOwned, A: Serialize>(json: &[u8], work: fn(&Q) -> Result<A>) -> Result<String> {
    let question: Q = serde_json::from_slice(json).map_err(|error| {
        Error::stated(format!("the question cannot be read: {error}"), "check its fields")
    })?;
    Ok(serde_json::to_string(&work(&question)?).expect("texts, numbers and lists"))
}
