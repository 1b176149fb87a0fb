//! How an agency divides its budget: a total ρ, shares by geographic level, shares by query.
//!
//! ```text
//! file, table, preset ─▶ builder ─▶ Allocation ─▶ Release, one or more ─▶ WorstCase
//! (crate::file)                     (exact ρ and    for the same record
//!                                    σ² of every    (Scope: total, level, …)
//!                                    measurement)
//! ```
//!
//! A *measurement* is one query asked at one level: a table in which every record falls into exactly one
//! cell of one geographic unit, with the same noise on every cell. What one record can do to it depends
//! on the neighbours: added or removed, it moves one cell; changed, it leaves one and enters another. So
//! with `m` moves (1 or 2) of `Δ` each, noise of variance σ² spends `ρ = mΔ²/2σ²`, and a share of ρ
//! becomes `σ² = mΔ²/2ρ` (`theory/neighbours.md`, N1 to N3).

mod also;
mod builder;
mod production;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use also::Also;
pub use builder::{AllocationBuilder, Budget};
pub(crate) use production::Segment;
pub use production::{Bypass, ExactValues, Invariant, Path, Production, parse_touches};

use crate::error::{Error, Result};
use crate::mechanism::{DiscreteGaussian, Mechanism};
use crate::number::Rational;
use crate::number::Round;
use crate::quantity::{Delta, Epsilon};
use crate::schema::{Rows, Schema};
use crate::zcdp::Conversion;

/// What two neighbouring data sets differ in. There is no default: figures for one are not figures
/// for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Neighbours {
    /// One record is added or removed: it moves one cell of every query.
    AddRemove,
    /// One record is changed: it leaves one cell of every query and enters another.
    Bounded,
}

impl Neighbours {
    const ALL: [Neighbours; 2] = [Neighbours::AddRemove, Neighbours::Bounded];

    /// `add-remove` or `bounded`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Neighbours::AddRemove => "add-remove",
            Neighbours::Bounded => "bounded",
        }
    }

    /// How many cells of a query one record can move.
    #[must_use]
    pub fn moves(self) -> u64 {
        match self {
            Neighbours::AddRemove => 1,
            Neighbours::Bounded => 2,
        }
    }

    /// What the two names mean, in one line.
    pub const MEANING: &'static str = "with `bounded` (substitution) one record changes: two moves per \
     query; \
                                       with `add-remove` one record is added or removed: one move";

    /// What the two data sets differ in, if one record is a `record`.
    #[must_use]
    pub fn in_words(self, record: &str) -> String {
        match self {
            Neighbours::Bounded => format!(
                "Neighbours: bounded (substitution). One {record} changes: it leaves one cell of each query \
                 and \
                 enters another."
            ),
            Neighbours::AddRemove => format!(
                "Neighbours: add-remove. One {record} is added or removed: it moves one cell of each query."
            ),
        }
    }

    /// Reads `add-remove` or `bounded`.
    pub fn parse(text: &str) -> Result<Neighbours> {
        let known = Neighbours::ALL.into_iter().find(|n| n.name() == text);
        known
            .ok_or_else(|| Error::input("neighbours", text, "`bounded` or `add-remove`", Neighbours::MEANING))
    }
}

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Neighbours {
    type Err = Error;

    fn from_str(text: &str) -> Result<Neighbours> {
        Neighbours::parse(text)
    }
}

impl Serialize for Neighbours {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Neighbours {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Neighbours, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What a query is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Its name, unique in the allocation.
    pub name: String,
    /// The attributes and recodes whose values it tells apart, as its author lists them; none for a total.
    pub by: Vec<String>,
    /// The attributes it touches: those whose change can move a record to another of its cells.
    pub attributes: Vec<String>,
    /// How far one record moves a cell; 1 for counts.
    pub shift: u64,
}

/// One query at one level, with its budget and its noise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// Index into [`Allocation::queries`].
    pub query: usize,
    /// What it may spend: the least ρ of Gaussian noise; of Laplace noise one that its pure DP implies.
    pub rho: Rational,
    /// The noise that spends it: discrete Gaussian, Laplace or discrete Laplace.
    pub noise: Mechanism,
}

impl Measurement {
    /// Its noise, if that is Gaussian; an error for what is only known of that.
    pub fn gaussian(&self) -> Result<&DiscreteGaussian> {
        match &self.noise {
            Mechanism::DiscreteGaussian(noise) => Ok(noise),
            other => Err(Error::stated(
                format!("{} noise has no variance parameter sigma2", other.name()),
                "this is for discrete Gaussian noise",
            )),
        }
    }
}

/// How an author writes budgets: what is made of a file is written the same way.
#[derive(Clone, Copy, Debug, Eq)]
pub(crate) enum Form {
    /// A total ρ, shares of it by level, and shares by query.
    Shares,
    /// A ρ for each level, and shares by query.
    LevelRho,
    /// A ρ for each measurement.
    Rho,
    /// A σ² for each measurement.
    Sigma2,
}

