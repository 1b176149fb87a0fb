//! Errors of published tables, for people.

use unspent::report::document::{Document, Table};
use unspent::report::nearest;
use unspent::{Error, Result};

use super::rows::{ErrorRow, ProcessingReport, ShareRow};
use super::shares::Proportion;
use super::{ErrorFigures, TrialMean};

fn shown(mean: Option<TrialMean>) -> String {
    let Some(TrialMean { mean, standard_error }) = mean else { return "–".into() };
    match standard_error {
        Some(error) => format!("{} ± {}", nearest(mean, 4), nearest(error, 1)),
        None => nearest(mean, 4),
    }
    .replacen('-', "−", 1)
}

/// What goes, in percent, as a change.
fn change(part: Option<TrialMean>) -> String {
    let Some(TrialMean { mean, standard_error }) = part else { return "–".into() };
    let error = standard_error.map_or(String::new(), |error| format!(" ± {:.1}", 100.0 * error));
    // Less than is shown is no change, of either sign.
    let percent = if mean.abs() < 0.0005 { 0.0 } else { -100.0 * mean };
    format!("{percent:.1}{error} %").replacen('-', "−", 1)
}

/// A share in percent with its interval.
fn percent(part: Option<Proportion>) -> String {
    part.map_or("–".into(), |p| {
        format!("{:.1} % ({:.1}–{:.1})", 100.0 * p.share, 100.0 * p.lower, 100.0 * p.upper)
    })
}

/// So many units in a trial.
fn number(units: f64) -> String {
    if units < 100.0 { nearest(units, 3) } else { format!("{units:.0}") }
}

/// So many units of so many.
fn units(part: Option<Proportion>) -> String {
    part.map_or("–".into(), |p| format!("{} of {}", number(p.units), number(p.of)))
}

impl ProcessingReport {
    /// The report for people; `level` is the one whose sizes of units are shown, the smallest unless given.
    pub fn document(&self, level: Option<&str>) -> Result<Document> {
        let mut names: Vec<&str> = self.errors.iter().map(|row| row.level.as_str()).collect();
        names.dedup();
        let level = match level {
            None => *names.last().expect("there is a level"),
            Some(name) => {
                let found = names.iter().find(|known| known.eq_ignore_ascii_case(name));
                *found.ok_or_else(|| {
                    let allowed = format!("one of {}", names.join(", "));
                    Error::input("level", name, allowed, "these are the levels with noise")
                })?
            }
        };
        let mut text = Document::default();
        match &self.change {
            Some(change) => change.in_words().into_iter().for_each(|line| text.line(line)),
            None => text.line("No epsilon is known of this noise: it is given without a delta."),
        }
        let times = if self.trials == 1 { "trial" } else { "trials" };
        text.line(format!("{} rows; {} {times} of what is published.", self.rows, self.trials));
        text.line("");
        text.line("Mean absolute (MAE) and root mean squared (RMSE) errors, by query:");
        text.line("");
        let heads = ["query", "published", "MAE before", "after", "change", "RMSE before", "after"];
        let mut table = Table::new(&heads);
        for name in &names {
            table.head(name);
            let mut rows: Vec<&ErrorRow> =
                self.errors.iter().filter(|row| row.level == *name && row.size.is_none()).collect();
            rows.sort_by_key(|row| self.query_place(&row.query));
            let mut last = "";
            for row in rows {
                let query = if row.query == last { String::new() } else { row.query.clone() };
                last = &row.query;
                table.row([vec![query], errors(row)].concat());
            }
        }
        text.table(table);
        text.line("");
        self.sizes(&mut text, level);
        self.shares(&mut text, &names, level);
        text.line(self.method);
        text.line(
            "Raw noisy answers, the same cut at zero, the best linear unbiased estimate from all \
             measurements, and whole tables that are not negative and add up. A query that is not measured \
             at a level has no raw answer.",
        );
        self.notes.iter().for_each(|note| text.line(note));
        text.line(self.warning);
        Ok(text)
    }

