//! A figure as SVG.

use std::fmt::Write;

use super::clip::{Area, Point, along};
use super::layout::{
    BODY, COLUMN, Cell, GAP, HEAD, INK, Lettering, MARGIN, NOTE, PAGE, Place, TICK, TITLE, VALUE, cell, foot,
};
use super::style::{Look, Marker, Shading, look};
use super::text::{FAMILY, escaped, markup};
use super::ticks::Ticks;
use super::{Axis, Bar, Data, Figure, Interval, Panel, Role, Scale};

/// Of the sample in the legend.
const SAMPLE: f64 = 40.0;
const PALE: &str = "#E2E2E2";

/// A self-contained SVG on white, with real text.
pub fn svg(figure: &Figure) -> String {
    let columns = figure.columns.clamp(1, figure.panels.len().max(1));
    let page = PAGE.max(COLUMN * columns as f64);
    let cells: Vec<Cell> = (0..figure.panels.len()).map(|i| cell(figure, i, columns, page)).collect();
    let mut sheet = Sheet { body: String::new(), id: fingerprint(figure), stripes: vec![] };

    let room = page - 2.0 * MARGIN;
    let mut y = MARGIN;
    y = sheet.lines(MARGIN, y, "start", TITLE, &TITLE.wrap(&figure.title, room));
    y = sheet.lines(MARGIN, y, "start", NOTE, &NOTE.wrap(&figure.subtitle, room));
    if y > MARGIN {
        y += GAP;
    }

    // Columns are as wide as their labels need; the plotting areas share the rest equally.
    let in_column = |c: usize| cells.iter().skip(c).step_by(columns);
    let most = |c: usize, of: fn(&Cell) -> f64| in_column(c).map(of).fold(0.0, f64::max);
    let lefts: Vec<f64> = (0..columns).map(|c| most(c, |cell| cell.left)).collect();
    let rights: Vec<f64> = (0..columns).map(|c| most(c, |cell| cell.right)).collect();
    let labels: f64 = lefts.iter().chain(&rights).sum();
    let plot = ((page - MARGIN - labels) / columns as f64).max(40.0);
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
            foot = f64::max(foot, sheet.panel(cell, area, r * columns + c));
            x += plot + rights[c];
        }
        y = foot + 1.5 * GAP;
    }

    y = sheet.legend(figure, y, MARGIN + lefts.first().unwrap_or(&0.0), page);
    for note in &figure.notes {
        y = sheet.lines(MARGIN, y + 0.75 * GAP, "start", NOTE, &NOTE.wrap(note, room));
    }
    sheet.finish(figure, &cells, page, y + MARGIN)
}

/// Distinguishes the ids of figures that share a page (FNV-1a).
fn fingerprint(figure: &Figure) -> String {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    format!("p{:08x}", format!("{figure:?}").bytes().fold(0x811c_9dc5, step))
}

/// The drawing so far.
struct Sheet {
    body: String,
    id: String,
    /// Looks whose stripes are in use.
    stripes: Vec<(&'static str, u8)>,
}

impl Sheet {
    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = self.body.write_fmt(element);
        self.body.push('\n');
    }

