//! `unspent measure`: a table of counts becomes noisy measurements.
//!
//! ```text
//! table ─▶ Tabulation ─▶ Batch + Draws ─▶ noise, Parquet part ─▶ directory, with manifest
//! (one thread reads)     (in order)       (any thread)           (appears at the end)
//! ```

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use clap::Args;
use serde::Serialize;
use unspent::measure::{Batch, Noises, Plan, Tabulation};
use unspent::sampler::Draws;
use unspent::{Allocation, Certificate, Delta, Neighbours};

use crate::Failure;
use crate::certificate;
use crate::date;
#[cfg(debug_assertions)]
use crate::defect;
use crate::directory::{self, Folder, Leftover, Unfinished};
use crate::document::{Document, Table as Lines};
use crate::measurements::Writer;
use crate::noise::NoiseArguments;
use crate::output;
use crate::progress::Progress;
use crate::source;
use crate::table::{Table, Values};

/// Adds exact discrete Gaussian noise to a table of counts, as an allocation says.
///
/// Every query of the allocation is tabulated at each of its levels and gets its noise. Writes a
/// directory with one folder of Parquet files for each level (geocode, query_name, query_shape,
/// value, variance, plb), manifest.json, the allocation, and the certificate of what was released. It
/// appears whole or not at all.
///
/// The noise is from a key of the operating system that is used once and forgotten. Measuring the
/// same records again spends the same budget again.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
The table has one row for each smallest unit, also for those with nobody in them, sorted by its
code. A query is tabulated over all values of the attributes that it touches: recodes that only
its name tells of are not known. The part [table] of the allocation file, or of --schema, says
which columns make which cells and how codes nest; examples/blocks.toml explains it.

Examples:
  unspent measure blocks.csv --allocation examples/blocks.toml --out noisy
  unspent measure people.parquet --allocation pl94-persons-us-2020 --schema people.toml --out noisy
  generate | unspent measure - --allocation budget.toml --out noisy"
)]
pub struct Arguments {
    /// The table: CSV, or Parquet (.parquet); - reads CSV from stdin
    #[arg(value_name = "TABLE")]
    table: String,

    /// A preset or an allocation file
    #[arg(long, value_name = "PRESET|FILE")]
    allocation: String,

    /// For a table of budgets (.csv): bounded or add-remove
    #[arg(long, value_name = "N")]
    neighbours: Option<String>,

    /// A file whose [table] says how the table is read
    ///
    /// The allocation's own unless given, or that of a file beside the table (blocks.toml).
    #[arg(long, value_name = "FILE.toml")]
    schema: Option<String>,

    /// The directory to write
    #[arg(long, value_name = "DIR")]
    out: String,

    /// The delta of the certificate; that of the allocation unless given
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<String>,

    /// Measures although the epsilon that the allocation states is not kept
    #[arg(long)]
    break_promise: bool,

    #[command(flatten)]
    values: Values,

    #[command(flatten)]
    noise: NoiseArguments,
}

/// What the certificate rests on, and no program can check.
const ASSUMES: &str = "It holds if every record is in exactly one cell of one row, and if the list of rows does not depend on the records: \
                       units with nobody in them have a row too.";

/// What was released, for programs.
#[derive(Serialize)]
struct Manifest<'m> {
    program: &'static str,
    version: &'static str,
    /// The name of the allocation, which is beside as `allocation.toml`.
    allocation: &'m str,
    /// The table's name, without its path.
    table: String,
    rows: u64,
    private: bool,
    /// Whether the epsilon that the allocation states is certified to be kept; none if it states none.
    kept: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'m String>,
    started: String,
    finished: String,
    levels: Vec<LevelEntry<'m>>,
    /// What the certificate rests on.
    assumes: &'static str,
    certificate: &'m Certificate,
}

#[derive(Serialize)]
struct LevelEntry<'m> {
    level: &'m str,
    folder: &'m str,
    units: u64,
    queries: Vec<QueryEntry<'m>>,
    files: Vec<FileEntry>,
}

