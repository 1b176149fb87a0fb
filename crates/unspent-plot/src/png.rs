//! A figure as pixels.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Source;
use resvg::usvg::{Options, Tree};

use crate::Error;

/// The PNG of an SVG, `scale` pixels to its unit.
///
/// The font comes with the program: the same pixels on every machine, and no text lost where no font
/// is installed.
///
/// # Errors
///
/// If `svg` is no SVG, or `scale` gives it no size that a picture can have.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, Error> {
    let tree = tree(svg)?;
    let side = |length: f32| (length * scale).ceil() as u32;
    let (width, height) = (side(tree.size().width()), side(tree.size().height()));
    let mut pixels = Pixmap::new(width, height)
        .ok_or_else(|| Error::new(format!("no picture of {width} by {height} pixels")))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| Error::new(e.to_string()))
}

/// An SVG that was understood.
pub fn tree(svg: &str) -> Result<Tree, Error> {
    Tree::from_str(svg, &options()).map_err(|e| Error::new(format!("not an SVG: {e}")))
}

fn options() -> Options<'static> {
    let mut options = Options { font_family: "Noto Sans".into(), ..Options::default() };
    let fonts = options.fontdb_mut();
    for font in [notosans::REGULAR_TTF, notosans::BOLD_TTF] {
        fonts.load_font_source(Source::Binary(Arc::new(font)));
    }
    fonts.set_sans_serif_family("Noto Sans");
    options
}

#[cfg(test)]
mod tests {
    use resvg::usvg::Node;

    use super::*;
    use crate::{Axis, Figure, Panel, svg, text};

    fn pixels(svg: &str) -> Pixmap {
        Pixmap::decode_png(&png(svg, 1.0).expect("an SVG")).expect("a PNG")
    }

    #[test]
    fn text_is_drawn_without_any_font_installed() {
        let panel = |label: &str| Panel { x: Axis::linear(label), y: Axis::linear("y"), ..Panel::default() };
        let figure = |label| Figure { panels: vec![panel(label)], ..Figure::default() };
        // The same layout twice; the second label is made of spaces that do not break.
        let (with, without) = (pixels(&svg(&figure("epsilon"))), pixels(&svg(&figure("\u{a0}"))));
        assert_eq!((with.width(), with.height()), (without.width(), without.height()));
        let mut rows: Vec<usize> = vec![];
        for (i, (a, b)) in with.pixels().iter().zip(without.pixels()).enumerate() {
            if a != b {
                rows.push(i / with.width() as usize);
            }
        }
        assert!(rows.len() > 100, "only {} pixels of text", rows.len());
        let (first, last) = (rows[0], rows[rows.len() - 1]);
        assert!(last - first < 20 && first as u32 > with.height() / 2, "rows {first} to {last}");
    }

    /// The outline of one character, and its extent.
    fn outline(character: &str, weight: &str) -> (String, f32) {
        let svg = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="900" height="60">
            <text x="5" y="40" font-size="20" font-weight="{weight}" xml:space="preserve">{}</text></svg>"#,
            text::escaped(character)
        );
        let tree = Tree::from_str(&svg, &options()).expect("an SVG");
        match tree.root().children() {
            [Node::Text(text)] => {
                let glyphs = text.flattened().children().iter().map(|node| match node {
                    Node::Path(path) => format!("{:?}", path.data()),
                    other => format!("{other:?}"),
                });
                (glyphs.collect(), text.bounding_box().width())
            }
            _ => (String::new(), 0.0),
        }
    }

    #[test]
    fn the_font_has_every_character_of_the_field() {
        for weight in ["normal", "bold"] {
            let missing = outline("\u{E123}", weight).0;
            for c in "AZaz09εδαρσμλβγΔΦΣ≤≥−×·–—±≈∞…%".chars() {
                let drawn = outline(&c.to_string(), weight).0;
                assert!(!drawn.is_empty() && drawn != missing, "{c} is missing in {weight}");
            }
        }
    }

    #[test]
    fn estimated_widths_are_not_exceeded() {
        for text in
            ["guarantee (upper bound)", "Optimized Block Group", "10,000", "δ ≤ 0.5, ρ − ε × σ", "MWmw@%—"]
        {
            for (weight, bold) in [("normal", false), ("bold", true)] {
                let (drawn, estimate) = (outline(text, weight).1, text::width(text, 20.0, bold));
                assert!(f64::from(drawn) <= estimate, "{text} {weight}: {drawn} {estimate}");
            }
        }
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        assert!(png("ε", 1.0).is_err());
        assert!(png(&svg(&Figure::default()), 0.0).is_err());
        assert!(png(&svg(&Figure::default()), f32::NAN).is_err());
    }
}
