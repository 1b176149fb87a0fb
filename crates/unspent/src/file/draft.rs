//! An allocation to be edited: a budget, shares of it, and every number as it was written.
//!
//! A file's shares must sum to 1; those of a draft need not, so that one of them can be moved by itself. The
//! budget of a measurement is exactly `rho · share of the level · share of the query`. One with Laplace noise
//! has a scale instead, and no share.

mod other;

use serde::{Deserialize, Serialize};

use self::other::check_number_of;
pub use self::other::{DraftAlso, DraftLaplace};
use crate::allocation::{
    Allocation, AllocationBuilder, Budget, Bypass, ExactValues, Form, Invariant, Level, Measurement,
    Neighbours, Production, Query, check_length, check_text,
};
use crate::error::{Error, Result};
use crate::number::Rational;
use crate::quantity::{Delta, Epsilon, Rho};
use crate::schema::Schema;
use crate::zcdp::Conversion;

/// An allocation as text, to be edited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// What it is called.
    pub name: String,
    /// Where its figures come from.
    pub source: Option<String>,
    /// What one record is.
    pub record: String,
    /// `bounded` or `add-remove`.
    pub neighbours: String,
    /// The δ at which ε is quoted.
    pub delta: Option<String>,
    /// How the published ε was computed.
    pub conversion: Option<String>,
    /// What was promised, if not by a conversion.
    pub epsilon: Option<String>,
    /// Whether each level lies inside the one before.
    pub nested: bool,
    /// What is known of a record.
    pub attributes: Vec<String>,
    /// The queries.
    pub queries: Vec<DraftQuery>,
    /// The budget of Gaussian noise; 0 if there is none.
    pub rho: String,
    /// Its levels, from the largest areas to the smallest.
    pub levels: Vec<DraftLevel>,
    /// What values attributes have and how a table is read, as a schema file.
    pub table: Option<String>,
    /// What is known of the system that used it.
    #[serde(default)]
    pub production: DraftProduction,
    /// Other mechanisms for the same record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<DraftAlso>,
}

/// What is known of the system that used an allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftProduction {
    /// The levels that every path keeps, where it is not known which paths occurred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<Vec<String>>,
    /// The paths that occurred, each by the levels it keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<Vec<String>>>,
    /// Levels whose units' totals are published exactly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exact_totals: Vec<String>,
    /// What else is published exactly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invariants: Vec<DraftInvariant>,
    /// How many records of this product one record of the release can change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub touches: Option<u64>,
    /// What the product belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// What has to be assumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
}

/// Something that is published exactly: a query, or columns of the list of units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftInvariant {
    /// The level.
    pub level: String,
    /// The name of the query, or of the columns.
    pub name: String,
    /// The columns; none for a query.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
}

impl From<&Invariant> for DraftInvariant {
    fn from(invariant: &Invariant) -> DraftInvariant {
        let columns = match &invariant.values {
            ExactValues::Query(_) => vec![],
            ExactValues::Columns(_, columns) => columns.clone(),
        };
        DraftInvariant { level: invariant.level.clone(), name: invariant.name().into(), columns }
    }
}

impl From<&DraftInvariant> for Invariant {
    fn from(draft: &DraftInvariant) -> Invariant {
        let DraftInvariant { level, name, columns } = draft.clone();
        let values = match &columns[..] {
            [] => ExactValues::Query(name),
            _ => ExactValues::Columns(name, columns),
        };
        Invariant { level, values }
    }
}

/// A query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftQuery {
    /// Its name.
    pub name: String,
    /// The attributes and recodes that it is by.
    pub attributes: Vec<String>,
    /// How far one record moves a cell.
    pub shift: u64,
}

/// A level, with its share of the budget and how that is divided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftLevel {
    /// Its name.
    pub name: String,
    /// Its share of the budget.
    pub share: String,
    /// The queries' shares of that.
    pub shares: Vec<DraftShare>,
}

/// A query's share of a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftShare {
    /// The name of the query.
    pub query: String,
    /// Its share; a query with none is not asked, unless it has Laplace noise.
    pub share: String,
    /// Laplace noise, which has no share: it is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub laplace: Option<DraftLaplace>,
}

