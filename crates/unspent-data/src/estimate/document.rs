//! What was estimated and made, for people.

use unspent::report::document::{Document, Table};
use unspent_estimate::tables::TOLERANCE;

use super::manifest::{TablesEntry, TotalsFirst};
use super::replicates::TableErrors;
use super::{EstimateReport, LevelTableErrors};

impl EstimateReport {
    /// The report for people.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut text = self.accuracy.document();
        if let Some(tables) = &self.manifest.tables {
            text.line("");
            tables.describe(&mut text);
        }
        if let Some(errors) = &self.table_errors {
            text.line("");
            errors.describe(&mut text);
        }
        text
    }
}

impl TablesEntry {
    fn describe(&self, text: &mut Document) {
        let units: u64 = self.levels.iter().map(|level| level.units).sum();
        text.line(format!(
            "Whole tables of {units} units, not negative, adding up exactly over {} levels.",
            self.levels.len()
        ));
        let near = if self.own_measurements { "its own measurements" } else { "the estimates" };
        text.line(format!(
            "Before it is rounded, each is the nearest to {near} that adds up to its parent's, up to {:.0e} \
             of what it costs that no count is negative.",
            self.largest_gap
        ));
        if self.largest_gap > TOLERANCE {
            let at = &self.largest_gap_at;
            text.line(format!("WARNING: at {at} the projection ended before it was near enough."));
        }
        if !self.bounds.is_empty() {
            let names: Vec<&str> = self.bounds.iter().map(|file| file.name.as_str()).collect();
            text.line(format!("They meet the bounds of {}.", names.join(", ")));
        }
        let first = |of: &&TotalsFirst| of.totals_first > 0;
        let levels: Vec<String> = self.totals_first.iter().filter(first).map(TotalsFirst::in_words).collect();
        text.line(match levels.is_empty() {
            true => "No totals were decided before the rest of the tables.".to_string(),
            false => format!("Totals were decided before the rest of the tables for {}.", levels.join(", ")),
        });
        text.line(
            "They are biased: counts cut at zero make small units too large, and large ones too small. The \
             errors above are those of the estimates, and no interval of an estimate is one of a table.",
        );
        if self.replicates.is_none() {
            text.line("How far tables may be from the truth: --replicates 25 simulates it.");
        }
    }
}

impl TotalsFirst {
    fn in_words(&self) -> String {
        match self.totals_first == self.families {
            true => self.level.clone(),
            false => {
                format!("{} (in {} of {} units above)", self.level, self.totals_first, self.families)
            }
        }
    }
}

impl TableErrors {
    fn describe(&self, text: &mut Document) {
        text.line(format!("Errors of the whole tables, simulated ({} replicates):", self.replicates));
        text.line("");
        let mut table = Table::new(&["query", "answers", "mean absolute error", "rms error", "plain rms"]);
        for level in &self.levels {
            table.head(&units_of(level));
            for query in &level.queries {
                let figures = [query.mean_absolute, query.rms, query.plain_rms].map(figure);
                table.row([vec![query.query.clone(), query.answers.to_string()], figures.into()].concat());
            }
        }
        table.note(
            "a simulation, no guarantee: the tables stand for the truth, after counts too small to be told \
             from nothing were dealt out to siblings, and noise was added to them once more",
        );
        table.note(format!(
            "plain: the tables as they are stand for the truth ({} replicates); they are smoother than the \
             truth, and such errors are often too small",
            self.plain_replicates
        ));
        text.table(table);
        text.line("");
        text.line("Errors of totals by the size of units, simulated:");
        text.line("");
        let mut table = Table::new(&["people", "units", "mean error", "rms error"]);
        for level in &self.levels {
            table.head(&units_of(level));
            for size in &level.sizes {
                let from = match self.last_of(size.from) {
                    Some(last) if last == size.from => last.to_string(),
                    Some(last) => format!("{} to {last}", size.from),
                    None => format!("{} and more", size.from),
                };
                table.row(vec![from, size.units.to_string(), signed(size.bias), figure(size.rms)]);
            }
        }
        table.note("a mean error above 0: units of this size have too many in the tables");
        text.table(table);
    }
}

fn units_of(level: &LevelTableErrors) -> String {
    format!("{}, {} {}", level.level, level.units, if level.units == 1 { "unit" } else { "units" })
}

/// Three digits.
fn figure(x: f64) -> String {
    match x {
        x if x >= 100.0 => format!("{x:.0}"),
        x if x >= 10.0 => format!("{x:.1}"),
        x if x >= 0.01 || x == 0.0 => format!("{x:.3}"),
        x => format!("{x:.2e}"),
    }
}

fn signed(x: f64) -> String {
    format!("{x:+.2}")
}
