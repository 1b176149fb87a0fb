//! Estimates as a directory of files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use parquet::data_type::ByteArray;
use unspent::{Error, ErrorKind, Result, parallel};

use super::answers::{Asked, Margin};
use super::covariance;
use super::estimation::{Estimation, Work};
use super::manifest::{
    Component, EstimateManifest, EstimatedLevel, ReplicatesEntry, TableLevel, TablesEntry, TotalsFirst,
};
use super::replicates;
use super::tables;
use super::whole::{self, UnitTable, Whole};
use super::whole_file::{TableRows, TableWriter};
use super::write::{Rows, Writer};
use super::{Estimate, EstimateReport, TableErrors, WholeTables};
use crate::directory::{self, Folder, Unfinished};
use crate::manifest::{self, FileEntry};
use crate::names::one_of;
use crate::parquet_file::system_error;
use crate::part::write_part;
use crate::progress::Progress;
use crate::published::{self, PublishedWriter, RecordsWriter};

/// Values that a file of units above the smallest level has.
const VALUES: usize = 1 << 19;
/// Most answers of a query that are written for an area without being asked for.
const MAX_AREA_ROWS: usize = 4096;
/// Units that a file of tables has.
const TABLES: usize = 1 << 14;
/// The file with all variances.
const COVARIANCE: &str = "covariance.parquet";

const METHOD: &str = "best linear unbiased estimate (generalised least squares) from all measurements of the \
     unit, of the units above and below it and beside it; the variance is that of the estimate, with σ² as \
     the variance of the noise, which is not exceeded, and equal to 8 digits from σ² = 1.2 on";
const INTERVALS: &str = "lower and upper: normal, right about as often as the confidence says, without a \
     guarantee, and less often where an estimate is little more than one measurement with σ² below 20; \
     lower_guaranteed and upper_guaranteed: right at least so often, since the noise is sub-Gaussian; \
     whole counts from zero on; null where no such count is near enough, or the answer is not determined";

/// What whole tables are, and how they are biased.
pub const WHOLE_METHOD: &str = "whole tables that are not negative and add up over all levels: from the top \
     down, the nearest to the estimates in the metric of their covariances, then rounded; every sum holds \
     exactly, and small counts are biased upward, large ones downward: no interval of an estimate applies to \
     them";

/// What whole tables by the scheme of the 2020 system are.
pub const OWN_METHOD: &str = "whole tables that are not negative and add up over all levels: from the top \
     down, each the nearest to the measurements of its own unit, not to the estimates beside, with totals \
     decided first above the smallest level, then rounded; every sum holds exactly, and small counts are \
     biased upward, large ones downward: no interval of an estimate applies to them";

/// What the errors of replicates are.
pub const REPLICATES: &str = "a simulation, no guarantee: the tables stand for the truth, after counts too \
     small to be told from nothing were dealt out to siblings; noise was added to them once more, with a \
     known seed, and all was done again; the errors are those of the new tables, over units, answers and \
     replicates; plain errors are those with the tables as they are for the truth, and are often too small";

