//! A figure as a page of PDF: vectors, with letters as outlines.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use resvg::tiny_skia::{PathSegment, Transform};
use resvg::usvg::{
    ClipPath, FillRule, Group, LineCap, LineJoin, Node, Paint, PaintOrder, Path, Pattern, Stroke,
};

use crate::Error;
use crate::png::tree;

/// Points of a unit of SVG.
const POINT: f32 = 0.75;

/// The PDF of an SVG, on a page of its size.
///
/// Letters are outlines of the font that comes with the program, so that no reader needs it.
///
/// # Errors
///
/// If `svg` is no SVG, or has what no figure has: pictures and gradients.
pub fn pdf(svg: &str) -> Result<Vec<u8>, Error> {
    let tree = tree(svg)?;
    let (width, height) = (POINT * tree.size().width(), POINT * tree.size().height());
    let mut page = Content::default();
    page.transform(Transform::from_row(POINT, 0.0, 0.0, -POINT, 0.0, height));
    page.group(tree.root(), 1.0)?;
    Ok(page.file(width, height))
}

/// Operators of a page so far.
#[derive(Default)]
struct Content {
    operators: String,
    /// Opacities of fills and of lines, in thousandths.
    opacities: Vec<(u32, u32)>,
}

impl Content {
    /// One operator after its numbers.
    fn put(&mut self, numbers: &[f32], operator: &str) {
        for number in numbers {
            let _ = write!(self.operators, "{} ", (number * 1e4).round() / 1e4);
        }
        self.operators += operator;
        self.operators.push('\n');
    }

    fn transform(&mut self, t: Transform) {
        self.put(&[t.sx, t.ky, t.kx, t.sy, t.tx, t.ty], "cm");
    }

    fn group(&mut self, group: &Group, opacity: f32) -> Result<(), Error> {
        self.put(&[], "q");
        self.transform(group.transform());
        if let Some(clip) = group.clip_path() {
            self.clip(clip)?;
        }
        let opacity = opacity * group.opacity().get();
        for node in group.children() {
            match node {
                Node::Group(group) => self.group(group, opacity)?,
                Node::Path(path) if path.is_visible() => self.path(path, opacity)?,
                Node::Path(_) => {}
                Node::Text(text) => self.group(text.flattened(), opacity)?,
                Node::Image(_) => return Err(Error::new("a figure has no pictures in it")),
            }
        }
        self.put(&[], "Q");
        Ok(())
    }

    /// Cuts off what follows: at rectangles, which is all that a figure has.
    fn clip(&mut self, clip: &ClipPath) -> Result<(), Error> {
        for node in clip.root().children() {
            let Node::Path(path) = node else { return Err(Error::new("no simple clip")) };
            self.outline(path);
        }
        self.put(&[], "W n");
        Ok(())
    }

    fn path(&mut self, path: &Path, opacity: f32) -> Result<(), Error> {
        if path.paint_order() == PaintOrder::StrokeAndFill {
            self.stroke(path, opacity)?;
            return self.fill(path, opacity);
        }
        self.fill(path, opacity)?;
        self.stroke(path, opacity)
    }

    fn fill(&mut self, path: &Path, opacity: f32) -> Result<(), Error> {
        let Some(fill) = path.fill() else { return Ok(()) };
        self.opacity(opacity * fill.opacity().get(), 1.0);
        let operator = if fill.rule() == FillRule::EvenOdd { "f*" } else { "f" };
        match fill.paint() {
            Paint::Pattern(pattern) => return self.tiles(path, pattern),
            paint => self.colour(paint, "rg")?,
        }
        self.outline(path);
        self.put(&[], operator);
        Ok(())
    }

    fn stroke(&mut self, path: &Path, opacity: f32) -> Result<(), Error> {
        let Some(stroke) = path.stroke() else { return Ok(()) };
        self.opacity(1.0, opacity * stroke.opacity().get());
        self.colour(stroke.paint(), "RG")?;
        self.pen(stroke);
        self.outline(path);
        self.put(&[], "S");
        Ok(())
    }

