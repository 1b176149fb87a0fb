//! Figures ready to print, described as plain data; [`svg()`] and [`png()`] draw them.
//!
//! ```text
//! Figure ─▶ layout ─▶ svg ─┬▶ png (pixels)
//! (data)    (ranges,  (text) └▶ pdf
//!            ticks)
//! ```
//!
//! Plotting crates lack two things that are needed here. A log axis may span hundreds of decades, of values
//! too small for a double: on such an axis the logarithms are given. And a series says what it is, not how it
//! looks: a guarantee looks the same in every figure, and differs from the baselines in width, dashes and
//! markers where colour is lost.
//!
//! ```
//! use unspent_plot::{Axis, Figure, Panel, Role, Series, svg};
//!
//! let delta = vec![(0.0, -1.0), (1.0, -3.2), (2.0, -7.5)];
//! let panel = Panel {
//!     x: Axis::linear("ε"),
//!     y: Axis::log10("δ"),
//!     series: vec![Series::line("guarantee (upper bound)", Role::Guarantee, delta)],
//!     ..Panel::default()
//! };
//! let figure = Figure { title: "One release".into(), panels: vec![panel], ..Figure::default() };
//! assert!(svg(&figure).starts_with("<svg"));
//! ```

mod clip;
mod data;
#[cfg(feature = "png")]
mod error;
mod figure;
mod layout;
#[cfg(feature = "png")]
mod pdf;
#[cfg(feature = "png")]
mod png;
mod scales;
mod style;
mod svg;
mod text;
mod ticks;

#[cfg(feature = "png")]
pub use error::Error;
pub use figure::{Axis, Bar, Data, Figure, Interval, Panel, Role, Scale, Series};
#[cfg(feature = "png")]
pub use pdf::pdf;
#[cfg(feature = "png")]
pub use png::png;
pub use scales::comparable;
pub use svg::svg;

/// The extensions that [`bytes`] knows.
#[cfg(feature = "png")]
pub const EXTENSIONS: &[&str] = &["svg", "png", "pdf"];

/// A figure as a file with this extension: `png`, `pdf`, or else SVG.
///
/// # Errors
///
/// If there is none of it; see [`png()`] and [`pdf()`].
#[cfg(feature = "png")]
pub fn bytes(figure: &Figure, extension: &str) -> Result<Vec<u8>, Error> {
    let svg = svg(figure);
    match extension {
        "png" => png(&svg, 2.0),
        "pdf" => pdf(&svg),
        _ => Ok(svg.into_bytes()),
    }
}
