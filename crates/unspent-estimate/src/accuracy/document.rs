//! Errors of estimates for people, and as columns for programs.

use serde::Serialize;
use unspent::report::columns::{Column, Columns};
use unspent::report::document::{Document, Table};
use unspent::report::{brief, nearest};
use unspent::{Rational, Round};

use super::{Accuracy, Deviation, LevelAccuracy, QueryAccuracy, TreeKind};

/// What is said of a query that is not measured at a level.
const NOT_MEASURED: &str = "not measured";

fn short(x: f64) -> String {
    nearest(x, 4)
}

/// Rounded up, as a guarantee is.
fn at_least(x: f64) -> String {
    Rational::from_f64("margin", x).map_or_else(|_| x.to_string(), |x| x.to_decimal(4, Round::Up))
}

impl Deviation {
    /// The root mean square, if it is determined: 0 if all are exact.
    #[must_use]
    pub fn sd(&self) -> Option<f64> {
        match self {
            Deviation::NotDetermined => None,
            Deviation::Exact => Some(0.0),
            Deviation::Estimated { sd, .. } => Some(*sd),
        }
    }

    /// For people.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Deviation::NotDetermined => "not determined".into(),
            Deviation::Exact => "exact".into(),
            Deviation::Estimated { sd, undetermined, .. } if *undetermined > 0.0 => {
                format!("{}, {} % not determined", short(*sd), nearest(100.0 * undetermined, 2))
            }
            Deviation::Estimated { sd, .. } => short(*sd),
        }
    }

    /// From the smallest to the largest, if they differ in what is shown.
    #[must_use]
    pub fn range(&self) -> Option<String> {
        let Deviation::Estimated { smallest, largest, .. } = self else { return None };
        let (from, to) = (if *smallest > 0.0 { short(*smallest) } else { "exact".into() }, short(*largest));
        (from != to).then(|| format!("{from} to {to}"))
    }

    fn word(&self) -> &'static str {
        match self {
            Deviation::NotDetermined => "not-determined",
            Deviation::Exact => "exact",
            Deviation::Estimated { .. } => "estimated",
        }
    }
}

impl QueryAccuracy {
    fn noise_in_words(&self) -> String {
        self.noise.as_ref().map_or_else(|| NOT_MEASURED.into(), Deviation::in_words)
    }

    fn margins(&self) -> [String; 2] {
        match (&self.estimate, self.margin, self.guaranteed_margin) {
            (Deviation::Exact, ..) => ["exact".into(), "exact".into()],
            (_, Some(margin), Some(guaranteed)) => [short(margin), at_least(guaranteed)],
            _ => [String::new(), String::new()],
        }
    }
}

/// A report with its table.
#[derive(Debug, Serialize)]
pub struct ShownAccuracy<'a> {
    /// The report.
    report: &'a Accuracy,
    /// Its figures for people.
    table: Table,
}