/// How a budget is written is no part of what it is: allocations that differ in that only are equal.
impl PartialEq for Form {
    fn eq(&self, _: &Form) -> bool {
        true
    }
}

/// A geographic level and what is measured there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Its name, unique in the allocation.
    pub name: String,
    /// At least one.
    pub measurements: Vec<Measurement>,
}

impl Level {
    /// What the level may spend.
    #[must_use]
    pub fn rho(&self) -> Rational {
        Rational::sum(&self.measurements.iter().map(|m| m.rho.clone()).collect::<Vec<_>>())
    }
}

/// A budget and how it is divided.
///
/// ```
/// use unspent::Allocation;
/// let census = Allocation::preset("pl94-persons-us-2020")?;
/// assert_eq!(census.rho().to_string(), "293764/114921");
/// assert_eq!((census.levels().len(), census.measurements().count()), (6, 65));
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    name: String,
    source: Option<String>,
    record: String,
    neighbours: Neighbours,
    delta: Option<Delta>,
    conversion: Option<Conversion>,
    epsilon: Option<Epsilon>,
    nested: bool,
    attributes: Vec<String>,
    queries: Vec<Query>,
    levels: Vec<Level>,
    /// How its author writes budgets.
    form: Form,
    schema: Option<Schema>,
    production: Production,
    also: Vec<Also>,
}

impl Allocation {
    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its figures come from.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// What one record is: a person, a housing unit.
    #[must_use]
    pub fn record(&self) -> &str {
        &self.record
    }

    /// What the noise was chosen for.
    #[must_use]
    pub fn neighbours(&self) -> Neighbours {
        self.neighbours
    }

    /// The δ at which ε is quoted unless another is asked for.
    #[must_use]
    pub fn delta(&self) -> Option<&Delta> {
        self.delta.as_ref()
    }

    /// How the agency turned ρ into the ε it published, if it did.
    #[must_use]
    pub fn conversion(&self) -> Option<Conversion> {
        self.conversion
    }

    /// The ε that was promised at [`delta`](Allocation::delta), if it is not what a conversion gives.
    #[must_use]
    pub fn epsilon(&self) -> Option<&Epsilon> {
        self.epsilon.as_ref()
    }

    /// What is known of a record.
    #[must_use]
    pub fn attributes(&self) -> &[String] {
        &self.attributes
    }

    /// What is asked, at one level or more.
    #[must_use]
    pub fn queries(&self) -> &[Query] {
        &self.queries
    }

    /// Whether the levels come from the largest areas to the smallest, each inside the one before. A table of
    /// budgets does not say so, and nothing can be said of places then.
    #[must_use]
    pub fn is_nested(&self) -> bool {
        self.nested
    }

    /// From the largest areas to the smallest, if they are nested.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// What the values of attributes are and how a table is read, if the file says so.
    #[must_use]
    pub fn schema(&self) -> Option<&Schema> {
        self.schema.as_ref()
    }

    /// How its author writes budgets.
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// The same allocation for a table that is read so: with the attributes of `schema`, if it has any, or
    /// with its layout only.
    #[must_use]
    pub fn with_schema(mut self, schema: Schema) -> Allocation {
        self.schema = Some(self.schema.take().unwrap_or_default().overlaid(schema));
        self
    }

    /// The same allocation for a table whose rows are these, if its schema says how a table is read.
    #[must_use]
    pub fn with_rows(mut self, rows: Rows) -> Allocation {
        self.schema = self.schema.map(|schema| schema.with_rows(rows));
        self
    }

    /// Every query at every level.
    pub fn measurements(&self) -> impl Iterator<Item = (&Level, &Query, &Measurement)> {
        self.levels
            .iter()
            .flat_map(move |level| level.measurements.iter().map(move |m| (level, &self.queries[m.query], m)))
    }

    /// The first measurement whose noise is not Gaussian.
    fn other_noise(&self) -> Option<(&Level, &Query, &Measurement)> {
        self.measurements().find(|(_, _, m)| m.gaussian().is_err())
    }

    /// Whether all noise is Gaussian.
    #[must_use]
    pub fn is_gaussian(&self) -> bool {
        self.other_noise().is_none()
    }

    /// An error unless all noise is Gaussian, for what is only known of that.
    pub fn needs_gaussian(&self, what: &str) -> Result<()> {
        let Some((level, query, m)) = self.other_noise() else { return Ok(()) };
        Err(Error::stated(
            format!(
                "{what}: `{}` at level `{}` of `{}` has {} noise",
                query.name,
                level.name,
                self.name,
                m.noise.name()
            ),
            "this is for discrete Gaussian noise; certificate, curve, trade-off and measure take both",
        ))
    }

    /// The total budget, in zCDP.
    #[must_use]
    pub fn rho(&self) -> Rational {
        Rational::sum(&self.levels.iter().map(Level::rho).collect::<Vec<_>>())
    }

