//! Several folders of measurements of the same records as one: one schema, one list of queries, classes of
//! units.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use unspent::schema::Schema;
use unspent::{Error, Result};
use unspent_estimate::{Leaf, Model, Partition, Query, SharedClass, Space, UnitClass, partitions};

use super::checks::{check_blocks, check_different, check_variances};
use super::input::{ExactQuery, Input, InputQuery};
use super::lens::{Lens, labels_of};
use crate::measurements::bureau::Sign;

/// Folders that are estimated together.
#[derive(Debug)]
pub(super) struct Joined {
    /// The first one is read unit by unit; the others are in memory.
    pub(super) first: Input,
    pub(super) others: Vec<Other>,
    /// The names of the levels, from the largest areas to the smallest.
    pub(super) levels: Vec<String>,
    pub(super) schema: Schema,
    /// Whether it is used that some combinations of values cannot occur; none if all can.
    pub(super) structural_zeros: Option<bool>,
    pub(super) model: Arc<Model>,
    /// For each folder and each level, the queries of the space.
    queries: Vec<Vec<Vec<usize>>>,
    /// For each folder and each level, those of exact values.
    exact: Vec<Vec<Vec<usize>>>,
    /// For exact queries on the carrier alone, the values of the carrier that each answer counts.
    carried: HashMap<usize, Vec<Vec<u32>>>,
    /// For exact queries, whether each answer counts a cell that can occur.
    occurs: HashMap<usize, Vec<bool>>,
    /// What the answers of each query are called, by its name.
    labels: HashMap<String, Vec<String>>,
    classes: Mutex<HashMap<ClassKey, Arc<UnitKind>>>,
    /// Queries that nobody asked for: whole tables are decided in their order.
    pub(super) hidden: Vec<usize>,
}

/// A folder that is in memory.
#[derive(Debug)]
pub(super) struct Other {
    input: Input,
    /// For each level of the first folder, the level here.
    levels: Vec<Option<usize>>,
    /// For each level of the first folder, the rows of each unit: its noise, and the values of each query.
    units: Vec<HashMap<String, OtherRows>>,
}

/// The noise of a unit, and the values of each query.
type OtherRows = (u32, Vec<Vec<i64>>);

/// What decides the class of a unit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ClassKey {
    pub(super) level: u32,
    /// The noise in each folder, if the unit is measured there.
    pub(super) noises: Vec<Option<u32>>,
    /// The exact queries, by folder and place.
    pub(super) exact: Vec<(u32, u32)>,
    pub(super) lacking: Vec<u32>,
}

/// A class of units, and how a leaf of the class is estimated.
#[derive(Debug)]
pub(super) struct UnitKind {
    /// In the order in which kinds were found, which is another in every run.
    pub(super) number: u32,
    pub(super) key: ClassKey,
    pub(super) class: SharedClass,
    pub(super) leaf: Leaf,
    /// The variances in each folder.
    variances: Vec<Option<Vec<Option<f64>>>>,
}

/// What is known of a unit, or of a sum of units: the values of each folder, one query after the other, and
/// the exact ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct UnitValues {
    pub(super) noisy: Vec<Vec<Vec<i64>>>,
    pub(super) exact: Vec<Vec<i64>>,
}

