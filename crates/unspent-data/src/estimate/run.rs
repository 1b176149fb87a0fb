//! From folders of measurements to a directory of estimates.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use parquet::data_type::ByteArray;
use unspent::file::FileDigest;
use unspent::{Error, ErrorKind, Result, did_you_mean, parallel};
use unspent_estimate::{Contradicted, Measured, Scratch, Tree, Values};

use super::answers::{Margin, Questions};
use super::areas::Areas;
use super::gather::{Gathered, PlainKinds};
use super::input::{Input, InputQuery};
use super::join::Joined;
use super::manifest::{Component, EstimateManifest, EstimatedLevel, NoisySource};
use super::tables;
use super::write::{Rows, Writer};
use super::{Estimate, NamedWeights};
use crate::directory::{self, Folder, Unfinished};
use crate::manifest::{self, FileEntry};
use crate::parquet_file::system_error;
use crate::progress::Progress;

/// Values that a file of units above the smallest level has.
const VALUES: usize = 1 << 19;
/// The file with the answers for areas.
const DISTRICTS: &str = "districts.csv";
/// What the full table is called, unless the measurements have a name for it.
const DETAILED: &str = "detailed";

const METHOD: &str = "best linear unbiased estimate (generalised least squares) from all measurements of the unit, \
     of the units above and below it and beside it; the variance is that of the estimate";
const INTERVALS: &str = "lower and upper: normal, right about as often as the confidence says, without a guarantee; \
     lower_guaranteed and upper_guaranteed: right at least so often, since the noise is sub-Gaussian; whole \
     counts from zero on; null where no such count is near enough, or the answer is not determined";

pub(super) fn to_directory(
    question: &Estimate,
    out: &Path,
    progress: &mut dyn Progress,
) -> Result<EstimateManifest> {
    let path: PathBuf = out.components().collect();
    if directory::check(&path)? {
        let cause = format!("`{}` exists already", path.display());
        return Err(Error::of_kind(ErrorKind::Output, cause, "choose another name, or remove it"));
    }
    let estimation = Estimation::new(question, progress)?;
    let unfinished = Unfinished::create(&path)?;
    let files = Files { target: &path, folder: unfinished.folder() };
    let manifest = estimation.write(question, &files, progress)?;
    let json = serde_json::to_string_pretty(&manifest).expect("strings, numbers and lists");
    files.text(manifest::FILE, &(json + "\n"))?;
    unfinished.finish()?;
    Ok(manifest)
}

/// Where files are made.
struct Files<'f> {
    target: &'f Path,
    folder: &'f Folder,
}

impl Files<'_> {
    fn text(&self, name: &str, text: &str) -> Result<()> {
        self.folder.write(name, text).map_err(|error| directory::failed(self.target, error))
    }
}

/// What was read, and what must be known to estimate.
pub(super) struct Estimation {
    pub(super) joined: Joined,
    gathered: Gathered,
    measured: Vec<Measured>,
    areas: Areas,
    pub(super) questions: Questions,
    sources: Vec<NoisySource>,
    warning: Option<String>,
}

impl Estimation {
    pub(super) fn new(question: &Estimate, progress: &mut dyn Progress) -> Result<Estimation> {
        let confidence = unspent_estimate::Confidence::new(question.confidence.clone())?;
        let areas = Areas::read(&question.maps)?;
        let inputs = question.noisy.iter().map(|path| Input::open(path)).collect::<Result<Vec<_>>>()?;
        let warning = inputs.iter().find_map(|input| input.warning.clone());
        if let Some(warning) = &warning {
            progress.warning(warning);
        }
        let sources = question.noisy.iter().map(|path| source(path)).collect();
        let by = inputs.first().map_or(vec![], |input| {
            input.schema.attributes().iter().map(|attribute| attribute.name.clone()).collect()
        });
        let detailed = InputQuery { name: DETAILED.into(), by };
        let asked = if question.leaf_cells { std::slice::from_ref(&detailed) } else { &[] };
        let joined = Joined::new(inputs, question.structural_zeros, asked)?;
        let mut gathered = Gathered::read(&joined, &areas, progress)?;
        let queries = chosen(&question.queries, &joined)?;
        let sums: Vec<NamedWeights> = vec![];
        let largest = gathered.largest_count;
        let questions = Questions::new(&joined.model, &queries, &sums, confidence, largest);
        let measured = std::mem::take(&mut gathered.measured);
        Ok(Estimation { joined, gathered, measured, areas, questions, sources, warning })
    }