impl Accuracy {
    /// The report for people.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut text = Document::default();
        text.line(&self.allocation);
        text.line(match self.tree {
            TreeKind::Regular => {
                "Errors of the best linear unbiased estimates, where all units of a level have equally many \
                 children:"
            }
            TreeKind::Measured => {
                "Errors of the best linear unbiased estimates of the units measured, over units and answers:"
            }
            TreeKind::Listed => {
                "Errors of the best linear unbiased estimates of the units listed, over units and answers:"
            }
        });
        text.line("");
        text.table(self.table());
        text
    }

    /// The figures for people: a group of rows for each level.
    #[must_use]
    pub fn table(&self) -> Table {
        let confidence = brief(&self.confidence, Round::Down);
        let normal = format!("± at {confidence}");
        let ranges = self.queries().any(|(_, query)| query.estimate.range().is_some());
        let mut heads = vec!["query", "noise sd", "estimate sd"];
        heads.extend(ranges.then_some("range"));
        heads.extend([normal.as_str(), "guaranteed"]);
        let mut table = Table::new(&heads);
        for level in &self.levels {
            let units = if level.units == 1 { "unit" } else { "units" };
            table.head(&format!("{}, {} {units}", level.level, level.units));
            for query in &level.queries {
                let mut row = vec![query.query.clone(), query.noise_in_words(), query.estimate.in_words()];
                row.extend(ranges.then(|| query.estimate.range().unwrap_or_default()));
                row.extend(query.margins());
                table.row(row);
            }
        }
        let bypassed = self.levels.iter().filter(|level| level.bypassed > 0);
        let bypassed: Vec<String> =
            bypassed.map(|level| format!("{} of {}", level.bypassed, level.level)).collect();
        if !bypassed.is_empty() {
            table.note(format!(
                "Bypassed: {}. Such a unit is not measured, and has the estimates of its parent.",
                bypassed.join(", ")
            ));
        }
        if self.tree == TreeKind::Regular && self.may_bypass {
            table.note(
                "Every unit is taken as measured. Units that are bypassed have other errors: a list of all \
                 units says which ones are.",
            );
        }
        if !self.exact_totals.is_empty() {
            table.note(format!("Totals are exact at {}.", self.exact_totals.join(", ")));
        }
        if let Some(used) = self.structural_zeros {
            table.note(match used {
                true => "Combinations of values that cannot occur are known to be 0.",
                false => "It is not used that some combinations of values cannot occur.",
            });
        }
        table.note(
            "An sd is the root mean square over a query's answers; the range is from the smallest to the \
             largest. ± is for the sd and a normal error, which is no guarantee. The guaranteed one is for \
             the largest sd: whatever the counts are, an error is that small at least as often as is said.",
        );
        table
    }

    /// The report and its table, as a page shows it.
    #[must_use]
    pub fn shown(&self) -> ShownAccuracy<'_> {
        ShownAccuracy { report: self, table: self.table() }
    }

    fn queries(&self) -> impl Iterator<Item = (&LevelAccuracy, &QueryAccuracy)> {
        self.levels.iter().flat_map(|level| level.queries.iter().map(move |query| (level, query)))
    }

    /// One row for each level and query, with all figures.
    #[must_use]
    pub fn columns(&self) -> Columns {
        let rows: Vec<(&LevelAccuracy, &QueryAccuracy)> = self.queries().collect();
        type Pick = fn(&QueryAccuracy) -> Option<f64>;
        let double = |name, pick: Pick| Column::doubles(name, rows.iter().map(|(_, query)| pick(query)));
        fn part(deviation: Option<&Deviation>, pick: fn([f64; 4]) -> f64) -> Option<f64> {
            match deviation? {
                Deviation::NotDetermined => None,
                Deviation::Exact => Some(pick([0.0; 4])),
                Deviation::Estimated { sd, smallest, largest, undetermined } => {
                    Some(pick([*sd, *smallest, *largest, *undetermined]))
                }
            }
        }
        // What is estimated of an estimate is measured of noise.
        let noise = |query: &QueryAccuracy| match &query.noise {
            None => "not-measured",
            Some(Deviation::Estimated { .. }) => "measured",
            Some(known) => known.word(),
        };
        Columns(vec![
            Column::text("level", rows.iter().map(|(level, _)| Some(level.level.as_str()))),
            Column::counts("units", rows.iter().map(|(level, _)| level.units)),
            Column::counts("bypassed", rows.iter().map(|(level, _)| level.bypassed)),
            Column::text("query", rows.iter().map(|(_, query)| Some(query.query.as_str()))),
            Column::counts("answers", rows.iter().map(|(_, query)| query.answers)),
            Column::text("noise", rows.iter().map(|(_, query)| Some(noise(query)))),
            double("noise_sd", |query| part(query.noise.as_ref(), |of| of[0])),
            double("noise_smallest", |query| part(query.noise.as_ref(), |of| of[1])),
            double("noise_largest", |query| part(query.noise.as_ref(), |of| of[2])),
            Column::text("estimate", rows.iter().map(|(_, query)| Some(query.estimate.word()))),
            double("estimate_sd", |query| part(Some(&query.estimate), |of| of[0])),
            double("estimate_smallest", |query| part(Some(&query.estimate), |of| of[1])),
            double("estimate_largest", |query| part(Some(&query.estimate), |of| of[2])),
            double("undetermined", |query| match query.estimate {
                Deviation::NotDetermined => Some(1.0),
                _ => part(Some(&query.estimate), |of| of[3]),
            }),
            double("margin", |query| query.margin),
            double("guaranteed_margin", |query| query.guaranteed_margin),
        ])
    }
}