    /// The same allocation with all variances of each level times that level's factor.
    ///
    /// # Panics
    /// If there are not as many factors as levels.
    pub fn scaled(&self, factors: &[Rational]) -> Result<Allocation> {
        assert_eq!(factors.len(), self.levels.len(), "one factor a level");
        self.needs_gaussian("scaling noise")?;
        let mut scaled = self.clone();
        for (level, factor) in scaled.levels.iter_mut().zip(factors) {
            for m in &mut level.measurements {
                m.rho = &m.rho / factor;
                m.noise = m.noise.with_sigma2(m.gaussian()?.sigma2() * factor)?;
            }
        }
        Ok(scaled)
    }

    /// The same with as few digits as are enough: budgets rounded down, or variances up, in the form of the
    /// file's author. Levels that are scaled alike keep their shares.
    pub(crate) fn scaled_in_short(&self, factors: &[Rational], each_level: bool) -> Result<Allocation> {
        let short = |x: &Rational, round: Round| -> Result<Rational> {
            x.to_decimal(CALIBRATED_DIGITS, round).parse()
        };
        self.needs_gaussian("scaling noise")?;
        if matches!(self.form, Form::Sigma2) {
            let mut scaled = self.clone();
            for (level, factor) in scaled.levels.iter_mut().zip(factors) {
                for m in &mut level.measurements {
                    let sigma2 = short(&(m.gaussian()?.sigma2() * factor), Round::Up)?;
                    m.noise = m.noise.with_sigma2(sigma2)?;
                    m.rho = m.gaussian()?.rho(self.neighbours.moves());
                }
            }
            return Ok(scaled);
        }
        if !each_level {
            // One factor for all: the total is a short number, and all shares stay what they were.
            let total = self.rho();
            let factor = &total / &short(&(&total / &factors[0]), Round::Down)?;
            return self.scaled(&vec![factor; factors.len()]);
        }
        let factor = |(level, factor): (&Level, &Rational)| {
            let rho = level.rho();
            Ok(&rho / &short(&(&rho / factor), Round::Down)?)
        };
        let mut scaled =
            self.scaled(&self.levels.iter().zip(factors).map(factor).collect::<Result<Vec<_>>>()?)?;
        // The levels' shares of the total are no longer short.
        scaled.form = if matches!(self.form, Form::Shares) { Form::LevelRho } else { self.form };
        Ok(scaled)
    }

    /// Factors such that no level has a smaller one than a level above that may take over its budget.
    pub(crate) fn with_levels_above(&self, factors: Vec<Rational>) -> Vec<Rational> {
        let mut most = factors.clone();
        for segment in self.paths().iter().flat_map(|path| path.segments().collect::<Vec<_>>()) {
            for below in &mut most[segment.level..=segment.last] {
                if *below < factors[segment.level] {
                    *below = factors[segment.level].clone();
                }
            }
        }
        most
    }

    /// The same noise, accounted for other neighbours.
    #[must_use]
    pub fn restated(&self, neighbours: Neighbours) -> Allocation {
        let mut restated = Allocation { neighbours, ..self.clone() };
        for m in restated.levels.iter_mut().flat_map(|level| &mut level.measurements) {
            m.rho = m.noise.zcdp(neighbours.moves()).expect("added noise");
        }
        restated
    }

    /// The same allocation with another promise.
    pub(crate) fn promising(mut self, delta: Delta, epsilon: Option<Epsilon>) -> Allocation {
        (self.delta, self.epsilon, self.conversion) = (Some(delta), epsilon, None);
        self
    }

    /// The same allocation under another name, for what was made of it.
    #[must_use]
    pub fn renamed(mut self, name: impl Into<String>, source: impl Into<String>) -> Allocation {
        (self.name, self.source) = (name.into(), Some(source.into()));
        self
    }
}

/// Significant digits of budgets and variances that are found by calibration.
const CALIBRATED_DIGITS: u32 = 11;

/// Names are shown in tables and asked for on command lines.
pub(crate) fn check_text(field: &str, text: &str) -> Result<()> {
    // Some characters make what follows them read backwards.
    let reorders = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if text.trim().is_empty() || text.chars().any(|c| c.is_control() || reorders(c)) {
        let hint = "write something a reader will recognise";
        return Err(Error::input(field, text, "a text of one line", hint));
    }
    Ok(())
}

/// Longest number in a file. Thousands of unlike fractions are added up exactly, and their digits multiply.
pub(crate) const MAX_DIGITS: usize = 256;

pub(crate) fn check_length(field: &str, text: &str) -> Result<()> {
    if text.len() > MAX_DIGITS {
        let allowed = format!("a number of at most {MAX_DIGITS} characters");
        return Err(Error::input(field, text, allowed, "shorten the fraction"));
    }
    Ok(())
}

/// The noise that spends ρ on a query of that shift.
fn check_noise(rho: &Rational, shift: u64, neighbours: Neighbours) -> Result<DiscreteGaussian> {
    DiscreteGaussian::spending(rho, shift, neighbours.moves())
        .map_err(|e| Error::stated(e.to_string(), "check the share and the total"))
}
