//! The one way to make an allocation: whoever reads a file, a table or a draft says what is in it, and the
//! rules are here.
//!
//! An error names the field (`name`, `query`, `attributes`, `rho`); the reader adds the place.

use std::collections::{HashMap, HashSet};

use super::{Allocation, Form, Level, Measurement, Neighbours, Production, Query, check_noise, check_text};
use crate::error::{Error, Result};
use crate::mechanism::{DiscreteGaussian, LaplaceKind, Mechanism, parse_shift};
use crate::number::Rational;
use crate::quantity::Rho;
use crate::quantity::{Delta, Epsilon};
use crate::schema::Schema;
use crate::spelling::did_you_mean;
use crate::zcdp::Conversion;

/// What a measurement may spend, or the noise that it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Budget {
    /// A zCDP budget.
    Rho(Rational),
    /// The parameter σ² of the noise.
    Sigma2(Rational),
    /// The scale b of Laplace noise.
    LaplaceScale(LaplaceKind, Rational),
    /// A budget ε of pure differential privacy, spent by Laplace noise.
    LaplaceEpsilon(LaplaceKind, Rational),
}

/// An allocation that is being put together.
///
/// ```
/// use unspent::allocation::{Allocation, Budget, Neighbours};
/// let mut builder = Allocation::builder("My release", Neighbours::AddRemove)?;
/// builder.attribute("age")?;
/// let (total, by_age) = (builder.query::<&str>("total", &[], 1)?, builder.query("by age", &["age"], 1)?);
/// let county = builder.level("County")?;
/// builder.measure(county, total, Budget::Rho("0.1".parse()?))?;
/// builder.measure(county, by_age, Budget::Sigma2("50".parse()?))?;
/// let allocation = builder.build()?;
/// assert_eq!(allocation.rho(), "0.11".parse()?);
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AllocationBuilder {
    made: Allocation,
    /// Every attribute as it was spelled, by its name without capitals.
    attributes: HashMap<String, String>,
    queries: HashMap<String, usize>,
    levels: HashMap<String, usize>,
    asked: HashSet<(usize, usize)>,
}

impl Allocation {
    /// Begins an allocation of that name for these neighbours. One record is a `record` until it is said
    /// otherwise.
    pub fn builder(name: &str, neighbours: Neighbours) -> Result<AllocationBuilder> {
        check_text("name", name)?;
        Ok(AllocationBuilder {
            made: Allocation {
                name: name.into(),
                source: None,
                record: "record".into(),
                neighbours,
                delta: None,
                conversion: None,
                epsilon: None,
                nested: true,
                attributes: vec![],
                queries: vec![],
                levels: vec![],
                form: Form::Sigma2,
                schema: None,
                production: Production::default(),
                also: vec![],
            },
            attributes: HashMap::new(),
            queries: HashMap::new(),
            levels: HashMap::new(),
            asked: HashSet::new(),
        })
    }
}

impl AllocationBuilder {
    /// Where the figures come from.
    pub fn source(&mut self, source: &str) -> Result<()> {
        check_text("source", source)?;
        self.made.source = Some(source.into());
        Ok(())
    }

    /// What one record is: a person, a housing unit.
    pub fn record(&mut self, record: &str) -> Result<()> {
        check_text("record", record)?;
        self.made.record = record.into();
        Ok(())
    }

    /// What was promised: an ε at a δ, or what a conversion gives for the budget.
    pub fn promise(
        &mut self,
        delta: Option<Delta>,
        conversion: Option<Conversion>,
        epsilon: Option<Epsilon>,
    ) -> Result<()> {
        if epsilon.is_some() && delta.is_none() {
            return Err(Error::stated(
                "epsilon: was promised at some delta, which is missing",
                "add a line such as delta = \"1e-10\"",
            ));
        }
        if epsilon.is_some() && conversion.is_some() {
            return Err(Error::stated(
                "epsilon: what was promised is given twice, as epsilon and by a conversion",
                "leave one of them out",
            ));
        }
        (self.made.delta, self.made.conversion, self.made.epsilon) = (delta, conversion, epsilon);
        Ok(())
    }

    /// The levels are not known to lie inside each other: nothing can be said of places.
    pub fn not_nested(&mut self) {
        self.made.nested = false;
    }