    fn write(
        mut self,
        question: &Estimate,
        files: &Files<'_>,
        progress: &mut dyn Progress,
    ) -> Result<EstimateManifest> {
        let levels = chosen_levels(&question.levels, &self.joined.levels)?;
        let measured = std::mem::take(&mut self.measured);
        let nodes = self.gathered.nodes.clone();
        let totals = !self.areas.areas.is_empty();
        let estimated = Tree::estimate(&self.joined.model, nodes, measured, totals);
        let (tree, values) = estimated.map_err(|contradicted| self.contradiction(&contradicted))?;
        let made = Made { estimation: &self, tree: &tree, values: &values };
        let estimates =
            files.folder.create_folder("estimates").map_err(|e| directory::failed(files.target, e))?;
        let mut notes = vec![
            ("unspent.version", env!("CARGO_PKG_VERSION").to_string()),
            ("unspent.method", METHOD.into()),
            ("unspent.intervals", INTERVALS.into()),
            ("unspent.confidence", question.confidence.to_decimal_or_fraction()),
        ];
        notes.extend(self.warning.clone().map(|warning| ("unspent.warning", warning)));
        let writer = Writer::new(&notes);
        let mut entries = vec![];
        let folders = manifest::folders_of(self.joined.levels.iter().map(String::as_str));
        for level in levels {
            let (name, folder) = (&self.joined.levels[level], &folders[level]);
            let inside = estimates.create_folder(folder).map_err(|e| directory::failed(files.target, e))?;
            let place = Place {
                target: files.target,
                folder: &inside,
                name: format!("estimates/{folder}"),
                writer: &writer,
            };
            let leaf = level == self.gathered.leaf_level;
            let only = self.written_at(leaf, question.leaf_cells);
            let not_determined: Mutex<BTreeSet<String>> = Mutex::default();
            let mut parts = match leaf {
                true => made.leaves(&place, &only, &not_determined, progress)?,
                false => vec![],
            };
            parts.extend(made.units(&place, level, &only, parts.len(), &not_determined)?);
            let names = self.questions.asked.iter().zip(&only).filter(|(_, only)| **only);
            entries.push(EstimatedLevel {
                level: name.clone(),
                folder: place.name.clone(),
                units: parts.iter().map(|part| part.units).sum(),
                queries: names.map(|(asked, _)| asked.name.clone()).collect(),
                not_determined: not_determined.into_inner().expect("not poisoned").into_iter().collect(),
                files: parts,
            });
        }
        let mut others = vec![];
        if !self.areas.areas.is_empty() {
            let nodes = self.areas.nodes(&self.gathered)?;
            tables::check_twice(&made, &self.areas.areas, &nodes)?;
            let only = self.written_at(true, question.leaf_cells);
            files.text(DISTRICTS, &tables::areas(&made, &self.areas.areas, &nodes, &only)?)?;
            others.push(DISTRICTS.into());
        }
        Ok(EstimateManifest {
            program: "unspent".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            method: METHOD.into(),
            noisy: self.sources.clone(),
            confidence: question.confidence.to_decimal_or_fraction(),
            intervals: INTERVALS.into(),
            warning: self.warning.clone(),
            unused_structural_zeros: self.joined.model.space().unused_zeros(),
            levels: entries,
            files: others,
            components: self.components(),
        })
    }

    /// The code of a unit that is a node by itself.
    pub(super) fn code(&self, node: usize) -> &str {
        self.gathered.units[node].as_ref().map_or("", |unit| &unit.code)
    }

    fn components(&self) -> Vec<Component> {
        let names: Vec<&str> = self.joined.schema.attributes().iter().map(|a| a.name.as_str()).collect();
        let components = self.joined.model.components(&names).into_iter();
        components.map(|(name, dimension, copies)| Component { name, dimension, copies }).collect()
    }

    /// Which questions are answered at a level: full tables of leaves only if they are asked for.
    fn written_at(&self, leaf: bool, leaf_cells: bool) -> Vec<bool> {
        let full = |shape: &[u32]| {
            let length: usize = shape.iter().map(|n| *n as usize).product();
            length > 1 && length == self.joined.model.space().all_cells()
        };
        self.questions.asked.iter().map(|asked| leaf_cells || !leaf || !full(&asked.shape)).collect()
    }

    fn contradiction(&self, found: &Contradicted) -> Error {
        let Contradicted { node, values } = found;
        let name = &self.joined.first.name;
        let place = match &self.gathered.units[*node] {
            Some(unit) => format!("unit `{}` of level `{}`", unit.code, self.joined.levels[unit.level]),
            None => format!("a unit of level `{}`", self.joined.levels[self.gathered.leaf_level]),
        };
        let place = match (&self.gathered.units[*node], self.gathered.nodes[*node].parent) {
            (None, Some(parent)) => match &self.gathered.units[parent] {
                Some(unit) => format!("{place} in `{}`", unit.code),
                None => place,
            },
            _ => place,
        };
        Error::stated(
            format!(
                "{name}: exact values of {place} contradict those of its parts or each other: {} and {}",
                number(values.first),
                number(values.second)
            ),
            "files of one release agree: check that none was changed or comes from another release",
        )
    }
}