#[derive(Serialize)]
struct QueryEntry<'m> {
    query_name: &'m str,
    query_shape: &'m [u32],
    /// Exactly.
    sigma2: String,
    /// What the files have: the variance of the noise, rounded to a double.
    variance: f64,
    /// Exactly.
    rho: String,
    /// What the files have: rho, rounded to a double.
    plb: f64,
    measurements: u64,
}

#[derive(Clone, Serialize)]
struct FileEntry {
    file: String,
    rows: u64,
    units: u64,
}

impl Arguments {
    /// Checks, measures and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let threads = self.noise.threads()?;
        let delta = self.delta.as_deref().map(Delta::parse).transpose()?;
        let neighbours = self.neighbours.as_deref().map(Neighbours::parse).transpose()?;
        // Without a dot at the end, which could not be renamed to.
        let target: PathBuf = Path::new(&self.out).components().collect();
        if directory::check("--out", &target)? {
            return Err(Failure::usage(
                format!("--out: `{}` exists already", target.display()),
                "choose another name; what was released stays released, and measuring again spends the budget again",
            ));
        }
        if let Some(leftover) = Leftover::find(&target) {
            return Err(beside(&leftover));
        }
        let mut allocation = source::allocation(&self.allocation, neighbours)?;
        if let Some(schema) = source::schema(&self.table, self.schema.as_deref(), Some(&allocation))? {
            allocation = allocation.with_table(schema);
        }
        // Every unit is measured here, with the noise of its own level.
        let allocation = allocation.without_bypass();
        let plan = Plan::new(&allocation)?;
        let certificate = {
            use unspent::Ask;
            unspent::question::CertificateQuestion {
                delta,
                ..unspent::question::CertificateQuestion::about([allocation.clone()])
            }
            .answer()?
        };
        if !self.break_promise {
            certificate::keeps(&certificate).map_err(|failure| Failure {
                hint: format!("{}; --break-promise measures all the same", failure.hint),
                ..failure
            })?;
        }
        let table = Table::open(&self.table, &plan, &self.values)?;
        // Nothing is made on the disk before this, and nothing is checked after it but the rows.
        let unfinished = Unfinished::create(&target)?;
        #[cfg(debug_assertions)]
        defect::injected("start");
        let (key, warning) = self.noise.key()?;
        let started = date::now();
        let run = Run::new(&plan, &target, unfinished.folder(), &allocation, warning.as_deref())?;
        let measured = run.measure(table, Noises::new(&plan, &key)?, threads);
        let rows = measured.map_err(|failure| failure.showing(self.values.shown))?;
        let private = key.is_private();
        // Nothing is left of it from here on.
        drop(key);
        let manifest = Manifest {
            program: "unspent",
            version: env!("CARGO_PKG_VERSION"),
            allocation: allocation.name(),
            table: if self.table == "-" { "stdin".into() } else { source::file_name(&self.table) },
            rows,
            private,
            kept: certificate.kept,
            warning: warning.as_ref(),
            started,
            finished: date::now(),
            levels: run.entries(),
            assumes: ASSUMES,
            certificate: &certificate,
        };
        let write = |name: &str, text: &str| {
            unfinished.folder().write(name, text).map_err(|e| directory::failed(&target, &e))
        };
        write("allocation.toml", &allocation.to_file()?)?;
        let mut text = certificate.document();
        text.line("");
        text.line(ASSUMES);
        let mut text = text.markdown();
        if let Some(warning) = &warning {
            text = format!("**{warning}. What follows would hold of private noise.**\n\n{text}");
        }
        write("certificate.md", &text)?;
        let json = serde_json::to_string_pretty(&manifest).expect("strings, numbers and lists");
        write("manifest.json", &(json + "\n"))?;
        if let Some(warning) = &warning {
            write("NOT-PRIVATE.txt", &format!("{warning}.\n"))?;
        }
        unfinished.finish()?;
        // What was released is spent, whoever reads of it.
        output::print(&summary(&manifest, &target).terminal()).map_err(|failure| Failure {
            hint: format!("the measurements were released all the same, in {}", target.display()),
            ..failure
        })
    }
}

