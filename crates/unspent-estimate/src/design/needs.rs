//! What must be known, and how well: the question that a design answers.

use std::collections::BTreeMap;

use unspent::schema::Schema;
use unspent::{Allocation, Delta, Epsilon, Error, Rational, Result, Scope, did_you_mean};

/// What must be known of a release, and what may be spent on it.
///
/// Nothing in it may come from confidential counts: an allocation that depends on them would tell about them.
#[derive(Clone, Debug)]
pub struct Needs {
    /// Levels, queries, schema, neighbours and what is exact. Every query may be measured at every level; the
    /// budgets of this allocation are not looked at.
    pub offer: Allocation,
    /// Which units there are.
    pub units: Units,
    /// The δ at which ε is quoted.
    pub delta: Delta,
    /// What is wanted.
    pub goal: Goal,
    /// How margins follow from variances.
    pub law: Law,
    /// What must be known.
    pub needs: Vec<Need>,
    /// What becomes of tables that nobody asked for.
    pub rest: Rest,
    /// Parts of the release that must not spend more.
    pub promises: Vec<Promise>,
}

/// Which units there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Units {
    /// So many at each level, each with the same number of units in it.
    PerLevel(Vec<u64>),
    /// Those of a public list.
    Listed(UnitTree),
}

/// The units of a public list: for each level but the first, the place of each unit's parent among the units
/// of the level above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitTree {
    /// How many units the first level has.
    pub roots: u64,
    /// The parents of the units of the other levels, ascending.
    pub parents: Vec<Vec<u32>>,
}

impl UnitTree {
    /// How many units each level has.
    #[must_use]
    pub fn per_level(&self) -> Vec<u64> {
        std::iter::once(self.roots).chain(self.parents.iter().map(|of| of.len() as u64)).collect()
    }
}

impl Units {
    /// How many units each level has.
    #[must_use]
    pub fn per_level(&self) -> Vec<u64> {
        match self {
            Units::PerLevel(units) => units.clone(),
            Units::Listed(tree) => tree.per_level(),
        }
    }
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// All needs met with as little as possible.
    LeastEpsilon,
    /// The margins of all needs times the smallest common factor, at this ε.
    Epsilon {
        /// What may be spent.
        epsilon: Epsilon,
        /// Whether the factor may be above 1, so that no need is met. Otherwise that is refused.
        wider: bool,
    },
}

/// How margins follow from variances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Law {
    /// Errors are taken for normal, with the lattice of the largest noise where that matters. It is no
    /// guarantee.
    #[default]
    Normal,
    /// Errors are sub-Gaussian: a guarantee for every design.
    Guaranteed,
}

/// One thing that must be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What it is called.
    pub name: String,
    /// The place of its level.
    pub level: usize,
    /// What is known of each unit, or set of units.
    pub quantity: Quantity,
    /// A set of units of the level; none for each unit by itself.
    pub set: Option<UnitSet>,
    /// How often the error is within the margin.
    pub confidence: Rational,
    /// Whether the margins of all units and answers hold at once with this confidence.
    pub all: bool,
}

/// What is known of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Every answer of a table.
    Table {
        /// By these attributes and recodes; none for the total.
        by: Vec<String>,
        /// How far an answer may be from the truth.
        margin: Rational,
    },
    /// How many records have some values.
    Count {
        /// Which.
        of: Selection,
        /// How far the count may be from the truth.
        margin: Rational,
    },
    /// Which part of some records has some values.
    Share {
        /// Which values.
        of: Selection,
        /// Of which records.
        among: Selection,
        /// How far the share may be from the truth, as a part of 1.
        margin: Rational,
        /// At least so many records are among those, by public figures.
        population: Rational,
        /// The share, if it is known; otherwise the margin holds for every share.
        about: Option<Rational>,
    },
}

/// Records by their values: for some attributes, the values that are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection(pub BTreeMap<usize, Vec<u32>>);

impl Selection {
    /// By the names of attributes or recodes, with the names of values or groups.
    pub fn new(schema: &Schema, chosen: &[(String, Vec<String>)]) -> Result<Selection> {
        let mut selection = Selection::default();
        for (part, names) in chosen {
            let resolved = schema.resolve(&[part])?;
            let part_of = &resolved[0];
            let attribute = &schema.attributes()[part_of.attribute];
            let mut values = vec![];
            for name in names {
                let of_name: Option<Vec<u32>> = match part_of.recode {
                    Some(recode) => recode.groups.iter().find(|g| g.label == *name).map(|g| g.values.clone()),
                    None => attribute.values.iter().position(|v| v == name).map(|at| vec![at as u32]),
                };
                let Some(of_name) = of_name else {
                    let known: Vec<&str> = match part_of.recode {
                        Some(recode) => recode.groups.iter().map(|g| g.label.as_str()).collect(),
                        None => attribute.values.iter().map(String::as_str).collect(),
                    };
                    let allowed = format!("one of {}", known.join(", "));
                    let hint = did_you_mean(name, known.iter().copied(), "these are its values");
                    return Err(Error::input(part, name, allowed, hint));
                };
                values.extend(of_name);
            }
            if values.is_empty() {
                return Err(Error::stated(format!("{part}: no value is counted"), "name one at least"));
            }
            values.sort_unstable();
            values.dedup();
            if let Some(before) = selection.0.get_mut(&part_of.attribute) {
                before.retain(|value| values.contains(value));
            } else {
                selection.0.insert(part_of.attribute, values);
            }
        }
        Ok(selection)
    }
}

/// A set of units of one level, such as a district.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitSet {
    /// How many units.
    pub count: u64,
    /// How they lie in the units above.
    pub spread: Spread,
}

/// How the units of a set lie in the units above.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// As far from each other as possible: the worst case.
    #[default]
    Scattered,
    /// As near to each other as possible.
    Packed,
}

impl Spread {
    /// `scattered` or `packed`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Spread::Scattered => "scattered",
            Spread::Packed => "packed",
        }
    }
}

/// What becomes of tables that nobody asked for.
#[derive(Clone, Debug)]
pub enum Rest {
    /// No deviation of any table of an allocation is more than so many times what it is there.
    Guard {
        /// That allocation, with the levels and queries of the offer.
        than: Box<Allocation>,
        /// How many times.
        times: Rational,
    },
    /// Of a given ε, what the needs leave is spent on all other tables, so that the worst of them is as good
    /// as possible beside an even split.
    Best,
    /// They may be lost.
    Drop,
}

/// A part of the release that must not spend more than that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The part.
    pub scope: Scope,
    /// Its ε, at the δ of the needs.
    pub epsilon: Epsilon,
}