    fn text(&mut self, (x, y): Point, anchor: &str, lettering: Lettering, text: &str, more: &str) {
        let Lettering { size, bold, colour } = lettering;
        let weight = if bold { r#" font-weight="bold""# } else { "" };
        let text = markup(text, size);
        self.put(format_args!(
            r#"<text x="{x:.2}" y="{y:.2}" font-size="{size}" text-anchor="{anchor}" fill="{colour}"{weight}{more}>{text}</text>"#
        ));
    }

    /// Lines of text from `y` down; the `y` below them.
    fn lines(&mut self, x: f64, y: f64, anchor: &str, lettering: Lettering, lines: &[String]) -> f64 {
        for (i, line) in lines.iter().enumerate() {
            let foot = y + i as f64 * lettering.leading() + lettering.ascent();
            self.text((x, foot), anchor, lettering, line, "");
        }
        y + lines.len() as f64 * lettering.leading()
    }

    fn rule(&mut self, from: Point, to: Point, colour: &str, stroke: f64) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!(
            r#"<path d="M{x1:.2} {y1:.2}L{x2:.2} {y2:.2}" stroke="{colour}" stroke-width="{stroke}" fill="none"/>"#
        ));
    }

    /// Axes, labels and data; the `y` below them.
    fn panel(&mut self, cell: &Cell, area: Area, index: usize) -> f64 {
        let (left, right, top, bottom) = (area.x.0, area.x.1, area.y.0, area.y.1);
        let foot = foot(&cell.panel.x, cell.x, right - left);
        let place = Place { area, x: cell.x, y: cell.y };
        for tick in &foot.major {
            let x = place.at(tick.at, 0.0).0;
            self.rule((x, top), (x, bottom), PALE, 1.0);
        }
        for tick in &cell.side.major {
            let y = place.at(0.0, tick.at).1;
            self.rule((left, y), (right, y), PALE, 1.0);
        }

        let clip = format!("{}-{index}", self.id);
        // A line along the edge keeps its full width.
        self.put(format_args!(
            r#"<clipPath id="{clip}"><rect x="{:.2}" y="{:.2}" width="{:.2}" height="{:.2}"/></clipPath>"#,
            left - 1.5,
            top - 1.5,
            right - left + 3.0,
            bottom - top + 3.0
        ));
        let mut order: Vec<usize> = (0..cell.panel.series.len()).collect();
        let rank = |i: &usize| {
            let series = &cell.panel.series[*i];
            (!matches!(series.data, Data::Band(_)), look(series.role).order)
        };
        order.sort_by_key(rank);
        for i in order {
            let series = &cell.panel.series[i];
            let look = look(series.role);
            match &series.data {
                Data::Line(points) => self.line(points, look, &place, &clip, i),
                Data::Band(slices) => self.band(slices, look, &place, &clip),
                Data::Bars(bars) => self.bars(bars, look, &place, cell, i),
                Data::Points(points) => self.points(points, look, &place, cell, i),
            }
        }

        self.axes(cell, &foot, &place);
        let mut y = bottom + TICK + 3.0;
        for tick in &foot.major {
            self.lines(place.at(tick.at, 0.0).0, y, "middle", BODY, std::slice::from_ref(&tick.label));
        }
        y += BODY.leading();
        if cell.x_label {
            let label = BODY.wrap(&cell.panel.x.label, right - left + cell.right);
            y = self.lines(0.5 * (left + right), y + 2.0, "middle", BODY, &label);
        }
        y
    }

    fn axes(&mut self, cell: &Cell, foot: &Ticks, place: &Place) {
        let Area { x: (left, right), y: (top, bottom) } = place.area;
        self.rule((left, bottom), (right, bottom), INK, 1.0);
        self.rule((left, top), (left, bottom), INK, 1.0);
        let zero = place.at(0.0, 0.0).0;
        if !cell.names.is_empty() && cell.panel.x.scale == Scale::Linear && zero > left && zero < right {
            self.rule((zero, top), (zero, bottom), INK, 1.0);
        }
        let sized = |ticks: &Ticks| -> Vec<(f64, f64)> {
            let major = ticks.major.iter().map(|tick| (tick.at, TICK));
            major.chain(ticks.minor.iter().map(|&at| (at, 0.55 * TICK))).collect()
        };
        for (at, length) in sized(foot) {
            let x = place.at(at, 0.0).0;
            self.rule((x, bottom), (x, bottom + length), INK, 1.0);
        }
        for (at, length) in sized(&cell.side) {
            let y = place.at(0.0, at).1;
            self.rule((left - length, y), (left, y), INK, 1.0);
        }
        let x = left - TICK - 4.0;
        // Half the height of a digit.
        let middle = 0.36 * BODY.size;
        for tick in &cell.side.major {
            self.text((x, place.at(0.0, tick.at).1 + middle), "end", BODY, &tick.label, "");
        }
        for (i, name) in cell.names.iter().enumerate() {
            let up = 0.5 * (name.len() as f64 - 1.0) * BODY.leading();
            for (j, line) in name.iter().enumerate() {
                let y = place.at(0.0, i as f64).1 + middle - up + j as f64 * BODY.leading();
                self.text((x, y), "end", BODY, line, "");
            }
        }
        for (i, line) in cell.y_label.iter().enumerate() {
            let x = left - cell.left + BODY.ascent() + i as f64 * BODY.leading();
            let y = 0.5 * (top + bottom);
            self.text((x, y), "middle", BODY, line, &format!(r#" transform="rotate(-90 {x:.2} {y:.2})""#));
        }
    }

    fn line(&mut self, points: &[Point], look: Look, place: &Place, clip: &str, index: usize) {
        let line: Vec<Point> = points.iter().map(|&(x, y)| place.at(x, y)).collect();
        let pieces = place.area.cut(&line);
        if pieces.is_empty() {
            return;
        }
        let path: String = pieces.iter().map(|piece| outline(piece)).collect();
        self.stroke(&path, look, &format!(r#" clip-path="url(#{clip})""#));
        let spacing = (0.2 * (place.area.x.1 - place.area.x.0)).max(48.0);
        // Curves that run together show their markers in turn.
        let start = 0.25 + 0.37 * index as f64 % 1.0;
        if look.marker == Marker::None {
            return;
        }
        // Off the edges, where they would sit on the axes.
        let (all, inner) = (along(&pieces, spacing, start), place.area.shrunk(8.0));
        let off_edge: Vec<Point> = all.iter().copied().filter(|&at| inner.contains(at)).collect();
        for at in if off_edge.is_empty() { all } else { off_edge } {
            self.marker(at, look, "white");
        }
    }

    fn stroke(&mut self, path: &str, look: Look, more: &str) {
        let Look { colour, width, dash, .. } = look;
        let dash = if dash.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{dash}""#) };
        self.put(format_args!(
            r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"{dash}{more}/>"#
        ));
    }

    fn marker(&mut self, (x, y): Point, look: Look, fill: &str) {
        let r = 3.6;
        let polygon = |corners: &[Point]| {
            outline(&corners.iter().map(|c| (x + r * c.0, y + r * c.1)).collect::<Vec<_>>()) + "Z"
        };
        let path = match look.marker {
            Marker::None | Marker::Circle => {
                let (a, b) = (x - r, x + r);
                format!("M{a:.2} {y:.2}A{r} {r} 0 0 1 {b:.2} {y:.2}A{r} {r} 0 0 1 {a:.2} {y:.2}Z")
            }
            Marker::Triangle => polygon(&[(0.0, -1.25), (1.15, 0.85), (-1.15, 0.85)]),
            Marker::Square => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            Marker::Diamond => polygon(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
            Marker::Cross => {
                [[(-1.0, -1.0), (1.0, 1.0)], [(-1.0, 1.0), (1.0, -1.0)]].map(|s| polygon(&s)).concat()
            }
        };
        let colour = look.colour;
        self.put(format_args!(r#"<path d="{path}" fill="{fill}" stroke="{colour}" stroke-width="1.5"/>"#));
    }

    fn band(&mut self, slices: &[(f64, f64, f64)], look: Look, place: &Place, clip: &str) {
        for run in slices.split(|s| s.0.is_nan() || s.1.is_nan() || s.2.is_nan()) {
            let upper = run.iter().map(|&(x, _, upper)| place.at(x, upper));
            let lower = run.iter().rev().map(|&(x, lower, _)| place.at(x, lower));
            let polygon = place.area.cut_polygon(&upper.chain(lower).collect::<Vec<_>>());
            if polygon.len() > 2 {
                self.tint(&(outline(&polygon) + "Z"), look, &format!(r#" clip-path="url(#{clip})""#));
            }
        }
    }

    /// The fine outline keeps a band in sight that is narrower than a line.
    fn tint(&mut self, path: &str, look: Look, more: &str) {
        let colour = look.colour;
        self.put(format_args!(
            r#"<path d="{path}" fill="{colour}" fill-opacity="0.22" stroke="{colour}" stroke-opacity="0.45" stroke-width="0.7"{more}/>"#
        ));
    }

    fn bars(&mut self, bars: &[Bar], look: Look, place: &Place, cell: &Cell, index: usize) {
        let (left, right) = place.area.x;
        let base = match cell.panel.x.scale {
            Scale::Linear => place.at(0.0, 0.0).0.clamp(left, right),
            Scale::Log10 => left,
        };
        for (i, bar) in bars.iter().enumerate().filter(|(_, bar)| !bar.value.is_nan()) {
            let (y, thickness) = place.slot(i as f64, cell.slot(index));
            let end = place.at(bar.value, 0.0).0.clamp(left, right);
            self.shaded((base.min(end), y - 0.5 * thickness), ((end - base).abs(), thickness), look);
            let width = VALUE.width(&bar.label);
            let outward = if end < base { -1.0 } else { 1.0 };
            let fits = (left..right + cell.right).contains(&(end + outward * (width + 5.0)));
            // Where there is no room beyond the end, the label stands inside, on a white ground.
            let anchor = if (outward > 0.0) == fits { "start" } else { "end" };
            let x = end + if fits { 5.0 } else { -5.0 } * outward;
            let ground = if fits { "" } else { r#" stroke="white" stroke-width="3.5" paint-order="stroke""# };
            if !bar.label.is_empty() {
                self.text((x, y + 0.36 * VALUE.size), anchor, VALUE, &bar.label, ground);
            }
        }
    }

    fn shaded(&mut self, (x, y): Point, (width, height): (f64, f64), look: Look) {
        let colour = look.colour;
        let fill = match look.shading {
            Shading::Solid => colour.to_string(),
            Shading::Tint => {
                // No grid through a bar.
                self.put(format_args!(
                    r#"<rect x="{x:.2}" y="{y:.2}" width="{width:.2}" height="{height:.2}" fill="white"/>"#
                ));
                format!(r#"{colour}" fill-opacity="0.25"#)
            }
            Shading::Stripes(angle) => {
                if !self.stripes.contains(&(colour, angle)) {
                    self.stripes.push((colour, angle));
                }
                format!("url(#{}-{})", self.id, &colour[1..])
            }
        };
        self.put(format_args!(
            r#"<rect x="{x:.2}" y="{y:.2}" width="{width:.2}" height="{height:.2}" fill="{fill}" stroke="{colour}" stroke-width="1"/>"#
        ));
    }

    fn points(&mut self, points: &[Interval], look: Look, place: &Place, cell: &Cell, index: usize) {
        let sideways = !cell.names.is_empty();
        for p in points {
            let y = place.slot(p.at, cell.slot(index)).0;
            let at = |value: f64| if sideways { (place.at(value, 0.0).0, y) } else { place.at(p.at, value) };
            let bar = place.area.cut(&[at(p.low), at(p.high)]);
            if let [piece] = &bar[..] {
                self.rule(piece[0], piece[1], look.colour, 1.6);
            }
            for end in [at(p.low), at(p.high)] {
                let (dx, dy) = if sideways { (0.0, 4.0) } else { (4.0, 0.0) };
                if place.area.contains(end) {
                    self.rule((end.0 - dx, end.1 - dy), (end.0 + dx, end.1 + dy), look.colour, 1.6);
                }
            }
            if place.area.contains(at(p.value)) {
                self.marker(
                    at(p.value),
                    look,
                    if look.marker == Marker::None { look.colour } else { "white" },
                );
            }
        }
    }

    /// Every label once, in as many columns as have room; the `y` below.
    fn legend(&mut self, figure: &Figure, y: f64, left: f64, page: f64) -> f64 {
        let mut entries: Vec<(&str, Role, Vec<&Data>)> = vec![];
        for series in figure.panels.iter().flat_map(|panel| &panel.series) {
            let kind = std::mem::discriminant(&series.data);
            match entries.iter_mut().find(|e| e.0 == series.label && e.1 == series.role) {
                Some((.., data)) if data.iter().any(|d| std::mem::discriminant(*d) == kind) => {}
                Some((.., data)) => data.push(&series.data),
                None => entries.push((&series.label, series.role, vec![&series.data])),
            }
        }
        entries.retain(|(label, ..)| !label.is_empty());
        if entries.is_empty() {
            return y;
        }
        let gap = 2.0 * GAP;
        let needed = |label: &str| SAMPLE + GAP + BODY.width(label);
        let widths = |columns: usize| -> Vec<f64> {
            let column = |c| entries.iter().skip(c).step_by(columns).map(|e| needed(e.0)).fold(0.0, f64::max);
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
            for ((label, role, data), width) in row.iter().zip(&widths) {
                self.sample((x, y + 0.5 * BODY.leading()), look(*role), data);
                let lines = BODY.wrap(label, room - SAMPLE - GAP);
                below = f64::max(below, self.lines(x + SAMPLE + GAP, y, "start", BODY, &lines));
                x += width + gap;
            }
            y = below + 3.0;
        }
        y
    }

    fn sample(&mut self, (x, y): Point, look: Look, data: &[&Data]) {
        let end = x + SAMPLE;
        let middle = (x + 0.5 * SAMPLE, y);
        let has = |wanted: fn(&Data) -> bool| data.iter().any(|data| wanted(data));
        if has(|data| matches!(data, Data::Band(_))) {
            let corners = [(x, y - 6.0), (end, y - 6.0), (end, y + 6.0), (x, y + 6.0)];
            self.tint(&(outline(&corners) + "Z"), look, "");
        }
        if has(|data| matches!(data, Data::Bars(_))) {
            self.shaded((x, y - 6.0), (SAMPLE, 12.0), look);
        }
        if has(|data| matches!(data, Data::Line(_))) {
            self.stroke(&outline(&[(x, y), (end, y)]), look, "");
            if look.marker != Marker::None {
                self.marker(middle, look, "white");
            }
        }
        if has(|data| matches!(data, Data::Points(_))) {
            self.rule((x + 8.0, y), (end - 8.0, y), look.colour, 1.6);
            for x in [x + 8.0, end - 8.0] {
                self.rule((x, y - 4.0), (x, y + 4.0), look.colour, 1.6);
            }
            self.marker(middle, look, if look.marker == Marker::None { look.colour } else { "white" });
        }
    }

    fn finish(self, figure: &Figure, cells: &[Cell], width: f64, height: f64) -> String {
        let id = &self.id;
        let mut out = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" role="img" aria-labelledby="{id}-title {id}-desc" font-family="{FAMILY}">
<title id="{id}-title">{}</title>
<desc id="{id}-desc">{}</desc>
"#,
            escaped(&figure.title),
            escaped(&in_words(cells)),
            height = height.ceil(),
        );
        for (colour, angle) in &self.stripes {
            let name = &colour[1..];
            let _ = writeln!(
                out,
                r#"<pattern id="{id}-{name}" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate({angle})"><rect width="4" height="4" fill="white"/><rect width="4" height="1.6" fill="{colour}"/></pattern>"#
            );
        }
        let _ = writeln!(out, r#"<rect width="100%" height="100%" fill="white"/>"#);
        out + &self.body + "</svg>\n"
    }
}

/// The figure for those who cannot see it.
fn in_words(cells: &[Cell]) -> String {
    let mut words = String::new();
    for cell in cells {
        let Panel { title, x, y, categories, series } = cell.panel;
        if !title.is_empty() {
            let _ = write!(words, "{title}: ");
        }
        let ends = |axis: &Axis, range: (f64, f64)| match axis.scale {
            Scale::Linear => format!("{} from {} to {}", axis.label, range.0, range.1),
            Scale::Log10 => format!("{} from 10^{} to 10^{}", axis.label, range.0, range.1),
        };
        let side = if categories.is_empty() { ends(y, cell.y) } else { categories.join(", ") };
        let names: Vec<&str> = series.iter().map(|s| s.label.as_str()).filter(|s| !s.is_empty()).collect();
        let _ = write!(words, "{side}, against {}. Shown: {}. ", ends(x, cell.x), names.join("; "));
    }
    words.trim_end().to_string()
}

fn outline(points: &[Point]) -> String {
    let mut path = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let _ = write!(path, "{}{x:.2} {y:.2}", if i == 0 { 'M' } else { 'L' });
    }
    path
}

#[cfg(test)]
mod tests {
    use resvg::usvg::roxmltree::{Document, Node};

    use super::*;
    use crate::plot::Series;
    use crate::plot::text::width;

    fn curve(f: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..=50).map(|i| 0.5 * f64::from(i)).map(|x| (x, f(x))).collect()
    }

    fn delta_curve(rho: f64) -> Panel {
        let conversion = |x: f64| -(x - rho).max(0.0) * (x - rho).max(0.0) / (9.2 * rho);
        Panel {
            x: Axis::linear("ε"),
            y: Axis::log10("δ").between(-12.0, 0.0),
            series: vec![
                Series::line("guarantee (upper bound)", Role::Guarantee, curve(|x| conversion(x) - 1.0)),
                Series::band(
                    "certified bracket",
                    Role::Guarantee,
                    curve(conversion).into_iter().map(|(x, y)| (x, y - 2.0, y - 1.0)).collect(),
                ),
                Series::line("Bun–Steinke <ρ & σ>", Role::Baseline(0), curve(conversion)),
            ],
            ..Panel::default()
        }
    }

    fn grid() -> Figure {
        let titles = ["United States", "State", "County", "Tract", "Optimized Block Group", "Block"];
        let panel = |i: usize| {
            let title = titles.get(i).map_or("Total population by voting age and county", |title| title);
            Panel { title: title.into(), ..delta_curve(0.3 * (i + 1) as f64) }
        };
        Figure {
            title: "Privacy by level".into(),
            subtitle: "alone".into(),
            notes: vec!["A source. ".repeat(30)],
            columns: 4,
            panels: (0..8).map(panel).collect(),
        }
    }

    fn bars() -> Figure {
        let names = ["United States", "Optimized Block Group", "American Indian Reservation and Trust Land"];
        let lengths = |k: f64| (1..4).map(|i| k * f64::from(i)).collect::<Vec<_>>();
        let bars = |k| lengths(k).into_iter().map(|v| Bar { value: v, label: format!("{v:.2}") }).collect();
        let points = |k| {
            let at = lengths(k).into_iter().enumerate();
            at.map(|(i, v)| Interval { at: i as f64, low: v - 0.5, value: v, high: v + 9.0 }).collect()
        };
        let panel = |range| Panel {
            x: Axis { range, ..Axis::linear("ε") },
            categories: names.map(String::from).to_vec(),
            series: vec![
                Series::bars("ours", Role::Guarantee, bars(1.0)),
                Series::bars("theirs", Role::Baseline(1), bars(-1.4)),
                Series::points("both", Role::Alternative, points(1.2)),
            ],
            ..Panel::default()
        };
        Figure { columns: 2, panels: vec![panel(None), panel(Some((-1.0, 3.0)))], ..Figure::default() }
    }

    fn wild() -> Figure {
        let nothing = Panel { x: Axis::linear("x").between(f64::NAN, 1.0), ..Panel::default() };
        let odd = [f64::NAN, f64::NEG_INFINITY, -1e300, 4.0, f64::INFINITY, 1e300, 0.0];
        let odd: Vec<(f64, f64)> = odd.iter().flat_map(|&x| odd.iter().map(move |&y| (x, y))).collect();
        let series = vec![
            Series::band("band", Role::Baseline(3), odd.iter().map(|&(x, y)| (x, y, x)).collect()),
            Series::line("line", Role::Baseline(2), odd.clone()),
            Series::bars(
                "bars",
                Role::Baseline(0),
                odd.iter().map(|p| Bar { value: p.0, label: "a".into() }).collect(),
            ),
            Series::points(
                "points",
                Role::Reference,
                odd.iter().map(|&(at, low)| Interval { at, low, value: at, high: low }).collect(),
            ),
        ];
        let free = Panel { series: series.clone(), ..Panel::default() };
        let bounded = Panel { y: Axis::log10("y").between(-4300.0, 0.0), series, ..Panel::default() };
        Figure { columns: 9, panels: vec![nothing, free, bounded], ..Figure::default() }
    }

    /// Left, top, right, bottom of a text, by the estimate of its width.
    fn extent(node: Node) -> (f64, f64, f64, f64) {
        let number = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
        let (x, y, size) = (number("x"), number("y"), number("font-size"));
        let bold = node.attribute("font-weight").is_some();
        let mut length = 0.0;
        for part in node.descendants().filter(Node::is_text) {
            let size = part.parent().unwrap().attribute("font-size").map_or(size, |s| s.parse().unwrap());
            length += width(part.text().unwrap(), size, bold);
        }
        let start = match node.attribute("text-anchor").unwrap() {
            "start" => 0.0,
            "middle" => -0.5 * length,
            _ => -length,
        };
        let (up, down) = (0.75 * size, 0.22 * size);
        match node.attribute("transform") {
            Some(_) => (x - up, y - start - length, x + down, y - start),
            None => (x + start, y - up, x + start + length, y + down),
        }
    }

    fn texts<'a>(document: &'a Document<'a>) -> Vec<Node<'a, 'a>> {
        document.descendants().filter(|node| node.has_tag_name("text")).collect()
    }

    fn content(node: Node) -> String {
        node.descendants().filter(Node::is_text).filter_map(|part| part.text()).collect()
    }

    #[test]
    fn nothing_leaves_the_page() {
        for figure in [grid(), bars(), wild(), Figure::default()] {
            let svg = svg(&figure);
            let document = Document::parse(&svg).expect("well-formed");
            let view = document.root_element().attribute("viewBox").unwrap();
            let page: Vec<f64> = view.split(' ').map(|n| n.parse().unwrap()).collect();
            let inside = |x: f64, y: f64| (0.0..=page[2]).contains(&x) && (0.0..=page[3]).contains(&y);
            for path in document.descendants().filter_map(|node| node.attribute("d")) {
                // Arcs give radii first; the points of all other commands are pairs.
                for point in path.split(['M', 'L', 'Z']).filter(|p| !p.is_empty() && !p.contains('A')) {
                    let (x, y) = point.split_once(' ').unwrap();
                    assert!(inside(x.parse().unwrap(), y.parse().unwrap()), "{path}");
                }
            }
            for rect in document.descendants().filter(|n| n.has_tag_name("rect") && n.has_attribute("x")) {
                let of = |name| rect.attribute(name).unwrap().parse::<f64>().unwrap();
                assert!(inside(of("x"), of("y")), "{rect:?}");
                assert!(inside(of("x") + of("width"), of("y") + of("height")), "{rect:?}");
            }
            for text in texts(&document) {
                let (left, top, right, bottom) = extent(text);
                assert!(inside(left, top) && inside(right, bottom), "{}", content(text));
            }
            assert!(!svg.contains("NaN") && !svg.contains("inf"));
        }
    }

    #[test]
    fn labels_do_not_overlap() {
        let single = Figure { panels: vec![delta_curve(1.0)], ..grid() };
        let wide = |x: Axis| Panel { x, ..delta_curve(1.0) };
        let wide =
            vec![wide(Axis::log10("α").between(-3e4, 0.0)), wide(Axis::linear("n").between(-4e5, 4e5))];
        let narrow = Figure { columns: 4, panels: [wide.clone(), wide].concat(), ..Figure::default() };
        for figure in [grid(), bars(), single, narrow] {
            let svg = svg(&figure);
            let document = Document::parse(&svg).expect("well-formed");
            let texts = texts(&document);
            for (i, &a) in texts.iter().enumerate() {
                for &b in &texts[..i] {
                    let (p, q) = (extent(a), extent(b));
                    let apart = p.0 >= q.2 || q.0 >= p.2 || p.1 >= q.3 || q.1 >= p.3;
                    assert!(apart, "{} and {}", content(a), content(b));
                }
            }
        }
    }

    #[test]
    fn the_legend_has_each_label_once() {
        let svg = svg(&grid());
        let document = Document::parse(&svg).expect("well-formed");
        for label in ["guarantee (upper bound)", "certified bracket", "Bun–Steinke <ρ & σ>"] {
            assert_eq!(texts(&document).iter().filter(|&&text| content(text) == label).count(), 1, "{label}");
        }
        assert_eq!(texts(&document).iter().filter(|&&text| content(text) == "ε").count(), 4);
        assert_eq!(texts(&document).iter().filter(|&&text| content(text) == "δ").count(), 2);
    }

    #[test]
    fn ticks_are_written_as_powers() {
        let svg = svg(&Figure { panels: vec![delta_curve(1.0)], ..Figure::default() });
        for label in ["−12</tspan>", "−2</tspan>", ">1</text>", ">25</text>"] {
            assert!(svg.contains(label), "{label}");
        }
    }

    #[test]
    fn it_can_be_read_aloud() {
        let svg = svg(&grid());
        let document = Document::parse(&svg).expect("well-formed");
        let said =
            |tag: &str| document.descendants().find(|node| node.has_tag_name(tag)).map(content).unwrap();
        assert_eq!(document.root_element().attribute("role"), Some("img"));
        assert_eq!(said("title"), "Privacy by level");
        assert!(
            said("desc").contains("County: δ from 10^-12 to 10^0, against ε from 0 to 25. Shown: guarantee")
        );
    }

    #[test]
    fn the_diagonal_is_one() {
        let diagonal = Series::line("no information", Role::Reference, vec![(0.0, 1.0), (1.0, 0.0)]);
        let panel = Panel {
            x: Axis::linear("α"),
            y: Axis::linear("f(α)"),
            series: vec![diagonal],
            ..Panel::default()
        };
        let svg = svg(&Figure { panels: vec![panel], ..Figure::default() });
        let document = Document::parse(&svg).expect("well-formed");
        let clip = document.descendants().find(|node| node.has_tag_name("clipPath")).unwrap();
        let area = clip.first_element_child().unwrap();
        assert_eq!(area.attribute("width"), area.attribute("height"));
    }

    #[test]
    fn ids_differ_between_figures() {
        assert_eq!(fingerprint(&grid()), fingerprint(&grid()));
        assert_ne!(fingerprint(&grid()), fingerprint(&bars()));
    }
}
