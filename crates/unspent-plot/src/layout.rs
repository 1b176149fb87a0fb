//! What is decided before anything is drawn: ranges, ticks, and how much room the labels take.
//!
//! Sizes are for print: at a journal column's 8.7 cm for 560 units, text of 14 units is set in 6 points.

use crate::clip::{Area, Point};
use crate::text::{width, words, wrap};
use crate::ticks::{self, Tick, Ticks, ticks};
use crate::{Axis, Data, Figure, Panel, Scale, Series};

/// Width of the page, and of each column where that is more.
pub const PAGE: f64 = 560.0;
/// See [`PAGE`].
pub const COLUMN: f64 = 280.0;
/// Height of a plotting area alone.
const TALL: f64 = 310.0;
/// Height of a plotting area among others.
const SHORT: f64 = 190.0;
/// Around the page.
pub const MARGIN: f64 = 14.0;
/// Between things.
pub const GAP: f64 = 8.0;
/// Length of a major tick.
pub const TICK: f64 = 5.0;
/// Of text and axes.
pub const INK: &str = "#1A1A1A";

/// A way of setting text.
#[derive(Clone, Copy)]
pub struct Lettering {
    /// Height of the type.
    pub size: f64,
    /// Its weight.
    pub bold: bool,
    /// Its colour.
    pub colour: &'static str,
}

/// The figure's title.
pub const TITLE: Lettering = Lettering { size: 17.0, bold: true, colour: INK };
/// A panel's title.
pub const HEAD: Lettering = Lettering { size: 14.0, bold: true, colour: INK };
/// Axes and legend.
pub const BODY: Lettering = Lettering { size: 14.0, bold: false, colour: INK };
/// At the end of a bar.
pub const VALUE: Lettering = Lettering { size: 12.5, bold: false, colour: INK };
/// Subtitle and notes.
pub const NOTE: Lettering = Lettering { size: 13.0, bold: false, colour: "#444444" };

impl Lettering {
    /// [`width`] in this lettering.
    pub fn width(self, text: &str) -> f64 {
        width(text, self.size, self.bold)
    }

    /// [`wrap`] in this lettering.
    pub fn wrap(self, text: &str, room: f64) -> Vec<String> {
        wrap(text, self.size, self.bold, room)
    }

    /// From line to line.
    pub fn leading(self) -> f64 {
        1.3 * self.size
    }

    /// From the top of a line to its foot.
    pub fn ascent(self) -> f64 {
        0.98 * self.size
    }
}

/// A panel with what is known of it before it has a place.
pub struct Cell<'a> {
    /// What is to be drawn.
    pub panel: &'a Panel,
    /// The ends of the x axis.
    pub x: (f64, f64),
    /// The ends of the y axis.
    pub y: (f64, f64),
    /// The marks of the y axis.
    pub side: Ticks,
    /// The categories in its place, each in lines.
    pub names: Vec<Vec<String>>,
    /// Whether the x axis is labelled.
    pub x_label: bool,
    /// The label of the y axis in lines; none if it is the neighbour's.
    pub y_label: Vec<String>,
    /// Needed at the left of the plotting area.
    pub left: f64,
    /// Needed at its right.
    pub right: f64,
    /// Of the plotting area.
    pub height: f64,
}

impl Cell<'_> {
    /// Whether both axes are the same.
    pub fn square(&self) -> bool {
        let alike = self.panel.x.scale == self.panel.y.scale && self.x == self.y;
        alike && self.panel.categories.is_empty()
    }

    /// How many series stand side by side in a category, and which of them this is.
    pub fn slot(&self, series: usize) -> (usize, usize) {
        let count = |all: &[Series]| all.iter().filter(|series| series.data.stands_beside()).count();
        (count(&self.panel.series[..series]), count(&self.panel.series))
    }
}