impl Joined {
    /// `asked` are queries that are only to be answered; `tables` says whether whole tables are to be made.
    pub(super) fn new(
        mut inputs: Vec<Input>,
        zeros: bool,
        asked: &[InputQuery],
        tables: bool,
    ) -> Result<Joined> {
        // The schema of the folder with the most cells; the attributes of all others are among its own.
        let cells = |input: &Input| input.schema.cells();
        let finest = (0..inputs.len()).max_by_key(|at| (cells(&inputs[*at]), usize::MAX - at)).unwrap_or(0);
        let mut schema = inputs[finest].schema.clone();
        let any_zeros = !schema.impossible().is_empty();
        if !zeros {
            schema = schema.without_impossible();
        }
        check_variances(&inputs)?;
        check_different(&inputs)?;
        let mut known: Vec<Query> = vec![];
        let (mut queries, mut exact) = (vec![], vec![]);
        let mut carrier: Vec<usize> = vec![];
        let mut labels: HashMap<String, Vec<String>> = HashMap::new();
        for input in &inputs {
            let lens = Lens::new(input, &schema)?;
            // Two queries of one folder that ask the same are two measurements, each with its own rows.
            let mut own: Vec<(String, usize)> = vec![];
            let mut add = |query: &InputQuery, measured: bool| -> Result<usize> {
                let parts = lens.partitions(input, &query.by)?;
                let at = match own.iter().find(|(name, _)| *name == query.name) {
                    Some((_, at)) => {
                        known[*at].known |= measured;
                        *at
                    }
                    None => {
                        let taken: Vec<usize> = own.iter().map(|(_, at)| *at).collect();
                        let at = add_query(&mut known, query, parts, measured, &taken);
                        own.push((query.name.clone(), at));
                        at
                    }
                };
                let name = &known[at].name;
                if !labels.contains_key(name) {
                    labels.insert(name.clone(), labels_of(&input.schema, &query.by)?);
                }
                Ok(at)
            };
            // In the order in which they were declared.
            for query in &input.asked {
                add(query, false)?;
            }
            let (mut of_levels, mut exact_of_levels) = (vec![], vec![]);
            for level in &input.levels {
                of_levels
                    .push(level.queries.iter().map(|query| add(query, true)).collect::<Result<Vec<_>>>()?);
                let found: Result<Vec<usize>> =
                    level.exact.iter().map(|exact| add(&exact.query, true)).collect();
                exact_of_levels.push(found?);
                let tells = |exact: &&ExactQuery| !exact.query.by.is_empty() && exact.sign != Sign::AtLeast;
                for exact in level.exact.iter().filter(tells) {
                    carrier.extend(lens.attributes(input, &exact.query.by)?);
                }
            }
            queries.push(of_levels);
            exact.push(exact_of_levels);
        }
        for query in asked {
            let parts =
                partitions(&schema, &query.by).map_err(|e| e.at(format!("query `{}`", query.name)))?;
            let at = add_query(&mut known, query, parts, false, &[]);
            labels.entry(known[at].name.clone()).or_insert(labels_of(&schema, &query.by)?);
        }
        let mut hidden = vec![];
        for query in if tables { sums_of_tables(&schema) } else { vec![] } {
            let parts = partitions(&schema, &query.by)?;
            let (before, at) = (known.len(), add_query(&mut known, &query, parts, true, &[]));
            hidden.extend((at == before).then_some(at));
        }
        carrier.sort_unstable();
        carrier.dedup();
        let size: usize = carrier.iter().map(|a| schema.attributes()[*a].values.len()).product();
        if size > MAX_CARRIER {
            carrier.clear();
        }
        let space = Space::of_queries(&schema, known, &carrier)?;
        let structural_zeros = any_zeros.then_some(zeros && space.unused_zeros() == 0);
        let carried = carried(&space);
        let occurs =
            exact.iter().flatten().flatten().map(|query| (*query, space.can_occur(*query))).collect();
        let model = Arc::new(Model::new(space)?);
        check_blocks(&model)?;
        let mut rest = inputs.split_off(1);
        let first = inputs.remove(0);
        let levels: Vec<String> = first.levels.iter().map(|level| level.name.clone()).collect();
        let others = rest.drain(..).map(|input| Other::read(input, &levels)).collect::<Result<_>>()?;
        let classes = Mutex::default();
        Ok(Joined {
            first,
            others,
            levels,
            schema,
            structural_zeros,
            model,
            queries,
            exact,
            carried,
            occurs,
            labels,
            classes,
            hidden,
        })
    }