impl Draft {
    /// Of an allocation; it may take long and be of no use ([`Draft::of`]).
    pub(super) fn unchecked(allocation: &Allocation) -> Draft {
        let budgets: Vec<Rational> =
            allocation.levels().iter().map(|level| Rational::sum(&gaussian_rhos(level))).collect();
        let rho = Rational::sum(&budgets);
        let part = |rho: &Rational, of: &Rational| match rho.is_zero() {
            true => "0".into(),
            false => (rho / of).to_decimal_or_fraction(),
        };
        let level = |(level, budget): (&Level, &Rational)| {
            let share = |m: &Measurement| {
                let query = allocation.queries()[m.query].name.clone();
                let laplace = DraftLaplace::of(m);
                let share = if laplace.is_some() { "0".into() } else { part(&m.rho, budget) };
                DraftShare { query, share, laplace }
            };
            DraftLevel {
                name: level.name.clone(),
                share: part(budget, &rho),
                shares: level.measurements.iter().map(share).collect(),
            }
        };
        let query = |q: &Query| DraftQuery { name: q.name.clone(), attributes: q.by.clone(), shift: q.shift };
        Draft {
            name: allocation.name().into(),
            source: allocation.source().map(Into::into),
            record: allocation.record().into(),
            neighbours: allocation.neighbours().name().into(),
            delta: allocation.delta().map(|delta| delta.value().to_short()),
            conversion: allocation.conversion().map(|conversion| conversion.name().into()),
            epsilon: allocation.epsilon().map(|epsilon| epsilon.value().to_short()),
            nested: allocation.is_nested(),
            attributes: allocation.attributes().to_vec(),
            queries: allocation.queries().iter().map(query).collect(),
            rho: rho.to_decimal_or_fraction(),
            levels: allocation.levels().iter().zip(&budgets).map(level).collect(),
            table: allocation.schema().map(Schema::to_toml),
            production: DraftProduction::from(allocation.production()),
            also: allocation.also().iter().map(DraftAlso::from).collect(),
        }
    }
}

/// The budgets of a level's Gaussian noise.
pub(super) fn gaussian_rhos(level: &Level) -> Vec<Rational> {
    level.measurements.iter().filter(|m| m.gaussian().is_ok()).map(|m| m.rho.clone()).collect()
}

impl From<&Production> for DraftProduction {
    fn from(production: &Production) -> DraftProduction {
        let (keep, paths) = match &production.bypass {
            None => (None, None),
            Some(Bypass::Keep(keep)) => (Some(keep.clone()), None),
            Some(Bypass::Paths(paths)) => (None, Some(paths.clone())),
        };
        DraftProduction {
            keep,
            paths,
            exact_totals: production.exact_totals.clone(),
            invariants: production.invariants.iter().map(DraftInvariant::from).collect(),
            touches: production.touches,
            series: production.series.clone(),
            assumptions: production.assumptions.clone(),
        }
    }
}

impl DraftProduction {
    /// The same for an allocation that has only these levels: one without a share is not measured, and
    /// nothing is known of it that matters.
    fn production(&self, levels: &[Level]) -> Result<Production> {
        let texts = self.series.iter().chain(&self.assumptions);
        texts.into_iter().try_for_each(|text| check_text("production", text))?;
        let there = |names: &[String]| -> Vec<String> {
            names.iter().filter(|name| levels.iter().any(|level| level.name == **name)).cloned().collect()
        };
        let bypass = match (&self.keep, &self.paths) {
            (None, None) => None,
            (Some(keep), None) => Some(Bypass::Keep(there(keep))),
            (None, Some(paths)) => {
                let mut lists: Vec<Vec<String>> = vec![];
                for list in paths.iter().map(|path| there(path)) {
                    if !lists.contains(&list) {
                        lists.push(list);
                    }
                }
                Some(Bypass::Paths(lists))
            }
            (Some(_), Some(_)) => {
                let hint = "give the levels that every path keeps, or the paths";
                return Err(Error::stated("production: both keep and paths are there", hint));
            }
        };
        let exact_totals = there(&self.exact_totals);
        let kept = |invariant: &&DraftInvariant| levels.iter().any(|level| level.name == invariant.level);
        let invariants = self.invariants.iter().filter(kept).map(Invariant::from).collect();
        let (touches, series) = (self.touches, self.series.clone());
        let assumptions = self.assumptions.clone();
        Ok(Production { bypass, exact_totals, invariants, touches, series, assumptions })
    }
}

impl Draft {
    /// Most levels, most queries, and most attributes.
    pub const MAX_PARTS: usize = 1_000;
    /// Most queries at levels.
    pub const MAX_MEASUREMENTS: usize = 5_000;

