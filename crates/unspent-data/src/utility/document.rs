//! Errors of counts for people, and as columns for programs.

use unspent::expected::Expected;
use unspent::report::columns::{Column, Columns};
use unspent::report::document::{Document, Table};
use unspent::report::{brief, nearest};
use unspent::{Rational, Round};
use unspent_estimate::accuracy::Deviation;

use super::UtilityReport;
use super::errors::{Group, LevelErrors, NOT_PRIVATE, Pair, SimulatedMean, Utility, reduction};
use super::estimation::{EstimateErrors, EstimatedFrom};

fn short(x: f64) -> String {
    nearest(x, 5)
}

/// A part of one, in percent with two decimals.
fn percent(part: f64) -> String {
    format!("{:.2} %", -100.0 * part).replace('-', "−")
}

/// A variance for people.
fn variance(text: &str) -> String {
    text.parse()
        .map_or_else(|_| text.into(), |x: Rational| brief(&x, Round::Down).trim_start_matches("≈ ").into())
}

impl UtilityReport {
    /// The report for people; `shown` is the level whose cells and sizes of units are shown.
    #[must_use]
    pub fn document(&self, shown: &LevelErrors) -> Document {
        let found = &self.errors;
        let mut text = Document::default();
        match &self.change {
            Some(change) => change.in_words().into_iter().for_each(|line| text.line(line)),
            None => text.line(
                "No epsilon is known of this noise: it is given without an allocation, or without a delta.",
            ),
        }
        text.line(format!("{} rows; errors of counts by {}.", found.rows, listed(&found.by)));
        text.line("");
        for cut in [false, true] {
            text.line(if cut { "Clamped at zero:" } else { "Raw noisy counts:" });
            text.line("");
            let mut table = Table::new(&heads("level", cut));
            for level in &found.levels {
                table.row([vec![level.level.clone()], figures(level.all.published(cut), cut)].concat());
            }
            text.table(table);
            text.line("");
        }
        estimated(&mut text, found);
        let mut table = Table::new(&["level", "units", "counts", "sigma2 before", "sigma2 after"]);
        for level in &found.levels {
            table.row(vec![
                level.level.clone(),
                level.units.to_string(),
                level.all.counts.to_string(),
                variance(&level.sigma2_before),
                variance(&level.sigma2_after),
            ]);
        }
        text.table(table);
        text.line("");
        let groups: [(&str, &[Group]); 2] = [("cell", &shown.cells), ("size of unit", &shown.bands)];
        for (what, groups) in groups {
            if groups.len() < 2 {
                continue;
            }
            text.line(format!("{}, clamped at zero, by {what}:", shown.level));
            text.line("");
            let mut table = Table::new(&heads(what, true));
            for group in groups {
                let name = group.cell.as_ref().or(group.band.as_ref()).cloned().unwrap_or_default();
                table.row([vec![name], figures(&group.errors.cut, true)].concat());
            }
            text.table(table);
            text.line("");
        }
        if found.trials > 0 {
            simulated(&mut text, found);
        }
        text.line(
            "Expected errors are sums over the exact law of the noise, to about twelve digits; they are no \
             guarantees.",
        );
        if !matches!(found.estimated_from, EstimatedFrom::Nothing { .. }) {
            text.line(
                "Estimates are the best linear unbiased ones on the tree of the table's units, all of them \
             measured with the noise of their level. Their MSE is their variance, by sigma2: expected, \
             and no guarantee of a single count.",
            );
        }
        text.line(NOT_PRIVATE);
        if !self.left_out.is_empty() {
            text.line(format!("The table does not have the levels {}.", self.left_out.join(", ")));
        }
        text
    }
}

