//! What was read, estimated: from folders to the estimates of every unit.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use unspent::{Error, ErrorKind, Result, file};
use unspent_estimate::accuracy::{Accuracy, Tally, TreeKind};
use unspent_estimate::{Confidence, Contradicted, Measured, NamedSum, Scratch, Tree, Values};

use super::answers::{Margin, Questions};
use super::areas::Areas;
use super::estimates::TakeUnit;
use super::gather::{Gathered, LeafKinds};
use super::input::{Input, InputQuery};
use super::join::{Joined, UnitKind};
use super::manifest::NoisySource;
use super::tables;
use super::{Estimate, WholeTables};
use crate::names::one_of;
use crate::progress::{Progress, Quiet};

/// What the full table is called, unless the measurements have a name for it.
const DETAILED: &str = "detailed";

/// What was read, and the estimates of all nodes.
pub(super) struct Estimation {
    pub(super) joined: Joined,
    pub(super) gathered: Gathered,
    areas: Areas,
    pub(super) questions: Questions,
    pub(super) sources: Vec<NoisySource>,
    warning: Option<String>,
    pub(super) tree: Tree,
    pub(super) values: Values,
    /// What is asked of whole tables.
    pub(super) tables: Option<WholeTables>,
    /// What was measured of each node itself, if anybody asks for it.
    own_measured: Vec<Measured>,
}

impl Estimation {
    pub(super) fn new(question: &Estimate, progress: &mut dyn Progress) -> Result<Estimation> {
        let confidence = Confidence::new(question.confidence.clone())?;
        let areas = Areas::read(&question.maps, &question.areas)?;
        let inputs = question.noisy.iter().map(|path| Input::open(path)).collect::<Result<Vec<_>>>()?;
        let sources = question.noisy.iter().zip(&inputs).map(|(path, input)| source(path, input)).collect();
        Estimation::of_inputs(question, inputs, sources, areas, confidence, progress)
    }

    /// Of measurements that are simulated.
    pub(super) fn simulated(question: &Estimate, input: Input) -> Result<Estimation> {
        let confidence = Confidence::new(question.confidence.clone())?;
        let areas = Areas::read(&[] as &[&Path], &[])?;
        Estimation::of_inputs(question, vec![input], vec![], areas, confidence, &mut Quiet)
    }

    fn of_inputs(
        question: &Estimate,
        inputs: Vec<Input>,
        sources: Vec<NoisySource>,
        areas: Areas,
        confidence: Confidence,
        progress: &mut dyn Progress,
    ) -> Result<Estimation> {
        let warning = inputs.iter().find_map(|input| input.warning.clone());
        if let Some(warning) = &warning {
            progress.warning(warning);
        }
        let by = inputs.first().map_or(vec![], |input| {
            input.schema.attributes().iter().map(|attribute| attribute.name.clone()).collect()
        });
        let detailed = InputQuery { name: DETAILED.into(), by };
        let asked = if question.leaf_cells { std::slice::from_ref(&detailed) } else { &[] };
        let joined = Joined::new(inputs, question.structural_zeros, asked, question.tables.is_some())?;
        let mut gathered = Gathered::read(&joined, &areas, progress)?;
        let queries = chosen(&question.queries, &joined)?;
        let sums = named_sums(question, &joined)?;
        let largest = gathered.largest_count;
        let questions = Questions::new(&joined.model, &queries, &sums, confidence, largest);
        let measured = std::mem::take(&mut gathered.measured);
        let nodes = std::mem::take(&mut gathered.nodes);
        let totals = !areas.areas.is_empty();
        let own = question.tables.as_ref().is_some_and(|tables| tables.own_measurements);
        let own_measured = if own { measured.clone() } else { vec![] };
        let estimated = Tree::estimate(&joined.model, nodes, measured, totals);
        let (tree, values) = estimated.map_err(|found| contradiction(&joined, &gathered, &found))?;
        let tables = question.tables.clone();
        Ok(Estimation {
            joined,
            gathered,
            areas,
            questions,
            sources,
            warning,
            tree,
            values,
            tables,
            own_measured,
        })
    }