    /// What the values of attributes are, and how a table is read. Queries that are added from now on may be
    /// by recodes of the schema.
    pub fn schema(&mut self, schema: Schema) {
        self.made.schema = Some(schema);
    }

    /// How budgets are written in a file that is made of it.
    pub(crate) fn form(&mut self, form: Form) {
        self.made.form = form;
    }

    /// In a file that is made of it every measurement has its ρ.
    pub fn written_as_rho(&mut self) {
        self.form(Form::Rho);
    }

    /// Something that is known of a record.
    pub fn attribute(&mut self, name: &str) -> Result<()> {
        check_text("attributes", name)?;
        // What a query is said to touch must not depend on capitals.
        match self.attributes.insert(name.to_lowercase(), name.into()) {
            None => {}
            Some(first) if first == name => {
                let cause = format!("attributes: `{name}` is there twice");
                return Err(Error::stated(cause, "once is enough"));
            }
            Some(first) => {
                let cause = format!("attributes: `{first}` and `{name}` differ in capitals only");
                return Err(Error::stated(cause, "spell an attribute the same everywhere"));
            }
        }
        self.made.attributes.push(name.into());
        Ok(())
    }

    /// Whether that is an attribute, spelled so, or a recode of one.
    pub(crate) fn has_part(&self, name: &str) -> bool {
        self.has_attribute(self.touched(name))
    }

    pub(crate) fn has_attribute(&self, name: &str) -> bool {
        self.attributes.get(&name.to_lowercase()).is_some_and(|known| known == name)
    }

    /// A query by these attributes, or recodes of the schema; one record moves a cell of it by at most
    /// `shift`.
    pub fn query<A: AsRef<str>>(&mut self, name: &str, by: &[A], shift: u64) -> Result<usize> {
        check_text("query", name)?;
        let mut attributes: Vec<String> = vec![];
        for (i, part) in by.iter().map(AsRef::as_ref).enumerate() {
            if by[..i].iter().any(|before| before.as_ref() == part) {
                let cause = format!("attributes: `{part}` is in the list twice");
                return Err(Error::stated(cause, "once is enough"));
            }
            let attribute = self.touched(part).to_string();
            self.knows_attribute(&attribute)?;
            if attributes.contains(&attribute) {
                let cause =
                    format!("attributes: `{part}` is about `{attribute}`, which is in the list already");
                return Err(Error::stated(cause, "a query tells each attribute apart once"));
            }
            attributes.push(attribute);
        }
        let shift = parse_shift(&shift.to_string())?;
        let at = self.made.queries.len();
        if self.queries.insert(name.into(), at).is_some() {
            let cause = format!("name: `{name}` is already the name of a query");
            return Err(Error::stated(cause, "queries are told apart by their names"));
        }
        let by = by.iter().map(|part| part.as_ref().into()).collect();
        self.made.queries.push(Query { name: name.into(), by, attributes, shift });
        Ok(at)
    }

    /// The attribute that a part of a query is about: itself, unless it is a recode.
    fn touched<'b>(&'b self, part: &'b str) -> &'b str {
        let schema = self.made.schema.as_ref();
        let recode = schema.and_then(|s| Some((s, s.recodes().iter().find(|r| r.name == part)?)));
        recode.map_or(part, |(schema, recode)| &schema.attributes()[recode.attribute].name)
    }

    fn knows_attribute(&self, name: &str) -> Result<()> {
        if self.has_attribute(name) {
            return Ok(());
        }
        let recodes = self.made.schema.iter().flat_map(|schema| schema.recodes());
        let recodes: Vec<&str> = recodes.map(|recode| recode.name.as_str()).collect();
        let known = || self.made.attributes.iter().map(String::as_str).chain(recodes.iter().copied());
        let allowed = match self.made.attributes.as_slice() {
            [] => "an attribute: none is declared".into(),
            names => format!("one of the attributes {}", names.join(", ")),
        };
        let hint = did_you_mean(name, known(), "every attribute is declared in `attributes`");
        Err(Error::input("attributes", name, allowed, hint))
    }

    /// The queries so far.
    pub(crate) fn queries(&self) -> &[Query] {
        &self.made.queries
    }