/// A number that is whole up to rounding, as a whole one.
fn number(x: f64) -> String {
    if (x - x.round()).abs() < 1e-6 { format!("{}", x.round()) } else { format!("{x}") }
}

/// A folder that files are written to.
struct Place<'p> {
    target: &'p Path,
    folder: &'p Folder,
    name: String,
    writer: &'p Writer,
}

impl Place<'_> {
    fn write(&self, part: usize, rows: Rows) -> Result<FileEntry> {
        let name = format!("part-{part:05}.parquet");
        let file = self.folder.create(&name).map_err(|e| directory::failed(self.target, e))?;
        let units = rows.units;
        let rows = self.writer.write(file, rows);
        let rows = rows.map_err(|error| directory::failed(self.target, system_error(error)))?;
        Ok(FileEntry { file: format!("{}/{name}", self.name), rows, units })
    }
}

/// All estimates of nodes.
pub(super) struct Made<'m> {
    pub(super) estimation: &'m Estimation,
    pub(super) tree: &'m Tree<'m>,
    pub(super) values: &'m Values,
}

/// What is used again for each unit.
#[derive(Default)]
struct Work {
    scratch: Scratch,
    coordinates: Vec<f64>,
    gradient: Vec<f64>,
}

impl Made<'_> {
    /// Adds the rows of a unit whose coordinates are in `work`.
    fn push(
        &self,
        code: &str,
        margins: &[Vec<Margin>],
        (only, needed): (&[bool], &[bool]),
        work: &mut Work,
        rows: &mut Rows,
    ) {
        let Estimation { joined, questions, .. } = self.estimation;
        let code = ByteArray::from(code);
        let Work { scratch, coordinates, .. } = work;
        questions.answer(&joined.model, coordinates, margins, only, needed, scratch, |asked, answers| {
            rows.push(&code, asked, answers);
        });
        rows.units += 1;
    }

    fn margins(&self, node: usize) -> Vec<Vec<Margin>> {
        let precisions = self.tree.precision_of(node);
        self.estimation.questions.margins(precisions)
    }

    fn note(&self, margins: &[Vec<Margin>], only: &[bool], unknown: &Mutex<BTreeSet<String>>) {
        for ((asked, margins), _) in
            self.estimation.questions.asked.iter().zip(margins).zip(only).filter(|(_, only)| **only)
        {
            if margins.contains(&Margin::Unknown) {
                unknown.lock().expect("not poisoned").insert(asked.name.clone());
            }
        }
    }

    /// Writes the units of a level that are nodes by themselves, from that part on.
    fn units(
        &self,
        place: &Place<'_>,
        level: usize,
        only: &[bool],
        first: usize,
        unknown: &Mutex<BTreeSet<String>>,
    ) -> Result<Vec<FileEntry>> {
        let Estimation { joined, gathered, questions, .. } = self.estimation;
        let of_level = |node: &usize| gathered.units[*node].as_ref().is_some_and(|unit| unit.level == level);
        let nodes: Vec<usize> = (0..gathered.units.len()).filter(of_level).collect();
        let needed = questions.needed(&joined.model, only);
        let lengths = questions.asked.iter().zip(only).filter(|(_, only)| **only);
        let length: usize =
            lengths.map(|(asked, _)| asked.shape.iter().map(|n| *n as usize).product::<usize>()).sum();
        let parts: Vec<(usize, &[usize])> =
            nodes.chunks((VALUES / length.max(1)).max(1)).enumerate().collect();
        let written = parallel::map(&parts, |(part, nodes)| {
            let mut work = Work::default();
            work.coordinates.resize(joined.model.space().cells(), 0.0);
            let mut rows = Rows::default();
            for node in *nodes {
                self.tree.coordinates(self.values, *node, &mut work.coordinates);
                let margins = self.margins(*node);
                self.note(&margins, only, unknown);
                let code = &gathered.units[*node].as_ref().expect("a unit").code;
                self.push(code, &margins, (only, &needed), &mut work, &mut rows);
            }
            place.write(first + part, rows)
        });
        written.into_iter().collect()
    }

    /// Writes the leaves, each file as its measurements are.
    fn leaves(
        &self,
        place: &Place<'_>,
        only: &[bool],
        unknown: &Mutex<BTreeSet<String>>,
        progress: &mut dyn Progress,
    ) -> Result<Vec<FileEntry>> {
        let Estimation { joined, gathered, .. } = self.estimation;
        let input = &joined.first.levels[gathered.leaf_level];
        let parts: Vec<usize> = (0..input.parts).collect();
        let mut written = vec![];
        let mut read = 0;
        for some in parts.chunks(16) {
            for entry in parallel::map(some, |part| self.leaf_part(place, *part, only, unknown)) {
                let entry = entry?;
                read += entry.units;
                written.push(entry);
            }
            let all = gathered.leaves.max(1) as f64;
            progress.rows(gathered.leaves + read, Some(0.5 + read as f64 / all / 2.0));
        }
        Ok(written)
    }

    fn leaf_part(
        &self,
        place: &Place<'_>,
        part: usize,
        only: &[bool],
        unknown: &Mutex<BTreeSet<String>>,
    ) -> Result<FileEntry> {
        let Estimation { joined, gathered, areas, questions, .. } = self.estimation;
        let level = gathered.leaf_level;
        let plain = joined.is_plain(level);
        let needed = questions.needed(&joined.model, only);
        let cells = joined.model.space().cells();
        let mut work = Work::default();
        work.coordinates.resize(cells, 0.0);
        work.gradient.resize(cells, 0.0);
        let mut kinds = PlainKinds::default();
        let mut rows = Rows::default();
        let mut last: Option<(usize, Vec<Vec<Margin>>)> = None;
        joined.first.each_unit(level, part, &mut |code, noise, values| {
            let (kind, measured) = match plain {
                true => {
                    let kind = kinds.get(joined, level, noise);
                    let mut gradient = std::mem::take(&mut work.gradient);
                    joined.plain_gradient(&kind, values, &mut work.scratch, &mut gradient);
                    (kind, Measured { gradient, exact: vec![] })
                }
                false => {
                    let (kind, values) = joined.unit(level, code, Some((noise, values)))?;
                    let measured = joined.measured(&kind, &values, &mut work.scratch);
                    (kind, measured)
                }
            };
            let node = gathered.group(code, &kind, areas.pattern(code)).ok_or_else(|| {
                Error::stated(
                    format!("{}: unit `{code}` was not there before", joined.first.name),
                    "the measurements must not change while they are read",
                )
            })?;
            match gathered.nodes[node].count > 1.0 {
                false => self.tree.coordinates(self.values, node, &mut work.coordinates),
                true => {
                    let to = &mut work.coordinates;
                    let done = self.tree.leaf_coordinates(self.values, node, &kind.leaf, &measured, to);
                    done.map_err(|values| {
                        let error = self.estimation.contradiction(&Contradicted { node, values });
                        error.at(format!("unit `{code}`"))
                    })?;
                }
            }
            work.gradient = measured.gradient;
            if last.as_ref().is_none_or(|(known, _)| *known != node) {
                let margins = self.margins(node);
                self.note(&margins, only, unknown);
                last = Some((node, margins));
            }
            let margins = &last.as_ref().expect("was just made").1;
            self.push(code, margins, (only, &needed), &mut work, &mut rows);
            Ok(())
        })?;
        place.write(part, rows)
    }
}