    /// The allocation, with levels and queries that have a share; errors name the field.
    pub fn allocation(&self) -> Result<Allocation> {
        let count: usize = self.levels.iter().map(|level| level.shares.len()).sum();
        check_sizes(self.levels.len(), self.queries.len(), self.attributes.len(), count)?;
        let mut builder = Allocation::builder(&self.name, Neighbours::parse(&self.neighbours)?)?;
        builder.form(Form::Shares);
        builder.record(&self.record)?;
        if let Some(source) = &self.source {
            builder.source(source)?;
        }
        let delta = self.delta.as_deref().map(Delta::parse).transpose()?;
        let conversion = self.conversion.as_deref().map(Conversion::parse).transpose()?;
        let epsilon = self.epsilon.as_deref().map(Epsilon::parse).transpose()?;
        builder.promise(delta, conversion, epsilon)?;
        if !self.nested {
            builder.not_nested();
        }
        if let Some(text) = &self.table {
            builder.schema(Schema::parse("table", text)?);
        }
        for (i, name) in self.attributes.iter().enumerate() {
            builder.attribute(name).map_err(|e| e.at(format!("attributes[{i}]")))?;
        }
        for (i, DraftQuery { name, attributes, shift }) in self.queries.iter().enumerate() {
            builder.query(name, attributes, *shift).map_err(|e| e.inside(format!("queries[{i}]")))?;
        }
        let rho = self.number("rho", &self.rho)?;
        let has_shares = self.levels.iter().flat_map(|level| &level.shares).any(|p| p.laplace.is_none());
        if has_shares || !rho.is_zero() {
            Rho::new(rho.clone()).map_err(|e| e.quoting(&self.rho))?;
        }
        for (i, level) in self.levels.iter().enumerate() {
            self.level(&mut builder, level, &rho).map_err(|e| e.inside(format!("levels[{i}]")))?;
        }
        check_number_of(&self.also)?;
        for (i, also) in self.also.iter().enumerate() {
            also.add_to(&mut builder).map_err(|e| e.inside(format!("also[{i}]")))?;
        }
        builder.drop_empty_levels();
        let production = self.production.production(builder.levels())?;
        builder.build_for(production)
    }

    /// A level; it has no measurement if it or all its queries have no share, and none has Laplace noise.
    fn level(&self, builder: &mut AllocationBuilder, level: &DraftLevel, rho: &Rational) -> Result<()> {
        let at = builder.level(&level.name)?;
        let rho = rho * &self.share(&level.share)?;
        for (j, part) in level.shares.iter().enumerate() {
            let place = |e: Error| e.inside(format!("shares[{j}]"));
            let query = builder.find_query(&part.query).map_err(place)?;
            let share = self.share(&part.share).map_err(place)?;
            if let Some(laplace) = &part.laplace {
                if !share.is_zero() {
                    let hint = "Laplace noise has a scale, and no share of rho";
                    return Err(place(Error::input("share", &part.share, "0", hint)));
                }
                let budget = laplace.budget().map_err(|e| place(e.inside("laplace")))?;
                builder.measure(at, query, budget).map_err(|e| place(e.inside("laplace")))?;
                continue;
            }
            let rho = &rho * &share;
            if !rho.is_zero() {
                let is_twice = builder.is_asked(at, query);
                let named = |e: Error| place(if is_twice { e } else { e.at("share") });
                builder.measure(at, query, Budget::Rho(rho)).map_err(named)?;
            }
        }
        Ok(())
    }

    /// The same levels and queries, in the same order, with the budget of another draft; none where that has
    /// none.
    #[must_use]
    pub fn with_budget_of(&self, found: &Draft) -> Draft {
        let share = |level: Option<&DraftLevel>, query: &str| {
            let share = level.and_then(|level| level.shares.iter().find(|part| part.query == query));
            share.map_or_else(|| "0".into(), |part| part.share.clone())
        };
        let level = |outline: &DraftLevel| {
            let level = found.levels.iter().find(|level| level.name == outline.name);
            let part = |part: &DraftShare| DraftShare { share: share(level, &part.query), ..part.clone() };
            DraftLevel {
                name: outline.name.clone(),
                share: level.map_or_else(|| "0".into(), |level| level.share.clone()),
                shares: outline.shares.iter().map(part).collect(),
            }
        };
        // Of levels that have no share the allocation says nothing; they may get one again.
        let (queries, production) = (self.queries.clone(), self.production.clone());
        Draft { levels: self.levels.iter().map(level).collect(), queries, production, ..found.clone() }
    }

    fn number(&self, field: &str, text: &str) -> Result<Rational> {
        check_length(field, text)?;
        Rational::parse(field, text)
    }

    /// 0, or a share within reason: what is short to write may be very long to compute with.
    fn share(&self, text: &str) -> Result<Rational> {
        let share = self.number("share", text)?;
        if share.is_zero() {
            return Ok(share);
        }
        let range = Rational::power_of_ten(-30)..=Rational::power_of_ten(6);
        share.within("share", &range, "0 or a share between 1e-30 and 1e6").map_err(|e| e.quoting(text))
    }
}