pub(super) fn to_directory(
    question: &Estimate,
    out: &Path,
    progress: &mut dyn Progress,
) -> Result<(Estimation, Option<Whole>, EstimateReport)> {
    let path: PathBuf = out.components().collect();
    if directory::check(&path)? {
        let cause = format!("`{}` exists already", path.display());
        return Err(Error::of_kind(ErrorKind::Output, cause, "choose another name, or remove it"));
    }
    let estimation = Estimation::new(question, progress)?;
    if let Some(wanted) = &question.tables {
        replicates::check(&estimation, wanted)?;
        let schema = &estimation.joined.schema;
        if wanted.published {
            published::needed_of_schema(schema)?;
        }
        let optional = schema.attributes().iter().find(|attribute| attribute.optional);
        if let (true, Some(attribute)) = (wanted.records, optional) {
            return Err(Error::stated(
                format!(
                    "records: records may lack the attribute `{}`, and a row has a code for every attribute",
                    attribute.name
                ),
                "leave records out: tables count those without it as one value more, the last",
            ));
        }
    }
    let unfinished = Unfinished::create(&path)?;
    let files = Files { target: &path, folder: unfinished.folder() };
    let (manifest, made) = estimation.write(question, &files, progress)?;
    let json = serde_json::to_string_pretty(&manifest).expect("strings, numbers and lists");
    files.text(manifest::FILE, &(json + "\n"))?;
    if let Some(warning) = estimation.warning() {
        files.text("NOT-PRIVATE.txt", &format!("{warning}.\n"))?;
    }
    let accuracy = estimation.accuracy();
    files.text("accuracy.csv", &accuracy.columns().csv())?;
    unfinished.finish()?;
    let (tables, table_errors) = made.map_or((None, None), |(tables, errors)| (Some(tables), errors));
    Ok((estimation, tables, EstimateReport { manifest, accuracy, table_errors }))
}

/// Whole tables, and their errors if they were simulated.
type Made = (Whole, Option<TableErrors>);

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

/// A folder that files are written to.
struct Place<'p> {
    target: &'p Path,
    folder: &'p Folder,
    name: String,
    writer: &'p Writer,
}

impl Place<'_> {
    fn write(&self, part: usize, rows: Rows) -> Result<FileEntry> {
        let folder = (self.folder, &*self.name);
        write_part(self.target, folder, part, rows.units, |file| self.writer.write(file, rows))
    }
}

impl Estimation {
    fn write(
        &self,
        question: &Estimate,
        files: &Files<'_>,
        progress: &mut dyn Progress,
    ) -> Result<(EstimateManifest, Option<Made>)> {
        let levels = chosen_levels(&question.levels, &self.joined.levels)?;
        let estimates =
            files.folder.create_folder("estimates").map_err(|e| directory::failed(files.target, e))?;
        let mut notes = vec![
            ("unspent.version", env!("CARGO_PKG_VERSION").to_string()),
            ("unspent.method", METHOD.into()),
            ("unspent.intervals", INTERVALS.into()),
            ("unspent.confidence", question.confidence.to_decimal_or_fraction()),
        ];
        notes.extend(self.warning().map(|warning| ("unspent.warning", warning.into())));
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
            let only = self.written_at(leaf, question.leaf_cells || !question.queries.is_empty());
            let not_determined: Mutex<BTreeSet<String>> = Mutex::default();
            let mut parts = match leaf {
                true => self.leaves(&place, &only, &not_determined, progress)?,
                false => vec![],
            };
            parts.extend(self.units(&place, level, &only, parts.len(), &not_determined)?);
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
        let components = self.components();
        let file = files.folder.create(COVARIANCE).map_err(|e| directory::failed(files.target, e))?;
        covariance::write(self, &components, file)
            .map_err(|error| directory::failed(files.target, system_error(error)))?;
        let mut others = vec![COVARIANCE.into(), "accuracy.csv".into()];
        // Areas are few: their full tables are written too, unless these are very long.
        let short = |asked: &Asked| question.leaf_cells || asked.length() <= MAX_AREA_ROWS;
        let only: Vec<bool> = self.questions.asked.iter().map(short).collect();
        let mut table = |name: &str, text: Option<String>| match text {
            None => Ok(()),
            Some(text) => {
                others.push(name.to_string());
                files.text(name, &text)
            }
        };
        let areas = self.area_nodes()?;
        table("districts.csv", tables::areas(self, &areas, &only))?;
        table("differences.csv", tables::differences(self, &areas, &question.differences, &only)?)?;
        table("ratios.csv", tables::ratios(self, &areas, &question.ratios)?)?;
        let (tables, made) = match &question.tables {
            Some(wanted) => {
                let (entry, made) = self.write_tables(wanted, files, progress)?;
                (Some(entry), Some(made))
            }
            None => (None, None),
        };
        let manifest = EstimateManifest {
            program: "unspent".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            method: METHOD.into(),
            noisy: self.sources.clone(),
            confidence: question.confidence.to_decimal_or_fraction(),
            intervals: INTERVALS.into(),
            warning: self.warning().map(String::from),
            unused_structural_zeros: self.joined.model.space().unused_zeros(),
            levels: entries,
            files: others,
            components,
            tables,
        };
        Ok((manifest, made))
    }

