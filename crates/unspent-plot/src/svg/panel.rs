//! One panel: grid, data, axes with their marks and labels.

use super::series::{self, Frame};
use super::sheet::{Setting, Sheet};
use crate::clip::Area;
use crate::layout::{BODY, Cell, INK, Place, TICK, foot};
use crate::style::look;
use crate::ticks::Ticks;
use crate::{Data, Scale};

/// The lines of the grid.
const PALE: &str = "#E2E2E2";

/// Axes, labels and data; the `y` below them.
pub fn draw(sheet: &mut Sheet, cell: &Cell, area: Area, index: usize) -> f64 {
    let Area { x: (left, right), y: (top, bottom) } = area;
    let foot = foot(&cell.panel.x, cell.x, right - left);
    let place = Place { area, x: cell.x, y: cell.y };
    grid(sheet, cell, &foot, &place);

    // A line along the edge keeps its full width.
    let clip = sheet.clip(index, (left - 1.5, top - 1.5), (right - left + 3.0, bottom - top + 3.0));
    let mut order: Vec<usize> = (0..cell.panel.series.len()).collect();
    order.sort_by_key(|&i| {
        let series = &cell.panel.series[i];
        (!matches!(series.data, Data::Band(_)), look(series.role).order)
    });
    let frame = Frame { cell, place: &place, clip: &clip };
    for i in order {
        series::draw(sheet, &frame, i);
    }

    axes(sheet, cell, &foot, &place);
    let mut y = bottom + TICK + 3.0;
    for tick in &foot.major {
        sheet.lines(place.at(tick.at, 0.0).0, y, "middle", BODY, std::slice::from_ref(&tick.label));
    }
    y += BODY.leading();
    if cell.x_label {
        let label = BODY.wrap(&cell.panel.x.label, right - left + cell.right);
        y = sheet.lines(0.5 * (left + right), y + 2.0, "middle", BODY, &label);
    }
    y
}

fn grid(sheet: &mut Sheet, cell: &Cell, foot: &Ticks, place: &Place) {
    let Area { x: (left, right), y: (top, bottom) } = place.area;
    for tick in &foot.major {
        let x = place.at(tick.at, 0.0).0;
        sheet.rule((x, top), (x, bottom), PALE, 1.0);
    }
    for tick in &cell.side.major {
        let y = place.at(0.0, tick.at).1;
        sheet.rule((left, y), (right, y), PALE, 1.0);
    }
}

fn axes(sheet: &mut Sheet, cell: &Cell, foot: &Ticks, place: &Place) {
    let Area { x: (left, right), y: (top, bottom) } = place.area;
    sheet.rule((left, bottom), (right, bottom), INK, 1.0);
    sheet.rule((left, top), (left, bottom), INK, 1.0);
    let zero = place.at(0.0, 0.0).0;
    if !cell.names.is_empty() && cell.panel.x.scale == Scale::Linear && zero > left && zero < right {
        sheet.rule((zero, top), (zero, bottom), INK, 1.0);
    }
    let sized = |ticks: &Ticks| -> Vec<(f64, f64)> {
        let major = ticks.major.iter().map(|tick| (tick.at, TICK));
        major.chain(ticks.minor.iter().map(|&at| (at, 0.55 * TICK))).collect()
    };
    for (at, length) in sized(foot) {
        let x = place.at(at, 0.0).0;
        sheet.rule((x, bottom), (x, bottom + length), INK, 1.0);
    }
    for (at, length) in sized(&cell.side) {
        let y = place.at(0.0, at).1;
        sheet.rule((left - length, y), (left, y), INK, 1.0);
    }
    side_labels(sheet, cell, place);
}

/// What stands at the left: values or categories, and the axis's label.
fn side_labels(sheet: &mut Sheet, cell: &Cell, place: &Place) {
    let Area { x: (left, _), y: (top, bottom) } = place.area;
    let x = left - TICK - 4.0;
    // Half the height of a digit.
    let middle = 0.36 * BODY.size;
    for tick in &cell.side.major {
        let y = place.at(0.0, tick.at).1 + middle;
        sheet.text((x, y), "end", BODY, &tick.label, Setting::Plain);
    }
    for (i, name) in cell.names.iter().enumerate() {
        let up = 0.5 * (name.len() as f64 - 1.0) * BODY.leading();
        for (j, line) in name.iter().enumerate() {
            let y = place.at(0.0, i as f64).1 + middle - up + j as f64 * BODY.leading();
            sheet.text((x, y), "end", BODY, line, Setting::Plain);
        }
    }
    for (i, line) in cell.y_label.iter().enumerate() {
        let x = left - cell.left + BODY.ascent() + i as f64 * BODY.leading();
        sheet.text((x, 0.5 * (top + bottom)), "middle", BODY, line, Setting::Upright);
    }
}