    fn colour(&mut self, paint: &Paint, operator: &str) -> Result<(), Error> {
        let Paint::Color(colour) = paint else { return Err(Error::new("a figure has no gradients")) };
        let parts = [colour.red, colour.green, colour.blue].map(|part| f32::from(part) / 255.0);
        self.put(&parts, operator);
        Ok(())
    }

    fn pen(&mut self, stroke: &Stroke) {
        self.put(&[stroke.width().get()], "w");
        let cap = match stroke.linecap() {
            LineCap::Butt => 0.0,
            LineCap::Round => 1.0,
            LineCap::Square => 2.0,
        };
        let join = match stroke.linejoin() {
            LineJoin::Round => 1.0,
            LineJoin::Bevel => 2.0,
            _ => 0.0,
        };
        self.put(&[cap], "J");
        self.put(&[join], "j");
        self.put(&[stroke.miterlimit().get()], "M");
        self.operators.push('[');
        for dash in stroke.dasharray().unwrap_or_default() {
            let _ = write!(self.operators, "{dash} ");
        }
        self.operators.push_str("] ");
        self.put(&[stroke.dashoffset()], "d");
    }

    /// Fills a path with a pattern, tile by tile.
    fn tiles(&mut self, path: &Path, pattern: &Pattern) -> Result<(), Error> {
        let Some(back) = pattern.transform().invert() else { return Ok(()) };
        let Some(area) = path.data().bounds().transform(back) else { return Ok(()) };
        let tile = pattern.rect();
        self.put(&[], "q");
        self.outline(path);
        self.put(&[], "W n");
        self.transform(pattern.transform());
        let first = |low: f32, start: f32, size: f32| ((low - start) / size).floor() as i32;
        let last = |high: f32, start: f32, size: f32| ((high - start) / size).ceil() as i32;
        for row in first(area.top(), tile.y(), tile.height())..last(area.bottom(), tile.y(), tile.height()) {
            for column in
                first(area.left(), tile.x(), tile.width())..last(area.right(), tile.x(), tile.width())
            {
                self.put(&[], "q");
                let (x, y) = (column as f32 * tile.width(), row as f32 * tile.height());
                self.transform(Transform::from_translate(tile.x() + x, tile.y() + y));
                self.group(pattern.root(), 1.0)?;
                self.put(&[], "Q");
            }
        }
        self.put(&[], "Q");
        Ok(())
    }

    fn outline(&mut self, path: &Path) {
        let mut last = (0.0, 0.0);
        for segment in path.data().segments() {
            match segment {
                PathSegment::MoveTo(p) => self.put(&[p.x, p.y], "m"),
                PathSegment::LineTo(p) => self.put(&[p.x, p.y], "l"),
                PathSegment::QuadTo(c, p) => {
                    // A cubic with the same shape.
                    let (a, b) = (
                        (last.0 + 2.0 / 3.0 * (c.x - last.0), last.1 + 2.0 / 3.0 * (c.y - last.1)),
                        (p.x + 2.0 / 3.0 * (c.x - p.x), p.y + 2.0 / 3.0 * (c.y - p.y)),
                    );
                    self.put(&[a.0, a.1, b.0, b.1, p.x, p.y], "c");
                }
                PathSegment::CubicTo(a, b, p) => self.put(&[a.x, a.y, b.x, b.y, p.x, p.y], "c"),
                PathSegment::Close => self.put(&[], "h"),
            }
            if let PathSegment::MoveTo(p)
            | PathSegment::LineTo(p)
            | PathSegment::QuadTo(_, p)
            | PathSegment::CubicTo(_, _, p) = segment
            {
                last = (p.x, p.y);
            }
        }
    }

    fn opacity(&mut self, fill: f32, stroke: f32) {
        let wanted = [fill, stroke].map(|x| (1000.0 * x).round() as u32).into();
        let known = self.opacities.iter().position(|known| *known == wanted);
        let at = known.unwrap_or_else(|| {
            self.opacities.push(wanted);
            self.opacities.len() - 1
        });
        self.put(&[], &format!("/G{at} gs"));
    }

