//! An allocation as a file that reads back as the same allocation.

use std::fmt::Write;

use crate::allocation::{Allocation, Bypass, ExactValues, Form, Level, Measurement};
use crate::error::{Error, ErrorKind, Result};
use crate::number::Rational;
use crate::schema::Schema;

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
        entry("name", self.name());
        if let Some(source) = self.source() {
            entry("source", source);
        }
        entry("record", self.record());
        entry("neighbours", self.neighbours().name());
        if let Some(delta) = self.delta() {
            entry("delta", &delta.value().to_short());
        }
        if let Some(conversion) = self.conversion() {
            entry("conversion", conversion.name());
        }
        if let Some(epsilon) = self.epsilon() {
            let _ = writeln!(text, "epsilon = \"{}\"", epsilon.value().to_short());
        }
        if !self.is_nested() {
            text += "nested = false\n";
        }
        let production = self.production();
        if let Some(touches) = production.touches {
            let _ = writeln!(text, "touches = {touches}");
        }
        if let Some(series) = &production.series {
            let _ = writeln!(text, "series = {}", quoted(series));
        }
        if !production.assumptions.is_empty() {
            let _ = writeln!(text, "assumptions = {}", list(&production.assumptions));
        }
        if !production.exact_totals.is_empty() {
            let _ = writeln!(text, "exact_totals = {}", list(&production.exact_totals));
        }
        let numbers = self.numbers();
        if let Some(total) = numbers.total.as_ref().filter(|_| !self.levels().is_empty()) {
            let _ = writeln!(text, "rho = \"{total}\"");
        }
        // Attributes and queries that follow from the schema are not repeated.
        let schema = self.schema();
        let shipped = schema.and_then(|schema| schema.shipped);
        let same = schema.is_some_and(|s| s.attributes().iter().map(|a| &a.name).eq(self.attributes()));
        if let Some(name) = shipped {
            let _ = writeln!(text, "schema = {}", quoted(name));
        } else if !same && !self.attributes().is_empty() {
            let _ = writeln!(text, "attributes = {}", list(self.attributes()));
        }
        for invariant in &production.invariants {
            let _ = write!(text, "\n[[invariants]]\nlevel = {}\n", quoted(&invariant.level));
            let _ = match &invariant.values {
                ExactValues::Query(query) => writeln!(text, "query = {}", quoted(query)),
                ExactValues::Columns(name, columns) => {
                    writeln!(text, "name = {}\ncolumns = {}", quoted(name), list(columns))
                }
            };
        }
        match &production.bypass {
            None => {}
            Some(Bypass::Keep(keep)) => {
                let _ = write!(text, "\n[bypass]\nkeep = {}\n", list(keep));
            }
            Some(Bypass::Paths(paths)) => {
                text += "\n[bypass]\npaths = [\n";
                for path in paths {
                    let _ = writeln!(text, "  {},", list(path));
                }
                text += "]\n";
            }
        }
        for also in self.also() {
            let mechanism = &also.described.mechanism;
            let _ = write!(text, "\n[[also]]\nkind = {}\n", quoted(mechanism.kind()));
            for (name, value) in mechanism.parameters() {
                let _ = writeln!(text, "{name} = {}", quoted(&value));
            }
            let _ = writeln!(text, "count = {}\nnote = {}", also.described.count, quoted(&also.note));
        }
        let follows = shipped.is_some() && self.queries_follow(schema);
        if !follows && !self.queries().is_empty() {
            text += "\n[queries]\n";
        }
        for query in self.queries().iter().filter(|_| !follows) {
            let attributes = list(&query.by);
            let value = match query.shift {
                1 => attributes,
                shift => format!("{{ attributes = {attributes}, shift = {shift} }}"),
            };
            let _ = writeln!(text, "{} = {value}", key(&query.name));
        }
        for (level, numbers) in self.levels().iter().zip(numbers.levels) {
            let _ = write!(text, "\n[[levels]]\nname = {}\n{}", quoted(&level.name), numbers.head);
            for (m, number) in level.measurements.iter().zip(numbers.numbers) {
                let _ = writeln!(text, "{} = {number}", key(&self.queries()[m.query].name));
            }
        }
        if let Some(schema) = schema {
            schema.write_tables(&mut text, same);
        }
        text
    }

    /// Whether all queries are those of the schema that are asked, in its order.
    fn queries_follow(&self, schema: Option<&Schema>) -> bool {
        let asked = |name: &str| self.measurements().any(|(_, query, _)| query.name == name);
        let of_schema = schema.into_iter().flat_map(Schema::queries).filter(|query| asked(&query.name));
        let ours = self.queries().iter();
        of_schema.map(|q| (&q.name, &q.by, 1)).eq(ours.map(|q| (&q.name, &q.by, q.shift)))
    }

    /// The same, for a file that others will rely on: an error if it would not read back as this allocation.
    pub fn to_file(&self) -> Result<String> {
        let text = self.to_toml();
        if Allocation::parse("", &text).as_ref() == Ok(self) {
            return Ok(text);
        }
        Err(Error::of_kind(
            ErrorKind::TooLarge,
            "the allocation cannot be written as a file that reads back the same",
            "its numbers may be too long: shorten the fractions of the original",
        ))
    }

    /// The numbers of a file, in the form of its author; as variances, if they would be too long to read.
    fn numbers(&self) -> Numbers {
        let all: Vec<Rational> = self.measurements().map(|(_, _, m)| m.rho.clone()).collect();
        // What is longer is not found out: it would not be written.
        let total = Rational::sum_within(&all, BITS);
        let in_form = |form: Form| -> Option<Vec<LevelNumbers>> {
            self.levels().iter().map(|level| LevelNumbers::new(level, form, total.as_ref())).collect()
        };
        let written = total.as_ref().map(Rational::to_decimal_or_fraction);
        match (self.form(), in_form(self.form()), written) {
            // Shares are of the budget of Gaussian noise.
            (Form::Shares, Some(levels), Some(total)) if total.len() <= SHORT && self.is_gaussian() => {
                Numbers { total: Some(total), levels }
            }
            (Form::LevelRho | Form::Rho, Some(levels), _) => Numbers { total: None, levels },
            _ => {
                // Each level by itself, which may still be short.
                let level = |level: &Level| {
                    let by_rho = match self.form() {
                        Form::Sigma2 => None,
                        _ => LevelNumbers::new(level, Form::LevelRho, None),
                    };
                    by_rho.unwrap_or_else(|| LevelNumbers::by_variance(level))
                };
                Numbers { total: None, levels: self.levels().iter().map(level).collect() }
            }
        }
    }
}

