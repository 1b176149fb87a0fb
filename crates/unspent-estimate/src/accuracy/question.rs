//! The question about a regular tree, as programs ask it.

use serde::Deserialize;
use unspent::question::Product;
use unspent::{Allocation, Ask, Error, Rational, Result, Terms};

use super::{Accuracy, Assumptions, Prospect};

/// How far will the estimates be from the true counts, on a regular tree?
///
/// ```
/// use unspent::{Allocation, Ask};
/// use unspent_estimate::AccuracyQuestion;
/// let towns = Allocation::parse("towns.toml", r#"
///     name = "Towns"
///     neighbours = "bounded"
///     [attributes]
///     age = ["young", "old"]
///     [queries]
///     total = []
///     age = ["age"]
///     [[levels]]
///     name = "County"
///     sigma2 = { total = 4 }
///     [[levels]]
///     name = "Town"
///     sigma2 = { age = 1 }
/// "#)?;
/// let accuracy = AccuracyQuestion { per_level: Some(vec![1, 2]), ..AccuracyQuestion::about(towns) };
/// let accuracy = accuracy.answer()?;
/// // Four counts of variance 1 add up to 4: as good as the county's own.
/// let total = &accuracy.levels[0].queries[0];
/// assert_eq!((total.query.as_str(), total.margin.unwrap().floor()), ("total", 2.0));
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccuracyQuestion {
    /// The allocation.
    pub allocation: Product,
    /// How many units each level has; for a known census its own numbers, unless given.
    #[serde(default)]
    pub per_level: Option<Vec<u64>>,
    /// How often an interval is to contain the true count; 95 % unless given.
    #[serde(default)]
    pub confidence: Option<Rational>,
    /// Levels whose totals are exact, besides those that the allocation says.
    #[serde(default)]
    pub exact_totals: Vec<String>,
    /// Whether it is used that some combinations of values cannot occur; it is, unless given.
    #[serde(default)]
    pub structural_zeros: Option<bool>,
}

impl AccuracyQuestion {
    /// About an allocation.
    pub fn about(allocation: impl Into<Product>) -> AccuracyQuestion {
        AccuracyQuestion {
            allocation: allocation.into(),
            per_level: None,
            confidence: None,
            exact_totals: vec![],
            structural_zeros: None,
        }
    }

    /// What errors are computed with.
    #[must_use]
    pub fn assumptions(&self) -> Assumptions {
        let usual = Assumptions::default();
        Assumptions {
            confidence: self.confidence.clone().unwrap_or(usual.confidence),
            structural_zeros: self.structural_zeros.unwrap_or(usual.structural_zeros),
            exact_totals: self.exact_totals.clone(),
        }
    }
}

impl Ask for AccuracyQuestion {
    type Report = Accuracy;

    fn work(&self, _: &Terms) -> Result<Accuracy> {
        let allocation = self.allocation.allocation()?;
        let units = match self.per_level.clone().or_else(|| usual_units(&allocation)) {
            Some(units) => units,
            None => return Err(no_units(&allocation)),
        };
        Prospect::new(&allocation, &self.assumptions())?.regular(&units)
    }
}

fn no_units(allocation: &Allocation) -> Error {
    let names: Vec<&str> = allocation.levels().iter().map(|level| level.name.as_str()).collect();
    Error::stated(
        format!("per_level: how many units the levels {} have is not known", names.join(", ")),
        "give a number of units for each level, from the first on",
    )
}

/// A series of releases, its levels, and their numbers of units.
type Census = (&'static str, &'static [(&'static str, u64)]);

/// The tallies of the 2020 Census (census.gov, "Geographic Entity Tallies"): the 50 states and the District
/// of Columbia, and Puerto Rico. The production system's own units differ a little: it took the parts of
/// states in tribal areas for states of their own, and made block groups anew.
const CENSUSES: [Census; 2] = [
    (
        "2020 Census, United States",
        &[
            ("US", 1),
            ("State", 51),
            ("County", 3_143),
            ("Tract", 84_414),
            ("Block_Group", 239_780),
            ("Block", 8_132_968),
        ],
    ),
    (
        "2020 Census, Puerto Rico",
        &[("State", 1), ("County", 78), ("Tract", 981), ("Block_Group", 2_555), ("Block", 41_987)],
    ),
];

/// How many units each level of an allocation has, if it is of a census whose numbers are known.
#[must_use]
pub fn usual_units(allocation: &Allocation) -> Option<Vec<u64>> {
    let series = allocation.production().series.as_deref()?;
    let (_, known) = CENSUSES.iter().find(|(name, _)| *name == series)?;
    let of = |name: &str| known.iter().find(|(level, _)| *level == name).map(|(_, units)| *units);
    allocation.levels().iter().map(|level| of(&level.name)).collect()
}