    /// The query of that name, if there is one.
    pub(crate) fn query_named(&self, name: &str) -> Option<usize> {
        self.queries.get(name).copied()
    }

    /// The query of that name.
    pub fn find_query(&self, name: &str) -> Result<usize> {
        self.query_named(name).ok_or_else(|| {
            let known = self.made.queries.iter().map(|query| query.name.as_str());
            let hint = did_you_mean(name, known, "every query is declared in `queries` with what it touches");
            Error::input("query", name, "the name of one of the queries", hint)
        })
    }

    pub(super) fn made_mut(&mut self) -> &mut Allocation {
        &mut self.made
    }

    /// The levels so far.
    pub(crate) fn levels(&self) -> &[Level] {
        &self.made.levels
    }

    /// A geographic level, inside the one before.
    pub fn level(&mut self, name: &str) -> Result<usize> {
        check_text("name", name)?;
        let at = self.made.levels.len();
        if self.levels.insert(name.into(), at).is_some() {
            let cause = format!("name: `{name}` is already the name of a level");
            return Err(Error::stated(cause, "levels are told apart by their names"));
        }
        self.made.levels.push(Level { name: name.into(), measurements: vec![] });
        Ok(at)
    }

    /// Forgets the levels at which nothing is asked. Indices of levels are not valid after it.
    pub(crate) fn drop_empty_levels(&mut self) {
        self.made.levels.retain(|level| !level.measurements.is_empty());
    }

    /// The level of that name, a new one if there is none.
    pub(crate) fn find_level(&mut self, name: &str) -> Result<usize> {
        match self.levels.get(name) {
            Some(at) => Ok(*at),
            None => self.level(name),
        }
    }

    /// Whether that query is asked at that level already.
    pub(crate) fn is_asked(&self, level: usize, query: usize) -> bool {
        self.asked.contains(&(level, query))
    }

    /// Asks a query at a level.
    ///
    /// # Panics
    /// If there is no level or no query of that index.
    pub fn measure(&mut self, level: usize, query: usize, budget: Budget) -> Result<()> {
        let Query { name, shift, .. } = &self.made.queries[query];
        if !self.asked.insert((level, query)) {
            let level = &self.made.levels[level].name;
            let cause = format!("query: `{name}` is asked at level `{level}` twice");
            return Err(Error::stated(cause, "add the two budgets up, or name the queries apart"));
        }
        let moves = self.made.neighbours.moves();
        let (rho, noise) = match budget {
            Budget::Rho(rho) => {
                Rho::new(rho.clone())?;
                let noise = check_noise(&rho, *shift, self.made.neighbours)?;
                (rho, noise.into())
            }
            Budget::Sigma2(sigma2) => {
                let noise = DiscreteGaussian::new(sigma2, *shift)?;
                (noise.rho(moves), noise.into())
            }
            Budget::LaplaceScale(kind, scale) => laplace(kind.with_scale(scale, *shift)?, moves)?,
            Budget::LaplaceEpsilon(kind, epsilon) => laplace(kind.spending(&epsilon, *shift, moves)?, moves)?,
        };
        self.made.levels[level].measurements.push(Measurement { query, rho, noise });
        Ok(())
    }

    /// The allocation, used by a system that bypasses no unit and publishes nothing exactly.
    pub fn build(self) -> Result<Allocation> {
        self.build_for(Production::default())
    }

    /// The allocation, used by such a system.
    pub fn build_for(self, production: Production) -> Result<Allocation> {
        if self.made.levels.is_empty() && self.made.also.is_empty() {
            return Err(Error::stated(
                "levels: nothing is released",
                "an allocation has at least one level with one query, or mechanisms under [[also]]",
            ));
        }
        if let Some(empty) = self.made.levels.iter().find(|level| level.measurements.is_empty()) {
            return Err(Error::stated(
                format!("level `{}`: no query is asked", empty.name),
                "leave the level out if nothing is asked there",
            ));
        }
        self.made.used_by(production)
    }
}

/// Laplace noise, and a ρ that it spends.
fn laplace(noise: Mechanism, moves: u64) -> Result<(Rational, Mechanism)> {
    let rho = noise.zcdp(moves).expect("added noise");
    Rho::new(rho.clone())?;
    Ok((rho, noise))
}