    fn query_place(&self, query: &str) -> usize {
        self.queries.iter().position(|known| known == query).unwrap_or(0)
    }

    /// Totals of a level, by size of the unit.
    fn sizes(&self, text: &mut Document, level: &str) {
        let is_total = |row: &&ErrorRow| row.query == self.total;
        let rows = self.errors.iter().filter(|row| row.level == level && row.size.is_some()).filter(is_total);
        let rows: Vec<&ErrorRow> = rows.collect();
        if rows.is_empty() {
            return;
        }
        text.line(format!("{level}, totals, by size of unit:"));
        text.line("");
        let heads = ["size", "published", "bias before", "after", "MAE before", "after", "change"];
        let mut table = Table::new(&heads);
        let mut last = None;
        for row in rows {
            let bias = |figures: &Option<ErrorFigures>| shown(figures.map(|figures| figures.bias));
            let mae = |figures: &Option<ErrorFigures>| shown(figures.map(|figures| figures.mean_absolute));
            let first = last != row.size;
            last.clone_from(&row.size);
            table.row(vec![
                if first { row.size.clone().unwrap_or_default() } else { String::new() },
                row.stage.name().into(),
                bias(&row.before),
                bias(&row.after),
                mae(&row.before),
                mae(&row.after),
                change(row.reduction),
            ]);
        }
        text.table(table);
        text.line("");
    }

    /// Shares of every level, and by size of a level's units.
    fn shares(&self, text: &mut Document, names: &[&str], level: &str) {
        if self.shares.is_empty() {
            return;
        }
        text.line(format!(
            "Shares by {}, with intervals of 95 % (Wilson): units whose largest group's share is within 5 \
             percentage points of the truth; units in a trial in which a group loses its majority of more \
             than half, or has one that it should not have:",
            self.shares_of.join(" and ")
        ));
        text.line("");
        let heads =
            ["units", "published", "near before", "after", "lost before", "after", "gained before", "after"];
        let mut table = Table::new(&heads);
        let mut rows = |head: &str, rows: Vec<&ShareRow>, name: &dyn Fn(&ShareRow) -> String| {
            let mut last = String::new();
            table.head(head);
            for row in rows {
                let name = name(row);
                let gained = |p: Option<Proportion>| p.map_or("–".into(), |p| number(p.units));
                table.row(vec![
                    if name == last { String::new() } else { name.clone() },
                    row.stage.name().into(),
                    percent(row.before.within_5_points),
                    percent(row.after.within_5_points),
                    units(row.before.majority_lost),
                    units(row.after.majority_lost),
                    gained(row.before.majority_gained),
                    gained(row.after.majority_gained),
                ]);
                last = name;
            }
        };
        let of = |name: &str, sizes: bool| -> Vec<&ShareRow> {
            self.shares.iter().filter(|row| row.level == name && row.size.is_some() == sizes).collect()
        };
        let all: Vec<&ShareRow> = names.iter().flat_map(|name| of(name, false)).collect();
        rows("All sizes", all, &|row| row.level.clone());
        let districts: Vec<&ShareRow> =
            self.shares.iter().filter(|row| !names.contains(&row.level.as_str())).collect();
        if !districts.is_empty() {
            rows("Districts", districts, &|row| row.level.clone());
        }
        rows(&format!("{level}, by size"), of(level, true), &|row| row.size.clone().unwrap_or_default());
        text.table(table);
        text.line("");
    }
}

fn errors(row: &ErrorRow) -> Vec<String> {
    let mae = |figures: &Option<ErrorFigures>| shown(figures.map(|figures| figures.mean_absolute));
    let rms = |figures: &Option<ErrorFigures>| shown(figures.map(|figures| figures.rms));
    vec![
        row.stage.name().into(),
        mae(&row.before),
        mae(&row.after),
        change(row.reduction),
        rms(&row.before),
        rms(&row.after),
    ]
}
