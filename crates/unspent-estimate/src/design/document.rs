//! Designs for people.

use unspent::report::document::{Document, Table};
use unspent::report::{READABLE, brief, equals, nearest};
use unspent::{Bounds, Delta, Number, Rational, Round};

use super::needs::Law;
use super::report::{Checked, Design, Explained, Guarded, NeedMet, TableOfDesign};

/// Whose errors are predicted.
const ESTIMATES: &str = "Predictions are for the best linear unbiased estimates. They say nothing of \
                         whole tables, which are never negative and therefore biased.";
/// Where all figures come from.
const PUBLIC: &str =
    "What is asked for, and which units there are, must be known without the confidential counts.";

fn short(x: f64) -> String {
    if x.is_finite() { nearest(x, 4) } else { "not determined".into() }
}

/// A part of 1 in percent, to a tenth.
fn percent(part: f64) -> String {
    // Not "-0.0 %".
    let tenths = (part * 1000.0).round() + 0.0;
    format!("{:.1} %", tenths / 10.0).replace('-', "−")
}

impl NeedMet {
    /// How much of the margin is left, as a part of it; negative if it is not met.
    #[must_use]
    pub fn slack(&self) -> f64 {
        1.0 - self.predicted / self.asked
    }

    /// `±5`, `±1 pp of 1300`.
    fn asked_in_words(&self) -> String {
        match (self.is_share, self.population) {
            (true, Some(population)) => {
                format!("±{} pp of {}", short(100.0 * self.asked), nearest(population, 12))
            }
            (true, None) => format!("±{} pp", short(100.0 * self.asked)),
            (false, _) => format!("±{}", nearest(self.asked, 6)),
        }
    }

    fn predicted_in_words(&self, law: Law) -> String {
        let margin = if self.is_share { 100.0 * self.predicted } else { self.predicted };
        match law {
            // A guarantee is rounded up.
            Law::Guaranteed => at_least(margin),
            Law::Normal => short(margin),
        }
    }

    /// How often the margin that was asked for holds; a guarantee is rounded down.
    fn coverage_in_words(&self, law: Law) -> String {
        let hundredths = 1e4 * self.coverage;
        let hundredths = if law == Law::Guaranteed { hundredths.floor() } else { hundredths.round() };
        format!("{:.2} %", hundredths / 100.0)
    }

    fn slack_in_words(&self) -> String {
        if self.predicted.is_finite() { percent(self.slack()) } else { "not determined".into() }
    }
}

/// Rounded up, as a guarantee is.
fn at_least(x: f64) -> String {
    Rational::from_f64("margin", x).map_or_else(|_| short(x), |x| x.to_decimal(4, Round::Up))
}

impl Law {
    /// What is predicted, and how often it holds.
    fn held(self) -> &'static str {
        match self {
            Law::Normal => {
                "Predicted is the margin of a normal error. Held is how often an error is within the margin \
                 that was asked for, by the law of the noise, for one unit and answer: it says whether a \
                 need is met."
            }
            Law::Guaranteed => {
                "Held is how often an error is within the margin that was asked for at least, for one unit \
                 and answer."
            }
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Law::Normal => {
                "Law: errors are taken for normal, with the steps of the noise where that matters. It is no \
                 guarantee."
            }
            Law::Guaranteed => {
                "Law: guaranteed. Whatever the counts are, errors are within the margins at least that often."
            }
        }
    }
}

/// `rho = 0.5; epsilon ≤ 6.6 at delta = 1e-10`.
fn spends(text: &mut Document, rho: &Rational, epsilon: Bounds<f64>, delta: &Delta) {
    let epsilon = Number::from(epsilon);
    text.line(format!(
        "rho{}; epsilon ≤ {} at delta{}, certified; the truth is ≥ {}.",
        equals(rho),
        epsilon.at_most(READABLE),
        equals(delta.value()),
        epsilon.at_least(READABLE)
    ));
}

/// By how much a budget is above the least, in percent, rounded up.
fn above(rho: &Rational, least: &Rational) -> String {
    let ratio = &(rho / least) - &Rational::integer(1);
    let percent = &ratio * &Rational::integer(100);
    if percent <= Rational::integer(0) { "0".into() } else { percent.to_decimal(2, Round::Up) }
}

/// The confidence of all needs, if it is the same.
fn confidence(needs: &[NeedMet]) -> Option<f64> {
    let first = needs.first()?.confidence;
    needs.iter().all(|need| need.confidence == first).then_some(first)
}