    /// The objects of a file with this one page.
    fn file(self, width: f32, height: f32) -> Vec<u8> {
        let mut packed = ZlibEncoder::new(vec![], Compression::best());
        let packed = packed.write_all(self.operators.as_bytes()).and_then(|()| packed.finish());
        let packed = packed.expect("memory can be written");
        let states: String = self
            .opacities
            .iter()
            .enumerate()
            .map(|(at, (fill, stroke))| {
                let [fill, stroke] = [fill, stroke].map(|x| f64::from(*x) / 1000.0);
                format!("/G{at} << /ca {fill} /CA {stroke} >> ")
            })
            .collect();
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents 4 0 R \
             /Resources << /ExtGState << {states}>> >> >>"
        );
        let stream = format!("<< /Length {} /Filter /FlateDecode >>\nstream\n", packed.len());
        let objects: [Vec<u8>; 5] = [
            b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
            page.into_bytes(),
            [stream.as_bytes(), &packed, b"\nendstream"].concat(),
            b"<< /Producer (unspent) >>".to_vec(),
        ];
        let mut file = b"%PDF-1.4\n%\xE2\xE3\xCF\xD3\n".to_vec();
        let mut places = vec![];
        for (at, object) in objects.iter().enumerate() {
            places.push(file.len());
            file.extend(format!("{} 0 obj\n", at + 1).into_bytes());
            file.extend(object);
            file.extend(b"\nendobj\n");
        }
        let table = file.len();
        file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).into_bytes());
        places.iter().for_each(|place| file.extend(format!("{place:010} 00000 n \n").into_bytes()));
        let size = objects.len() + 1;
        let end = format!("trailer\n<< /Size {size} /Root 1 0 R /Info 5 0 R >>\nstartxref\n{table}\n%%EOF\n");
        file.extend(end.into_bytes());
        file
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::ZlibDecoder;

    use super::*;
    use crate::{Axis, Bar, Figure, Panel, Role, Series, svg};

    fn find(bytes: &[u8], what: &[u8]) -> usize {
        bytes.windows(what.len()).position(|window| window == what).expect("is there")
    }

    #[test]
    fn a_figure_is_one_page_whose_objects_are_where_the_table_says() {
        let bars = vec![Bar { value: 2.0, label: "2".into() }];
        let series = vec![
            Series::bars("a", Role::Baseline(1), bars.clone()),
            Series::bars("b", Role::Baseline(0), bars),
        ];
        let panel =
            Panel { x: Axis::linear("ε"), categories: vec!["State".into()], series, ..Panel::default() };
        let file = pdf(&svg(&Figure { panels: vec![panel], ..Figure::default() })).unwrap();
        assert!(file.starts_with(b"%PDF-1.4\n") && file.ends_with(b"%%EOF\n"));
        let table = find(&file, b"xref\n");
        let text = String::from_utf8(file[table..].to_vec()).unwrap();
        assert!(text.contains(&format!("startxref\n{table}\n")));
        for (at, line) in text.lines().skip(3).take(5).enumerate() {
            let place: usize = line[..10].parse().unwrap();
            assert!(file[place..].starts_with(format!("{} 0 obj\n", at + 1).as_bytes()), "{line}");
        }
        let (start, end) = (find(&file, b"stream\n") + 7, find(&file, b"\nendstream"));
        let mut operators = String::new();
        ZlibDecoder::new(&file[start..end]).read_to_string(&mut operators).unwrap();
        let count = |operator: &str| operators.lines().filter(|line| *line == operator).count();
        assert_eq!(count("q"), count("Q"));
        assert!(count("f") + count("f*") > 20 && count("S") > 5, "letters, bars and stripes are there");
    }

    #[test]
    fn what_is_no_figure_is_refused() {
        assert!(pdf("ε").is_err());
    }
}
