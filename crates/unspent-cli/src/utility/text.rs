//! Errors of counts for people, and as comma-separated values.

use unspent::expected::Expected;
use unspent::{Rational, Round};
use unspent_data::UtilityReport;
use unspent_data::utility::{Errors, Estimate, Group, LevelErrors, NOT_PRIVATE, Pair, Utility};

use crate::decimal;
use crate::document::{Document, Table as Lines};
use crate::output;

/// A number to some digits, to the nearest: these are no bounds.
pub fn digits(x: f64, digits: u32) -> String {
    let rounded: Rational = format!("{x:.*e}", digits as usize - 1).parse().expect("errors are finite");
    rounded.to_decimal(digits, Round::Up)
}

fn short(x: f64) -> String {
    digits(x, 5)
}

/// A part of one, in percent with two decimals.
fn percent(part: f64) -> String {
    format!("{:.2} %", -100.0 * part).replace('-', "−")
}

/// A variance for people.
fn variance(text: &str) -> String {
    text.parse().map_or_else(
        |_| text.into(),
        |x: Rational| decimal::brief(&x, Round::Down).trim_start_matches("≈ ").into(),
    )
}

/// The report for people; `shown` is the level whose cells and bands are shown.
pub fn document(report: &UtilityReport, shown: &LevelErrors) -> Document {
    let found = &report.errors;
    let mut text = Document::default();
    match &report.change {
        Some(change) => change.in_words().into_iter().for_each(|line| text.line(line)),
        None => text.line(
            "No epsilon is known of this noise: it is given without an allocation, or without a delta.",
        ),
    }
    text.line(format!("{} rows; errors of counts by {}.", found.rows, listed(&found.by)));
    text.line("");
    for cut in [false, true] {
        text.line(if cut { "Cut at zero:" } else { "As they come:" });
        text.line("");
        let mut table = Lines::new(&heads("level", cut));
        for level in &found.levels {
            table.row([vec![level.level.clone()], figures(of(&level.all, cut), cut)].concat());
        }
        text.table(table);
        text.line("");
    }
    let mut table = Lines::new(&["level", "units", "counts", "sigma2 before", "sigma2 after"]);
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
        text.line(format!("{}, cut at zero, by {what}:", shown.level));
        text.line("");
        let mut table = Lines::new(&heads(what, true));
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
    text.line("Expected errors are sums over the exact law of the noise, to about twelve digits; they are no guarantees.");
    text.line(NOT_PRIVATE);
    if !report.left_out.is_empty() {
        text.line(format!("The table does not have the levels {}.", report.left_out.join(", ")));
    }
    text
}

fn heads(first: &str, cut: bool) -> Vec<&str> {
    let mut heads = vec![first, "MSE before", "after", "change", "MAE before", "after", "change"];
    if cut {
        heads.extend(["bias before", "after"]);
    }
    heads
}

/// The errors of raw counts, or of those that are clamped at zero.
pub fn of(errors: &Errors, cut: bool) -> &Pair {
    if cut { &errors.cut } else { &errors.plain }
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
        "{} trials: means with intervals of 95 % (Monte Carlo, normal approximation), beside what is expected:",
        found.trials
    ));
    text.line("");
    let mut table =
        Lines::new(&["level", "counts are", "noise", "MSE", "simulated", "MAE", "simulated", "inside"]);
    let (mut inside, mut all) = (0, 0);
    let mut few = vec![];
    for level in &found.levels {
        if level.all.plain.simulated.is_none() {
            few.push(level.level.as_str());
        }
        for cut in [false, true] {
            let pair = of(&level.all, cut);
            let Some(simulated) = &pair.simulated else { continue };
            for (i, (expected, simulated)) in
                [&pair.before, &pair.after].into_iter().zip(simulated).enumerate()
            {
                let checks: [(&Estimate, f64); 2] =
                    [(&simulated.mse, expected.mse), (&simulated.mae, expected.mae)];
                let agree = checks.iter().filter(|(estimate, x)| estimate.contains(*x)).count();
                (inside, all) = (inside + agree, all + 2);
                let shown = |e: &Estimate| format!("{} ± {}", short(e.mean), short(e.half_width));
                table.row(vec![
                    if i == 0 && !cut { level.level.clone() } else { String::new() },
                    if cut { "cut".into() } else { "plain".into() },
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

/// One line for each level, cell and band, with all figures.
pub fn csv(found: &Utility) -> String {
    let heads = [
        "level",
        "cell",
        "band",
        "counts",
        "sigma2_before",
        "sigma2_after",
        "published",
        "mse_before",
        "mse_after",
        "mae_before",
        "mae_after",
        "bias_before",
        "bias_after",
        "warning",
    ];
    let mut rows = vec![];
    for level in &found.levels {
        let all = Group { cell: None, band: None, errors: level.all.clone() };
        let groups =
            std::iter::once(&all).chain(&level.cells).chain(&level.bands).chain(&level.cells_by_band);
        for group in groups {
            for (published, pair) in [("plain", &group.errors.plain), ("cut", &group.errors.cut)] {
                let numbers =
                    |pick: fn(&Expected) -> f64| [&pair.before, &pair.after].map(|e| pick(e).to_string());
                let mut row = vec![
                    level.level.clone(),
                    group.cell.clone().unwrap_or_default(),
                    group.band.clone().unwrap_or_default(),
                    group.errors.counts.to_string(),
                    level.sigma2_before.clone(),
                    level.sigma2_after.clone(),
                    published.into(),
                ];
                row.extend(numbers(|e| e.mse));
                row.extend(numbers(|e| e.mae));
                row.extend(numbers(|e| e.bias));
                row.push(NOT_PRIVATE.into());
                rows.push(row);
            }
        }
    }
    output::csv(&heads, &rows)
}
