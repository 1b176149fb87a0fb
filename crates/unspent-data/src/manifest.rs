//! What was released, for programs: `manifest.json` of a directory of measurements.

mod noise;

use std::fs;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};
use unspent::file::FileDigest;
use unspent::schema::Rows;
use unspent::{Error, ErrorKind, Result};

pub use noise::NoiseEntry;

use crate::plan::{Plan, PlannedLevel, PlannedQuery};
use crate::units::BypassedUnits;

/// The name of the file.
pub const FILE: &str = "manifest.json";

/// The name of the file that says what was spent.
pub(crate) const ALLOCATION: &str = "allocation.toml";

/// The name of the file that lists units that are bypassed.
const BYPASSED_FILE: &str = "bypassed.csv";

/// What the certificate rests on, and no program can check.
pub(crate) fn assumes(plan: &Plan, listed: bool) -> String {
    let records = match plan.layout().rows() {
        Rows::Units(_) => "every record is in exactly one cell of one row",
        Rows::Counts(_) => "every record is counted in exactly one row",
        Rows::Records(_) => "every record is exactly one row",
    };
    let (list, empty) = match (listed, plan.layout().rows()) {
        (true, _) => ("units", "units with nobody in them are in it too"),
        (false, Rows::Units(_)) => ("rows", "units with nobody in them have a row too"),
        (false, _) => ("units in the table", "units with nobody in them have a row too"),
    };
    format!("It holds if {records}, and if the list of {list} does not depend on the records: {empty}.")
}

/// What was released.
///
/// The certificate is the library's report when it is written, and a JSON value when it is read back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest<C = serde_json::Value> {
    /// `unspent`.
    pub program: String,
    /// Of the program.
    pub version: String,
    /// The name of the allocation, which is beside as `allocation.toml`.
    pub allocation: String,
    /// The table's name, without its path.
    pub table: String,
    /// How many rows it had, where each is a unit. The number of records, or of combinations that occur, is
    /// not published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Whether the noise came from a key that nobody knows.
    pub private: bool,
    /// Whether the ε that the allocation states is certified to be kept; none if it states none.
    pub kept: Option<bool>,
    /// What must be said of noise that is not private.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// When the run began, as in `2020-04-01T12:00:00Z`.
    pub started: String,
    /// When it ended.
    pub finished: String,
    /// From the largest areas to the smallest.
    pub levels: Vec<LevelEntry>,
    /// What was published exactly: the guarantees are for neighbours that agree on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exact: Vec<ExactEntry>,
    /// Units that are not measured, because a unit above covers the same area. Which these are is public: it
    /// depends on the list of units alone, and on no record. None where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypassed: Option<BypassedEntry>,
    /// The files beside this one, with the SHA-256 of each; none of measurements in memory.
    pub files: Vec<FileDigest>,
    /// What the certificate rests on.
    pub assumes: String,
    /// What the release guarantees.
    pub certificate: C,
}

/// A level of a release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelEntry {
    /// Its name.
    pub level: String,
    /// Where its files are.
    pub folder: String,
    /// How many units of it are measured.
    pub units: u64,
    /// What was asked of each unit, in the order of the rows.
    pub queries: Vec<QueryEntry>,
    /// Its files, in the order of the units.
    pub files: Vec<FileEntry>,
    /// Where units below are bypassed: the units that have a larger budget, and their noise. All others have
    /// that of `queries`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub larger_budgets: Vec<BudgetEntry>,
}

/// Units that are bypassed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BypassedEntry {
    /// The file that lists them, with the columns `level` and `geocode`.
    pub file: String,
    /// The levels that have such units, from the largest areas to the smallest.
    pub levels: Vec<BypassedLevel>,
}

/// A level of which units are bypassed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BypassedLevel {
    /// Its name.
    pub level: String,
    /// How many of its units are bypassed.
    pub units: u64,
}

impl BypassedEntry {
    /// What is said of these; none if there are none.
    pub(crate) fn new(levels: &[BypassedUnits]) -> Option<BypassedEntry> {
        let level = |BypassedUnits { level, codes }: &BypassedUnits| BypassedLevel {
            level: level.clone(),
            units: codes.len() as u64,
        };
        let levels: Vec<BypassedLevel> = levels.iter().map(level).collect();
        (!levels.is_empty()).then(|| BypassedEntry { file: BYPASSED_FILE.into(), levels })
    }
}

