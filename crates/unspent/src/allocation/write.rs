//! An allocation as a file that reads back as the same allocation.

use std::fmt::Write;

use super::{Allocation, Level};
use crate::error::{Error, Result};
use crate::exact::Rational;

impl Allocation {
    /// The text of an allocation file.
    ///
    /// Every number is exact.
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
            entry("delta", &delta.value().to_short());
        }
        if let Some(conversion) = self.conversion {
            entry("conversion", conversion.name());
        }
        if let Some(epsilon) = &self.epsilon {
            let _ = writeln!(text, "epsilon = \"{}\"", epsilon.value().to_short());
        }
        if !self.nested {
            text += "nested = false\n";
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
        if let Some(table) = &self.table {
            table.write(&mut text);
        }
        text
    }

    /// The same, for a file that others will rely on: an error if it would not read back as this allocation.
    pub fn to_file(&self) -> Result<String> {
        let text = self.to_toml();
        if Allocation::parse("", &text).as_ref() == Ok(self) {
            return Ok(text);
        }
        Err(Error::unreachable(
            "the allocation cannot be written as a file that reads back the same",
            "its numbers may be too long: shorten the fractions of the original",
        ))
    }

    /// ρ and shares, which is how budgets are thought of; or variances, if those fractions are long.
    fn level(&self, text: &mut String, level: &Level) {
        let _ = write!(text, "\n[[levels]]\nname = {}\n", quoted(&level.name));
        let rhos: Vec<Rational> = level.measurements.iter().map(|m| m.rho.clone()).collect();
        // What is longer is not found out: it would not be written.
        let rho = Rational::sum_within(&rhos, 4 * SHORT as u64);
        let shares: Vec<String> = rho
            .iter()
            .flat_map(|rho| rhos.iter().map(move |x| x / rho))
            .map(|share| share.to_decimal_or_fraction())
            .collect();
        let total = rho.map_or_else(String::new, |rho| rho.to_decimal_or_fraction());
        let short = !total.is_empty() && shares.iter().chain([&total]).all(|number| number.len() <= SHORT);
        let numbers = if short {
            let _ = write!(text, "rho = \"{total}\"\n[levels.shares]\n");
            shares
        } else {
            *text += "[levels.sigma2]\n";
            level.measurements.iter().map(|m| m.noise.sigma2().to_decimal_or_fraction()).collect()
        };
        for (m, number) in level.measurements.iter().zip(numbers) {
            let _ = writeln!(text, "{} = \"{number}\"", key(&self.queries[m.query].name));
        }
    }
}

/// Characters up to which a fraction is still to be read.
const SHORT: usize = 80;

pub(super) fn list(names: &[String]) -> String {
    format!("[{}]", names.iter().map(|n| quoted(n)).collect::<Vec<_>>().join(", "))
}

pub(super) fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { name.into() } else { quoted(name) }
}

/// A basic string.
pub(super) fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '\\' | '"' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}
