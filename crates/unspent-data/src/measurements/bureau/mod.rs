//! The Census Bureau's published noisy measurement files of 2020.
//!
//! ```text
//! US_Person_PL_PROD/                      a dataset: one product of one territory
//!   State.parquet/                        a level
//!     DPQuery/State=044/part-….parquet    noisy answers, `query_name` ends in `_dpq`
//!     Constraint/State=044/…              exact values (`=`) and bounds (`<=`, `>=`), `_con`
//! ```
//!
//! A row is a query, asked of a unit: `geocode`, `query_name`, `query_shape` (an entry for each attribute, 1
//! where it is summed out), `value` (the last attribute changes fastest), `variance`, and for constraints
//! `sign`. The variance is the row's own: a unit whose only child is bypassed has the child's budget too.
//!
//! # What could not be checked
//!
//! No such file was at hand when this was written: nothing here was ever run on one. Folders, columns, names
//! and shapes are those of the Bureau's published code, and of three programs by others that read the files.
//! Not known are:
//!
//! - Widths of integers and reals, whether values may be missing, and how lists are nested: all are read that
//!   Parquet has for lists of integers. Files must be packed with snappy or not at all.
//! - The order of rows, and which file has which unit: any is read. A unit is not compared with the partition
//!   whose folder it is in.
//! - What `plb` is: it is not read. So no budget is known, and [`RowNoise`] has none.
//! - The contents of the columns of attributes (`*`, `hhgq`, `detailed`): only the shape is checked.
//! - The code of the United States, and lengths of codes below the state: codes are taken as they are.
//! - The DHC unit product: its dataset's name, its columns and the shape of `tenvacgq`. `DHCH` is taken as
//!   its mark, and any shape that has the right entries other than 1.
//! - Whether all units of a level have the same queries: files where they do not are refused. Rows can be
//!   read one by one all the same ([`BureauDataset::rows`]).
//! - Whether a variance is rounded to the nearest 32-bit float: it is assumed to be that near at least.

mod collect;
mod file;
mod folders;
mod product;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use unspent::{Error, Result, did_you_mean};

pub use self::collect::{BoundValues, BureauMeasurements, LevelBounds};
use self::file::{Batch, BureauFile};
use self::product::{Product, without_ones};
#[cfg(doc)]
use super::RowNoise;

/// A dataset of noisy measurements, or one level of it.
#[derive(Clone, Debug)]
pub struct BureauDataset {
    path: PathBuf,
    product: Product,
    keep_unknown: bool,
    /// From the largest areas to the smallest.
    levels: Vec<folders::Level>,
    missing: Vec<String>,
}

/// How a dataset is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BureauOptions {
    /// The shipped schema of its product, such as `pl94-persons`; if none is given, the dataset's name or
    /// the columns of its files say which.
    pub schema: Option<String>,
    /// Whether queries that the schema does not have are kept, and not refused.
    pub keep_unknown: bool,
}

/// What a folder of a level holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Noisy answers.
    Noisy,
    /// Exact values and bounds.
    Constraint,
}

impl Part {
    /// Both.
    pub const ALL: [Part; 2] = [Part::Noisy, Part::Constraint];

    /// The name of the folder.
    #[must_use]
    pub fn folder(self) -> &'static str {
        match self {
            Part::Noisy => "DPQuery",
            Part::Constraint => "Constraint",
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Part::Noisy => "_dpq",
            Part::Constraint => "_con",
        }
    }
}

/// How the true counts compare with the values of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sign {
    /// They are the same.
    Equal,
    /// They are at most these.
    AtMost,
    /// They are at least these.
    AtLeast,
}

impl Sign {
    fn parse(text: &str) -> Option<Sign> {
        [Sign::Equal, Sign::AtMost, Sign::AtLeast].into_iter().find(|sign| sign.to_string() == text)
    }
}

/// As files have it.
impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sign::Equal => "=",
            Sign::AtMost => "<=",
            Sign::AtLeast => ">=",
        })
    }
}

