//! `unspent estimate`: the best estimate of every count from noisy measurements, with intervals.

use std::path::{Path, PathBuf};

use clap::Args;
use unspent::{Error, ErrorKind, Rational};
use unspent_data::estimate::BoundsFile;
use unspent_data::{Estimate, WholeTables};

use crate::accuracy::figure;
use crate::output::Target;
use crate::progress::Progress;
use crate::terminal;
use crate::{Failure, output, plot};

/// The best unbiased estimate of every count from noisy measurements, with its variance and intervals.
///
/// A count is measured many times over: by its own query, by sums of finer ones, by the units above
/// and below. The estimate collects all of it (generalised least squares, exactly). It reads only what
/// was published, so that it spends no budget.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  unspent estimate noisy --out estimates
  unspent estimate noisy --out estimates --districts map.csv --confidence 0.9
  unspent estimate US_Person_PL_PROD --out estimates --levels State,County"
)]
pub struct Arguments {
    /// Folders of noisy measurements of the same records: of `unspent measure`, or published ones
    #[arg(value_name = "NOISY", required = true)]
    noisy: Vec<String>,

    /// The directory to write, which must not exist
    #[arg(long, value_name = "DIR")]
    out: String,

    /// How often each interval is to contain the true count
    #[arg(long, value_name = "P", default_value = "0.95", allow_hyphen_values = true)]
    confidence: String,

    /// Writes estimates of these levels only, with commas between them
    ///
    /// Whole tables (--tables) are written of all levels: they are made from the top down, and add up only
    /// together.
    #[arg(long, value_name = "LEVELS", value_delimiter = ',')]
    levels: Vec<String>,

    /// Writes only these queries, with commas between them
    #[arg(long, value_name = "QUERIES", value_delimiter = ',')]
    queries: Vec<String>,

    /// Writes the full table of every smallest unit too
    #[arg(long)]
    leaf_cells: bool,

    /// Does not use that some combinations of values cannot occur
    #[arg(long)]
    no_structural_zeros: bool,

    /// A sum of cells to estimate too, as NAME: PREDICATE; may be given several times
    ///
    /// Conditions on attributes and recodes, with and, or, not and parentheses, as in
    /// 'any part Black: cenrace contains "Black"' or 'adults: votingage = 2'.
    #[arg(long, value_name = "SUM")]
    sum: Vec<String>,

    /// A file with such sums, one on each line
    #[arg(long, value_name = "FILE")]
    sums: Vec<PathBuf>,

    /// Which units make areas, like districts: CSV, a unit's code and then the areas that it is in
    ///
    /// Every column after the first is a map of its own; a unit may be in an area of each, or in none.
    /// The answers for each area are in districts.csv.
    #[arg(long, value_name = "FILE")]
    districts: Vec<PathBuf>,

    /// The difference of two areas, with their covariance, as in 'district:1 - district:2'
    #[arg(long, value_name = "AREAS", requires = "districts")]
    difference: Vec<String>,

    /// The ratio of two sums, by Fieller's method, as in 'any part Black / total'
    ///
    /// For every area, and every unit above the smallest level: ratios.csv.
    #[arg(long, value_name = "RATIO")]
    ratio: Vec<String>,

    /// Makes whole tables too: not negative, and adding up over all levels
    #[arg(long)]
    tables: bool,

    /// Makes each table from its unit's own measurements alone, as the 2020 system did
    #[arg(long, requires = "tables")]
    own_measurements: bool,

    /// Adds noise to the tables again and does all again so many times: how far they may be from the truth
    ///
    /// A simulation, no guarantee: replicates.csv has the errors by level and query, replicates-by-size.csv
    /// those of totals by the size of units. The tables stand for the truth, after counts too small to be
    /// told from nothing were dealt out to siblings. Up to five replicates more have the tables as they are
    /// for the truth: their errors, which are often too small, stand beside as plain ones.
    #[arg(long, value_name = "N", requires = "tables", default_value_t = 0, hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(0..=1000))]
    replicates: u32,

    /// The seed of the replicates' noise, which need not be private
    #[arg(long, value_name = "SEED", requires = "replicates", default_value_t = 1)]
    seed: u64,

    /// Bounds on counts of single units that the tables must meet, like people in facilities: CSV
    ///
    /// The columns are level,geocode,query,answer,at_least,at_most; answer is a label or a number from 0 on.
    #[arg(long, value_name = "FILE", requires = "tables")]
    bounds: Vec<PathBuf>,

    /// Writes the tables as they are published too: P1 to P5 or H1 of the redistricting file
    #[arg(long, requires = "tables")]
    published: bool,

    /// Writes a record for each one that the tables count too
    #[arg(long, requires = "tables")]
    records: bool,

    /// Draws the deviations of noise and estimates by level: .svg, .png or .pdf
    #[arg(long, value_name = "FILE")]
    plot: Option<String>,

    /// Replaces the picture if it exists
    #[arg(long)]
    force: bool,
}

impl Arguments {
    /// Reads, estimates and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let bounds = self.bounds.iter().map(|path| BoundsFile::read(path)).collect::<Result<_, _>>()?;
        let question = Estimate {
            noisy: self.noisy.iter().map(PathBuf::from).collect(),
            confidence: Rational::parse("confidence", &self.confidence)?,
            structural_zeros: !self.no_structural_zeros,
            leaf_cells: self.leaf_cells,
            levels: self.levels.clone(),
            queries: self.queries.clone(),
            sums: self.sum.clone(),
            sum_files: self.sums.clone(),
            ratios: self.ratio.clone(),
            maps: self.districts.clone(),
            areas: vec![],
            differences: self.difference.iter().map(|text| difference(text)).collect::<Result<_, _>>()?,
            tables: self.tables.then_some(WholeTables {
                own_measurements: self.own_measurements,
                replicates: self.replicates,
                seed: self.seed,
                bounds,
                published: self.published,
                records: self.records,
            }),
        };
        let plot = self.plot.as_ref();
        let plot = plot.map(|path| Target::new("--plot", path, plot::EXTENSIONS, self.force)).transpose()?;
        let mut progress = Progress::new();
        let made = question.to_directory(Path::new(&self.out), &mut progress);
        drop(progress);
        let report = made.map_err(|error: Error| match error.kind() {
            ErrorKind::Output => Failure::from(error).at("--out"),
            _ => Failure::from(error),
        })?;
        if let Some(file) = plot {
            file.write(&plot::bytes(&figure::by_level(&report.accuracy), &file.extension())?)?;
        }
        let mut text = report.document();
        text.line("");
        if let Some(warning) = &report.manifest.warning {
            text.line(format!("WARNING: {warning}."));
        }
        text.line(format!("Written to {}.", self.out));
        output::confirm(&terminal::shown(&text))
    }
}

/// Two areas.
fn difference(text: &str) -> Result<(String, String), Error> {
    let parts: Vec<&str> = text.split(" - ").map(str::trim).collect();
    match parts[..] {
        [first, second] if !first.is_empty() && !second.is_empty() => Ok((first.into(), second.into())),
        _ => {
            let hint = "write two areas with ` - ` between them, like `district:1 - district:2`";
            Err(Error::input("--difference", text, "two areas", hint))
        }
    }
}
