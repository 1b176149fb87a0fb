//! Slopes and their distortions for people, and as columns for programs.

use unspent::report::READABLE;
use unspent::report::columns::{Column, Columns};
use unspent::report::document::{Document, Table};
use unspent::report::recalibration::Change;
use unspent::{Rational, Round};

use super::simulation::{Distorted, Distortion, Reduction, Regression};
use super::survey::LeftOut;
use super::{FileRegression, RegressionReport};
use crate::utility::SimulatedMean;

/// One of the two estimates of a file.
struct Figures<'e> {
    name: &'static str,
    before: &'e Distortion,
    after: &'e Distortion,
    reduction: Option<&'e Reduction>,
}

fn estimates(of: &Regression) -> [Figures<'_>; 2] {
    let (before, after) = (&of.before, &of.after);
    let plain = of.plain.as_ref();
    [
        Figures { name: "plain", before: &before.plain, after: &after.plain, reduction: plain },
        Figures {
            name: "noise-aware",
            before: &before.aware,
            after: &after.aware,
            reduction: of.aware.as_ref(),
        },
    ]
}

impl RegressionReport {
    /// The report for people.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut text = Document::default();
        text.line("The slope of median earnings on the share with a bachelor's degree or higher.");
        text.line(
            "Noise is added to the six counts by education of every area, and counts are clamped at zero.",
        );
        let [before, after] =
            if self.allocation.is_some() { ["published", "calibrated"] } else { ["before", "after"] };
        if let (Some(allocation), Some(calibrated)) = (&self.allocation, &self.calibrated) {
            text.line(format!("Published: {allocation}."));
            text.line(format!("Calibrated: {calibrated}."));
        }
        for line in self.change.iter().flat_map(Change::in_words) {
            text.line(line);
        }
        if let Some(warning) = &self.warning {
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
        for row in &self.regressions {
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
        for row in &self.regressions {
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
        let trials = self.regressions[0].regression.trials;
        text.line(format!(
            "How far the slope is off in the mean, with 95 % Monte-Carlo intervals of {trials} trials:"
        ));
        text.line("");
        let mut table = Table::new(&["geography", "estimate", before, after, "less by, %"]);
        for row in &self.regressions {
            for Figures { name, before, after, reduction } in estimates(&row.regression) {
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
        conclusion(&mut text, self);
        failures(&mut text, self, [before, after]);
        text.line(
            "noise-aware: corrected for the noise that is known to be in the shares (errors in variables).",
        );
        text.line("All of these are from simulation; none is a guarantee.");
        text
    }

    /// One row for each file and estimate, with all figures.
    #[must_use]
    pub fn columns(&self) -> Columns {
        let rows: Vec<(&FileRegression, Figures<'_>)> = self
            .regressions
            .iter()
            .flat_map(|file| estimates(&file.regression).map(|estimate| (file, estimate)))
            .collect();
        let of = |pick: fn(&FileRegression) -> u64| rows.iter().map(move |(file, _)| pick(file));
        let mean = |name, pick: for<'e> fn(&Figures<'e>) -> Option<&'e SimulatedMean>| {
            Column::doubles(name, rows.iter().map(move |(_, e)| pick(e).map(|e| e.mean)))
        };
        let half = |name, pick: for<'e> fn(&Figures<'e>) -> Option<&'e SimulatedMean>| {
            Column::doubles(name, rows.iter().map(move |(_, e)| pick(e).map(|e| e.half_width)))
        };
        let sigma2 = |name, pick: fn(&Regression) -> &Distorted| {
            let exactly = |(file, _): &(&FileRegression, _)| Some(pick(&file.regression).sigma2.clone());
            Column::exact(name, rows.iter().map(exactly))
        };
        let slopes = rows.iter().map(|(file, _)| Some(file.regression.slope));
        let improves = |(_, e): &(_, Figures<'_>)| Some(e.reduction.is_some_and(|r| r.improves));
        let mut columns = vec![
            Column::text("file", rows.iter().map(|(file, _)| Some(file.file.as_str()))),
            Column::text("geography", rows.iter().map(|(file, _)| Some(file.geography.as_str()))),
            Column::counts("areas", of(|file| file.regression.areas as u64)),
            Column::counts("left_out", of(|file| file.left_out.iter().map(|left| left.areas).sum())),
            Column::doubles("slope", slopes),
            Column::text("level", rows.iter().map(|(file, _)| file.level.as_deref())),
            sigma2("sigma2_before", |r| &r.before),
            sigma2("sigma2_after", |r| &r.after),
            Column::counts("trials", of(|file| file.regression.trials)),
            Column::text("estimate", rows.iter().map(|(_, e)| Some(e.name))),
            mean("mae_before", |e| e.before.mae.as_ref()),
            half("mae_before_half_width", |e| e.before.mae.as_ref()),
            Column::counts("failed_before", rows.iter().map(|(_, e)| e.before.failed)),
            mean("mae_after", |e| e.after.mae.as_ref()),
            half("mae_after_half_width", |e| e.after.mae.as_ref()),
            Column::counts("failed_after", rows.iter().map(|(_, e)| e.after.failed)),
            mean("reduction_percent", |e| e.reduction.map(|r| &r.percent)),
            half("reduction_half_width", |e| e.reduction.map(|r| &r.percent)),
            Column::flags("improves", rows.iter().map(improves)),
        ];
        // As `unspent sample` says it.
        columns.extend(self.warning.as_ref().map(|w| Column::repeated("noise_NOT_PRIVATE", w, rows.len())));
        Columns(columns)
    }
}

/// Where the interval does not exclude that there is no improvement.
fn conclusion(text: &mut Document, report: &RegressionReport) {
    let rows = report.regressions.iter();
    let unproven = rows.flat_map(|row| {
        let without = |figures: &Figures<'_>| !figures.reduction.is_some_and(|r| r.improves);
        let named = |figures: Figures<'_>| format!("{} ({})", row.geography, figures.name);
        estimates(&row.regression).into_iter().filter(without).map(named).collect::<Vec<_>>()
    });
    let unproven: Vec<String> = unproven.collect();
    text.line(match &unproven[..] {
        [] => "All reductions are significant at 95 %.".into(),
        _ => format!("NOT significant at 95 %: the reduction of {}.", unproven.join(", ")),
    });
}

/// Trials that are in no mean, and areas that are missing in some.
fn failures(text: &mut Document, report: &RegressionReport, names: [&str; 2]) {
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
fn with_interval(estimate: Option<&SimulatedMean>) -> String {
    let Some(SimulatedMean { mean, half_width }) = estimate else { return "–".into() };
    let scientific = format!("{half_width:.1e}");
    let exponent: i32 = scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let decimals = usize::try_from(1 - exponent).unwrap_or(0);
    format!("{mean:.decimals$} ± {half_width:.decimals$}").replace('-', "−")
}