/// A row of a file: a query, asked of a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BureauRow<'r> {
    /// The level.
    pub level: &'r str,
    /// The code of the unit.
    pub geocode: &'r str,
    /// The name of the query, without `_dpq` or `_con`.
    pub query: &'r str,
    /// How many values each of its attributes has, without those that are summed out; `[1]` for a total.
    pub shape: &'r [u32],
    /// The noisy counts, or those of the constraint.
    pub values: &'r [i64],
    /// The variance of the noise; 0 for constraints.
    pub variance: f64,
    /// None for noisy counts.
    pub sign: Option<Sign>,
}

impl BureauDataset {
    /// Finds the files, and the product. Nothing is read of the rows yet.
    pub fn open(path: &Path, options: &BureauOptions) -> Result<BureauDataset> {
        let mut levels = folders::levels(path)?;
        let names = names(path);
        let named = names.iter().find_map(|name| Product::of_dataset(name));
        let product = match (&options.schema, named) {
            (Some(name), _) => Product::named(name)?,
            (None, Some(name)) => Product::named(name)?,
            (None, None) => product_of_files(path, &levels)?,
        };
        let order = product.levels();
        let place = |name: &str| order.iter().position(|level| *level == name).unwrap_or(usize::MAX);
        levels.sort_by_key(|level| place(&level.name));
        let mut missing = vec![];
        // What has the folders of a level in it is one level, and no more is expected.
        if levels[0].path != path {
            let no_us = names.iter().any(|name| name.starts_with("PR_"));
            let expected = order.iter().filter(|name| !(no_us && **name == "US"));
            let absent = expected.filter(|name| levels.iter().all(|level| level.name != **name));
            missing.extend(absent.map(|name| format!("{name}.parquet")));
        }
        for level in &levels {
            let absent = Part::ALL.into_iter().filter(|part| level.files[*part as usize].is_none());
            missing.extend(absent.map(|part| format!("{}.parquet/{}", level.name, part.folder())));
        }
        let keep_unknown = options.keep_unknown;
        Ok(BureauDataset { path: path.into(), product, keep_unknown, levels, missing })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the shipped schema of its product.
    #[must_use]
    pub fn schema_name(&self) -> &str {
        self.product.name
    }

    /// The levels that are there, from the largest areas to the smallest.
    pub fn levels(&self) -> impl Iterator<Item = &str> {
        self.levels.iter().map(|level| level.name.as_str())
    }

    /// The queries that its product has.
    pub fn queries(&self) -> impl Iterator<Item = &str> {
        self.product.schema.queries().iter().map(|query| query.name.as_str())
    }

    /// What datasets of this product have and this one has not, as in `Prim.parquet/DPQuery`.
    #[must_use]
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Hands on the rows of a level, file by file, as they come; none if the level or its folder is missing.
    ///
    /// Each row is checked by itself: its query is one of the schema with that shape, it has as many values,
    /// and a variance that can be one. Whether a unit comes twice or lacks a query is not looked at: that is
    /// what [`BureauDataset::read`] does, which needs the whole level in memory.
    pub fn rows(
        &self,
        level: &str,
        part: Part,
        take: &mut dyn FnMut(BureauRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some(level) = self.levels.iter().find(|known| known.name == level) else { return Ok(()) };
        let mut check =
            RowCheck { product: &self.product, keep_unknown: self.keep_unknown, part, known: HashMap::new() };
        for path in level.files[part as usize].iter().flatten() {
            let file = BureauFile::open(path)?;
            self.check_columns(&file)?;
            file.batches(part, self.product.attributes, &mut |batch| {
                for i in 0..batch.geocodes.len() {
                    let row = check.row(&level.name, batch, i);
                    let place = || format!("{}: row {}", file.name, batch.before + i as u64 + 1);
                    row.and_then(&mut *take).map_err(|error| error.at(place()))?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// A file of another product does not belong here.
    fn check_columns(&self, file: &BureauFile) -> Result<()> {
        match Product::of_columns(&file.columns()) {
            Some(other) if other != self.product.name => Err(Error::stated(
                format!("{}: has the columns of {other}, not of {}", file.name, self.product.name),
                "the product is what the dataset's name says, or the schema that was named",
            )),
            _ => Ok(()),
        }
    }
}

/// The names of the folder and of the one that it is in.
fn names(path: &Path) -> Vec<String> {
    let whole = path.canonicalize().unwrap_or_else(|_| path.into());
    let parent = whole.parent().map(folders::name);
    [Some(folders::name(path)), parent].into_iter().flatten().collect()
}

fn product_of_files(path: &Path, levels: &[folders::Level]) -> Result<Product> {
    let files = levels.iter().flat_map(|level| level.files.iter().flatten().flatten());
    for file in files {
        if let Some(name) = Product::of_columns(&BureauFile::open(file)?.columns()) {
            return Product::named(name);
        }
    }
    Err(Error::stated(
        format!("{}: neither its name nor its columns say what product it is of", path.display()),
        "call it like US_Person_PL_PROD, or name its schema, one of pl94-persons, pl94-units, dhc-persons \
         and dhc-units",
    ))
}

/// What is checked of each row by itself.
struct RowCheck<'p> {
    product: &'p Product,
    keep_unknown: bool,
    part: Part,
    /// The shapes of queries that occurred, as files have them and as the library has them.
    known: HashMap<String, (Vec<i64>, Vec<u32>)>,
}

impl RowCheck<'_> {
    fn row<'r>(&'r mut self, level: &'r str, batch: &'r Batch, i: usize) -> Result<BureauRow<'r>> {
        let (name, geocode) = (&batch.names[i], &batch.geocodes[i]);
        let wrong = |cause: String, hint: &str| {
            Error::stated(format!("query `{name}` of unit `{geocode}`: {cause}"), hint)
        };
        let suffix = self.part.suffix();
        let Some(query) = name.strip_suffix(suffix) else {
            return Err(wrong(
                format!("its name does not end in `{suffix}`"),
                "it belongs into another folder",
            ));
        };
        let (found, values) = (batch.shapes.get(i), batch.values.get(i));
        if self.known.get(name).is_none_or(|(full, _)| full != found) {
            self.check_shape(query, found).map_err(|(cause, hint)| wrong(cause, &hint))?;
            self.known.insert(name.clone(), (found.into(), without_ones(found)));
        }
        let shape = &self.known[name].1[..];
        let length = shape.iter().try_fold(1usize, |n, part| n.checked_mul(*part as usize));
        if length != Some(values.len()) {
            let cause = format!("it has {} values, which its shape {found:?} does not make", values.len());
            return Err(wrong(cause, "the number of values is the product of the shape"));
        }
        let variance = batch.variances[i];
        let sign = match self.part {
            Part::Noisy if variance > 0.0 && variance.is_finite() => None,
            Part::Noisy => {
                let cause = format!("its variance is {variance}");
                return Err(wrong(cause, "noise has a variance above 0 that is finite"));
            }
            Part::Constraint if variance != 0.0 => {
                return Err(wrong(format!("its variance is {variance}"), "constraints have none: 0"));
            }
            Part::Constraint => {
                let unknown = || wrong(format!("its sign is `{}`", batch.signs[i]), "signs are =, <= and >=");
                Some(Sign::parse(&batch.signs[i]).ok_or_else(unknown)?)
            }
        };
        Ok(BureauRow { level, geocode, query, shape, values, variance, sign })
    }

    /// Whether a query can have this shape; if not, why, and what to do.
    fn check_shape(&self, query: &str, found: &[i64]) -> std::result::Result<(), (String, String)> {
        let sizes = || found.iter().all(|n| (1..=i64::from(u32::MAX)).contains(n));
        if found.is_empty() || !sizes() {
            return Err((format!("its shape is {found:?}"), "a shape has numbers from 1 on".into()));
        }
        // Constraints are also on groups of values that no query is by.
        if self.part == Part::Constraint {
            return Ok(());
        }
        let Product { name: product, schema, .. } = self.product;
        let Some(at) = self.product.query(query) else {
            if self.keep_unknown {
                return Ok(());
            }
            let known = schema.queries().iter().map(|query| query.name.as_str());
            let hint = did_you_mean(query, known, "queries of other products are kept only on request");
            return Err((format!("{product} has no such query"), hint));
        };
        let full = self.product.full_shape(at).map_err(|e| (e.to_string(), e.hint().into()))?;
        if self.product.fits(&full, found) {
            return Ok(());
        }
        let hint = "an entry for each attribute, 1 where it is summed out".into();
        Err((format!("its shape is {found:?}; in {product} it is {full:?}"), hint))
    }
}
