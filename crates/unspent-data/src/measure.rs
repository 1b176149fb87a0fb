//! A table of counts becomes noisy measurements: as a directory that appears at the end, or in memory.
//!
//! ```text
//! table ─▶ Tabulation ─▶ noise ─▶ Parquet files ─▶ directory, with manifest and certificate
//!                              └▶ Measurements
//! ```

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use unspent::allocation::Schema;
use unspent::file::FileDigest;
use unspent::question::{CertificateQuestion, Product};
use unspent::report::certificate::Stamp;
use unspent::report::document::{Document, Table as Lines};
use unspent::{Allocation, Ask, Certificate, Delta, Error, ErrorKind, Result};

use crate::date;
use crate::directory::{self, Leftover, Unfinished};
use crate::manifest::{self, ASSUMES, LevelEntry, Manifest};
use crate::measurements::{Files, Measurements, Memory};
use crate::noise::{NoiseSource, Streams};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::run::{Sink, all_cores, run};
use crate::table::{Input, Table};

/// What is to be measured, and how.
///
/// ```
/// use unspent::Allocation;
/// use unspent_data::{Columns, Input, Measure, Quiet};
/// let allocation = Allocation::parse("budget.toml", r#"
///     name = "Towns"
///     neighbours = "add-remove"
///     delta = "1e-10"
///     [queries]
///     total = []
///     [[levels]]
///     name = "Town"
///     sigma2 = { total = 5 }
///     [table]
///     cells = [{ column = "people" }]
///     [table.levels]
///     Town = "town"
/// "#)?;
/// let towns = Columns::new(vec![
///     ("town".into(), vec!["a", "b"].into()),
///     ("people".into(), vec![120, 0].into()),
/// ])?;
/// let noisy = Measure::new(Input::Columns(towns), allocation).in_memory(&mut Quiet)?;
/// assert_eq!(noisy.levels[0].codes, ["a", "b"]);
/// assert!((noisy.levels[0].queries[0].values[0] - 120).abs() < 60);
/// # Ok::<(), unspent::Error>(())
/// ```
pub struct Measure {
    /// The table.
    pub table: Input,
    /// What is asked, and with what noise.
    pub allocation: Allocation,
    /// How the table is read; as the allocation or a file beside the table says, unless given.
    pub schema: Option<Schema>,
    /// The δ of the certificate; that of the allocation unless given.
    pub delta: Option<Delta>,
    /// Where the noise comes from.
    pub noise: NoiseSource,
    /// How many threads.
    pub threads: NonZeroUsize,
    /// Measures although the ε that the allocation states is not kept.
    pub break_promise: bool,
}

/// What was measured and written.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What was released.
    pub manifest: Manifest<Certificate>,
    /// The directory.
    pub path: PathBuf,
}

impl Measured {
    /// What was released, for people.
    #[must_use]
    pub fn document(&self) -> Document {
        let Measured { manifest, path } = self;
        let mut text = Document::default();
        text.line(&manifest.allocation);
        if let Some(warning) = &manifest.warning {
            text.line(format!("WARNING: {warning}."));
        }
        text.line("");
        let mut table = Lines::new(&["level", "units", "query", "values", "sigma2", "measurements"]);
        for level in &manifest.levels {
            for (i, query) in level.queries.iter().enumerate() {
                let first = |text: String| if i == 0 { text } else { String::new() };
                table.row(vec![
                    first(level.level.clone()),
                    first(level.units.to_string()),
                    query.query_name.clone(),
                    query.query_shape.iter().map(u32::to_string).collect::<Vec<_>>().join(" × "),
                    query.sigma2.to_decimal_or_fraction(),
                    query.measurements.to_string(),
                ]);
            }
        }
        text.table(table);
        text.line("");
        if manifest.private {
            text.line(format!("{} certificate.md has the rest.", manifest.certificate.in_short()));
            text.line(&manifest.assumes);
        } else {
            text.line("This output is not differentially private.");
        }
        text.line("Measuring the same records again spends the same budget again.");
        text.line(format!("Written to {}.", path.display()));
        text
    }
}

/// All that can be checked before anything is made.
struct Checked {
    allocation: Allocation,
    /// The allocation as the file that is written beside the measurements.
    file: String,
    plan: Plan,
    certificate: Certificate,
    /// The table's name.
    name: String,
    noise: NoiseSource,
    threads: NonZeroUsize,
}

/// A run that came to its end.
struct Ran {
    rows: u64,
    started: String,
    finished: String,
}

impl Measure {
    /// With private noise, on all cores.
    #[must_use]
    pub fn new(table: Input, allocation: Allocation) -> Measure {
        Measure {
            table,
            allocation,
            schema: None,
            delta: None,
            noise: NoiseSource::Private,
            threads: all_cores(),
            break_promise: false,
        }
    }

