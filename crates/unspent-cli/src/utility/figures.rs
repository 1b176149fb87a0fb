//! Errors of counts, drawn.

use std::collections::BTreeMap;

use unspent::expected::Expected;
use unspent::report::nearest;
use unspent_data::utility::{LevelErrors, NOT_PRIVATE, Utility};

use crate::plot::{Axis, Bar, Figure, Panel, Role, Series, comparable};

/// Before and after, as bars.
fn bars(pairs: &[(String, f64, f64)], label: &str, title: &str) -> Panel {
    let bar = |value: f64| Bar { value, label: nearest(value, 4) };
    Panel {
        title: title.into(),
        x: Axis::linear(label),
        categories: pairs.iter().map(|(name, _, _)| name.clone()).collect(),
        series: vec![
            Series::bars(
                "before",
                Role::Baseline(0),
                pairs.iter().map(|(_, before, _)| bar(*before)).collect(),
            ),
            Series::bars("after", Role::Guarantee, pairs.iter().map(|(_, _, after)| bar(*after)).collect()),
        ],
        ..Panel::default()
    }
}

/// Errors by level, squared and absolute, plain and cut, and squared after estimation where all counts are
/// determined.
pub fn by_level(found: &Utility) -> Figure {
    let panel = |cut: bool, pick: fn(&Expected) -> f64, label: &str| {
        let pairs: Vec<(String, f64, f64)> = found
            .levels
            .iter()
            .map(|level| {
                let pair = level.all.published(cut);
                (level.level.clone(), pick(&pair.before), pick(&pair.after))
            })
            .collect();
        bars(&pairs, label, if cut { "clamped at zero" } else { "raw noisy counts" })
    };
    let mut panels = vec![
        panel(false, |e| e.mse, "mean squared error"),
        panel(true, |e| e.mse, "mean squared error"),
        panel(false, |e| e.mae, "mean absolute error"),
        panel(true, |e| e.mae, "mean absolute error"),
    ];
    let estimated: Option<Vec<(String, f64, f64)>> = found
        .levels
        .iter()
        .map(|level| match level.estimate?.mse() {
            [Some(before), Some(after)] => Some((level.level.clone(), before, after)),
            _ => None,
        })
        .collect();
    panels.extend(estimated.map(|pairs| bars(&pairs, "mean squared error", "estimates")));
    comparable(Figure {
        title: "Errors of counts by level".into(),
        subtitle: "expected; shorter is better".into(),
        notes: vec![
            "Sums over the exact law of the noise; of estimates, the variance.".into(),
            NOT_PRIVATE.into(),
        ],
        columns: 2,
        panels,
    })
}

/// Squared errors of a level's cells, a panel for each size of the unit.
pub fn by_cell(level: &LevelErrors) -> Figure {
    let mut bands: BTreeMap<usize, Vec<(String, f64, f64)>> = BTreeMap::new();
    let order = |band: &Option<String>| level.bands.iter().position(|g| g.band == *band).unwrap_or(0);
    for group in &level.cells_by_band {
        let pair = &group.errors.cut;
        let name = group.cell.clone().unwrap_or_default();
        bands.entry(order(&group.band)).or_default().push((name, pair.before.mse, pair.after.mse));
    }
    let panels = bands.iter().map(|(band, pairs)| {
        let name = level.bands[*band].band.as_deref().unwrap_or_default();
        bars(pairs, "mean squared error", &format!("units of {name}"))
    });
    comparable(Figure {
        title: format!("Errors of counts by cell and size of the unit, {}", level.level),
        subtitle: "expected, counts clamped at zero; shorter is better".into(),
        notes: vec!["Sums over the exact law of the noise.".into(), NOT_PRIVATE.into()],
        columns: 2,
        panels: panels.collect(),
    })
}