/// The errors after estimation, and what part of the raw noise they are.
fn estimated(text: &mut Document, found: &Utility) {
    match &found.estimated_from {
        EstimatedFrom::Allocation => {
            text.line("Estimated from all measurements of the allocation at these levels:")
        }
        EstimatedFrom::Counts => text.line("Estimated from these noisy counts of all levels:"),
        EstimatedFrom::Nothing { why } => {
            text.line(format!(
                "No estimates: the measurements of the allocation cannot be used for this table ({why})."
            ));
            text.line("");
            return;
        }
    }
    text.line("");
    let heads =
        ["level", "MSE before", "after", "change", "RMSE before", "after", "of raw RMSE before", "after"];
    let mut table = Table::new(&heads);
    for level in &found.levels {
        let Some(estimate @ EstimateErrors { before, after }) = &level.estimate else { continue };
        let mse = estimate.mse();
        let shown = |x: Option<f64>| x.map_or_else(|| "–".into(), short);
        let change = match mse {
            [Some(before), Some(after)] => percent(reduction(before, after)),
            _ => "–".into(),
        };
        let raw = [level.all.plain.before.mse, level.all.plain.after.mse];
        let part = |i: usize| {
            mse[i].map_or_else(|| "–".into(), |mse| format!("{:.2} %", 100.0 * (mse / raw[i]).sqrt()))
        };
        let root =
            |of: &Deviation, mse: Option<f64>| mse.map_or_else(|| of.in_words(), |mse| short(mse.sqrt()));
        table.row(vec![
            level.level.clone(),
            shown(mse[0]),
            shown(mse[1]),
            change,
            root(before, mse[0]),
            root(after, mse[1]),
            part(0),
            part(1),
        ]);
    }
    text.table(table);
    text.line("");
    let below_one = |text: &String| text.parse().is_ok_and(|sigma2: Rational| sigma2 < Rational::from(1));
    if found.levels.iter().any(|l| below_one(&l.sigma2_before) || below_one(&l.sigma2_after)) {
        text.line(
            "Where sigma2 is below 1 noise varies less than that: estimates have less error than is shown.",
        );
        text.line("");
    }
}

fn heads(first: &str, cut: bool) -> Vec<&str> {
    let mut heads = vec![first, "MSE before", "after", "change", "MAE before", "after", "change"];
    if cut {
        heads.extend(["bias before", "after"]);
    }
    heads
}

fn figures(pair: &Pair, cut: bool) -> Vec<String> {
    let mut row = vec![
        short(pair.before.mse),
        short(pair.after.mse),
        percent(pair.mse_reduction()),
        short(pair.before.mae),
        short(pair.after.mae),
        percent(pair.mae_reduction()),
    ];
    if cut {
        row.extend([short(pair.before.bias), short(pair.after.bias)]);
    }
    row
}

/// What the trials gave, beside what is expected.
fn simulated(text: &mut Document, found: &Utility) {
    text.line(format!(
        "{} trials: means with intervals of 95 % (Monte Carlo, normal approximation), beside what is \
         expected:",
        found.trials
    ));
    text.line("");
    let mut table =
        Table::new(&["level", "counts are", "noise", "MSE", "simulated", "MAE", "simulated", "inside"]);
    let (mut inside, mut all) = (0, 0);
    let mut few = vec![];
    for level in &found.levels {
        if level.all.plain.simulated.is_none() {
            few.push(level.level.as_str());
        }
        for cut in [false, true] {
            let pair = level.all.published(cut);
            let Some(simulated) = &pair.simulated else { continue };
            for (i, (expected, simulated)) in
                [&pair.before, &pair.after].into_iter().zip(simulated).enumerate()
            {
                let checks: [(&SimulatedMean, f64); 2] =
                    [(&simulated.mse, expected.mse), (&simulated.mae, expected.mae)];
                let agree = checks.iter().filter(|(estimate, x)| estimate.contains(*x)).count();
                (inside, all) = (inside + agree, all + 2);
                let shown = |e: &SimulatedMean| format!("{} ± {}", short(e.mean), short(e.half_width));
                table.row(vec![
                    if i == 0 && !cut { level.level.clone() } else { String::new() },
                    if cut { "clamped".into() } else { "raw".into() },
                    if i == 0 { "before".into() } else { "after".into() },
                    short(expected.mse),
                    shown(&simulated.mse),
                    short(expected.mae),
                    shown(&simulated.mae),
                    format!("{agree} of 2"),
                ]);
            }
        }
    }
    if all > 0 {
        text.table(table);
        text.line("");
        text.line(format!(
            "{inside} of {all} intervals contain what is expected; of true ones 95 % do, or more."
        ));
    }
    if !few.is_empty() {
        text.line(format!("Too few draws for an interval, less than a thousand: {}.", few.join(", ")));
    }
    text.line("");
}

