//! What is reported of simulated releases, before and after.

use serde::Serialize;
use unspent::report::columns::{Column, Columns};
use unspent::report::recalibration::Change;

use super::shares::{Proportion, ShareCounts};
use super::{ErrorFigures, Processed, Stage, TrialMean};
use crate::utility::NOT_PRIVATE;
use crate::utility::evaluation::band_name;

/// What everything here is.
pub(super) const SIMULATED: &str = "Simulated: noise was added to the exact tables again and again, and all \
     was done as for a release. Standard errors (±) are those of the simulation. None is a guarantee.";

/// Errors of published tables, before and after.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessingReport {
    /// What it must not be used for.
    pub warning: &'static str,
    /// How the figures were found.
    pub method: &'static str,
    /// The rows of the table.
    pub rows: u64,
    /// How many times everything was done.
    pub trials: u64,
    /// None if no ε is known of the noise.
    pub change: Option<Change>,
    /// What to know when reading it.
    pub notes: Vec<String>,
    /// The groups whose shares are looked at.
    pub shares_of: Vec<String>,
    /// The query whose errors are shown by size of unit.
    #[serde(skip)]
    pub(super) total: String,
    /// All queries, in the order in which they are shown.
    #[serde(skip)]
    pub(super) queries: Vec<String>,
    /// By level, query, size of unit and stage.
    pub errors: Vec<ErrorRow>,
    /// By level, size of unit and stage.
    pub shares: Vec<ShareRow>,
}

/// Errors of the answers to a query.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorRow {
    /// The level.
    pub level: String,
    /// The query.
    pub query: String,
    /// The size of the units; none for all of them.
    pub size: Option<String>,
    /// How many units.
    pub units: u64,
    /// What is published.
    pub stage: Stage,
    /// The errors before; none if nothing answers the query at this stage.
    pub before: Option<ErrorFigures>,
    /// The errors after.
    pub after: Option<ErrorFigures>,
    /// What part of the mean absolute error goes.
    pub reduction: Option<TrialMean>,
}

/// Shares and majorities of groups.
#[derive(Clone, Debug, Serialize)]
pub struct ShareRow {
    /// The level, or the column of a map of districts.
    pub level: String,
    /// The size of the units; none for all of them.
    pub size: Option<String>,
    /// What is published.
    pub stage: Stage,
    /// Before.
    pub before: ShareFigures,
    /// After.
    pub after: ShareFigures,
}

/// How often shares are right. Each is none if there is no such unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ShareFigures {
    /// Units whose largest group's share is within 5 percentage points of the truth, of those with anybody.
    pub within_5_points: Option<Proportion>,
    /// Units in which a group has more than half and does not as published.
    pub majority_lost: Option<Proportion>,
    /// Units in which a group has more than half as published and does not, of all with anybody.
    pub majority_gained: Option<Proportion>,
}

impl ShareFigures {
    fn new(counts: &ShareCounts, trials: u64) -> ShareFigures {
        ShareFigures {
            within_5_points: Proportion::new(counts.near, counts.units, trials),
            majority_lost: Proportion::new(counts.lost, counts.majorities, trials),
            majority_gained: Proportion::new(counts.gained, counts.units, trials),
        }
    }
}

impl Processed {
    /// The first release as before, another as after.
    #[must_use]
    pub fn report(&self, after: usize, change: Option<Change>, notes: Vec<String>) -> ProcessingReport {
        let truth = &self.truth;
        let sizes = |level: usize| {
            let bands = (0..self.bands.len()).filter(move |band| truth.units_in(level, *band) > 0);
            let bands: Vec<usize> = bands.collect();
            std::iter::once(None).chain(bands.into_iter().map(Some))
        };
        let size = |band: Option<usize>| band.map(|band| band_name(&self.bands, band));
        let (mut errors, mut shares) = (vec![], vec![]);
        for (level, of_level) in truth.levels.iter().enumerate() {
            for band in sizes(level) {
                let units = band.map_or(of_level.units.len() as u64, |band| truth.units_in(level, band));
                for stage in &self.stages {
                    let pair = [0, after].map(|release| &self.errors[release][stage.number()]);
                    for (query, known) in truth.queries.iter().enumerate() {
                        let [before, after] = pair.map(|errors| errors.figures(level, query, band));
                        if before.is_none() && after.is_none() {
                            continue;
                        }
                        errors.push(ErrorRow {
                            level: of_level.name.clone(),
                            query: known.name.clone(),
                            size: size(band),
                            units,
                            stage: *stage,
                            before,
                            after,
                            reduction: pair[0].reduction(pair[1], (level, query, band)),
                        });
                    }
                    let of = |release: usize| self.shares[release][stage.number()].of(level, band);
                    let [before, after] =
                        [0, after].map(|release| ShareFigures::new(&of(release), self.trials));
                    if before.within_5_points.is_some() || after.within_5_points.is_some() {
                        let (level, size) = (of_level.name.clone(), size(band));
                        shares.push(ShareRow { level, size, stage: *stage, before, after });
                    }
                }
            }
        }
        for (map, name) in self.maps.iter().enumerate() {
            for stage in &self.stages {
                let of = |release: usize| self.districts[release][stage.number()].counts[map];
                let [before, after] = [0, after].map(|release| ShareFigures::new(&of(release), self.trials));
                if before.within_5_points.is_some() || after.within_5_points.is_some() {
                    shares.push(ShareRow { level: name.clone(), size: None, stage: *stage, before, after });
                }
            }
        }
        ProcessingReport {
            warning: NOT_PRIVATE,
            method: SIMULATED,
            rows: self.rows,
            trials: self.trials,
            change,
            notes,
            shares_of: self.shares_of.clone(),
            queries: truth.queries.iter().map(|query| query.name.clone()).collect(),
            total: truth.queries[truth.total()].name.clone(),
            errors,
            shares,
        }
    }
}

