//! A figure as numbers: what is drawn, and nothing else.

use serde::{Serialize, Serializer};

use super::{Data, Figure, Role};
use crate::output;

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
    /// A line a point. The columns `x_is` and `y_is` say what is given; on log axes that is a decimal logarithm.
    pub fn csv(&self) -> String {
        let heads = ["panel", "series", "x", "y", "lower", "upper", "x_is", "y_is"];
        let mut rows = vec![];
        for panel in &self.panels {
            let quantity = |axis: &super::Axis| match axis.scale {
                super::Scale::Linear => axis.label.clone(),
                super::Scale::Log10 => format!("log10 of {}", axis.label),
            };
            for series in &panel.series {
                let mut row = |x: String, y: f64, bounds: Option<(f64, f64)>| {
                    let show = |v: f64| if v.is_finite() { v.to_string() } else { String::new() };
                    let (low, high) = bounds.map_or_else(Default::default, |(l, h)| (show(l), show(h)));
                    // Bars lie down: their lengths are along the x axis.
                    let (along, up) = (quantity(&panel.x), quantity(&panel.y));
                    let (x_is, y_is) =
                        if panel.categories.is_empty() { (along, up) } else { ("category".into(), along) };
                    rows.push(
                        [&panel.title, &series.label, &x, &show(y), &low, &high, &x_is, &y_is]
                            .map(ToString::to_string)
                            .to_vec(),
                    );
                };
                match &series.data {
                    Data::Line(points) => points.iter().for_each(|(x, y)| row(x.to_string(), *y, None)),
                    Data::Band(slices) => {
                        slices
                            .iter()
                            .for_each(|(x, low, high)| row(x.to_string(), f64::NAN, Some((*low, *high))));
                    }
                    Data::Bars(bars) => {
                        for (name, bar) in panel.categories.iter().zip(bars) {
                            row(name.clone(), bar.value, None);
                        }
                    }
                    Data::Points(points) => {
                        points.iter().for_each(|p| row(p.at.to_string(), p.value, Some((p.low, p.high))));
                    }
                }
            }
        }
        output::csv(&heads, &rows)
    }
}
