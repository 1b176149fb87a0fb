//! Deviations of noise and estimates, drawn.

use unspent_estimate::Accuracy;
use unspent_estimate::accuracy::{Deviation, LevelAccuracy, QueryAccuracy};

use crate::plot::{Axis, Figure, Interval, Panel, Role, Series};

/// From the deviation of the noise to that of the estimate, a panel a level.
pub fn by_level(accuracy: &Accuracy) -> Figure {
    let queries = || accuracy.levels.iter().flat_map(|level| &level.queries);
    let all = || queries().flat_map(|query| [noise(query), estimate(query)]).filter(|x| x.is_finite());
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    // All panels alike, with room beside the outermost marks, and to a whole power of ten if it is near.
    let axis = Axis::log10("standard deviation");
    let end = |x: f64, power: f64| if (x - power).abs() < 0.4 { power } else { x };
    let (low, high) = (low - 0.1, high + 0.1);
    let axis = if low < high { axis.between(end(low, low.floor()), end(high, high.ceil())) } else { axis };
    Figure {
        title: "Errors of estimates, and the noise that was added".into(),
        subtitle: accuracy.allocation.clone(),
        notes: vec![
            "Root mean squares over units and answers; further to the left is better. A ring without a disc \
             is a count that the measurements do not determine, or an exact one; a disc without a ring one \
             that is not measured."
                .into(),
        ],
        columns: if accuracy.levels.len() > 4 { 3 } else { 2 },
        panels: accuracy.levels.iter().map(|level| panel(level, axis.clone())).collect(),
    }
}

fn panel(level: &LevelAccuracy, x: Axis) -> Panel {
    let numbered = || level.queries.iter().enumerate().map(|(at, query)| (at as f64, query));
    let joined = numbered().flat_map(|(at, query)| {
        [(noise(query), at), (estimate(query), at), (f64::NAN, f64::NAN)].into_iter()
    });
    let marks = |pick: fn(&QueryAccuracy) -> f64| {
        let mark = |(at, query)| Interval { at, low: f64::NAN, value: pick(query), high: f64::NAN };
        numbered().map(mark).collect()
    };
    let units = if level.units == 1 { "unit" } else { "units" };
    Panel {
        title: format!("{} ({} {units})", level.level, level.units),
        x,
        categories: level.queries.iter().map(name).collect(),
        series: vec![
            Series::line("", Role::Reference, joined.collect()),
            Series::points("noise", Role::Baseline(0), marks(noise)),
            Series::points("estimate", Role::Guarantee, marks(estimate)),
        ],
        ..Panel::default()
    }
}

/// A query, with what cannot be drawn of its estimate.
fn name(query: &QueryAccuracy) -> String {
    match query.estimate {
        Deviation::Estimated { .. } => query.query.clone(),
        other => format!("{} ({})", query.query, other.in_words()),
    }
}

fn noise(query: &QueryAccuracy) -> f64 {
    query.noise.as_ref().map_or(f64::NAN, logarithm)
}

fn estimate(query: &QueryAccuracy) -> f64 {
    logarithm(&query.estimate)
}

/// The logarithm of a deviation; NaN if there is nothing to draw.
#[expect(clippy::disallowed_methods, reason = "a mark is a tenth of a decade wide")]
fn logarithm(deviation: &Deviation) -> f64 {
    match deviation.sd() {
        Some(sd) if sd > 0.0 => sd.log10(),
        _ => f64::NAN,
    }
}