    /// For each folder, each of its levels that the first one has, and each exact or bounded query there: the
    /// level of the first folder, the query of the space, and the values.
    pub(super) fn exact_queries(&self) -> Vec<(usize, usize, &ExactQuery)> {
        let mut found = vec![];
        for (at, (input, other)) in self.inputs().enumerate() {
            for level in 0..self.levels.len() {
                let Some(own) = Joined::level_in(other, level) else { continue };
                let queries = self.exact[at][own].iter().zip(&input.levels[own].exact);
                found.extend(queries.map(|(query, exact)| (level, *query, exact)));
            }
        }
        found
    }

    fn inputs(&self) -> impl Iterator<Item = (&Input, Option<&Other>)> {
        std::iter::once((&self.first, None))
            .chain(self.others.iter().map(|other| (&other.input, Some(other))))
    }

    /// The level of a folder that is that of the first one.
    fn level_in(other: Option<&Other>, level: usize) -> Option<usize> {
        other.map_or(Some(level), |other| other.levels[level])
    }

    /// Whether nothing but the first folder's noise matters for the class of a unit of a level.
    pub(super) fn is_plain(&self, level: usize) -> bool {
        self.others.is_empty() && self.first.levels[level].exact.is_empty()
    }

    /// All that is known of a unit: its class, and its values.
    ///
    /// `noisy` are those of the first folder, if it measures the unit; `lacking` are values of the carrier
    /// that the unit above lacks.
    pub(super) fn unit(
        &self,
        level: usize,
        code: &str,
        noisy: Option<(usize, &[&[i64]])>,
        lacking: &[u32],
    ) -> Result<(Arc<UnitKind>, UnitValues)> {
        let lacking = lacking.to_vec();
        let mut key = ClassKey { level: level as u32, noises: vec![], exact: vec![], lacking };
        let mut values = UnitValues::default();
        key.noises.push(noisy.map(|(noise, _)| noise as u32));
        values.noisy.push(noisy.map_or(vec![], |(_, rows)| rows.iter().map(|row| row.to_vec()).collect()));
        for other in &self.others {
            let found = other.units[level].get(code);
            key.noises.push(found.map(|(noise, _)| *noise));
            values.noisy.push(found.map_or(vec![], |(_, rows)| rows.clone()));
        }
        for (at, (input, other)) in self.inputs().enumerate() {
            let Some(level) = Joined::level_in(other, level) else { continue };
            for (i, exact) in input.levels[level].exact.iter().enumerate() {
                let Some(found) = exact.of(code) else { continue };
                let query = self.exact[at][level][i];
                if let Some(carried) = self.carried.get(&query).filter(|_| exact.sign != Sign::AtLeast) {
                    let zero = found.iter().zip(carried).filter(|(count, _)| **count == 0);
                    key.lacking.extend(zero.flat_map(|(_, values)| values));
                }
                if exact.sign == Sign::Equal {
                    self.check_exact(query, found).map_err(|error| {
                        let level = &input.levels[level].name;
                        error.at(format!("{}: unit `{code}` of level `{level}`", input.name))
                    })?;
                    key.exact.push((at as u32, i as u32));
                    values.exact.push(found.to_vec());
                }
            }
        }
        key.lacking.sort_unstable();
        key.lacking.dedup();
        Ok((self.kind(key), values))
    }

    /// Exact values are counts, and 0 where no cell that can occur is counted.
    fn check_exact(&self, query: usize, answers: &[i64]) -> Result<()> {
        let occurs = self.occurs.get(&query).expect("of every exact query");
        for (count, occurs) in answers.iter().zip(occurs) {
            if *count < 0 {
                let hint = "exact values are numbers of records";
                return Err(Error::input(
                    "exact value",
                    count.to_string(),
                    "a count, which is not negative",
                    hint,
                ));
            }
            if *count > 0 && !occurs {
                let name = &self.model.space().queries()[query].name;
                return Err(Error::stated(
                    format!("query `{name}` has {count} records exactly where none can be"),
                    "the schema says that this combination of values cannot occur",
                ));
            }
        }
        Ok(())
    }