/// Measures panel `i`.
pub fn cell(figure: &Figure, i: usize, columns: usize, page: f64) -> Cell<'_> {
    let panel = &figure.panels[i];
    let (x, y) = ranges(panel);
    let same = |other: Option<&Panel>, axis: fn(&Panel) -> &Axis| {
        other.is_some_and(|other| axis(other).label == axis(panel).label)
    };
    let left_hand = if i.is_multiple_of(columns) { None } else { figure.panels.get(i - 1) };
    let longest = |name: &String| words(name).map(|word| BODY.width(word)).fold(0.0, f64::max);
    let column = page / columns as f64;
    let room = panel.categories.iter().map(longest).fold(0.32 * column, f64::max).min(0.5 * column);
    let names: Vec<Vec<String>> = panel.categories.iter().map(|name| BODY.wrap(name, room)).collect();
    let beside = panel.series.iter().filter(|series| series.data.stands_beside()).count();
    // Only neighbouring names can collide; the outermost must not stick out.
    let pairs = names.windows(2).map(|pair| 0.5 * (pair[0].len() + pair[1].len()) as f64);
    let ends = names.first().into_iter().chain(names.last()).map(|name| name.len() as f64);
    let lines = pairs.chain(ends).fold(1.0, f64::max);
    let slot = (17.0 * beside as f64).max(lines * BODY.leading()) + 9.0;
    let height = match (names.len(), figure.panels.len()) {
        (0, 1) => TALL,
        (0, _) => SHORT,
        (n, _) => slot * n as f64,
    };
    let side = if names.is_empty() {
        ticks(panel.y.scale, y.0, y.1, ((height / 27.0) as usize).min(8))
    } else {
        Ticks::default()
    };
    let y_label = if same(left_hand, |p| &p.y) { vec![] } else { BODY.wrap(&panel.y.label, height) };
    let labels = side.major.iter().map(|tick| &tick.label).chain(names.iter().flatten());
    let widest = labels.map(|label| BODY.width(label)).fold(0.0, f64::max);
    let foot = ticks(panel.x.scale, x.0, x.1, 8);
    let half = 0.5 * foot.major.iter().map(|tick| BODY.width(&tick.label)).fold(0.0, f64::max);
    let label = y_label.len() as f64 * BODY.leading() + if y_label.is_empty() { 0.0 } else { 4.0 };
    Cell {
        panel,
        x,
        y,
        side,
        names,
        x_label: !same(figure.panels.get(i + columns), |p| &p.x),
        left: (label + widest + TICK + 5.0).max(half),
        right: half.max(10.0) + 4.0,
        y_label,
        height,
    }
}

impl Panel {
    /// Whether a series is a point by itself, which is called where it is.
    pub fn names_in_place(&self, series: &Series) -> bool {
        let is_one = matches!(&series.data, Data::Points(points) if points.len() == 1);
        is_one && self.categories.is_empty() && !series.data.has_intervals()
    }
}

/// Panels of bars that show the same quantity get the same axis, with room beyond every bar for its label;
/// `plot` is how wide the plotting areas are.
pub fn common_axes(cells: &mut [Cell], plot: f64) {
    let is_free = |panel: &Panel| panel.x.range.is_none() && panel.series.iter().any(Series::has_bars);
    let shared = |a: &Panel, b: &Panel| a.x.label == b.x.label && a.x.scale == b.x.scale;
    let free: Vec<usize> = (0..cells.len()).filter(|i| is_free(cells[*i].panel)).collect();
    let wide: Vec<(f64, f64)> = free.iter().map(|i| with_labels(&cells[*i], plot)).collect();
    for i in &free {
        let alike = free.iter().zip(&wide).filter(|(other, _)| shared(cells[**other].panel, cells[*i].panel));
        let ends = alike.map(|(_, ends)| *ends);
        cells[*i].x = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    }
}

/// The ends of the axis at which all labels of bars have room.
fn with_labels(cell: &Cell, plot: f64) -> (f64, f64) {
    let (low, mut high) = cell.x;
    for series in &cell.panel.series {
        let Data::Bars(bars) = &series.data else { continue };
        for bar in bars.iter().filter(|bar| bar.value.is_finite() && bar.value > low) {
            let label = if bar.label.is_empty() { 0.0 } else { VALUE.width(&bar.label) + 7.0 };
            // Half of the area at least is for the bars.
            let room = (plot + cell.right - label).clamp(0.5 * plot, plot);
            high = high.max(low + (bar.value - low) * plot / room);
        }
    }
    (low, high)
}

impl Data {
    /// Whether it shares a category with other series. Points without intervals are on one line.
    fn stands_beside(&self) -> bool {
        matches!(self, Data::Bars(_)) || self.has_intervals()
    }