fn listed(by: &[String]) -> String {
    if by.is_empty() { "the total".into() } else { by.join(" and ") }
}

/// What is published of counts.
#[derive(Clone, Copy)]
enum Published {
    Plain,
    Cut,
    Estimate(EstimateErrors),
}

impl Published {
    fn name(self) -> &'static str {
        match self {
            Published::Plain => "plain",
            Published::Cut => "cut",
            Published::Estimate(_) => "estimate",
        }
    }
}

/// Those errors that are known.
struct Figures {
    mse: Option<f64>,
    mae: Option<f64>,
    bias: Option<f64>,
}

impl Utility {
    /// One row for each level, cell and size of unit, raw and clamped at zero, with all figures; and one for
    /// the estimates of each level, whose mean absolute error is not known.
    #[must_use]
    pub fn columns(&self) -> Columns {
        let mut rows: Vec<(&LevelErrors, Group, Published)> = vec![];
        for level in &self.levels {
            let all = Group { cell: None, band: None, errors: level.all.clone() };
            let groups = [&level.cells, &level.bands, &level.cells_by_band];
            let groups = std::iter::once(&all).chain(groups.into_iter().flatten());
            for group in groups {
                let noisy = [Published::Plain, Published::Cut].map(|kind| (level, group.clone(), kind));
                rows.extend(noisy);
                if let (Some(estimate), None, None) = (&level.estimate, &group.cell, &group.band) {
                    rows.push((level, group.clone(), Published::Estimate(*estimate)));
                }
            }
        }
        let double = |name, pick: fn(&Figures) -> Option<f64>, after: bool| {
            let of = |(_, group, published): &(&LevelErrors, Group, Published)| {
                let pair = match published {
                    Published::Plain => &group.errors.plain,
                    Published::Cut => &group.errors.cut,
                    Published::Estimate(estimate) => {
                        let mse = estimate.mse()[usize::from(after)];
                        return pick(&Figures { mse, mae: None, bias: mse.map(|_| 0.0) });
                    }
                };
                let Expected { mse, mae, bias } = if after { pair.after } else { pair.before };
                pick(&Figures { mse: Some(mse), mae: Some(mae), bias: Some(bias) })
            };
            Column::doubles(name, rows.iter().map(of))
        };
        Columns(vec![
            Column::text("level", rows.iter().map(|(level, ..)| Some(level.level.as_str()))),
            Column::text("cell", rows.iter().map(|(_, group, _)| group.cell.as_deref())),
            Column::text("band", rows.iter().map(|(_, group, _)| group.band.as_deref())),
            Column::counts("counts", rows.iter().map(|(_, group, _)| group.errors.counts)),
            Column::text("sigma2_before", rows.iter().map(|(level, ..)| Some(level.sigma2_before.as_str()))),
            Column::text("sigma2_after", rows.iter().map(|(level, ..)| Some(level.sigma2_after.as_str()))),
            Column::text("published", rows.iter().map(|(.., published)| Some(published.name()))),
            double("mse_before", |e| e.mse, false),
            double("mse_after", |e| e.mse, true),
            double("mae_before", |e| e.mae, false),
            double("mae_after", |e| e.mae, true),
            double("bias_before", |e| e.bias, false),
            double("bias_after", |e| e.bias, true),
            Column::repeated("warning", NOT_PRIVATE, rows.len()),
        ])
    }
}