    /// How far estimates are from the truth, by level and query.
    pub(super) fn accuracy(&self) -> Accuracy {
        let answers = self.questions.queries();
        let levels = &self.joined.levels;
        let mut tally = Tally::new(&answers, levels.len());
        for (node, unit) in self.gathered.units.iter().enumerate() {
            let level = unit.as_ref().map_or(self.gathered.leaf_level, |unit| unit.level);
            let count = self.tree.nodes()[node].count as u64;
            let is_bypassed = unit
                .as_ref()
                .is_some_and(|unit| self.joined.first.levels[level].bypassed.contains(&unit.code));
            tally.add(&self.tree, node, level, count, is_bypassed);
        }
        let confidence = self.questions.confidence();
        Accuracy {
            allocation: self.joined.first.title.clone(),
            tree: TreeKind::Measured,
            confidence: confidence.level().clone(),
            structural_zeros: self.joined.structural_zeros,
            exact_totals: self.joined.exact_totals(),
            may_bypass: false,
            levels: tally.levels(&self.tree, confidence, levels.iter().map(String::as_str)),
        }
    }

    /// The nodes of each area, which counts no unit twice.
    pub(super) fn area_nodes(&self) -> Result<Vec<Vec<usize>>> {
        let nodes = self.areas.nodes(&self.gathered, &self.tree)?;
        tables::check_twice(self, &self.areas.areas, &nodes)?;
        Ok(nodes)
    }

    pub(super) fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    pub(super) fn areas(&self) -> &Areas {
        &self.areas
    }

    /// The units above the smallest level, as nodes.
    pub(super) fn upper_units(&self) -> Vec<usize> {
        let upper = |node: &usize| {
            self.gathered.units[*node].as_ref().is_some_and(|unit| unit.level < self.gathered.leaf_level)
        };
        (0..self.gathered.units.len()).filter(upper).collect()
    }

    /// The code of a unit that is a node by itself.
    pub(super) fn code(&self, node: usize) -> &str {
        self.gathered.units[node].as_ref().map_or("", |unit| &unit.code)
    }

    /// The level of a node, and its code; that of the unit above for leaves that are a node together.
    pub(super) fn place(&self, node: usize) -> (&str, &str) {
        let Gathered { units, parents, leaf_level, .. } = &self.gathered;
        match &units[node] {
            Some(unit) => (&self.joined.levels[unit.level], &unit.code),
            None => (&self.joined.levels[*leaf_level], parents[node].map_or("", |parent| self.code(parent))),
        }
    }

    /// How wide the intervals of each class of answers are.
    pub(super) fn margins(&self, node: usize) -> Vec<Vec<Margin>> {
        let precisions = self.tree.precision_of(node);
        self.questions.margins(precisions)
    }

    /// Hands on the estimates of nodes that are units by themselves.
    pub(super) fn each_node(&self, nodes: &[usize], take: &mut TakeNode<'_>) -> Result<()> {
        let mut work = Work::new(self.joined.model.space().cells());
        for node in nodes {
            self.tree.coordinates(&self.values, *node, &mut work.coordinates);
            take(self.code(*node), &self.margins(*node), &mut work)?;
        }
        Ok(())
    }

    /// The nodes of a level that are units by themselves.
    pub(super) fn nodes_of(&self, level: usize) -> Vec<usize> {
        let units = &self.gathered.units;
        let of_level = |node: &usize| units[*node].as_ref().is_some_and(|unit| unit.level == level);
        (0..units.len()).filter(of_level).collect()
    }

