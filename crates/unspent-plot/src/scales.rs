//! Which scale shows bars of very different lengths.

use crate::{Axis, Bar, Data, Figure, Panel, Scale};

/// How many times as long as the shortest bar the longest may be on a linear axis.
const MOST: f64 = 50.0;

/// The figure with a log axis where bars of one quantity, in whichever panels, are so unlike that the short
/// ones could not be seen.
#[must_use]
pub fn comparable(mut figure: Figure) -> Figure {
    let mut changed = false;
    let labels: Vec<String> = figure.panels.iter().map(|panel| panel.x.label.clone()).collect();
    for (i, label) in labels.iter().enumerate() {
        let alike = |panel: &Panel| panel.x.label == *label && is_free(&panel.x);
        let lengths =
            || figure.panels.iter().filter(|panel| alike(panel)).flat_map(bars).map(|bar| bar.value);
        let (least, most) = lengths()
            .filter(|length| length.is_finite() && *length > 0.0)
            .fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), x| (a.min(x), b.max(x)));
        // A length of nothing is nowhere on a log axis.
        if labels[..i].contains(label) || most <= MOST * least || lengths().any(|length| length <= 0.0) {
            continue;
        }
        changed = true;
        for panel in figure.panels.iter_mut().filter(|panel| alike(panel)) {
            panel.x.scale = Scale::Log10;
            for series in &mut panel.series {
                if let Data::Bars(bars) = &mut series.data {
                    bars.iter_mut().for_each(|bar| bar.value = pxfm::f_log10(bar.value));
                }
            }
        }
    }
    if changed {
        figure.notes.push(NOTE.into());
    }
    figure
}

/// What a reader of bars on a log axis must know.
const NOTE: &str = "On a log axis bars begin at its edge, not at zero: equal steps are equal factors.";

/// Whether nothing was said of the axis but what it shows.
fn is_free(axis: &Axis) -> bool {
    axis.scale == Scale::Linear && axis.range.is_none()
}

fn bars(panel: &Panel) -> impl Iterator<Item = &Bar> {
    panel.series.iter().flat_map(|series| match &series.data {
        Data::Bars(bars) => &bars[..],
        _ => &[],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Role, Series};

    fn panel(label: &str, values: [f64; 2]) -> Panel {
        let bars = values.map(|value| Bar { value, label: value.to_string() }).to_vec();
        Panel {
            x: Axis::linear(label),
            series: vec![Series::bars("", Role::Guarantee, bars)],
            ..Panel::default()
        }
    }

    fn scales(panels: Vec<Panel>) -> Vec<(Scale, f64)> {
        let figure = comparable(Figure { panels, ..Figure::default() });
        let first = |panel: &Panel| bars(panel).next().unwrap().value;
        figure.panels.iter().map(|panel| (panel.x.scale, first(panel))).collect()
    }

    #[test]
    fn what_is_a_hundred_times_another_is_on_a_log_axis() {
        let alike = scales(vec![panel("σ", [1.0, 20.0]), panel("σ", [30.0, 40.0])]);
        assert_eq!(alike, [(Scale::Linear, 1.0), (Scale::Linear, 30.0)]);
        let unlike =
            scales(vec![panel("σ", [1.0, 20.0]), panel("σ", [1000.0, 40.0]), panel("ε", [1.0, 2.0])]);
        assert_eq!(unlike, [(Scale::Log10, 0.0), (Scale::Log10, 3.0), (Scale::Linear, 1.0)]);
        assert_eq!(scales(vec![panel("σ", [0.0, 2000.0]), panel("σ", [1.0, 1.0])])[0].0, Scale::Linear);
    }
}
