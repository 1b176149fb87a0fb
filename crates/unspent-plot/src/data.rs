//! A figure as numbers: what is drawn, and nothing else.

use serde::{Serialize, Serializer};

use crate::{Axis, Data, Figure, Panel, Role, Scale, Series};

impl Role {
    /// As style sheets know it.
    fn name(self) -> String {
        match self {
            Role::Guarantee => "guarantee".into(),
            Role::Alternative => "alternative".into(),
            Role::Reference => "reference".into(),
            Role::Baseline(n) => format!("baseline{}", n % 4),
        }
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

impl Figure {
    /// The heads of the columns of [`Figure::rows`].
    pub const HEADS: [&str; 8] = ["panel", "series", "x", "y", "lower", "upper", "x_is", "y_is"];

    /// The numbers drawn, a row for each point.
    ///
    /// The columns `x_is` and `y_is` say what is given; on log axes that is a decimal logarithm. What is not
    /// finite, or does not apply, is empty.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let series = self.panels.iter().flat_map(|panel| panel.series.iter().map(move |s| (panel, s)));
        series.flat_map(|(panel, series)| points(panel, series)).collect()
    }
}

/// The rows of one series.
fn points(panel: &Panel, series: &Series) -> Vec<Vec<String>> {
    let show = |v: f64| if v.is_finite() { v.to_string() } else { String::new() };
    // Bars lie down: their lengths are along the x axis.
    let (along, up) = (quantity(&panel.x), quantity(&panel.y));
    let (x_is, y_is) = if panel.categories.is_empty() { (along, up) } else { ("category".into(), along) };
    let row = |x: String, y: f64, ends: Option<(f64, f64)>| {
        let (low, high) = ends.map_or_else(Default::default, |(l, h)| (show(l), show(h)));
        let cells = [&panel.title, &series.label, &x, &show(y), &low, &high, &x_is, &y_is];
        cells.map(ToString::to_string).to_vec()
    };
    match &series.data {
        Data::Line(points) => points.iter().map(|&(x, y)| row(x.to_string(), y, None)).collect(),
        Data::Band(slices) => {
            let slice = |&(x, low, high): &(f64, f64, f64)| row(x.to_string(), f64::NAN, Some((low, high)));
            slices.iter().map(slice).collect()
        }
        Data::Bars(bars) => {
            let named = panel.categories.iter().zip(bars);
            named.map(|(name, bar)| row(name.clone(), bar.value, None)).collect()
        }
        Data::Points(points) => {
            points.iter().map(|p| row(p.at.to_string(), p.value, Some((p.low, p.high)))).collect()
        }
    }
}

fn quantity(axis: &Axis) -> String {
    match axis.scale {
        Scale::Linear => axis.label.clone(),
        Scale::Log10 => format!("log10 of {}", axis.label),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bar, Interval};

    #[test]
    fn every_kind_of_data_is_written_with_what_it_is() {
        let (x, y) = (Axis::linear("ε"), Axis::log10("δ"));
        let interval = Interval { at: 2.0, low: -3.0, value: f64::NAN, high: f64::INFINITY };
        let series = vec![
            Series::line("line", Role::Guarantee, vec![(0.5, -1.25)]),
            Series::band("band", Role::Guarantee, vec![(1.0, -2.0, -1.0)]),
            Series::points("points", Role::Reference, vec![interval]),
        ];
        let curves = Panel { title: "State".into(), x: x.clone(), y, series, ..Panel::default() };
        let bar = Bar { value: 4.0, label: "4".into() };
        let bars = Panel {
            x,
            categories: vec!["County".into()],
            series: vec![Series::bars("bars", Role::Baseline(5), vec![bar])],
            ..Panel::default()
        };
        let rows = Figure { panels: vec![curves, bars], ..Figure::default() }.rows();
        let written: Vec<String> = rows.iter().map(|row| row.join(";")).collect();
        assert_eq!(
            written,
            [
                "State;line;0.5;-1.25;;;ε;log10 of δ",
                "State;band;1;;-2;-1;ε;log10 of δ",
                "State;points;2;;-3;;ε;log10 of δ",
                ";bars;County;4;;;category;ε",
            ]
        );
    }

    #[test]
    fn roles_have_the_names_of_the_style_sheet() {
        assert_eq!(Role::Guarantee.name(), "guarantee");
        assert_eq!(Role::Baseline(5).name(), "baseline1");
    }
}