    /// Hands on the answers for every unit of a level.
    pub(super) fn each_unit(&self, level: usize, only: &[bool], take: &mut TakeUnit<'_>) -> Result<()> {
        let needed = self.questions.needed(&self.joined.model, only);
        let mut answers = vec![];
        let mut pass = |code: &str, margins: &[Vec<Margin>], work: &mut Work| {
            let Work { scratch, coordinates, .. } = work;
            let which = (only, &needed[..], 0.0);
            let model = &self.joined.model;
            self.questions.answer(model, coordinates, margins, which, scratch, |asked, found| {
                answers.clear();
                answers.extend(found);
                take(code, &asked.name, &answers);
            });
            Ok(())
        };
        if level == self.gathered.leaf_level {
            for part in 0..self.joined.first.levels[level].parts {
                self.each_leaf(part, &mut pass)?;
            }
        }
        self.each_node(&self.nodes_of(level), &mut pass)
    }

    /// Hands on the estimates of the leaves of a part.
    pub(super) fn each_leaf(&self, part: usize, take: &mut TakeNode<'_>) -> Result<()> {
        // Leaves of one parent may be of several groups, one after the other.
        let mut margins: HashMap<usize, Vec<Vec<Margin>>> = HashMap::new();
        self.each_leaf_node(part, By::All, &mut |leaf, work| {
            take(leaf.code, margins.entry(leaf.node).or_insert_with(|| self.margins(leaf.node)), work)
        })
    }

    /// Hands on the coordinates of the leaves of a part, by all measurements or by their own alone.
    pub(super) fn each_leaf_node(&self, part: usize, by: By, take: &mut TakeLeaf<'_>) -> Result<()> {
        let Estimation { joined, gathered, areas, .. } = self;
        let level = gathered.leaf_level;
        let mut work = Work::new(joined.model.space().cells());
        let mut kinds = LeafKinds::new(joined, level);
        joined.first.each_unit(level, part, &mut |code, noise, rows| {
            let parent = gathered.parent(joined, level, code)?;
            let (kind, values) = kinds.of(joined, level, code, (noise, rows), gathered.lacking(parent))?;
            let measured = match values {
                None => {
                    let mut gradient = std::mem::take(&mut work.gradient);
                    joined.plain_gradient(&kind, rows, &mut work.scratch, &mut gradient);
                    Measured { gradient, exact: vec![] }
                }
                Some(values) => joined.measured(&kind, &values, &mut work.scratch),
            };
            let node = gathered.group(parent, &kind, areas.pattern(code)).ok_or_else(|| {
                Error::stated(
                    format!("{}: unit `{code}` was not there before", joined.first.name),
                    "the measurements must not change while they are read",
                )
            })?;
            let to = &mut work.coordinates;
            let done = match by {
                By::Own => kind.leaf.own_coordinates(&joined.model, &measured, to),
                By::All if self.tree.nodes()[node].count > 1.0 => {
                    self.tree.leaf_coordinates(&self.values, node, &kind.leaf, &measured, to)
                }
                By::All => {
                    self.tree.coordinates(&self.values, node, to);
                    Ok(())
                }
            };
            done.map_err(|values| {
                let error = contradiction(joined, gathered, &Contradicted { node, values });
                error.at(format!("unit `{code}`"))
            })?;
            work.gradient = measured.gradient;
            take(&LeafNode { code, parent, node, kind }, &mut work)
        })
    }

    /// The coordinates of a node that is a unit by itself.
    pub(super) fn node_coordinates(&self, node: usize, by: By, to: &mut [f64]) -> Result<()> {
        match by {
            By::All => {
                self.tree.coordinates(&self.values, node, to);
                Ok(())
            }
            By::Own => {
                let Estimation { joined, gathered, .. } = self;
                let leaf = &gathered.kinds[node].leaf;
                let done = leaf.own_coordinates(&joined.model, &self.own_measured[node], to);
                done.map_err(|values| contradiction(joined, gathered, &Contradicted { node, values }))
            }
        }
    }
}

/// Which measurements an estimate of a unit is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// All of them.
    All,
    /// Those of the unit itself.
    Own,
}

/// A leaf: its code, the unit above, the node that stands for it, and its kind.
pub(super) struct LeafNode<'l> {
    pub(super) code: &'l str,
    pub(super) parent: Option<usize>,
    pub(super) node: usize,
    pub(super) kind: Arc<UnitKind>,
}

