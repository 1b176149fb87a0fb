//! A figure as data: panels, axes, series and what each series is.

use serde::Serialize;

/// A grid of panels that share one legend.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figure {
    /// Above everything; may be empty, as journals set it in the caption.
    pub title: String,
    /// Below the title, in plain weight.
    pub subtitle: String,
    /// Paragraphs at the foot: sources, and what is guaranteed.
    pub notes: Vec<String>,
    /// Panels side by side; 0 is read as 1.
    pub columns: usize,
    /// Row by row, from the top left.
    pub panels: Vec<Panel>,
}

/// One plotting area with its axes.
///
/// An axis label that repeats the panel's neighbour (x: below, y: to the left) is written once.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Panel {
    /// Above the panel; may be empty.
    pub title: String,
    /// The axis along the bottom.
    pub x: Axis,
    /// The axis up the side. Only its label counts where there are categories.
    pub y: Axis,
    /// Names that take the place of the y axis, from the top down, for [`Data::Bars`] and
    /// [`Data::Points`]. They stand beside the panel, where long names stay whole.
    pub categories: Vec<String>,
    /// What is drawn.
    pub series: Vec<Series>,
}

/// A label, a scale and a range.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Axis {
    /// The quantity, with its unit.
    pub label: String,
    /// How values become lengths.
    pub scale: Scale,
    /// The two ends; what lies beyond them is cut off. `None` shows all data.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis that shows all data.
    pub fn linear(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), scale: Scale::Linear, range: None }
    }

    /// A log axis that shows all data. Data and range are log₁₀ of the values.
    pub fn log10(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), scale: Scale::Log10, range: None }
    }

    /// The same axis from `low` to `high`.
    #[must_use]
    pub fn between(self, low: f64, high: f64) -> Axis {
        Axis { range: Some((low, high)), ..self }
    }
}

/// How values become lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// As they are.
    #[default]
    Linear,
    /// Given as log₁₀, so that 10⁻⁴³⁰⁰ is −4300; labelled as powers of ten.
    Log10,
}

/// Data with what it is and what it is called.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The entry in the legend; the same label and role in several panels is one entry. Empty: none.
    pub label: String,
    /// What it is, which decides how it looks.
    pub role: Role,
    /// The values.
    pub data: Data,
}

impl Series {
    /// A curve through `points`.
    pub fn line(label: impl Into<String>, role: Role, points: Vec<(f64, f64)>) -> Series {
        Series { label: label.into(), role, data: Data::Line(points) }
    }

    /// A band of `(x, lower, upper)`.
    pub fn band(label: impl Into<String>, role: Role, slices: Vec<(f64, f64, f64)>) -> Series {
        Series { label: label.into(), role, data: Data::Band(slices) }
    }

    /// A bar for each category.
    pub fn bars(label: impl Into<String>, role: Role, bars: Vec<Bar>) -> Series {
        Series { label: label.into(), role, data: Data::Bars(bars) }
    }

    /// Whether it has bars.
    pub(crate) fn has_bars(&self) -> bool {
        matches!(self.data, Data::Bars(_))
    }

    /// Points with intervals. A single point without one is labelled where it is, and not in the legend.
    pub fn points(label: impl Into<String>, role: Role, points: Vec<Interval>) -> Series {
        Series { label: label.into(), role, data: Data::Points(points) }
    }
}

/// What a series is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The certified answer: a heavy solid line.
    Guarantee,
    /// Another answer of the same standing, as another release or allocation.
    Alternative,
    /// What others would say, counted from 0; beyond 3 the looks repeat.
    Baseline(usize),
    /// A line to read the others against, as the diagonal of a trade-off function.
    Reference,
}

/// The values of a series.
///
/// NaN leaves a gap. An infinite value, as the logarithm of 0, runs off the panel.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Data {
    /// A curve through `(x, y)`.
    Line(Vec<(f64, f64)>),
    /// The area between two curves, `(x, lower, upper)`.
    Band(Vec<(f64, f64, f64)>),
    /// A bar for each of the panel's categories, side by side with those of other series.
    Bars(Vec<Bar>),
    /// Points with intervals, up and down, or along the x axis where there are categories. There, points of
    /// which none has an interval are on one line with those of other series, and not beside them.
    Points(Vec<Interval>),
}

/// The length of a bar.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bar {
    /// Where it ends. It starts at 0, and on a log axis at the edge.
    pub value: f64,
    /// Written at its end; may be empty.
    pub label: String,
}

/// A point and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Its x, or the number of its category, from 0.
    pub at: f64,
    /// The lower end; NaN for a point without an interval.
    pub low: f64,
    /// The value marked; NaN for an interval without one.
    pub value: f64,
    /// The upper end.
    pub high: f64,
}