/// Whether that many parts can be edited.
pub(super) fn check_sizes(
    levels: usize,
    queries: usize,
    attributes: usize,
    measurements: usize,
) -> Result<()> {
    let sizes = [
        ("levels", levels, Draft::MAX_PARTS),
        ("queries", queries, Draft::MAX_PARTS),
        ("attributes", attributes, Draft::MAX_PARTS),
        ("levels", measurements, Draft::MAX_MEASUREMENTS),
    ];
    for (field, found, most) in sizes {
        if found > most {
            let allowed = format!("a number of at most {most}");
            let hint = "a release of that size is better read from a file";
            return Err(Error::input(field, found, allowed, hint));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Draft;
    use crate::{Allocation, Preset, Rational};

    #[test]
    fn a_draft_is_the_allocation_it_was_made_of() {
        let examples = [
            include_str!("../../../../examples/allocation.toml"),
            include_str!("../../../../examples/blocks.toml"),
        ];
        let texts = Preset::ALL.iter().map(|preset| preset.text).chain(examples);
        for text in texts {
            let allocation = Allocation::parse("", text).unwrap();
            let draft = Draft::unchecked(&allocation);
            assert_eq!(draft.allocation().unwrap(), allocation);
            let json = serde_json::to_string(&draft).unwrap();
            assert_eq!(serde_json::from_str::<Draft>(&json).unwrap(), draft);
        }
    }

    #[test]
    fn one_share_moves_one_level() {
        let before = Allocation::preset("pl94-persons-us-2020").unwrap();
        let mut draft = Draft::unchecked(&before);
        draft.levels[1].share = "1/2".into();
        draft.levels[2].shares[0].share = "0".into();
        let after = draft.allocation().unwrap();
        assert_eq!(after.levels()[1].rho(), &before.rho() * &"1/2".parse::<Rational>().unwrap());
        assert_eq!(after.levels()[0], before.levels()[0]);
        assert_eq!(after.levels()[2].measurements.len() + 1, before.levels()[2].measurements.len());
        draft.levels[0].share = "0".into();
        let least = draft.allocation().unwrap();
        assert_eq!(least.levels().len(), before.levels().len() - 1);
        // What has no share keeps its place.
        let again = draft.with_budget_of(&Draft::unchecked(&least));
        assert_eq!(again.allocation().unwrap(), least);
        assert_eq!((again.levels[0].share.as_str(), again.levels[2].shares[0].share.as_str()), ("0", "0"));
        assert_eq!(again.levels.len(), draft.levels.len());
        // So does what is known of its production, which names a level that is not there now.
        assert_eq!(again.production, draft.production);
        assert!(least.production().bypass != before.production().bypass);
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_field() {
        let good = Draft::unchecked(&Allocation::preset("paper-2022-08-25").unwrap());
        let refused = |change: &dyn Fn(&mut Draft)| {
            let mut draft = good.clone();
            change(&mut draft);
            draft.allocation().unwrap_err().to_string()
        };
        type Change<'c> = &'c dyn Fn(&mut Draft);
        let cases: [(Change<'_>, &str); 14] = [
            (&|d| d.rho = "0".into(), "rho: `0` is not"),
            (&|d| d.rho = "much".into(), "rho: `much` is not a number"),
            (&|d| d.rho = "1".repeat(300), "rho: `11111"),
            (&|d| d.neighbours = "near".into(), "neighbours: `near` is not"),
            (&|d| d.delta = Some("2".into()), "delta: `2` is not"),
            (&|d| d.levels[1].share = "-1".into(), "levels[1].share: `-1` is not 0 or a share"),
            (&|d| d.levels[1].share = "1e-9999".into(), "levels[1].share: `1e-9999` is not 0 or a share"),
            (&|d| d.levels[0].shares[2].share = "x".into(), "levels[0].shares[2].share: `x` is not a number"),
            (&|d| d.levels[0].shares[2].share = "1e-25".into(), "levels[0].shares[2].share: a budget of rho"),
            (&|d| d.levels[1].name = "US".into(), "levels[1].name: `US` is already the name"),
            (
                &|d| d.levels[0].shares[0].query = "absent".into(),
                "levels[0].shares[0].query: `absent` is not",
            ),
            (&|d| d.queries[0].shift = 0, "queries[0].shift: `0` is not"),
            (&|d| d.levels.clear(), "levels: nothing is released"),
            (
                &|d| d.levels = vec![d.levels[0].clone(); 1001],
                "levels: `1001` is not a number of at most 1000",
            ),
        ];
        for (change, said) in cases {
            let error = refused(change);
            assert!(error.starts_with(said), "{error}");
        }
    }
}
