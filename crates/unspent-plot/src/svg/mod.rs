//! A figure as SVG.
//!
//! [`sheet`] writes single elements and knows no data. [`panel`] draws axes, [`series`] the data between
//! them, [`legend`] what they are called. [`words`] says the figure for those who cannot see it.

mod legend;
mod panel;
mod series;
mod sheet;
#[cfg(test)]
mod tests;
mod words;

use crate::Figure;
use crate::clip::Area;
use crate::layout::{COLUMN, Cell, GAP, HEAD, MARGIN, NOTE, PAGE, TITLE, cell, common_axes};
use sheet::Sheet;

/// A self-contained SVG on white, with real text.
pub fn svg(figure: &Figure) -> String {
    let columns = figure.columns.clamp(1, figure.panels.len().max(1));
    let page = PAGE.max(COLUMN * columns as f64);
    let mut cells: Vec<Cell> = (0..figure.panels.len()).map(|i| cell(figure, i, columns, page)).collect();
    let plot = room_of(&cells, columns, page).2;
    common_axes(&mut cells, plot);
    let mut sheet = Sheet::new(fingerprint(figure));

    let room = page - 2.0 * MARGIN;
    let mut y = MARGIN;
    y = sheet.lines(MARGIN, y, "start", TITLE, &TITLE.wrap(&figure.title, room));
    y = sheet.lines(MARGIN, y, "start", NOTE, &NOTE.wrap(&figure.subtitle, room));
    if y > MARGIN {
        y += GAP;
    }
    let (below, left) = panels(&mut sheet, &cells, columns, page, y);
    y = legend::draw(&mut sheet, figure, below, left, page);
    for note in &figure.notes {
        y = sheet.lines(MARGIN, y + 0.75 * GAP, "start", NOTE, &NOTE.wrap(note, room));
    }
    sheet.finish(&figure.title, &words::in_words(&cells), page, y + MARGIN)
}

/// How wide the labels at the left and right of each column are, and a plotting area: columns are as wide as
/// their labels need, and the plotting areas share the rest equally.
fn room_of(cells: &[Cell], columns: usize, page: f64) -> (Vec<f64>, Vec<f64>, f64) {
    let in_column = |c: usize| cells.iter().skip(c).step_by(columns);
    let most = |c: usize, of: fn(&Cell) -> f64| in_column(c).map(of).fold(0.0, f64::max);
    let lefts: Vec<f64> = (0..columns).map(|c| most(c, |cell| cell.left)).collect();
    let rights: Vec<f64> = (0..columns).map(|c| most(c, |cell| cell.right)).collect();
    let labels: f64 = lefts.iter().chain(&rights).sum();
    let plot = ((page - MARGIN - labels) / columns as f64).max(40.0);
    (lefts, rights, plot)
}

/// All panels from `y` down; the `y` below them, and the left edge of the first plotting area.
fn panels(sheet: &mut Sheet, cells: &[Cell], columns: usize, page: f64, mut y: f64) -> (f64, f64) {
    let (lefts, rights, plot) = room_of(cells, columns, page);
    // Where both axes are the same, so are their lengths: the diagonal is one.
    let square = !cells.is_empty() && cells.iter().all(Cell::square);

    for (r, row) in cells.chunks(columns).enumerate() {
        let heads: Vec<Vec<String>> =
            row.iter().enumerate().map(|(c, cell)| HEAD.wrap(&cell.panel.title, plot + rights[c])).collect();
        let head = heads.iter().map(Vec::len).max().unwrap_or(0) as f64 * HEAD.leading();
        let height = if square { plot } else { row.iter().map(|cell| cell.height).fold(0.0, f64::max) };
        let top = y + head + GAP;
        let mut x = MARGIN;
        let mut foot = top;
        for (c, cell) in row.iter().enumerate() {
            x += lefts[c];
            let area = Area { x: (x, x + plot), y: (top, top + height) };
            // Titles of one and two lines in a row stand on the same foot.
            let title_top = top - GAP - heads[c].len() as f64 * HEAD.leading() + 2.0;
            sheet.lines(x, title_top, "start", HEAD, &heads[c]);
            foot = f64::max(foot, panel::draw(sheet, cell, area, r * columns + c));
            x += plot + rights[c];
        }
        y = foot + 1.5 * GAP;
    }
    (y, MARGIN + lefts.first().unwrap_or(&0.0))
}

/// Distinguishes the ids of figures that share a page (FNV-1a).
fn fingerprint(figure: &Figure) -> String {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    format!("p{:08x}", format!("{figure:?}").bytes().fold(0x811c_9dc5, step))
}