    fn write_tables(
        &self,
        question: &WholeTables,
        files: &Files<'_>,
        progress: &mut dyn Progress,
    ) -> Result<(TablesEntry, Made)> {
        let found = whole::tables(self, question, progress)?;
        let space = self.joined.model.space();
        let method = if question.own_measurements { OWN_METHOD } else { WHOLE_METHOD };
        let mut notes = vec![
            ("unspent.version", env!("CARGO_PKG_VERSION").to_string()),
            ("unspent.method", method.into()),
        ];
        notes.extend(self.warning().map(|warning| ("unspent.warning", warning.into())));
        let writer = TableWriter::new(space.all_cells(), &notes);
        let inside = files.folder.create_folder("tables").map_err(|e| directory::failed(files.target, e))?;
        let folders = manifest::folders_of(self.joined.levels.iter().map(String::as_str));
        let mut levels = vec![];
        for ((level, folder), units) in self.joined.levels.iter().zip(&folders).zip(&found.levels) {
            let inside = inside.create_folder(folder).map_err(|e| directory::failed(files.target, e))?;
            let parts: Vec<(usize, &[UnitTable])> = units.chunks(TABLES).enumerate().collect();
            let written = parallel::map(&parts, |(part, units)| -> Result<FileEntry> {
                let mut rows = TableRows::default();
                for unit in *units {
                    writer.push(&mut rows, &unit.code, &Whole::numbered(space, &unit.table));
                }
                let folder = (&inside, &*format!("tables/{folder}"));
                let written = units.len() as u64;
                write_part(files.target, folder, *part, written, |file| writer.write(file, &rows))
            });
            levels.push(TableLevel {
                level: level.clone(),
                folder: format!("tables/{folder}"),
                units: units.len() as u64,
                files: written.into_iter().collect::<Result<_>>()?,
            });
        }
        let mut others = vec![];
        let numbered = |unit: &UnitTable| Whole::numbered(space, &unit.table);
        if question.published {
            let tables = published::needed_of_schema(&self.joined.schema)?;
            let names = &self.joined.levels;
            let mut writer = PublishedWriter::new(files.target, files.folder, tables, names, &notes)?;
            for (level, units) in found.levels.iter().enumerate() {
                units.iter().try_for_each(|unit| writer.push(level, &unit.code, &numbered(unit)))?;
            }
            others.extend(writer.finish()?);
        }
        if question.records {
            let schema = &self.joined.schema;
            let mut writer = RecordsWriter::new(files.target, files.folder, schema, &notes)?;
            let leaves = &found.levels[self.gathered.leaf_level];
            leaves.iter().try_for_each(|unit| writer.push(&unit.code, &numbered(unit)))?;
            others.extend(writer.finish()?.0);
        }
        let mut replicates = None;
        let errors = replicates::of_tables(self, &found, question, progress)?;
        if let Some(errors) = &errors {
            files.text("replicates.csv", &errors.by_query().csv())?;
            files.text("replicates-by-size.csv", &errors.by_size().csv())?;
            others.extend(["replicates.csv".into(), "replicates-by-size.csv".into()]);
            replicates = Some(ReplicatesEntry {
                what: REPLICATES.into(),
                replicates: errors.replicates,
                plain_replicates: errors.plain_replicates,
                seed: question.seed,
            });
        }
        let quality = &found.quality;
        let isolated = quality.isolated.iter().zip(&self.joined.levels).filter(|((_, of), _)| *of > 0);
        let entry = TablesEntry {
            method: method.into(),
            own_measurements: question.own_measurements,
            bounds: question.bounds.iter().map(|file| file.digest().clone()).collect(),
            columns: writer.columns(),
            cells: space.all_cells(),
            parents: quality.parents,
            steps: quality.steps,
            largest_gap: quality.largest_gap,
            largest_gap_at: quality.largest_gap_at.clone(),
            totals_first: isolated
                .map(|((isolated, of), level)| TotalsFirst {
                    level: level.clone(),
                    families: *of,
                    totals_first: *isolated,
                })
                .collect(),
            levels,
            replicates,
            files: others,
        };
        Ok((entry, (found, errors)))
    }

