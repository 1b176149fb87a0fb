//! `unspent regress`: what noise does to the slope of earnings on education.

use std::path::PathBuf;

use clap::Args;
use unspent::{Delta, Error, ErrorKind};
use unspent_data::RegressionQuestion;
use unspent_data::regression::{MAX_TRIALS, MIN_TRIALS, Published, Variances};

use crate::Failure;
use crate::noise::NoiseArguments;
use crate::output::{self, Format};
use crate::progress::Progress;
use crate::source;
use crate::stated;
use crate::terminal;
use crate::values::Values;

/// The slope of earnings on the share with a bachelor's degree, and how noise moves it.
///
/// Noise is added to the six counts by education of every area, as often as --trials says, and the
/// noisy counts are clamped at zero. The distortion is the mean absolute error of the slope, for an
/// analyst who takes noisy counts for counts (plain) and for one who corrects for the noise
/// (noise-aware). The noise of an allocation is compared with the same noise calibrated to the
/// epsilon that was published for its level alone; --before and --after compare any two.
///
/// All distortions are from simulation and have intervals of 95 %. None is a guarantee.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
A file is table S1501 of the American Community Survey, as downloaded from data.census.gov, or has
the columns geo_id, name, pop25plus, lt_9th_grade, g9_12_no_diploma, hs_graduate,
some_college_no_degree, associates, bachelors_or_higher and median_earnings. Areas without counts
or earnings are left out and counted.

States get the noise of the level State, counties that of County, and all other areas that of
Tract Subset (or Tract).

Examples:
  unspent regress states.csv counties.csv tracts.csv
  unspent regress states.csv --without 'Puerto Rico' --before 5 --after 4.25
  unspent regress tracts.csv --allocation dhc-persons-us-2020 --level Tract_Subset --query detailed"
)]
pub struct Arguments {
    /// A table for each geography (.csv)
    #[arg(value_name = "S1501.csv", required = true)]
    files: Vec<String>,

    /// The allocation whose noise is added
    ///
    /// A preset or a file.
    #[arg(long, value_name = "PRESET|FILE", default_value = "paper-2022-08-25", conflicts_with = "before")]
    allocation: String,

    /// The level whose noise is added; that of the areas unless given
    #[arg(long, value_name = "L", conflicts_with = "before")]
    level: Option<String>,

    /// The query whose noise is added, where those of a level differ
    #[arg(long, value_name = "Q", conflicts_with = "before")]
    query: Option<String>,

    /// The delta at which the noise is calibrated
    #[arg(
        long,
        value_name = "D",
        default_value = "1e-11",
        allow_hyphen_values = true,
        conflicts_with = "before"
    )]
    delta: String,

    /// Compares noise of this variance parameter sigma2 ...
    ///
    /// Or of this standard deviation, of which sigma2 is the square: sigma=S, or scale=S.
    #[arg(long, value_name = "S", requires = "after", allow_hyphen_values = true)]
    before: Option<String>,

    /// ... with noise of this one
    #[arg(long, value_name = "S", requires = "before", allow_hyphen_values = true)]
    after: Option<String>,

    /// How often noise is added
    #[arg(long, value_name = "K", default_value = "10000", allow_hyphen_values = true)]
    trials: String,

    /// Leaves out the area with this code or name; may be repeated
    #[arg(long, value_name = "AREA")]
    without: Vec<String>,

    #[command(flatten)]
    values: Values,

    #[command(flatten)]
    noise: NoiseArguments,

    #[command(flatten)]
    format: Format,
}

/// Arguments of the library that are flags here.
const FLAGS: &[&str] = &["query", "level", "without"];

impl Arguments {
    /// Reads, simulates and writes.
    pub fn run(&self) -> Result<(), Failure> {
        let trials = self.trials.parse().ok().filter(|n| (MIN_TRIALS..=MAX_TRIALS).contains(n));
        let trials = trials.ok_or_else(|| {
            let allowed = format!("a whole number between {MIN_TRIALS} and {MAX_TRIALS}");
            Error::input("--trials", &self.trials, allowed, "10000 tell a tenth less noise from none")
        })?;
        let question = RegressionQuestion {
            files: self.files.iter().map(PathBuf::from).collect(),
            variances: self.variances()?,
            trials,
            without: self.without.clone(),
            noise: self.noise.source()?,
            threads: self.noise.threads()?,
        };
        let mut progress = Progress::new();
        let report = self.values.hiding(|| question.answer(&mut progress));
        drop(progress);
        let report = report.map_err(|error| self.failure(error))?;
        output::print(&match &self.format {
            Format { json: true, .. } => output::json(&report),
            Format { csv: true, .. } => report.columns().csv(),
            Format { markdown: true, .. } => report.document().markdown(),
            _ => terminal::shown(&report.document()),
        })
    }

    fn variances(&self) -> Result<Variances, Failure> {
        if let (Some(before), Some(after)) = (&self.before, &self.after) {
            // The sampler's limits, said before any file is read.
            let read = |flag: &str, text: &str| stated::parse(text).map_err(|e| e.at(flag));
            return Ok(Variances::Given([read("--before", before)?, read("--after", after)?]));
        }
        Ok(Variances::Published(Box::new(Published {
            delta: Some(Delta::parse(&self.delta)?),
            allocation: source::allocation(&self.allocation, None)?,
            level: self.level.clone(),
            query: self.query.clone(),
        })))
    }

    /// What the library says, in the command's words.
    fn failure(&self, error: Error) -> Failure {
        let promise = error.kind() == ErrorKind::NoPromise;
        let failure = self.values.failure(error).flagged(FLAGS);
        if promise {
            return Failure { hint: "give both variances: --before S --after S".into(), ..failure };
        }
        failure
    }
}