    /// The class of a unit of which only the first folder's noise matters.
    pub(super) fn plain_kind(&self, level: usize, noise: usize) -> Arc<UnitKind> {
        let noises = vec![Some(noise as u32)];
        self.kind(ClassKey { level: level as u32, noises, exact: vec![], lacking: vec![] })
    }

    fn kind(&self, key: ClassKey) -> Arc<UnitKind> {
        let mut classes = self.classes.lock().expect("not poisoned");
        if let Some(kind) = classes.get(&key) {
            return kind.clone();
        }
        let count = self.model.space().queries().len();
        let mut spec = UnitClass { variances: vec![None; count], ..UnitClass::default() };
        let mut variances = vec![];
        for (at, (input, other)) in self.inputs().enumerate() {
            let level = Joined::level_in(other, key.level as usize);
            variances.push(level.zip(key.noises[at]).map(|(level, noise)| {
                let mut of_input = vec![None; count];
                let sigma2 = &input.levels[level].noises[noise as usize].sigma2;
                for (query, sigma2) in self.queries[at][level].iter().zip(sigma2) {
                    of_input[*query] = Some(*sigma2);
                    spec.add(*query, *sigma2);
                }
                of_input
            }));
        }
        let exact = |(at, i): &(u32, u32)| {
            let other = at.checked_sub(1).map(|at| &self.others[at as usize]);
            let level = Joined::level_in(other, key.level as usize).expect("has exact values");
            self.exact[*at as usize][level][*i as usize]
        };
        spec.exact = key.exact.iter().map(exact).collect();
        spec.lacking = key.lacking.clone();
        let class = Arc::new(self.model.class(spec));
        let leaf = self.model.leaf(class.clone());
        let number = classes.len() as u32;
        let kind = Arc::new(UnitKind { number, key: key.clone(), class, leaf, variances });
        classes.insert(key, kind.clone());
        kind
    }

    /// What a unit's values are, weighted and by coordinates.
    pub(super) fn measured(
        &self,
        kind: &UnitKind,
        values: &UnitValues,
        scratch: &mut unspent_estimate::Scratch,
    ) -> unspent_estimate::Measured {
        let cells = self.model.space().cells();
        let mut gradient = vec![0.0; cells];
        let mut more = vec![];
        for (at, variances) in kind.variances.iter().enumerate() {
            let (Some(variances), Some(level)) = (variances, self.level_of(at, kind.key.level as usize))
            else {
                continue;
            };
            let queries = &self.queries[at][level];
            let answers = |query: usize| {
                let place = queries.iter().position(|known| *known == query).expect("is measured");
                &values.noisy[at][place][..]
            };
            if at == 0 {
                self.model.gradient(variances, answers, scratch, &mut gradient);
            } else {
                more.resize(cells, 0.0);
                self.model.gradient(variances, answers, scratch, &mut more);
                gradient.iter_mut().zip(&more).for_each(|(x, y)| *x += y);
            }
        }
        let lift = |(query, values): (&usize, &Vec<i64>)| self.model.lift(*query, values, scratch);
        let exact = kind.class.unit().exact.iter().zip(&values.exact).map(lift).collect();
        unspent_estimate::Measured { gradient, exact }
    }

    fn level_of(&self, input: usize, level: usize) -> Option<usize> {
        Joined::level_in(input.checked_sub(1).map(|at| &self.others[at]), level)
    }

    /// The weighted and transformed values of a leaf of a plain class, without copying them.
    pub(super) fn plain_gradient(
        &self,
        kind: &UnitKind,
        rows: &[&[i64]],
        scratch: &mut unspent_estimate::Scratch,
        to: &mut [f64],
    ) {
        let queries = &self.queries[0][kind.key.level as usize];
        let answers =
            |query: usize| rows[queries.iter().position(|known| *known == query).expect("is measured")];
        self.model.gradient(&kind.class.unit().variances, answers, scratch, to);
    }