/// Units that have the budget of levels below too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BudgetEntry {
    /// The levels whose budget they have; the first is their own.
    pub levels: Vec<String>,
    /// How many units.
    pub units: u64,
    /// The noise on each query of the level, in order.
    pub noises: Vec<NoiseEntry>,
}

/// What was published exactly of a level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExactEntry {
    /// Its name.
    pub level: String,
    /// Where its files are.
    pub folder: String,
    /// How many units it has, also those that are bypassed.
    pub units: u64,
    /// What is exact for each unit, in the order of the rows.
    pub queries: Vec<ExactQuery>,
    /// Its files, in the order of the units.
    pub files: Vec<FileEntry>,
}

/// A query whose answers are exact, or numbers of units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExactQuery {
    /// Its name.
    pub query_name: String,
    /// How many values each of its attributes has, in the order of the schema; `[1]` for a total.
    pub query_shape: Vec<u32>,
}

/// A query at a level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueryEntry {
    /// Its name.
    pub query_name: String,
    /// How many values each of its attributes has, in the order of the schema; `[1]` for a total.
    pub query_shape: Vec<u32>,
    /// The noise of units that have the budget of their own level.
    #[serde(flatten)]
    pub noise: NoiseEntry,
    /// How many values it has in all units.
    pub measurements: u64,
}

impl QueryEntry {
    /// How many values it has in a unit.
    #[must_use]
    pub fn length(&self) -> usize {
        self.query_shape.iter().map(|n| *n as usize).product()
    }
}

/// A file of measurements, or of what was made of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its path, from the directory on.
    pub file: String,
    /// How many rows it has.
    pub rows: u64,
    /// How many units.
    pub units: u64,
    /// The SHA-256 of its bytes, as `sha256sum` prints it.
    pub sha256: String,
}

impl Manifest {
    /// Reads that of a directory of measurements.
    pub fn read(directory: &Path) -> Result<Manifest> {
        let path = directory.join(FILE);
        let shown = path.display();
        let text = fs::read_to_string(&path).map_err(|error| {
            let hint = "name a directory of noisy measurements, which has a manifest.json";
            Error::io(format!("{shown}: cannot be read: {error}"), error, hint)
                .with_kind(ErrorKind::Unreadable)
        })?;
        let hint = "it is written together with the measurements, and is not to be changed";
        let manifest: Manifest = serde_json::from_str(&text).map_err(|error| {
            let other = serde_json::from_str::<serde_json::Value>(&text).unwrap_or_default();
            if other.get("noisy").is_some() {
                let cause = format!("{shown}: is the manifest of estimates, not of noisy measurements");
                return Error::stated(cause, "give the folder that `measure` wrote");
            }
            if let (Some(version), None) = (other["version"].as_str(), other.get("files")) {
                let cause = format!("{shown}: unspent {version} wrote it without the SHA-256 of its files");
                return Error::stated(cause, "read it with that version: measuring again is another release");
            }
            Error::stated(format!("{shown}: is no manifest: {error}"), hint)
        })?;
        manifest.check().map_err(|cause| Error::stated(format!("{shown}: {cause}"), hint))?;
        Ok(manifest)
    }