    /// Whether it has points, and one of them an interval.
    pub fn has_intervals(&self) -> bool {
        matches!(self, Data::Points(points) if points.iter().any(|p| !p.low.is_nan() || !p.high.is_nan()))
    }
}

/// The ends of both axes.
fn ranges(panel: &Panel) -> ((f64, f64), (f64, f64)) {
    let (mut xs, mut ys) = (vec![], vec![]);
    let mut ends = false;
    let categories = panel.categories.len();
    for series in &panel.series {
        match &series.data {
            Data::Line(points) => {
                xs.extend(points.iter().map(|p| p.0));
                ys.extend(points.iter().map(|p| p.1));
            }
            Data::Band(slices) => {
                xs.extend(slices.iter().map(|s| s.0));
                ys.extend(slices.iter().flat_map(|s| [s.1, s.2]));
            }
            Data::Bars(bars) => {
                xs.extend(bars.iter().map(|bar| bar.value));
                if panel.x.scale == Scale::Linear {
                    xs.push(0.0);
                }
            }
            Data::Points(points) => {
                ends = true;
                let values = points.iter().flat_map(|p| [p.low, p.value, p.high]);
                if categories > 0 {
                    xs.extend(values);
                } else {
                    ys.extend(values);
                    xs.extend(points.iter().map(|p| p.at));
                }
            }
        }
    }
    let range = |axis: &Axis, values: Vec<f64>, below: f64, above: f64| match axis.range {
        Some((low, high)) if low.is_finite() && high.is_finite() => ticks::proper(low, high),
        _ => {
            let (low, high) = ticks::range(values.into_iter(), axis.scale);
            (low - below * (high - low), high + above * (high - low))
        }
    };
    // No marker on the edge, and no bar without a length.
    let pad = if ends { 0.04 } else { 0.0 };
    let short = panel.x.scale == Scale::Log10 && panel.series.iter().any(Series::has_bars);
    let x = range(&panel.x, xs, if short { 0.08 } else { pad }, pad);
    if categories > 0 {
        return (x, (categories as f64 - 0.5, -0.5));
    }
    (x, range(&panel.y, ys, pad, pad))
}

/// As many marks as have room below an area.
pub fn foot(axis: &Axis, (low, high): (f64, f64), plot: f64) -> Ticks {
    let mut all = Ticks::default();
    for at_most in (2..=8).rev() {
        all = ticks(axis.scale, low, high, at_most);
        let at = |tick: &Tick| plot * (tick.at - low) / (high - low);
        let free = |pair: &[Tick]| {
            let widths = BODY.width(&pair[0].label) + BODY.width(&pair[1].label);
            at(&pair[1]) - at(&pair[0]) >= 0.5 * widths + 10.0
        };
        if all.major.windows(2).all(free) {
            return all;
        }
    }
    all.major.truncate(1);
    all
}

/// Where values are on the page.
pub struct Place {
    /// The plotting area.
    pub area: Area,
    /// The ends of the x axis.
    pub x: (f64, f64),
    /// The ends of the y axis.
    pub y: (f64, f64),
}

impl Place {
    /// A value on the page. Far outside is as good as infinitely far, and can be reckoned with.
    pub fn at(&self, x: f64, y: f64) -> Point {
        let far = |length: f64| length.clamp(-1e6, 1e6);
        let share = |value: f64, (low, high): (f64, f64)| (value - low) / (high - low);
        let Area { x: (left, right), y: (top, bottom) } = self.area;
        (far(left + (right - left) * share(x, self.x)), far(bottom + (top - bottom) * share(y, self.y)))
    }

    /// The middle and thickness of one of `(which, of)` bars in a category.
    pub fn slot(&self, category: f64, (which, of): (usize, usize)) -> (f64, f64) {
        let pitch = (self.at(0.0, 1.0).1 - self.at(0.0, 0.0).1).abs();
        let of = of.max(1);
        let thickness = (0.8 * pitch / of as f64).min(26.0);
        let offset = (which as f64 - 0.5 * (of as f64 - 1.0)) * thickness;
        (self.at(0.0, category).1 + offset, 0.92 * thickness)
    }
}