/// Takes a leaf, and its coordinates.
pub(super) type TakeLeaf<'t> = dyn FnMut(&LeafNode<'_>, &mut Work) -> Result<()> + 't;

/// What is used again for each unit.
pub(super) struct Work {
    pub(super) scratch: Scratch,
    pub(super) coordinates: Vec<f64>,
    gradient: Vec<f64>,
}

impl Work {
    pub(super) fn new(cells: usize) -> Work {
        Work { scratch: Scratch::default(), coordinates: vec![0.0; cells], gradient: vec![0.0; cells] }
    }
}

/// Takes the code of a unit, its margins, and its coordinates.
pub(super) type TakeNode<'t> = dyn FnMut(&str, &[Vec<Margin>], &mut Work) -> Result<()> + 't;

fn contradiction(joined: &Joined, gathered: &Gathered, found: &Contradicted) -> Error {
    let Contradicted { node, values } = found;
    let place = match (&gathered.units[*node], gathered.parents[*node]) {
        (Some(unit), _) => format!("unit `{}` of level `{}`", unit.code, joined.levels[unit.level]),
        (None, parent) => {
            let above = parent.and_then(|parent| gathered.units[parent].as_ref());
            let inside = above.map_or(String::new(), |unit| format!(" in unit `{}`", unit.code));
            format!("a unit of level `{}`{inside}", joined.levels[gathered.leaf_level])
        }
    };
    Error::stated(
        format!(
            "{}: exact values of {place} contradict those of its parts, or each other: {} and {}",
            joined.first.name,
            number(values.first),
            number(values.second)
        ),
        "files of one release agree: check that none was changed or comes from another release",
    )
}

/// A number that is whole up to rounding, as a whole one.
fn number(x: f64) -> String {
    if (x - x.round()).abs() < 1e-6 { format!("{}", x.round()) } else { format!("{x}") }
}

/// The queries that are written.
fn chosen(wanted: &[String], joined: &Joined) -> Result<Vec<usize>> {
    let queries = joined.model.space().queries();
    if wanted.is_empty() {
        return Ok((0..queries.len()).filter(|query| !joined.hidden.contains(query)).collect());
    }
    let asked: Vec<usize> = (0..queries.len()).filter(|query| !joined.hidden.contains(query)).collect();
    let find = |name: &String| {
        let known = asked.iter().map(|query| queries[*query].name.as_str());
        one_of("query", name, known, "other sums of cells are given as sums").map(|at| asked[at])
    };
    wanted.iter().map(find).collect()
}

/// The sums of cells that are asked for, each under a name of its own.
fn named_sums(question: &Estimate, joined: &Joined) -> Result<Vec<NamedSum>> {
    let mut sums = vec![];
    for text in &question.sums {
        sums.push(NamedSum::parse(text, &joined.schema)?);
    }
    for path in &question.sum_files {
        let shown = file::shown(path);
        let text = file::open(path).and_then(io::read_to_string).map_err(|error| {
            let hint = "a file of sums has a name and a predicate on each line";
            Error::io(format!("{shown}: cannot be read: {error}"), error, hint)
                .with_kind(ErrorKind::Unreadable)
        })?;
        sums.extend(NamedSum::parse_file(&shown, &text, &joined.schema)?);
    }
    let queries = joined.model.space().queries();
    for (at, sum) in sums.iter().enumerate() {
        let known = queries.iter().any(|query| query.name == sum.name());
        if known || sums[..at].iter().any(|other| other.name() == sum.name()) {
            let cause = format!("sum: `{}` is the name of a query or of another sum", sum.name());
            return Err(Error::stated(cause, "give the sum a name of its own"));
        }
    }
    Ok(sums)
}

fn source(path: &Path, input: &Input) -> NoisySource {
    let folder = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    NoisySource { folder, manifest_sha256: input.digest.clone() }
}
