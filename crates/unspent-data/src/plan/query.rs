//! Queries at levels: which value of a query a cell adds to, and the noise on it.

use std::ops::Range;

use unspent::schema::{Part, Schema};
use unspent::{Error, Mechanism, Rational, Result};

use super::Query;

/// A level and what is asked there.
#[derive(Debug)]
pub struct PlannedLevel {
    /// Its name.
    pub name: String,
    /// Index into the levels of the table.
    pub(crate) depth: usize,
    /// The budgets that its units have: of this level alone, and, where units below are bypassed, of several.
    pub budgets: Vec<UnitBudget>,
    /// At least one.
    pub queries: Vec<PlannedQuery>,
    /// What is published exactly, without noise.
    pub exact: Vec<PlannedQuery>,
}

/// The levels whose budget a unit has, from its own on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitBudget {
    /// Their names; the first is the unit's own level.
    pub levels: Vec<String>,
}

/// A query at a level.
#[derive(Debug)]
pub struct PlannedQuery {
    /// Its name.
    pub name: String,
    /// How many values each of its attributes has, in the order of the schema; `[1]` for a total.
    pub shape: Vec<u32>,
    /// The noise for each of the level's budgets; none if its values are published exactly.
    pub noises: Vec<QueryNoise>,
    /// For each attribute that it tells apart, what a value adds to the place of a cell.
    places: Vec<(usize, Vec<Option<u32>>)>,
    /// Where its values are among the public numbers of a unit, if it is no query of the records.
    pub(crate) public: Option<Range<usize>>,
}

/// The noise on a query.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryNoise {
    /// The noise.
    pub mechanism: Mechanism,
    /// What it spends.
    pub rho: Rational,
    /// The variance, to the nearest double or so.
    pub variance: f64,
    /// What it spends, to the nearest double or so.
    pub plb: f64,
}

impl QueryNoise {
    /// Fails unless it can be drawn.
    fn new(query: &str, mechanism: Mechanism, rho: Rational) -> Result<QueryNoise> {
        let drawn = matches!(mechanism, Mechanism::DiscreteGaussian(_) | Mechanism::DiscreteLaplace(_));
        let Some(variance) = mechanism.variance().filter(|_| drawn) else {
            return Err(Error::stated(
                format!("query `{query}`: {} noise cannot be drawn exactly", mechanism.name()),
                "counts are measured with discrete-gaussian or discrete-laplace noise, on the integers",
            ));
        };
        let plb = rho.to_f64();
        Ok(QueryNoise { mechanism, rho, variance, plb })
    }
}

impl PlannedQuery {
    /// Fails if it is no count, or by something that the schema does not have.
    pub(super) fn new(schema: &Schema, query: Query<'_>) -> Result<PlannedQuery> {
        let Query { name, by, noises } = query;
        let one = Rational::integer(1);
        let shifts = noises.iter().filter_map(|(noise, _)| noise.shift());
        if let Some(shift) = shifts.into_iter().find(|shift| *shift != one) {
            return Err(Error::stated(
                format!("query `{name}`: one record moves it by {shift}, so it is no count"),
                "only counts, of shift 1, are tabulated",
            ));
        }
        let parts = schema.resolve(by).map_err(|e| e.at(format!("query `{name}`")))?;
        let shape = match &parts[..] {
            [] => vec![1],
            parts => parts.iter().map(|part| part.cells as u32).collect(),
        };
        if shape.iter().try_fold(1u32, |n, cells| n.checked_mul(*cells)).is_none() {
            let cause = format!("query `{name}`: has more than {} cells", u32::MAX);
            return Err(Error::stated(cause, "ask by fewer attributes, or by recodes"));
        }
        let noise = |(noise, rho)| QueryNoise::new(name, noise, rho);
        let noises = noises.into_iter().map(noise).collect::<Result<_>>()?;
        let places = (0..parts.len()).map(|at| places(schema, &parts, at)).collect();
        Ok(PlannedQuery { name: name.into(), shape, noises, places, public: None })
    }

    /// Public numbers of units, which are copied.
    pub(super) fn public(name: &str, numbers: Range<usize>) -> PlannedQuery {
        let shape = vec![numbers.len() as u32];
        PlannedQuery { name: name.into(), shape, noises: vec![], places: vec![], public: Some(numbers) }
    }

    /// How many values it has.
    #[must_use]
    pub fn length(&self) -> usize {
        self.shape.iter().map(|n| *n as usize).product()
    }

    /// Which of its values counts a record with these values of attributes; none if no group has one of them,
    /// or the record lacks it.
    pub(crate) fn place(&self, values: &[u32]) -> Option<usize> {
        if self.public.is_some() {
            return None;
        }
        let mut place = 0;
        for (attribute, adds) in &self.places {
            place += (*adds.get(values[*attribute] as usize)?)? as usize;
        }
        Some(place)
    }
}

/// What each value of an attribute adds to the place of a cell.
fn places(schema: &Schema, parts: &[Part<'_>], at: usize) -> (usize, Vec<Option<u32>>) {
    let part = &parts[at];
    let step: usize = parts[at + 1..].iter().map(|part| part.cells).product();
    let cells = part.cell_of(&schema.attributes()[part.attribute]);
    (part.attribute, cells.into_iter().map(|cell| cell.map(|cell| cell * step as u32)).collect())
}