/// A figure before and after: its value, its standard error, and the ends of its interval.
struct Line<'r> {
    level: &'r str,
    query: Option<&'r str>,
    size: Option<&'r str>,
    stage: Stage,
    figure: &'static str,
    values: [Option<f64>; 2],
    standard_errors: [Option<f64>; 2],
    ends: [Option<(f64, f64)>; 2],
    reduction: Option<TrialMean>,
}

type PickError = fn(&ErrorFigures) -> TrialMean;
type PickShare = fn(&ShareFigures) -> Option<Proportion>;

impl ProcessingReport {
    /// One row for each figure of each level, query, size of unit and stage.
    #[must_use]
    pub fn columns(&self) -> Columns {
        let figures: [(&'static str, PickError); 3] =
            [("mean_absolute_error", |e| e.mean_absolute), ("rms_error", |e| e.rms), ("bias", |e| e.bias)];
        let errors = self.errors.iter().flat_map(|row| {
            figures.map(|(figure, pick)| {
                let pair = [&row.before, &row.after].map(|figures| figures.as_ref().map(pick));
                Line {
                    level: &row.level,
                    query: Some(&row.query),
                    size: row.size.as_deref(),
                    stage: row.stage,
                    figure,
                    values: pair.map(|mean| mean.map(|mean| mean.mean)),
                    standard_errors: pair.map(|mean| mean.and_then(|mean| mean.standard_error)),
                    ends: [None; 2],
                    reduction: row.reduction.filter(|_| figure == "mean_absolute_error"),
                }
            })
        });
        let figures: [(&'static str, PickShare); 3] = [
            ("largest_share_within_5_points", |s| s.within_5_points),
            ("majority_lost", |s| s.majority_lost),
            ("majority_gained", |s| s.majority_gained),
        ];
        let shares = self.shares.iter().flat_map(|row| {
            figures.map(|(figure, pick)| {
                let pair = [pick(&row.before), pick(&row.after)];
                Line {
                    level: &row.level,
                    query: None,
                    size: row.size.as_deref(),
                    stage: row.stage,
                    figure,
                    values: pair.map(|part| part.map(|part| part.share)),
                    standard_errors: [None; 2],
                    ends: pair.map(|part| part.map(|part| (part.lower, part.upper))),
                    reduction: None,
                }
            })
        });
        let lines: Vec<Line<'_>> = errors.chain(shares).collect();
        let double =
            |name, of: &dyn Fn(&Line<'_>) -> Option<f64>| Column::doubles(name, lines.iter().map(of));
        Columns(vec![
            Column::text("level", lines.iter().map(|line| Some(line.level))),
            Column::text("query", lines.iter().map(|line| line.query)),
            Column::text("size", lines.iter().map(|line| line.size)),
            Column::text("published", lines.iter().map(|line| Some(line.stage.name()))),
            Column::text("figure", lines.iter().map(|line| Some(line.figure))),
            double("before", &|line| line.values[0]),
            double("after", &|line| line.values[1]),
            double("before_standard_error", &|line| line.standard_errors[0]),
            double("after_standard_error", &|line| line.standard_errors[1]),
            double("before_lower", &|line| line.ends[0].map(|ends| ends.0)),
            double("before_upper", &|line| line.ends[0].map(|ends| ends.1)),
            double("after_lower", &|line| line.ends[1].map(|ends| ends.0)),
            double("after_upper", &|line| line.ends[1].map(|ends| ends.1)),
            double("reduction", &|line| line.reduction.map(|part| part.mean)),
            double("reduction_standard_error", &|line| line.reduction.and_then(|part| part.standard_error)),
            Column::counts("trials", lines.iter().map(|_| self.trials)),
            Column::repeated("warning", self.warning, lines.len()),
        ])
    }
}