struct Numbers {
    total: Option<String>,
    levels: Vec<LevelNumbers>,
}

/// What stands between the name of a level and its queries, and the number of each query.
struct LevelNumbers {
    head: String,
    numbers: Vec<String>,
}

impl LevelNumbers {
    /// In that form, if all numbers are short.
    fn new(level: &Level, form: Form, total: Option<&Rational>) -> Option<LevelNumbers> {
        if level.measurements.iter().any(|m| m.gaussian().is_err()) {
            return Some(LevelNumbers::by_variance(level));
        }
        let rhos: Vec<Rational> = level.measurements.iter().map(|m| m.rho.clone()).collect();
        let rho = || Rational::sum_within(&rhos, BITS);
        let text = |number: &Rational| quoted(&number.to_decimal_or_fraction());
        let written = |numbers: Vec<Rational>| numbers.iter().map(text).collect();
        let shares = |rho: &Rational| written(rhos.iter().map(|x| x / rho).collect());
        let made = match form {
            Form::Shares => {
                let rho = rho()?;
                let share = (&rho / total?).to_decimal_or_fraction();
                LevelNumbers {
                    head: format!("share = \"{share}\"\n[levels.shares]\n"),
                    numbers: shares(&rho),
                }
            }
            Form::LevelRho => {
                let rho = rho()?;
                let head = format!("rho = \"{}\"\n[levels.shares]\n", rho.to_decimal_or_fraction());
                LevelNumbers { head, numbers: shares(&rho) }
            }
            Form::Rho => LevelNumbers { head: "[levels.rho]\n".into(), numbers: written(rhos) },
            Form::Sigma2 => LevelNumbers::by_variance(level),
        };
        let is_short =
            made.head.len() <= SHORT && made.numbers.iter().all(|number| number.len() <= SHORT + 2);
        is_short.then_some(made)
    }

    /// The noise itself: variances, and scales of Laplace noise, for the level if it is all of one kind.
    fn by_variance(level: &Level) -> LevelNumbers {
        let kind = |m: &Measurement| m.noise.laplace_scale().map(|_| m.noise.kind().replace('_', "-"));
        let first = kind(&level.measurements[0]);
        let alike = level.measurements.iter().all(|m| kind(m) == first);
        let number = |m: &Measurement| match (m.noise.laplace_scale(), kind(m)) {
            (Some(scale), _) if alike => quoted(&scale.to_decimal_or_fraction()),
            (Some(scale), Some(kind)) => {
                let scale = scale.to_decimal_or_fraction();
                format!("{{ mechanism = {}, scale = {} }}", quoted(&kind), quoted(&scale))
            }
            _ => {
                let sigma2 = m.noise.sigma2().expect("allocations add Gaussian or Laplace noise");
                quoted(&sigma2.to_decimal_or_fraction())
            }
        };
        let head = match first.filter(|_| alike) {
            Some(kind) => format!("mechanism = {}\n[levels.scale]\n", quoted(&kind)),
            None => "[levels.sigma2]\n".into(),
        };
        LevelNumbers { head, numbers: level.measurements.iter().map(number).collect() }
    }
}

/// Characters up to which a fraction is still to be read.
const SHORT: usize = 110;
/// Bits of a sum that may still be so short.
const BITS: u64 = 4 * SHORT as u64;

pub(super) fn list(names: &[String]) -> String {
    format!("[{}]", names.iter().map(|n| quoted(n)).collect::<Vec<_>>().join(", "))
}

pub(super) fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { name.into() } else { quoted(name) }
}

/// A text as a basic string of TOML, which may be a key, too.
#[must_use]
pub fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '\\' | '"' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}