/// Why nothing is written beside what another run has left.
fn beside(leftover: &Leftover) -> Failure {
    let path = leftover.path.display();
    match leftover.at_work {
        Some(true) => Failure::usage(
            format!("--out: another run is at work in `{path}`"),
            "wait for it, or choose another name; each run is a release of its own",
        ),
        _ => Failure::usage(
            format!("--out: `{path}` was left by a run that was killed: {}", Leftover::WHAT),
            "account for it as one more release of these records, or delete it if nobody has read it; then run again",
        ),
    }
}

/// A batch that is to be noised and written.
struct Job {
    batch: Batch,
    draws: Vec<Draws>,
    /// The number of its file.
    part: usize,
}

/// A run in progress, shared by its threads.
struct Run<'r> {
    plan: &'r Plan,
    target: &'r Path,
    /// One for each level, with its name.
    folders: Vec<(String, Folder)>,
    writer: Writer,
    /// The files of each level that are written, by their numbers.
    files: Vec<Mutex<Vec<Option<FileEntry>>>>,
    /// The first thing that went wrong while writing.
    failure: Mutex<Option<Failure>>,
}

impl<'r> Run<'r> {
    fn new(
        plan: &'r Plan,
        target: &'r Path,
        directory: &Folder,
        allocation: &Allocation,
        warning: Option<&str>,
    ) -> Result<Run<'r>, Failure> {
        let mut folders: Vec<(String, Folder)> = vec![];
        for level in plan.levels() {
            let name = folder(&level.name);
            let mut names = (1..).map(|n| if n == 1 { name.clone() } else { format!("{name}-{n}") });
            let name = names.find(|name| folders.iter().all(|(known, _)| known != name));
            let name = name.expect("numbers do not end");
            let made = directory.create_folder(&name).map_err(|e| directory::failed(target, &e))?;
            folders.push((name, made));
        }
        let mut notes = vec![
            ("unspent.version", env!("CARGO_PKG_VERSION").into()),
            ("unspent.allocation", allocation.name().into()),
            ("unspent.private", warning.is_none().to_string()),
        ];
        notes.extend(warning.map(|warning| ("unspent.warning", warning.into())));
        Ok(Run {
            plan,
            target,
            files: folders.iter().map(|_| Mutex::default()).collect(),
            folders,
            writer: Writer::new(&notes),
            failure: Mutex::new(None),
        })
    }

    /// Reads the table and writes all parts; returns the number of rows.
    fn measure(&self, table: Table, mut noises: Noises, threads: NonZeroUsize) -> Result<u64, Failure> {
        let workers = threads.get() - 1;
        let (sender, receiver) = sync_channel::<Job>(workers);
        let receiver = Mutex::new(receiver);
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| self.work(&receiver));
            }
            let mut parts = vec![0; self.folders.len()];
            let mut full = |batch: Batch| {
                let part = parts[batch.level()];
                parts[batch.level()] += 1;
                let job = Job { draws: noises.take(&batch), batch, part };
                if workers == 0 {
                    self.keep(self.write(job));
                } else if sender.send(job).is_err() {
                    unreachable!("workers go on until there are no more jobs");
                }
                // Whatever is read from now on would be in vain.
                if self.failed() { Err(Failure::other("writing failed", "")) } else { Ok(()) }
            };
            let mut progress = Progress::new();
            let mut tabulation = Tabulation::new(self.plan);
            let read = table
                .rows(&mut progress, |codes, counts| tabulation.row(codes, counts, &mut full))
                .and_then(|()| tabulation.finish(&mut full));
            drop(sender);
            read
        })
        .and_then(|rows| self.failure().map_or(Ok(rows), Err))
        .map_err(|failure| self.failure().unwrap_or(failure))
    }

    fn work(&self, jobs: &Mutex<Receiver<Job>>) {
        loop {
            let job = jobs.lock().expect("not poisoned").recv();
            let Ok(job) = job else { return };
            if !self.failed() {
                self.keep(self.write(job));
            }
        }
    }

    /// Adds the noise and writes the file.
    fn write(&self, job: Job) -> Result<(), Failure> {
        let level = job.batch.level();
        let batch = job.batch.with_noise(job.draws)?;
        let (folder, directory) = &self.folders[level];
        #[cfg(debug_assertions)]
        defect::injected(folder);
        let name = format!("part-{:05}.parquet", job.part);
        let file = directory.create(&name).map_err(|e| directory::failed(self.target, &e))?;
        let rows = self.writer.write(file, self.plan, &batch).map_err(|error| {
            let cause = format!("{}: could not be written: {}", self.target.display(), inner(&error));
            Failure::other(cause, "check that there is space and permission to write; nothing was changed")
        })?;
        let entry = FileEntry { file: format!("{folder}/{name}"), rows, units: batch.codes.len() as u64 };
        let mut files = self.files[level].lock().expect("not poisoned");
        if files.len() <= job.part {
            files.resize(job.part + 1, None);
        }
        files[job.part] = Some(entry);
        Ok(())
    }

    fn keep(&self, written: Result<(), Failure>) {
        if let Err(failure) = written {
            self.failure.lock().expect("not poisoned").get_or_insert(failure);
        }
    }

    fn failed(&self) -> bool {
        self.failure.lock().expect("not poisoned").is_some()
    }

    fn failure(&self) -> Option<Failure> {
        self.failure.lock().expect("not poisoned").take()
    }

    fn entries(&self) -> Vec<LevelEntry<'_>> {
        let mut entries = vec![];
        for (i, level) in self.plan.levels().iter().enumerate() {
            let files: Vec<FileEntry> =
                self.files[i].lock().expect("not poisoned").iter().flatten().cloned().collect();
            let units = files.iter().map(|f| f.units).sum();
            let queries = level.queries.iter().map(|query| QueryEntry {
                query_name: &query.name,
                query_shape: &query.shape,
                sigma2: query.sigma2.to_decimal_or_fraction(),
                variance: query.variance,
                rho: query.rho.to_decimal_or_fraction(),
                plb: query.plb,
                measurements: units * query.length() as u64,
            });
            let queries = queries.collect();
            entries.push(LevelEntry {
                level: &level.name,
                folder: &self.folders[i].0,
                units,
                queries,
                files,
            });
        }
        entries
    }
}

