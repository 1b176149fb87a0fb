//! What must be known, and how well: the question that a design answers.

use std::collections::BTreeMap;

use num_rational::BigRational;
use num_traits::{One, Zero};
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

/// A set of units of one level, such as a district, and how they lie in the units above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitSet {
    /// So many units, as far from each other as possible: the worst case.
    Scattered(u64),
    /// So many units, as near to each other as possible.
    Packed(u64),
    /// Whole units of this level and of levels above it, none of which lies in another: for the place of each
    /// level how many. They may lie anywhere.
    Parts(BTreeMap<usize, u64>),
}

impl UnitSet {
    /// How many whole units of which level it is made of, by the place of the level.
    #[must_use]
    pub fn parts(&self, level: usize) -> BTreeMap<usize, u64> {
        match self {
            UnitSet::Scattered(count) | UnitSet::Packed(count) => [(level, *count)].into(),
            UnitSet::Parts(parts) => parts.clone(),
        }
    }

    /// Fails unless there are such sets of units of a level, by the names of levels and how many units each
    /// has.
    pub(super) fn check(&self, level: usize, names: &[&str], units: &[u64]) -> Result<()> {
        let (key, parts) = match self {
            UnitSet::Parts(parts) => ("parts", parts.clone()),
            _ => ("count", self.parts(level)),
        };
        let mut taken = BigRational::zero();
        for (at, count) in &parts {
            let (name, there) = (names[*at], units[*at]);
            if *at > level {
                return Err(Error::stated(
                    format!("{key}: `{name}` is below `{}`, the level of the need", names[level]),
                    format!("the level is that of the smallest units: level = \"{name}\""),
                ));
            }
            if *count > there || *count == 0 {
                let allowed = format!("from 1 to {there}, the number of units of {name}");
                return Err(Error::input(key, count, allowed, "a set has at most all units of a level"));
            }
            taken += BigRational::new((*count).into(), there.into());
        }
        if parts.is_empty() {
            let hint = format!("say how many whole units of which level: {{ \"{}\" = 2 }}", names[level]);
            return Err(Error::stated(format!("{key}: there is no unit in the set"), hint));
        }
        if taken > BigRational::one() {
            return Err(Error::stated(
                format!("{key}: {} are more than there is", self.in_words(level, names)),
                "parts do not overlap: units that lie in a whole one above are not counted again",
            ));
        }
        Ok(())
    }

    /// `30 of Block`, `2 of Block group and 11 of Block`.
    #[must_use]
    pub fn in_words(&self, level: usize, names: &[&str]) -> String {
        let parts = self.parts(level);
        let words: Vec<String> =
            parts.iter().map(|(at, count)| format!("{count} of {}", names[*at])).collect();
        match words.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
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
