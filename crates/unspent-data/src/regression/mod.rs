//! The slope of earnings on education, and how noise moves it.
//!
//! ```text
//! files S1501 ─▶ areas of each ─┐
//! noise of a level ─────────────┴▶ simulation ─▶ RegressionReport
//! (an allocation, before and after calibration, or as given)
//! ```

mod document;
mod files;
mod simulation;
mod survey;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use serde::Serialize;
use unspent::report::recalibration::Change;
use unspent::{Allocation, Delta, Error, ErrorKind, Promise, Rational, Result, Scaling};

pub use self::files::SurveyFile;
pub use self::simulation::{
    Area, CATEGORIES, Distorted, Distortion, MAX_TRIALS, MIN_TRIALS, Reduction, Regression, Sample,
};
pub use self::survey::{Geography, LeftOut, Survey};
use crate::noise::NoiseSource;
use crate::progress::Progress;
use crate::run::all_cores;
use crate::utility::variance;

/// Files, and the noise whose effect on their slopes is asked for.
pub struct RegressionQuestion {
    /// Tables S1501 of the American Community Survey, one for each geography (CSV).
    pub files: Vec<PathBuf>,
    /// The noise.
    pub variances: Variances,
    /// How often it is added.
    pub trials: u64,
    /// Codes or names of areas that are left out.
    pub without: Vec<String>,
    /// Where the noise comes from.
    pub noise: NoiseSource,
    /// How many threads draw it.
    pub threads: NonZeroUsize,
}

/// How wide the noise is, before and after.
pub enum Variances {
    /// σ², before and after.
    Given([Rational; 2]),
    /// As an allocation has it, and calibrated to what was published for each level.
    Published(Box<Published>),
}

/// The noise of a level of an allocation.
pub struct Published {
    /// The allocation.
    pub allocation: Allocation,
    /// The level; that of the areas unless given.
    pub level: Option<String>,
    /// The query; needed where those of a level have different noise.
    pub query: Option<String>,
    /// The δ at which the noise is calibrated; that of the allocation unless given.
    pub delta: Option<Delta>,
}

/// What noise does to the slopes of all files.
#[derive(Clone, Debug, Serialize)]
pub struct RegressionReport {
    /// Whether the noise came from a key that nobody knows.
    pub private: bool,
    /// What must be said of noise that is not private.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// Whose noise it is, if not given as numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation: Option<String>,
    /// How the calibrated noise was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<String>,
    /// What the whole release delivers with either noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// One for each file.
    pub regressions: Vec<FileRegression>,
}

/// What noise does to the slope of a file.
#[derive(Clone, Debug, Serialize)]
pub struct FileRegression {
    /// The file.
    pub file: String,
    /// What its areas are called.
    pub geography: String,
    /// How many of the areas are no such.
    pub strangers: usize,
    /// Areas that are not in it.
    pub left_out: Vec<LeftOut>,
    /// The level whose noise it is.
    pub level: Option<String>,
    /// The slope and how noise moves it.
    #[serde(flatten)]
    pub regression: Regression,
}

impl RegressionQuestion {
    /// With ten thousand trials of private noise, on all cores.
    #[must_use]
    pub fn new(files: Vec<PathBuf>, variances: Variances) -> RegressionQuestion {
        RegressionQuestion {
            files,
            variances,
            trials: 10_000,
            without: vec![],
            noise: NoiseSource::Private,
            threads: all_cores(),
        }
    }

