//! A figure for those who cannot see it.

use std::fmt::Write;

use crate::layout::Cell;
use crate::{Axis, Panel, Scale};

/// Axes with their ranges, and what is shown, panel by panel.
pub fn in_words(cells: &[Cell]) -> String {
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
