//! An allocation as a file that reads back as the same allocation.

use std::fmt::Write;

use super::{Allocation, Level};
use crate::exact::Rational;

impl Allocation {
    /// The text of an allocation file.
    ///
    /// Levels have their ρ and shares of it, which is how budgets are thought of; every number is exact.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut entry = |key: &str, value: &str| {
            let _ = writeln!(text, "{key} = {}", quoted(value));
        };
        entry("name", &self.name);
        if let Some(source) = &self.source {
            entry("source", source);
        }
        entry("record", &self.record);
        entry("neighbours", self.neighbours.name());
        if let Some(delta) = &self.delta {
            entry("delta", &short(delta.value()));
        }
        if let Some(conversion) = self.conversion {
            entry("conversion", conversion.name());
        }
        if !self.attributes.is_empty() {
            let _ = writeln!(text, "attributes = {}", list(&self.attributes));
        }
        text += "\n[queries]\n";
        for query in &self.queries {
            let attributes = list(&query.attributes);
            let value = match query.shift {
                1 => attributes,
                shift => format!("{{ attributes = {attributes}, shift = {shift} }}"),
            };
            let _ = writeln!(text, "{} = {value}", key(&query.name));
        }
        for level in &self.levels {
            self.level(&mut text, level);
        }
        text
    }

    fn level(&self, text: &mut String, level: &Level) {
        let rho = level.rho();
        let _ = write!(
            text,
            "\n[[levels]]\nname = {}\nrho = \"{}\"\n[levels.shares]\n",
            quoted(&level.name),
            rho.to_decimal_or_fraction()
        );
        for m in &level.measurements {
            let share = &m.rho / &rho;
            let _ = writeln!(
                text,
                "{} = \"{}\"",
                key(&self.queries[m.query].name),
                share.to_decimal_or_fraction()
            );
        }
    }
}

/// `1e-10` rather than `0.0000000001`, where that is exact.
fn short(x: &Rational) -> String {
    use crate::bounds::Round;
    let text = x.to_decimal(17, Round::Down);
    if text == x.to_decimal(17, Round::Up) { text } else { x.to_string() }
}

fn list(names: &[String]) -> String {
    format!("[{}]", names.iter().map(|n| quoted(n)).collect::<Vec<_>>().join(", "))
}

fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { name.into() } else { quoted(name) }
}

/// A basic string. Names and values have no control characters: they were read, or are ours.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