    /// The levels of which some units have an exact total.
    pub(super) fn exact_totals(&self) -> Vec<String> {
        let total = |exact: &super::input::ExactQuery| exact.query.by.is_empty() && exact.sign == Sign::Equal;
        let levels = self.first.levels.iter().filter(|level| level.exact.iter().any(total));
        levels.map(|level| level.name.clone()).collect()
    }

    /// What the answers of a query are called; nothing for long ones.
    pub(super) fn labels(&self, query: &str) -> &[String] {
        self.labels.get(query).map_or(&[], Vec::as_slice)
    }

    /// The units of a level that other folders have and the first one has not.
    pub(super) fn check_others(&self, level: usize, has: impl Fn(&str) -> bool) -> Result<()> {
        for other in &self.others {
            if let Some(code) = other.units[level].keys().filter(|code| !has(code)).min() {
                return Err(Error::stated(
                    format!(
                        "{}: unit `{code}` of level `{}` is not in {}",
                        other.input.name, self.levels[level], self.first.name
                    ),
                    "folders are estimated together if they measure the same records in the same units",
                ));
            }
        }
        Ok(())
    }
}

/// The sums that whole tables are decided by: the total, and all attributes but the one with most values.
fn sums_of_tables(schema: &Schema) -> Vec<InputQuery> {
    let attributes = schema.attributes();
    let longest = (0..attributes.len()).max_by_key(|a| (attributes[*a].values.len(), attributes.len() - a));
    let others = (0..attributes.len()).filter(|a| Some(*a) != longest);
    let by: Vec<String> = others.map(|a| attributes[a].name.clone()).collect();
    let query = |name: &str, by| InputQuery { name: name.into(), by };
    vec![query(unspent_estimate::TOTAL, vec![]), query("all attributes but the longest", by)]
}

/// Most values of the attributes of which single units may lack some.
const MAX_CARRIER: usize = 64;

/// The place of a query among all: one that asks the same, unless it is taken, or a new one.
fn add_query(
    known: &mut Vec<Query>,
    query: &InputQuery,
    parts: Vec<Partition>,
    measured: bool,
    taken: &[usize],
) -> usize {
    let same = |at: &usize| known[*at].parts == parts && !taken.contains(at);
    if let Some(at) = (0..known.len()).find(same) {
        known[at].known |= measured;
        return at;
    }
    // Another query of the same name, in another folder.
    let mut name = query.name.clone();
    let mut number = 2;
    while known.iter().any(|k| k.name == name) {
        name = format!("{} ({number})", query.name);
        number += 1;
    }
    known.push(Query { name, parts, known: measured });
    known.len() - 1
}

/// For queries by the carrier alone, the values of the carrier that each answer counts.
fn carried(space: &Space) -> HashMap<usize, Vec<Vec<u32>>> {
    (0..space.queries().len()).filter_map(|query| Some((query, space.carried(query)?))).collect()
}

impl Other {
    fn read(input: Input, levels: &[String]) -> Result<Other> {
        let unknown = input.levels.iter().find(|level| !levels.contains(&level.name));
        if let Some(level) = unknown {
            let allowed = format!("one of the levels of the first folder, {}", levels.join(", "));
            let hint = "give the folder with the most levels first";
            return Err(Error::input("level", &level.name, allowed, hint).at(&input.name));
        }
        let place = |name: &String| input.levels.iter().position(|level| level.name == *name);
        let places: Vec<Option<usize>> = levels.iter().map(place).collect();
        let mut units = vec![];
        for place in &places {
            let mut found = HashMap::new();
            if let Some(level) = place {
                for part in 0..input.levels[*level].parts {
                    input.each_unit(*level, part, &mut |code, noise, rows| {
                        let values = rows.iter().map(|row| row.to_vec()).collect();
                        match found.insert(code.to_string(), (noise as u32, values)) {
                            None => Ok(()),
                            Some(_) => Err(super::twice(code, &input.levels[*level].name).at(&input.name)),
                        }
                    })?;
                }
            }
            units.push(found);
        }
        Ok(Other { input, levels: places, units })
    }
}