fn confidence_note(needs: &[NeedMet]) -> String {
    match confidence(needs) {
        Some(level) => format!("Margins are for a confidence of {}.", nearest(level, 6)),
        None => {
            let each: Vec<String> = needs.iter().map(|need| nearest(need.confidence, 6)).collect();
            format!("Margins are for confidences of {}, in this order.", each.join(", "))
        }
    }
}

impl Design {
    /// The report for people.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut text = Document::default();
        text.line(self.allocation.name());
        text.line(self.allocation.neighbours().in_words(self.allocation.record()));
        spends(&mut text, &self.rho, self.epsilon, &self.delta);
        // With an epsilon that is too small margins are wider than they were asked for.
        let is_met = self.least_rho.as_ref().is_none_or(|least| &self.rho >= least);
        match &self.least_rho {
            Some(least) => {
                let mut said = format!(
                    "No allocation of these queries meets the needs with rho < {}: certified by duality, in \
                     exact fractions.",
                    least.to_decimal(READABLE, Round::Down)
                );
                if is_met {
                    said += &format!(" This one is {} % above.", above(&self.rho, least));
                }
                text.line(said);
            }
            None => text.line("How much less could meet the needs is not certified for a list of units."),
        }
        if let Some(epsilon) = self.epsilon_of_least_rho {
            let of_what = if is_met { " of how much less might do" } else { "" };
            text.line(format!(
                "Continuous noise of that least rho has epsilon {}: an indication{of_what}, no bound.",
                nearest(epsilon, READABLE)
            ));
        }
        if self.factor != 1.0 {
            let what = if self.factor > 1.0 { "wider" } else { "narrower" };
            text.line(format!(
                "Margins are those that were asked for, times {}: {what}.",
                short(self.factor)
            ));
        }
        text.line("");
        text.table(self.needs_table());
        text.line("");
        text.table(self.tables_table());
        self.lost(&mut text);
        if !self.promises.is_empty() {
            text.line("");
            text.table(self.promises_table());
        }
        text.line("");
        if let Some(sigma2) = self.small_sigma2 {
            text.line(format!(
                "WARNING: the smallest sigma2 is {}. For so little noise the least rho need not have the \
                 least epsilon: another allocation may have a smaller one.",
                short(sigma2)
            ));
        }
        text.list(self.assumptions.iter().cloned().chain([PUBLIC.into()]));
        text
    }

    /// Every level on offer.
    fn levels(&self) -> Vec<&str> {
        let mut levels: Vec<&str> = vec![];
        for table in &self.tables {
            if !levels.contains(&table.level.as_str()) {
                levels.push(&table.level);
            }
        }
        levels
    }

    /// What became of every need.
    #[must_use]
    pub fn needs_table(&self) -> Table {
        let prices = self.needs.iter().any(|need| need.tenth_wider_saves.is_some());
        let mut heads = vec!["need", "asked", "predicted", "slack", "held", "budget"];
        heads.extend(prices.then_some("10 % wider saves"));
        let mut table = Table::new(&heads);
        for need in &self.needs {
            let mut row = vec![
                need.name.clone(),
                need.asked_in_words(),
                need.predicted_in_words(self.law),
                need.slack_in_words(),
                need.coverage_in_words(self.law),
                percent(need.share),
            ];
            let saves = need.tenth_wider_saves.map(|e| format!("{:.3} epsilon", e.max(0.0)));
            row.extend(prices.then(|| saves.unwrap_or_default()));
            table.row(row);
        }
        if self.rest_share > 0.0 {
            let mut row = vec![String::new(); heads.len()];
            row[0] = "tables that nobody asked for".into();
            row[5] = percent(self.rest_share);
            table.row(row);
        }
        table.note(confidence_note(&self.needs));
        table.note(self.law.held());
        let saves = " What a margin wider by a tenth saves was solved again for it, for continuous noise.";
        table.note(format!(
            "Budget is the part of rho that a need accounts for.{}",
            if prices { saves } else { "" }
        ));
        if let Some(guarded) = &self.guarded {
            table.note(guarded.in_words());
        }
        table
    }

    /// Every query at every level.
    #[must_use]
    pub fn tables_table(&self) -> Table {
        let mut table = Table::new(&["query", "rho", "of rho", "sigma2", "estimate sd"]);
        let total = self.rho.to_f64();
        for level in self.levels() {
            let units = self.allocation_level_units(level);
            table.head(&units);
            for of in self.tables.iter().filter(|table| table.level == level) {
                let (rho, share, sigma2) = match (&of.rho, &of.sigma2) {
                    (Some(rho), Some(sigma2)) => (
                        brief(rho, Round::Up),
                        percent(rho.to_f64() / total),
                        sigma2.to_decimal(6, Round::Down),
                    ),
                    _ => ("not measured".into(), String::new(), String::new()),
                };
                let deviation = of.deviation.map_or_else(|| "cannot be answered".into(), short);
                table.row(vec![of.query.clone(), rho, share, sigma2, deviation]);
            }
        }
        table.note("An estimate sd is that of the least known answer of the query.");
        table
    }

    fn allocation_level_units(&self, level: &str) -> String {
        let at = self.levels().iter().position(|name| *name == level);
        match at.and_then(|at| self.units.per_level().get(at).copied()) {
            Some(1) => format!("{level}, 1 unit"),
            Some(n) => format!("{level}, {n} units"),
            None => level.into(),
        }
    }

    /// What is not measured and can no longer be answered.
    fn lost(&self, text: &mut Document) {
        let lost: Vec<&TableOfDesign> = self.tables.iter().filter(|of| of.deviation.is_none()).collect();
        text.line("");
        if lost.is_empty() {
            text.line("Every query can be answered at every level.");
            return;
        }
        text.line("Not measured, and can no longer be answered:");
        let of = |level: &str| {
            let queries: Vec<&str> =
                lost.iter().filter(|of| of.level == level).map(|of| of.query.as_str()).collect();
            (!queries.is_empty()).then(|| format!("{level}: {}", queries.join(", ")))
        };
        text.list(self.levels().into_iter().filter_map(of));
    }

    fn promises_table(&self) -> Table {
        let mut table = Table::new(&["promised for", "epsilon", "spent ≤"]);
        for promise in &self.promises {
            let spent = Number::from(promise.epsilon).at_most(READABLE);
            let promised = brief(&promise.promised, Round::Up);
            table.row_about(
                &promise.scope,
                &promise.scope.to_string(),
                vec![promise.scope.to_string(), promised, spent],
            );
        }
        table
    }
}