/// The queries that are written.
fn chosen(wanted: &[String], joined: &Joined) -> Result<Vec<usize>> {
    let queries = joined.model.space().queries();
    if wanted.is_empty() {
        return Ok((0..queries.len()).collect());
    }
    let find = |name: &String| {
        queries.iter().position(|query| query.name == *name).ok_or_else(|| {
            let names: Vec<&str> = queries.iter().map(|query| query.name.as_str()).collect();
            let allowed = format!("one of {}", names.join(", "));
            let hint = did_you_mean(name, names, "other sums of cells are given with --sum");
            Error::input("query", name, allowed, hint)
        })
    };
    wanted.iter().map(find).collect()
}

fn chosen_levels(wanted: &[String], levels: &[String]) -> Result<Vec<usize>> {
    if wanted.is_empty() {
        return Ok((0..levels.len()).collect());
    }
    let find = |name: &String| {
        levels.iter().position(|level| level == name).ok_or_else(|| {
            let names: Vec<&str> = levels.iter().map(String::as_str).collect();
            let allowed = format!("one of {}", names.join(", "));
            let hint = did_you_mean(name, names, "levels are named as in the measurements");
            Error::input("level", name, allowed, hint)
        })
    };
    wanted.iter().map(find).collect()
}

fn source(path: &Path) -> NoisySource {
    let folder = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let text = std::fs::read_to_string(path.join(manifest::FILE)).ok();
    let manifest_sha256 = text.map(|text| FileDigest::of(manifest::FILE, &text).sha256);
    NoisySource { folder, manifest_sha256 }
}