    fn components(&self) -> Vec<Component> {
        let names: Vec<&str> = self.joined.schema.attributes().iter().map(|a| a.name.as_str()).collect();
        let components = self.joined.model.components(&names).into_iter();
        components.map(|(name, dimension, copies)| Component { name, dimension, copies }).collect()
    }

    /// Which questions are answered at a level: full tables of leaves only if they are asked for.
    fn written_at(&self, leaf: bool, leaf_cells: bool) -> Vec<bool> {
        let cells = self.joined.model.space().all_cells();
        let full = |asked: &Asked| cells > 1 && asked.length() == cells;
        self.questions.asked.iter().map(|asked| leaf_cells || !leaf || !full(asked)).collect()
    }

    /// Adds the rows of a unit whose coordinates are in `work`.
    fn push(
        &self,
        code: &str,
        margins: &[Vec<Margin>],
        (only, needed): (&[bool], &[bool]),
        work: &mut Work,
        rows: &mut Rows,
    ) {
        let Estimation { joined, questions, .. } = self;
        let code = ByteArray::from(code);
        let Work { scratch, coordinates, .. } = work;
        let counts = (only, needed, 0.0);
        questions.answer(&joined.model, coordinates, margins, counts, scratch, |asked, answers| {
            rows.push(&code, asked, answers);
        });
        rows.units += 1;
    }

    fn note(&self, margins: &[Vec<Margin>], only: &[bool], unknown: &Mutex<BTreeSet<String>>) {
        for ((asked, margins), _) in
            self.questions.asked.iter().zip(margins).zip(only).filter(|(_, only)| **only)
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
        let Estimation { joined, questions, .. } = self;
        let nodes = self.nodes_of(level);
        let needed = questions.needed(&joined.model, only);
        let lengths = questions.asked.iter().zip(only).filter(|(_, only)| **only);
        let length: usize = lengths.map(|(asked, _)| asked.length()).sum();
        let parts: Vec<(usize, &[usize])> =
            nodes.chunks((VALUES / length.max(1)).max(1)).enumerate().collect();
        let written = parallel::map(&parts, |(part, nodes)| {
            let mut rows = Rows::default();
            self.each_node(nodes, &mut |code, margins, work| {
                self.note(margins, only, unknown);
                self.push(code, margins, (only, &needed), work, &mut rows);
                Ok(())
            })?;
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
        let Estimation { joined, gathered, .. } = self;
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
        let needed = self.questions.needed(&self.joined.model, only);
        let mut rows = Rows::default();
        self.each_leaf(part, &mut |code, margins, work| {
            self.note(margins, only, unknown);
            self.push(code, margins, (only, &needed), work, &mut rows);
            Ok(())
        })?;
        place.write(part, rows)
    }
}

fn chosen_levels(wanted: &[String], levels: &[String]) -> Result<Vec<usize>> {
    if wanted.is_empty() {
        return Ok((0..levels.len()).collect());
    }
    let find = |name: &String| {
        let known = levels.iter().map(String::as_str);
        one_of("level", name, known, "levels are named as in the measurements")
    };
    let mut found = wanted.iter().map(find).collect::<Result<Vec<_>>>()?;
    found.sort_unstable();
    found.dedup();
    Ok(found)
}