    /// Reads, calibrates and simulates.
    pub fn answer(self, progress: &mut dyn Progress) -> Result<RegressionReport> {
        let source = Source::new(self.variances)?;
        let files = self.files.iter().map(|file| SurveyFile::read(file, &self.without));
        let files = files.collect::<Result<Vec<_>>>()?;
        if let Some(i) = (0..self.without.len()).find(|i| files.iter().all(|file| !file.found[*i])) {
            let cause = format!("without: there is no area `{}`", self.without[i]);
            return Err(Error::stated(cause, "write its code or its name as in the file"));
        }
        let noises = files.iter().map(|file| source.noise(file.geography)).collect::<Result<Vec<_>>>()?;
        let key = self.noise.key(progress)?;
        let mut regressions = vec![];
        // A trial takes as long as there are areas.
        let of_file = |file: &SurveyFile| 2 * self.trials * file.sample.areas().len() as u64;
        let all = files.iter().map(of_file).sum();
        let mut earlier = 0;
        for (file, (level, [before, after])) in files.iter().zip(noises) {
            let alike = |other: &&SurveyFile| other.name() == file.name();
            let geography = match files.iter().filter(alike).count() {
                1 => file.name(),
                _ => format!("{} ({})", file.name(), file.stem()),
            };
            let mut done = earlier;
            let mut made = |trials: u64| {
                done += trials * file.sample.areas().len() as u64;
                progress.done("noisy areas", done, all);
            };
            let regression = Regression::simulate_with(
                &file.sample,
                [&before, &after],
                self.trials,
                &key,
                self.threads,
                &mut made,
            )?;
            earlier += of_file(file);
            regressions.push(FileRegression {
                file: file.path.display().to_string(),
                geography,
                strangers: file.strangers,
                left_out: file.left_out.clone(),
                level,
                regression,
            });
        }
        let (allocation, calibrated, change) = source.in_words();
        let (private, warning) = (key.is_private(), self.noise.warning());
        Ok(RegressionReport { private, warning, allocation, calibrated, change, regressions })
    }
}

/// Where the variances come from.
enum Source {
    Given([Rational; 2]),
    Published(Box<Calibrated>),
}

/// An allocation before and after calibration, and what of it was asked for.
struct Calibrated {
    published: Published,
    calibrated: Allocation,
    /// What the whole release delivers with either.
    change: Change,
    /// How it was calibrated.
    how: String,
}

impl Source {
    fn new(variances: Variances) -> Result<Source> {
        let published = match variances {
            Variances::Given(noise) => return Ok(Source::Given(noise)),
            Variances::Published(published) => *published,
        };
        let promise = Promise::stated(&published.allocation, published.delta.as_ref(), Scaling::Level)?;
        let Promise::Conversion(conversion) = promise else { unreachable!("an epsilon is of the whole") };
        let found = published.allocation.calibrate(&promise, Scaling::Level, published.delta.as_ref())?;
        let how = format!(
            "each level to its own epsilon by {}, at delta = {}",
            conversion.authors(),
            found.delta.to_short()
        );
        let change = found.change();
        Ok(Source::Published(Box::new(Calibrated { published, calibrated: found.allocation, change, how })))
    }

    /// The level, and σ² before and after.
    fn noise(&self, geography: Option<&Geography>) -> Result<(Option<String>, [Rational; 2])> {
        let from = match self {
            Source::Given(noise) => return Ok((None, noise.clone())),
            Source::Published(from) => from,
        };
        let at = from.published.level(geography)?;
        let query = from.published.query.as_deref();
        let sigma2 = |allocation: &Allocation| variance(allocation, &allocation.levels()[at], query);
        let allocation = &from.published.allocation;
        Ok((Some(allocation.levels()[at].name.clone()), [sigma2(allocation)?, sigma2(&from.calibrated)?]))
    }

    /// The allocation, how it was calibrated, and what the whole release delivers with either.
    fn in_words(&self) -> (Option<String>, Option<String>, Option<Change>) {
        match self {
            Source::Given(_) => (None, None, None),
            Source::Published(from) => {
                let name = from.published.allocation.name().into();
                (Some(name), Some(from.how.clone()), Some(from.change.clone()))
            }
        }
    }
}

impl Published {
    /// The level whose noise areas get, by its place in the allocation.
    fn level(&self, geography: Option<&Geography>) -> Result<usize> {
        let levels = self.allocation.levels();
        let names: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
        let allowed = format!("one of {}", names.join(", "));
        if let Some(asked) = &self.level {
            let found = names.iter().position(|name| name == asked);
            let hint = "names are written as in the allocation";
            return found.ok_or_else(|| Error::input("level", asked, allowed, hint));
        }
        let wanted = geography.map_or(Geography::OTHER, |geography| geography.levels);
        // Allocations spell levels with spaces or underscores.
        let find = |wanted: &&str| names.iter().position(|name| name.replace('_', " ") == **wanted);
        wanted.iter().find_map(find).ok_or_else(|| {
            let hint = "name the level whose noise is added";
            Error::input("the level of these areas", wanted[0], allowed, hint).with_kind(ErrorKind::NoLevel)
        })
    }
}
