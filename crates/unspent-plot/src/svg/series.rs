//! The data of a panel: lines, bands, bars, and points with intervals.

use super::sheet::{Setting, Sheet, outline};
use crate::clip::{Point, along};
use crate::layout::{BODY, Cell, Place, VALUE};
use crate::style::{Look, Marker, look};
use crate::{Bar, Data, Interval, Scale};

/// How thick the line of an interval is, and half its ends.
pub const INTERVAL: (f64, f64) = (1.6, 4.0);

/// Where the data of a panel is drawn.
pub struct Frame<'a> {
    /// The panel.
    pub cell: &'a Cell<'a>,
    /// Its values on the page.
    pub place: &'a Place,
    /// The id of what lines and areas are cut off at.
    pub clip: &'a str,
}

/// Draws series `index` of the panel.
pub fn draw(sheet: &mut Sheet, frame: &Frame, index: usize) {
    let series = &frame.cell.panel.series[index];
    let look = look(series.role);
    match &series.data {
        Data::Line(points) => line(sheet, points, look, frame, index),
        Data::Band(slices) => band(sheet, slices, look, frame),
        Data::Bars(all) => bars(sheet, all, look, frame, index),
        Data::Points(all) => points(sheet, all, look, frame, index),
    }
}

fn line(sheet: &mut Sheet, points: &[Point], look: Look, frame: &Frame, index: usize) {
    let place = frame.place;
    let line: Vec<Point> = points.iter().map(|&(x, y)| place.at(x, y)).collect();
    let pieces = place.area.cut(&line);
    if pieces.is_empty() {
        return;
    }
    let path: String = pieces.iter().map(|piece| outline(piece)).collect();
    sheet.stroke(&path, look, Some(frame.clip));
    if look.marker == Marker::None {
        return;
    }
    let spacing = (0.2 * (place.area.x.1 - place.area.x.0)).max(48.0);
    // Curves that run together show their markers in turn.
    let start = 0.25 + 0.37 * index as f64 % 1.0;
    // Off the edges, where they would sit on the axes.
    let (all, inner) = (along(&pieces, spacing, start), place.area.shrunk(8.0));
    let off_edge: Vec<Point> = all.iter().copied().filter(|&at| inner.contains(at)).collect();
    for at in if off_edge.is_empty() { all } else { off_edge } {
        sheet.marker(at, look, "white");
    }
}

fn band(sheet: &mut Sheet, slices: &[(f64, f64, f64)], look: Look, frame: &Frame) {
    let place = frame.place;
    for run in slices.split(|s| s.0.is_nan() || s.1.is_nan() || s.2.is_nan()) {
        let upper = run.iter().map(|&(x, _, upper)| place.at(x, upper));
        let lower = run.iter().rev().map(|&(x, lower, _)| place.at(x, lower));
        let polygon = place.area.cut_polygon(&upper.chain(lower).collect::<Vec<_>>());
        if polygon.len() > 2 {
            sheet.tint(&(outline(&polygon) + "Z"), look, Some(frame.clip));
        }
    }
}

fn bars(sheet: &mut Sheet, bars: &[Bar], look: Look, frame: &Frame, index: usize) {
    let Frame { cell, place, .. } = frame;
    let (left, right) = place.area.x;
    let base = match cell.panel.x.scale {
        Scale::Linear => place.at(0.0, 0.0).0.clamp(left, right),
        Scale::Log10 => left,
    };
    for (i, bar) in bars.iter().enumerate().filter(|(_, bar)| !bar.value.is_nan()) {
        let (y, thickness) = place.slot(i as f64, cell.slot(index));
        let end = place.at(bar.value, 0.0).0.clamp(left, right);
        sheet.shaded((base.min(end), y - 0.5 * thickness), ((end - base).abs(), thickness), look);
        if bar.label.is_empty() {
            continue;
        }
        let width = VALUE.width(&bar.label);
        let outward = if end < base { -1.0 } else { 1.0 };
        // There is room for it, unless the axis was given.
        let anchor = if outward > 0.0 { "start" } else { "end" };
        let room = (left + width, right + cell.right - width - 2.0);
        let at = end + 5.0 * outward;
        let x = if outward > 0.0 { at.min(room.1) } else { at.max(room.0) };
        sheet.text((x, y + 0.36 * VALUE.size), anchor, VALUE, &bar.label, Setting::Grounded);
    }
}

fn points(sheet: &mut Sheet, points: &[Interval], look: Look, frame: &Frame, index: usize) {
    let Frame { cell, place, .. } = frame;
    let sideways = !cell.names.is_empty();
    let (thick, half) = INTERVAL;
    // Points of several series on one line may lie on each other: a ring shows what is below it.
    let is_bare = sideways && !cell.panel.series[index].data.has_intervals();
    let fill = if is_bare && look.marker != Marker::None { "none" } else { point_fill(look) };
    for p in points {
        let y = place.slot(p.at, cell.slot(index)).0;
        let at = |value: f64| if sideways { (place.at(value, 0.0).0, y) } else { place.at(p.at, value) };
        let bar = place.area.cut(&[at(p.low), at(p.high)]);
        if let [piece] = &bar[..] {
            sheet.rule(piece[0], piece[1], look.colour, thick);
        }
        for end in [at(p.low), at(p.high)] {
            let (dx, dy) = if sideways { (0.0, half) } else { (half, 0.0) };
            if place.area.contains(end) {
                sheet.rule((end.0 - dx, end.1 - dy), (end.0 + dx, end.1 + dy), look.colour, thick);
            }
        }
        if place.area.contains(at(p.value)) {
            sheet.marker(at(p.value), look, fill);
        }
    }
    let series = &cell.panel.series[index];
    if cell.panel.names_in_place(series) && place.area.contains(at_of(place, points[0])) {
        beside(sheet, place, at_of(place, points[0]), &series.label);
    }
}

fn at_of(place: &Place, p: Interval) -> Point {
    place.at(p.at, p.value)
}

/// What a point is called: on its left, below, where a curve that falls leaves room; or else on its right,
/// above.
fn beside(sheet: &mut Sheet, place: &Place, (x, y): Point, label: &str) {
    let fits = x - BODY.width(label) - 8.0 > place.area.x.0 + 4.0 && y + BODY.leading() < place.area.y.1;
    let (at, anchor) =
        if fits { ((x - 8.0, y + BODY.leading()), "end") } else { ((x + 8.0, y - 8.0), "start") };
    sheet.text(at, anchor, BODY, label, Setting::Grounded);
}

/// What a point is filled with: a disc is full, another marker has its outline only.
pub fn point_fill(look: Look) -> &'static str {
    if look.marker == Marker::None { look.colour } else { "white" }
}