    /// Whether it is one, and its figures fit together.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        if self.program != "unspent" {
            return Err(format!("was written by `{}`, not by unspent", self.program));
        }
        match (self.private, &self.warning) {
            (true, Some(_)) => return Err("says that its noise is private, and warns that it is not".into()),
            (false, None) => return Err("says that its noise is not private, without the warning".into()),
            _ => {}
        }
        for level in &self.levels {
            let wrong = |what: String| Err(format!("level `{}`: {what}", level.level));
            let units = level.files.iter().try_fold(0u64, |n, file| n.checked_add(file.units));
            if units != Some(level.units) {
                return wrong("its files have another number of units than it says".into());
            }
            let noises = level.noises();
            for noise in noises.iter().flatten() {
                // What is computed from one is computed from the other.
                let law = match noise.law() {
                    Ok(law) => law,
                    Err(error) => return wrong(format!("its noise: {error}")),
                };
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
                let variance = law.variance().expect("added noise");
                if !near(noise.variance, variance) || !near(noise.plb, noise.rho.to_f64()) {
                    return wrong("its exact noise and what the files have of it differ".into());
                }
            }
            if level.larger_budgets.iter().any(|budget| budget.noises.len() != level.queries.len()) {
                return wrong("a larger budget has other queries than the level".into());
            }
            for query in &level.queries {
                let length = query.query_shape.iter().try_fold(1u64, |n, part| n.checked_mul((*part).into()));
                let values = length.and_then(|length| length.checked_mul(level.units));
                if values != Some(query.measurements) || length == Some(0) {
                    return wrong(format!(
                        "query `{}`: its shape and number of values differ",
                        query.query_name
                    ));
                }
            }
            for file in &level.files {
                if file.units.checked_mul(level.queries.len() as u64) != Some(file.rows) {
                    return wrong(format!("file `{}`: its rows and units do not fit", file.file));
                }
            }
        }
        let noisy = self.levels.iter().map(|level| (&level.level, &level.files));
        let exact = self.exact.iter().map(|level| (&level.level, &level.files));
        for (level, file) in
            noisy.chain(exact).flat_map(|(level, files)| files.iter().map(move |f| (level, f)))
        {
            let wrong = |what: &str| Err(format!("level `{level}`: file `{}`: {what}", file.file));
            if !is_inside(&file.file) {
                return wrong("is not in the directory");
            }
            if file.sha256.len() != 64 || !file.sha256.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return wrong(&format!("its SHA-256 is not 64 hexadecimal digits but `{}`", file.sha256));
            }
        }
        let Some(BypassedEntry { file, levels }) = &self.bypassed else { return Ok(()) };
        if !is_inside(file) {
            return Err(format!("bypassed: file `{file}`: is not in the directory"));
        }
        for (at, BypassedLevel { level, .. }) in levels.iter().enumerate() {
            if !self.levels.iter().any(|known| known.level == *level) {
                return Err(format!("bypassed: there is no level `{level}`"));
            }
            if levels[..at].iter().any(|before| before.level == *level) {
                return Err(format!("bypassed: level `{level}` is there twice"));
            }
        }
        Ok(())
    }
}

/// Whether a path leads to something below the directory: nothing else is read.
fn is_inside(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

impl<C> Manifest<C> {
    /// The same about something else.
    pub(crate) fn with_certificate<D>(self, change: impl FnOnce(C) -> D) -> Manifest<D> {
        Manifest {
            program: self.program,
            version: self.version,
            allocation: self.allocation,
            table: self.table,
            rows: self.rows,
            private: self.private,
            kept: self.kept,
            warning: self.warning,
            started: self.started,
            finished: self.finished,
            levels: self.levels,
            exact: self.exact,
            bypassed: self.bypassed,
            files: self.files,
            assumes: self.assumes,
            certificate: change(self.certificate),
        }
    }
}

impl LevelEntry {
    /// A level of a plan, of which these files were written; `units` has as many as each of its budgets.
    pub(crate) fn new(
        level: &PlannedLevel,
        folder: String,
        units: &[u64],
        files: Vec<FileEntry>,
    ) -> LevelEntry {
        let all: u64 = units.iter().sum();
        let query = |query: &PlannedQuery| QueryEntry {
            query_name: query.name.clone(),
            query_shape: query.shape.clone(),
            noise: NoiseEntry::from(&query.noises[0]),
            measurements: all * query.length() as u64,
        };
        let larger = |budget: usize| BudgetEntry {
            levels: level.budgets[budget].levels.clone(),
            units: units.get(budget).copied().unwrap_or(0),
            noises: level.queries.iter().map(|query| NoiseEntry::from(&query.noises[budget])).collect(),
        };
        LevelEntry {
            level: level.name.clone(),
            folder,
            units: all,
            queries: level.queries.iter().map(query).collect(),
            files,
            larger_budgets: (1..level.budgets.len()).map(larger).collect(),
        }
    }

    /// The noise on each query for each budget of the level, the smallest first.
    #[must_use]
    pub fn noises(&self) -> Vec<Vec<&NoiseEntry>> {
        let own = self.queries.iter().map(|query| &query.noise).collect();
        let larger = self.larger_budgets.iter().map(|budget| budget.noises.iter().collect());
        std::iter::once(own).chain(larger).collect()
    }
}

impl ExactEntry {
    /// A level of a plan, of which these files were written.
    pub(crate) fn new(level: &PlannedLevel, folder: String, units: u64, files: Vec<FileEntry>) -> ExactEntry {
        let query = |query: &PlannedQuery| ExactQuery {
            query_name: query.name.clone(),
            query_shape: query.shape.clone(),
        };
        let queries = level.exact.iter().map(query).collect();
        ExactEntry { level: level.name.clone(), folder, units, queries, files }
    }
}

/// A folder for each level of a plan, no two of them the same.
pub(crate) fn folders(plan: &Plan) -> Vec<String> {
    folders_of(plan.levels().iter().map(|level| level.name.as_str()))
}

/// The folders of levels of these names.
pub(crate) fn folders_of<'l>(levels: impl IntoIterator<Item = &'l str>) -> Vec<String> {
    let mut folders: Vec<String> = vec![];
    for level in levels {
        let name = folder(level);
        let mut names = (1..).map(|n| if n == 1 { name.clone() } else { format!("{name}-{n}") });
        folders.push(names.find(|name| !folders.contains(name)).expect("numbers do not end"));
    }
    folders
}

