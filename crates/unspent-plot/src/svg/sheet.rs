//! The drawing so far, element by element: text, lines, markers, areas, bars.

use std::fmt::{Display, Write};

use crate::clip::Point;
use crate::layout::Lettering;
use crate::style::{Look, Marker, Shading};
use crate::text::{FAMILY, escaped, markup};

/// Half the size of a marker.
const MARKER: f64 = 3.6;

/// The drawing so far.
pub struct Sheet {
    body: String,
    id: String,
    /// Looks whose stripes are in use.
    stripes: Vec<(&'static str, u8)>,
}

/// What a text may have besides its place and lettering.
#[derive(Clone, Copy)]
pub enum Setting {
    /// Nothing.
    Plain,
    /// A quarter turn to the left.
    Upright,
    /// A white border, on top of other things.
    Grounded,
}

impl Sheet {
    /// An empty one, whose ids begin with `id`.
    pub fn new(id: String) -> Sheet {
        Sheet { body: String::new(), id, stripes: vec![] }
    }

    fn element(&mut self, name: &'static str) -> Element<'_> {
        Element::new(&mut self.body, name)
    }

    /// One line of text.
    pub fn text(&mut self, at: Point, anchor: &str, lettering: Lettering, text: &str, setting: Setting) {
        let Lettering { size, bold, colour } = lettering;
        let (x, y) = at;
        let mut element = self.element("text").at("x", x).at("y", y);
        element = element.with("font-size", size).with("text-anchor", anchor).with("fill", colour);
        if bold {
            element = element.with("font-weight", "bold");
        }
        element = match setting {
            Setting::Plain => element,
            Setting::Upright => element.with("transform", format_args!("rotate(-90 {x:.2} {y:.2})")),
            Setting::Grounded => {
                element.with("stroke", "white").with("stroke-width", 3.5).with("paint-order", "stroke")
            }
        };
        element.holding(&markup(text, size));
    }

    /// Lines of text from `y` down; the `y` below them.
    pub fn lines(&mut self, x: f64, y: f64, anchor: &str, lettering: Lettering, lines: &[String]) -> f64 {
        for (i, line) in lines.iter().enumerate() {
            let foot = y + i as f64 * lettering.leading() + lettering.ascent();
            self.text((x, foot), anchor, lettering, line, Setting::Plain);
        }
        y + lines.len() as f64 * lettering.leading()
    }

    /// A straight line.
    pub fn rule(&mut self, from: Point, to: Point, colour: &str, stroke: f64) {
        let path = outline(&[from, to]);
        let element = self.element("path").with("d", path);
        element.with("stroke", colour).with("stroke-width", stroke).with("fill", "none").end();
    }

    /// A rectangle that [`Sheet::stroke`] and [`Sheet::tint`] can be cut off at; its id.
    pub fn clip(&mut self, index: usize, (x, y): Point, (width, height): (f64, f64)) -> String {
        let id = format!("{}-{index}", self.id);
        let mut rect = String::new();
        Element::new(&mut rect, "rect").rect((x, y), (width, height)).end();
        self.element("clipPath").with("id", &id).holding(rect.trim_end());
        id
    }

    /// A line with the look of its role.
    pub fn stroke(&mut self, path: &str, look: Look, clip: Option<&str>) {
        let Look { colour, width, dash, .. } = look;
        let mut element = self.element("path").with("d", path).with("fill", "none").with("stroke", colour);
        element = element.with("stroke-width", width).with("stroke-linejoin", "round");
        if !dash.is_empty() {
            element = element.with("stroke-dasharray", dash);
        }
        element.clipped(clip).end();
    }

    /// A pale area. The fine outline keeps a band in sight that is narrower than a line.
    pub fn tint(&mut self, path: &str, look: Look, clip: Option<&str>) {
        let colour = look.colour;
        let element = self.element("path").with("d", path).with("fill", colour).with("fill-opacity", 0.22);
        let element = element.with("stroke", colour).with("stroke-opacity", 0.45).with("stroke-width", 0.7);
        element.clipped(clip).end();
    }

    /// The marker of a look; where it has none, a disc.
    pub fn marker(&mut self, (x, y): Point, look: Look, fill: &str) {
        let r = MARKER;
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
        let element = self.element("path").with("d", path).with("fill", fill);
        element.with("stroke", look.colour).with("stroke-width", 1.5).end();
    }

    /// A bar, or its sample.
    pub fn shaded(&mut self, at: Point, size: (f64, f64), look: Look) {
        let colour = look.colour;
        let (fill, opacity) = match look.shading {
            Shading::Solid => (colour.to_string(), None),
            Shading::Tint => {
                // No grid through a bar.
                self.element("rect").rect(at, size).with("fill", "white").end();
                (colour.to_string(), Some(0.25))
            }
            Shading::Stripes(angle) => {
                if !self.stripes.contains(&(colour, angle)) {
                    self.stripes.push((colour, angle));
                }
                (format!("url(#{}-{})", self.id, &colour[1..]), None)
            }
        };
        let mut element = self.element("rect").rect(at, size).with("fill", fill);
        if let Some(opacity) = opacity {
            element = element.with("fill-opacity", opacity);
        }
        element.with("stroke", colour).with("stroke-width", 1).end();
    }

    /// The whole SVG.
    pub fn finish(self, title: &str, words: &str, width: f64, height: f64) -> String {
        let (id, height) = (&self.id, height.ceil());
        let (title, words) = (escaped(title), escaped(words));
        let mut inside = String::from("\n");
        Element::new(&mut inside, "title").with("id", format_args!("{id}-title")).holding(&title);
        Element::new(&mut inside, "desc").with("id", format_args!("{id}-desc")).holding(&words);
        for (colour, angle) in &self.stripes {
            let ground = r#"<rect width="4" height="4" fill="white"/>"#;
            let stripe = format!(r#"<rect width="4" height="1.6" fill="{colour}"/>"#);
            Element::new(&mut inside, "pattern")
                .with("id", format_args!("{id}-{}", &colour[1..]))
                .with("width", 4)
                .with("height", 4)
                .with("patternUnits", "userSpaceOnUse")
                .with("patternTransform", format_args!("rotate({angle})"))
                .holding(&format!("{ground}{stripe}"));
        }
        let page = Element::new(&mut inside, "rect").with("width", "100%").with("height", "100%");
        page.with("fill", "white").end();
        inside += &self.body;

        let mut out = String::new();
        Element::new(&mut out, "svg")
            .with("xmlns", "http://www.w3.org/2000/svg")
            .with("width", format_args!("{width:.0}"))
            .with("height", format_args!("{height:.0}"))
            .with("viewBox", format_args!("0 0 {width:.0} {height:.0}"))
            .with("role", "img")
            .with("aria-labelledby", format_args!("{id}-title {id}-desc"))
            .with("font-family", FAMILY)
            .holding(&inside);
        out
    }
}

/// An element that is being written. Values are written as they are: a figure's text is escaped before.
struct Element<'a> {
    out: &'a mut String,
    name: &'static str,
}

impl<'a> Element<'a> {
    fn new(out: &'a mut String, name: &'static str) -> Element<'a> {
        let _ = write!(out, "<{name}");
        Element { out, name }
    }

    fn with(self, attribute: &str, value: impl Display) -> Self {
        let _ = write!(self.out, r#" {attribute}="{value}""#);
        self
    }

    /// A length on the page, to a hundredth.
    fn at(self, attribute: &str, length: f64) -> Self {
        self.with(attribute, format_args!("{length:.2}"))
    }

    fn rect(self, (x, y): Point, (width, height): (f64, f64)) -> Self {
        self.at("x", x).at("y", y).at("width", width).at("height", height)
    }

    fn clipped(self, clip: Option<&str>) -> Self {
        match clip {
            Some(id) => self.with("clip-path", format_args!("url(#{id})")),
            None => self,
        }
    }

    fn end(self) {
        *self.out += "/>\n";
    }

    fn holding(self, content: &str) {
        let _ = writeln!(self.out, ">{content}</{}>", self.name);
    }
}

/// A path through points.
pub fn outline(points: &[Point]) -> String {
    let mut path = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let _ = write!(path, "{}{x:.2} {y:.2}", if i == 0 { 'M' } else { 'L' });
    }
    path
}