    /// Measures into the directory `out`, which must not exist, and appears whole or not at all.
    pub fn to_directory(self, out: &Path, progress: &mut dyn Progress) -> Result<Measured> {
        // Without a dot at the end, which could not be renamed to.
        let path: PathBuf = out.components().collect();
        check_target(&path)?;
        let (checked, table) = self.check()?;
        // Nothing is made on the disk before this, and nothing is checked after it but the rows.
        let unfinished = Unfinished::create(&path)?;
        #[cfg(debug_assertions)]
        crate::panics::injected("start");
        let (folder, warning) = (unfinished.folder(), checked.noise.warning());
        let files = || Files::new(&checked.plan, &path, folder, &checked.allocation, warning.as_deref());
        let (files, ran) = checked.run(table, files, progress)?;
        let manifest = checked.manifest(ran, files.entries());
        let write = |name: &str, text: &str| {
            folder.write(name, text).map_err(|error| directory::failed(&path, error))
        };
        write("allocation.toml", &checked.file)?;
        let stamp = Stamp { date: date::today(), warning: warning.clone(), assumes: Some(ASSUMES.into()) };
        let signed = checked.certificate.signed(&stamp);
        write("certificate.md", &signed.markdown())?;
        write(
            "certificate.html",
            &signed.html(&format!("Privacy certificate: {}", checked.certificate.name)),
        )?;
        let json = serde_json::to_string_pretty(&manifest).expect("strings, numbers and lists");
        write(manifest::FILE, &(json + "\n"))?;
        if let Some(warning) = &warning {
            write("NOT-PRIVATE.txt", &format!("{warning}.\n"))?;
        }
        unfinished.finish()?;
        Ok(Measured { manifest, path })
    }

    /// Measures without writing anything.
    pub fn in_memory(self, progress: &mut dyn Progress) -> Result<Measurements> {
        let (checked, table) = self.check()?;
        let (memory, ran) = checked.run(table, || Ok(Memory::new(&checked.plan)), progress)?;
        let (entries, levels) = memory.into_levels(&checked.plan);
        let manifest = checked.manifest(ran, entries);
        let value = |certificate| serde_json::to_value(certificate).expect("strings, numbers and lists");
        Ok(Measurements { manifest: manifest.with_certificate(value), levels })
    }

    /// Checks all but the rows.
    fn check(self) -> Result<(Checked, Table)> {
        let allocation = match self.table.schema(self.schema, Some(&self.allocation))? {
            Some(schema) => self.allocation.with_table(schema),
            None => self.allocation,
        };
        // Every unit is measured here, with the noise of its own level.
        let allocation = allocation.without_bypass();
        let plan = Plan::of(&allocation)?;
        let file = allocation.to_file()?;
        let digest = FileDigest::of("allocation.toml", &file);
        let product = Product::Allocation(Box::new(allocation.clone()), Some(digest));
        let certificate = CertificateQuestion {
            delta: self.delta,
            prior: Some(Certificate::PRIOR.parse()?),
            ..CertificateQuestion::about([product])
        }
        .answer()?;
        if !self.break_promise {
            check_promises(&certificate)?;
        }
        let name = self.table.name();
        let table = Table::open(self.table, plan.columns())?;
        let (noise, threads) = (self.noise, self.threads);
        Ok((Checked { allocation, file, plan, certificate, name, noise, threads }, table))
    }
}

impl Checked {
    /// Measures; nothing is left of the key at the end.
    fn run<S: Sink>(
        &self,
        table: Table,
        sink: impl FnOnce() -> Result<S>,
        progress: &mut dyn Progress,
    ) -> Result<(S, Ran)> {
        let key = self.noise.key(progress)?;
        let started = date::now();
        let sink = sink()?;
        let streams = Streams::new(&self.plan, &key)?;
        let rows = run(&self.plan, table, streams, self.threads, &sink, progress)?;
        Ok((sink, Ran { rows, started, finished: date::now() }))
    }

    fn manifest(&self, ran: Ran, levels: Vec<LevelEntry>) -> Manifest<Certificate> {
        Manifest {
            program: "unspent".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            allocation: self.allocation.name().into(),
            table: self.name.clone(),
            rows: ran.rows,
            private: self.noise == NoiseSource::Private,
            kept: self.certificate.kept,
            warning: self.noise.warning(),
            started: ran.started,
            finished: ran.finished,
            levels,
            assumes: ASSUMES.into(),
            certificate: self.certificate.clone(),
        }
    }
}

/// Fails with [`ErrorKind::PromiseNotKept`] if an ε that is stated is not certified to be kept.
fn check_promises(certificate: &Certificate) -> Result<()> {
    match certificate.promises.iter().find(|promise| promise.kept != Some(true)) {
        None => Ok(()),
        Some(broken) => Err(Error::of_kind(
            ErrorKind::PromiseNotKept,
            format!("`{}`: {}", broken.product, broken.in_words()),
            "calibrate the allocation to what it states, or state what it delivers",
        )),
    }
}

/// Fails if there is anything where the directory is to be, or what another run has left beside it.
fn check_target(target: &Path) -> Result<()> {
    let refuse = |cause: String, hint: &str| Err(Error::of_kind(ErrorKind::Output, cause, hint));
    if directory::check(target)? {
        return refuse(
            format!("`{}` exists already", target.display()),
            "choose another name; what was released stays released, and measuring again spends the budget \
             again",
        );
    }
    let Some(leftover) = Leftover::find(target) else { return Ok(()) };
    let path = leftover.path.display();
    match leftover.at_work {
        Some(true) => refuse(
            format!("another run is at work in `{path}`"),
            "wait for it, or choose another name; each run is a release of its own",
        ),
        _ => refuse(
            format!("`{path}` was left by a run that was killed: {}", Leftover::WHAT),
            "account for it as one more release of these records, or delete it if nobody has read it; then \
             run again",
        ),
    }
}