impl Guarded {
    fn in_words(&self) -> String {
        let at =
            self.at.as_ref().map_or_else(String::new, |(level, query)| format!(", of {query} at {level}"));
        format!(
            "No standard deviation is more than {} times what it is with `{}`: the largest is {} times{at}.",
            short(self.times),
            self.than,
            short(self.largest)
        )
    }
}

impl Checked {
    /// Whether all needs are met.
    #[must_use]
    pub fn all_met(&self) -> bool {
        self.needs.iter().all(|need| need.met)
    }

    /// In one sentence.
    #[must_use]
    pub fn in_words(&self) -> String {
        let (all, missed) = (self.needs.len(), self.needs.iter().filter(|need| !need.met).count());
        match (missed, all) {
            (0, 1) => "The need is met.".into(),
            (0, _) => format!("All {all} needs are met."),
            (1, _) => format!("1 of {all} needs is NOT MET."),
            _ => format!("{missed} of {all} needs are NOT MET."),
        }
    }

    /// The report for people.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut text = Document::default();
        text.line(&self.allocation);
        spends(&mut text, &self.rho, self.epsilon, &self.delta);
        text.line(self.in_words());
        text.line("");
        let mut table = Table::new(&["need", "asked", "predicted", "slack", "held", "met"]);
        for need in &self.needs {
            table.row(vec![
                need.name.clone(),
                need.asked_in_words(),
                need.predicted_in_words(self.law),
                need.slack_in_words(),
                need.coverage_in_words(self.law),
                if need.met { "yes" } else { "NO" }.into(),
            ]);
        }
        table.note(confidence_note(&self.needs));
        table.note(self.law.held());
        table.note(self.law.in_words());
        table.note(ESTIMATES);
        text.table(table);
        text
    }
}

impl Explained {
    /// The report for people.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut text = Document::default();
        text.line(&self.allocation);
        text.line(format!("What it is optimal for. rho{}.", equals(&self.rho)));
        text.line(format!(
            "No allocation of the same queries has all errors as small with rho < {}: certified by duality, \
             in exact fractions. This one is {} % above.",
            self.least_rho.to_decimal(READABLE, Round::Down),
            above(&self.rho, &self.least_rho)
        ));
        text.line("");
        let mut table = Table::new(&["table", "importance", "own noise", "estimate sd"]);
        for of in &self.tables {
            table.row(vec![
                format!("{}: {}", of.level, of.query),
                percent(of.share),
                percent(of.spent),
                short(of.deviation),
            ]);
        }
        table.note(
            "Importance is the part of the budget that the accuracy of a table accounts for, if the \
             allocation is the best there is: what its makers cared about, as far as the budget says. Own \
             noise is the part that is spent on measuring it. An estimate sd is that of the least known \
             answer.",
        );
        table.note(ESTIMATES);
        text.table(table);
        text
    }
}