/// What the system says, without the library's words around it.
fn inner(error: &parquet::errors::ParquetError) -> String {
    match error {
        parquet::errors::ParquetError::External(inner) => inner.to_string(),
        other => other.to_string(),
    }
}

/// `block-group` for `Block group`.
fn folder(level: &str) -> String {
    let letters = level.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let name: String = letters.collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "level".into() } else { name.into() }
}

fn summary(manifest: &Manifest<'_>, target: &Path) -> Document {
    let mut text = Document::default();
    text.line(manifest.allocation);
    if let Some(warning) = manifest.warning {
        text.line(format!("WARNING: {warning}."));
    }
    text.line("");
    let mut table = Lines::new(&["level", "units", "query", "values", "sigma2", "measurements"]);
    for level in &manifest.levels {
        for (i, query) in level.queries.iter().enumerate() {
            let first = |text: String| if i == 0 { text } else { String::new() };
            table.row(vec![
                first(level.level.into()),
                first(level.units.to_string()),
                query.query_name.into(),
                query.query_shape.iter().map(u32::to_string).collect::<Vec<_>>().join(" × "),
                query.sigma2.clone(),
                query.measurements.to_string(),
            ]);
        }
    }
    text.table(table);
    text.line("");
    if manifest.private {
        text.line(format!("{} certificate.md has the rest.", manifest.certificate.in_short()));
        text.line(ASSUMES);
    } else {
        text.line("No epsilon holds of it.");
    }
    text.line("Measuring the same records again spends the same budget again.");
    text.line(format!("Written to {}.", target.display()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_plain_words() {
        assert_eq!(folder("Block group"), "block-group");
        assert_eq!(folder("../etc"), "etc");
        assert_eq!(folder("État"), "tat");
        assert_eq!(folder("…"), "level");
    }
}
