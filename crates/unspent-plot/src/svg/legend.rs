//! The legend: what the series of all panels are called, each with a sample of its look.

use super::series::{INTERVAL, point_fill};
use super::sheet::{Sheet, outline};
use crate::clip::Point;
use crate::layout::{BODY, GAP, MARGIN};
use crate::style::{Look, Marker, look};
use crate::{Data, Figure, Role};

/// Width of a sample.
const SAMPLE: f64 = 40.0;

/// A label, what it is, and the kinds of data that have it.
struct Entry<'a> {
    label: &'a str,
    role: Role,
    data: Vec<&'a Data>,
}

/// Every label once, in as many columns as have room; the `y` below.
pub fn draw(sheet: &mut Sheet, figure: &Figure, y: f64, left: f64, page: f64) -> f64 {
    let entries = entries(figure);
    if entries.is_empty() {
        return y;
    }
    let gap = 2.0 * GAP;
    let needed = |label: &str| SAMPLE + GAP + BODY.width(label);
    let widths = |columns: usize| -> Vec<f64> {
        let column = |c| entries.iter().skip(c).step_by(columns).map(|e| needed(e.label)).fold(0.0, f64::max);
        (0..columns).map(column).collect()
    };
    let total = |columns: usize| widths(columns).iter().sum::<f64>() + gap * (columns as f64 - 1.0);
    // Under the axis, unless more fit side by side from the margin.
    let fit = |left: f64| (1..=entries.len()).rev().find(|&c| total(c) <= page - MARGIN - left);
    let left = if fit(left) >= fit(MARGIN) { left } else { MARGIN };
    let room = page - MARGIN - left;
    // Rows of nearly equal length.
    let columns = fit(left).unwrap_or(1);
    let columns = entries.len().div_ceil(entries.len().div_ceil(columns));
    let widths = widths(columns);
    let mut y = y;
    for row in entries.chunks(columns) {
        let mut x = left;
        let mut below = y;
        for (entry, width) in row.iter().zip(&widths) {
            sample(sheet, (x, y + 0.5 * BODY.leading()), look(entry.role), &entry.data);
            let lines = BODY.wrap(entry.label, room - SAMPLE - GAP);
            below = f64::max(below, sheet.lines(x + SAMPLE + GAP, y, "start", BODY, &lines));
            x += width + gap;
        }
        y = below + 3.0;
    }
    y
}

/// The same label and role in several panels is one entry.
fn entries(figure: &Figure) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry> = vec![];
    for series in figure.panels.iter().flat_map(|panel| {
        // A single point is called where it is.
        panel.series.iter().filter(move |series| !series.label.is_empty() && !panel.names_in_place(series))
    }) {
        let same = |entry: &&mut Entry| entry.label == series.label && entry.role == series.role;
        let kind = std::mem::discriminant(&series.data);
        match entries.iter_mut().find(same) {
            Some(entry) if entry.data.iter().any(|d| std::mem::discriminant(*d) == kind) => {}
            Some(entry) => entry.data.push(&series.data),
            None => entries.push(Entry { label: &series.label, role: series.role, data: vec![&series.data] }),
        }
    }
    entries
}

fn sample(sheet: &mut Sheet, (x, y): Point, look: Look, data: &[&Data]) {
    let end = x + SAMPLE;
    let middle = (x + 0.5 * SAMPLE, y);
    let has = |wanted: fn(&Data) -> bool| data.iter().any(|data| wanted(data));
    if has(|data| matches!(data, Data::Band(_))) {
        let corners = [(x, y - 6.0), (end, y - 6.0), (end, y + 6.0), (x, y + 6.0)];
        sheet.tint(&(outline(&corners) + "Z"), look, None);
    }
    if has(|data| matches!(data, Data::Bars(_))) {
        sheet.shaded((x, y - 6.0), (SAMPLE, 12.0), look);
    }
    if has(|data| matches!(data, Data::Line(_))) {
        sheet.stroke(&outline(&[(x, y), (end, y)]), look, None);
        if look.marker != Marker::None {
            sheet.marker(middle, look, "white");
        }
    }
    if has(|data| matches!(data, Data::Points(points) if points.iter().any(|p| p.low < p.high))) {
        let (thick, half) = INTERVAL;
        sheet.rule((x + 8.0, y), (end - 8.0, y), look.colour, thick);
        for x in [x + 8.0, end - 8.0] {
            sheet.rule((x, y - half), (x, y + half), look.colour, thick);
        }
    }
    if has(|data| matches!(data, Data::Points(_))) {
        sheet.marker(middle, look, point_fill(look));
    }
}