/// `block-group` for `Block group`. Folders of exact values begin with `exact-`.
fn folder(level: &str) -> String {
    let letters = level.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let name: String = letters.collect();
    match name.trim_matches('-') {
        "" => "level".into(),
        name if name.starts_with("exact-") => format!("level-{name}"),
        name => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use unspent::Rational;

    use super::*;

    #[test]
    fn folders_are_plain_words() {
        assert_eq!(folder("Block group"), "block-group");
        assert_eq!(folder("../etc"), "etc");
        assert_eq!(folder("État"), "tat");
        assert_eq!(folder("…"), "level");
    }

    fn manifest() -> Manifest {
        serde_json::from_value(serde_json::json!({
            "program": "unspent", "version": "0", "allocation": "a", "table": "t", "rows": 3, "private": true,
            "kept": null, "started": "", "finished": "", "files": [], "assumes": "", "certificate": {},
            "levels": [{
                "level": "A", "folder": "a", "units": 3,
                "queries": [{
                    "query_name": "q", "query_shape": [2], "sigma2": "32/15", "variance": 2.1333333326,
                    "rho": "0.5", "plb": 0.5, "measurements": 6
                }],
                "files": [{
                    "file": "a/part-00000.parquet", "rows": 3, "units": 3, "sha256": "0a".repeat(32)
                }]
            }]
        }))
        .unwrap()
    }

    #[test]
    fn a_manifest_reads_back_the_same() {
        let text = serde_json::to_string(&manifest()).unwrap();
        let again: Manifest = serde_json::from_str(&text).unwrap();
        assert_eq!(again.levels, manifest().levels);
        assert!(!text.contains("warning") && text.contains("\"sigma2\":\"32/15\""), "{text}");
        assert_eq!(again.check(), Ok(()));
    }

    #[test]
    fn a_manifest_whose_figures_do_not_fit_is_refused() {
        let wrong = |change: fn(&mut Manifest)| {
            let mut manifest = manifest();
            change(&mut manifest);
            manifest.check().unwrap_err()
        };
        assert_eq!(wrong(|m| m.program = "other".into()), "was written by `other`, not by unspent");
        assert_eq!(wrong(|m| m.private = false), "says that its noise is not private, without the warning");
        assert_eq!(
            wrong(|m| m.warning = Some("NOT PRIVATE".into())),
            "says that its noise is private, and warns that it is not"
        );
        assert_eq!(
            wrong(|m| m.levels[0].units = 4),
            "level `A`: its files have another number of units than it says"
        );
        assert_eq!(
            wrong(|m| m.levels[0].queries[0].noise.sigma2 = Some(Rational::integer(1))),
            "level `A`: its exact noise and what the files have of it differ"
        );
        assert_eq!(
            wrong(|m| m.levels[0].queries[0].query_shape = vec![u32::MAX; 3]),
            "level `A`: query `q`: its shape and number of values differ"
        );
        assert_eq!(
            wrong(|m| m.levels[0].files[0].rows = 6),
            "level `A`: file `a/part-00000.parquet`: its rows and units do not fit"
        );
        let digits =
            "level `A`: file `a/part-00000.parquet`: its SHA-256 is not 64 hexadecimal digits but `0A`";
        assert_eq!(wrong(|m| m.levels[0].files[0].sha256 = "0A".into()), digits);
        for path in ["/etc/passwd", "../a/part-00000.parquet", "a/../../b"] {
            let mut outside = manifest();
            outside.levels[0].files[0].file = path.into();
            let expected = format!("level `A`: file `{path}`: is not in the directory");
            assert_eq!(outside.check(), Err(expected));
        }
    }
}
