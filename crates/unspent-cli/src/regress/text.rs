//! Slopes and their distortions for people, and as comma-separated values.

use unspent::calibrate::Change;
use unspent::{Rational, Round};
use unspent_data::RegressionReport as Report;
use unspent_data::regression::{Distorted, Distortion, LeftOut, Reduction, Regression};
use unspent_data::utility::Estimate;

use crate::decimal::READABLE;
use crate::document::{Document, Table};
use crate::output;

/// The two estimates of a row: name, before, after, reduction.
fn estimates(row: &Regression) -> [(&'static str, &Distortion, &Distortion, Option<&Reduction>); 2] {
    [
        ("plain", &row.before.plain, &row.after.plain, row.plain.as_ref()),
        ("noise-aware", &row.before.aware, &row.after.aware, row.aware.as_ref()),
    ]
}

/// The report for people.
pub fn document(report: &Report) -> Document {
    let mut text = Document::default();
    text.line("The slope of median earnings on the share with a bachelor's degree or higher.");
    text.line("Noise is added to the six counts by education of every area and cut at zero.");
    let [before, after] =
        if report.allocation.is_some() { ["published", "calibrated"] } else { ["before", "after"] };
    if let (Some(allocation), Some(calibrated)) = (&report.allocation, &report.calibrated) {
        text.line(format!("Published: {allocation}."));
        text.line(format!("Calibrated: {calibrated}."));
    }
    for line in report.change.iter().flat_map(Change::in_words) {
        text.line(line);
    }
    if let Some(warning) = &report.warning {
        text.line(format!("WARNING: {warning}."));
    }
    text.line("");
    let sigma2 = |x: &Rational| match x.to_decimal(READABLE, Round::Up) {
        exactly if exactly == x.to_decimal(READABLE, Round::Down) => exactly,
        nearly => format!("≈ {nearly}"),
    };
    let mut table = Table::new(&[
        "geography",
        "areas",
        "slope",
        "noise of",
        &format!("sigma2, {before}"),
        &format!("sigma2, {after}"),
    ]);
    for row in &report.regressions {
        let regression = &row.regression;
        table.row(vec![
            row.geography.clone(),
            regression.areas.to_string(),
            format!("{:.5}", regression.slope),
            row.level.clone().unwrap_or_else(|| "as given".into()),
            sigma2(&regression.before.sigma2),
            sigma2(&regression.after.sigma2),
        ]);
    }
    text.table(table);
    text.line("");
    text.line("Slopes are earnings, in the file's unit, for each 1/10,000 of share.");
    for row in &report.regressions {
        if let Some(words) = LeftOut::in_words(&row.left_out) {
            text.line(format!("{}: {words}.", row.geography));
        }
        if row.strangers > 0 {
            text.line(format!(
                "{}: {} of the areas are of another kind, by their codes.",
                row.geography, row.strangers
            ));
        }
    }
    text.line("");
    let trials = report.regressions[0].regression.trials;
    text.line(format!(
        "How far the slope is off in the mean, with 95 % Monte-Carlo intervals of {trials} trials:"
    ));
    text.line("");
    let mut table = Table::new(&["geography", "estimate", before, after, "less by, %"]);
    for row in &report.regressions {
        for (name, before, after, reduction) in estimates(&row.regression) {
            table.row(vec![
                if name == "plain" { row.geography.clone() } else { String::new() },
                name.into(),
                with_interval(before.mae.as_ref()),
                with_interval(after.mae.as_ref()),
                with_interval(reduction.map(|r| &r.percent)),
            ]);
        }
    }
    text.table(table);
    text.line("");
    conclusion(&mut text, report);
    failures(&mut text, report, [before, after]);
    text.line(
        "noise-aware: corrected for the noise that is known to be in the shares (errors in variables).",
    );
    text.line("All of these are from simulation; none is a guarantee.");
    text
}

/// Where the interval does not exclude that there is no improvement.
fn conclusion(text: &mut Document, report: &Report) {
    let rows = report.regressions.iter();
    let unproven = rows.flat_map(|row| {
        let without =
            |(_, _, _, reduction): &(_, _, _, Option<&Reduction>)| !reduction.is_some_and(|r| r.improves);
        let named = |(name, ..): (&str, _, _, _)| format!("{} ({name})", row.geography);
        estimates(&row.regression).into_iter().filter(without).map(named).collect::<Vec<_>>()
    });
    let unproven: Vec<String> = unproven.collect();
    text.line(match &unproven[..] {
        [] => "Every interval of the last column excludes no improvement.".into(),
        _ => format!("The interval does NOT exclude no improvement for {}.", unproven.join(", ")),
    });
}

/// Trials that are in no mean, and areas that are missing in some.
fn failures(text: &mut Document, report: &Report, names: [&str; 2]) {
    for row in &report.regressions {
        for (name, noise) in names.iter().zip([&row.regression.before, &row.regression.after]) {
            let Distorted { emptied, plain, aware, .. } = noise;
            let of = format!("{}, {name}", row.geography);
            if *emptied > 0 {
                text.line(format!(
                    "{of}: {emptied} times in all trials an area was left out, with no noisy count above 0."
                ));
            }
            if plain.failed + aware.failed > 0 {
                text.line(format!(
                    "{of}: trials without a slope, which are in no mean: {} (plain), {} (noise-aware).",
                    plain.failed, aware.failed
                ));
            }
        }
    }
}

/// `1.234 ± 0.012`: two digits of the half-width.
fn with_interval(estimate: Option<&Estimate>) -> String {
    let Some(Estimate { mean, half_width }) = estimate else { return "–".into() };
    let scientific = format!("{half_width:.1e}");
    let exponent: i32 = scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let decimals = usize::try_from(1 - exponent).unwrap_or(0);
    format!("{mean:.decimals$} ± {half_width:.decimals$}").replace('-', "−")
}

/// One line for each file and estimate, with all figures.
pub fn csv(report: &Report) -> String {
    let mut heads = vec![
        "file",
        "geography",
        "areas",
        "left_out",
        "slope",
        "level",
        "sigma2_before",
        "sigma2_after",
        "trials",
        "estimate",
        "mae_before",
        "mae_before_half_width",
        "failed_before",
        "mae_after",
        "mae_after_half_width",
        "failed_after",
        "reduction_percent",
        "reduction_half_width",
        "improves",
    ];
    // As `unspent sample` says it.
    heads.extend(report.warning.as_ref().map(|_| "noise_NOT_PRIVATE"));
    let mut rows = vec![];
    for row in &report.regressions {
        let regression = &row.regression;
        for (name, before, after, reduction) in estimates(regression) {
            let pair = |estimate: Option<&Estimate>| match estimate {
                Some(e) => [e.mean.to_string(), e.half_width.to_string()],
                None => Default::default(),
            };
            let mut cells = vec![
                row.file.clone(),
                row.geography.clone(),
                regression.areas.to_string(),
                row.left_out.iter().map(|left| left.areas).sum::<u64>().to_string(),
                regression.slope.to_string(),
                row.level.clone().unwrap_or_default(),
                regression.before.sigma2.to_short(),
                regression.after.sigma2.to_short(),
                regression.trials.to_string(),
                name.into(),
            ];
            cells.extend(pair(before.mae.as_ref()));
            cells.push(before.failed.to_string());
            cells.extend(pair(after.mae.as_ref()));
            cells.push(after.failed.to_string());
            cells.extend(pair(reduction.map(|r| &r.percent)));
            cells.push(reduction.is_some_and(|r| r.improves).to_string());
            cells.extend(report.warning.clone());
            rows.push(cells);
        }
    }
    output::csv(&heads, &rows)
}
