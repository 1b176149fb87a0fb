//! A report for programs: named columns of the same length, as CSV, Parquet or a data frame.

use crate::number::{Magnitude, Number, Rational, Round};
use crate::report::numerals::FULL;

/// Named columns of the same length.
#[derive(Clone, Debug, Default)]
pub struct Columns(pub Vec<Column>);

/// A named list of values.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its values, one for each row.
    pub values: Values,
}

/// What a column has; `None` is an empty field.
#[derive(Clone, Debug)]
pub enum Values {
    /// Texts.
    Text(Vec<Option<String>>),
    /// True or false.
    Flag(Vec<Option<bool>>),
    /// Whole numbers.
    Count(Vec<Option<u64>>),
    /// Exact numbers.
    Exact(Vec<Option<Rational>>),
    /// Numbers as a decimal of 17 digits and as a double, both rounded the same way.
    Rounded(Vec<Option<(String, f64)>>),
}

impl Column {
    /// Texts, empty where there is none.
    pub fn text<T: Into<String>>(name: &'static str, texts: impl Iterator<Item = Option<T>>) -> Column {
        Column { name, values: Values::Text(texts.map(|text| text.map(Into::into)).collect()) }
    }

    /// The same text in every row.
    #[must_use]
    pub fn repeated(name: &'static str, text: &str, rows: usize) -> Column {
        Column::text(name, std::iter::repeat_n(Some(text), rows))
    }

    /// True or false.
    pub fn flags(name: &'static str, flags: impl Iterator<Item = Option<bool>>) -> Column {
        Column { name, values: Values::Flag(flags.collect()) }
    }

    /// Whole numbers.
    pub fn counts(name: &'static str, counts: impl Iterator<Item = u64>) -> Column {
        Column { name, values: Values::Count(counts.map(Some).collect()) }
    }

    /// Exact numbers.
    pub fn exact(name: &'static str, numbers: impl Iterator<Item = Option<Rational>>) -> Column {
        Column { name, values: Values::Exact(numbers.collect()) }
    }

    /// Lower ends.
    pub fn lower<'a>(name: &'static str, numbers: impl Iterator<Item = Option<&'a Number>>) -> Column {
        let end = |x: &Number| (x.at_least(FULL), x.bounds().lower().to_f64(Round::Down));
        Column { name, values: Values::Rounded(numbers.map(|x| x.map(end)).collect()) }
    }

    /// Upper ends.
    pub fn upper<'a>(name: &'static str, numbers: impl Iterator<Item = Option<&'a Number>>) -> Column {
        let end = |x: &Number| (x.at_most(FULL), x.bounds().upper().to_f64(Round::Up));
        Column { name, values: Values::Rounded(numbers.map(|x| x.map(end)).collect()) }
    }

    /// Numbers rounded in one direction.
    pub fn rounded<'a>(
        name: &'static str,
        numbers: impl Iterator<Item = Option<&'a Magnitude>>,
        round: Round,
    ) -> Column {
        let end = |x: &Magnitude| (x.to_decimal(FULL, round), x.to_f64(round));
        Column { name, values: Values::Rounded(numbers.map(|x| x.map(end)).collect()) }
    }

    /// Exact numbers, rounded in one direction.
    pub fn cut<'a>(
        name: &'static str,
        numbers: impl Iterator<Item = Option<&'a Rational>>,
        round: Round,
    ) -> Column {
        let end = |x: &Rational| {
            let bounds = x.to_bounds();
            let end = if round == Round::Up { bounds.upper() } else { bounds.lower() };
            (x.to_decimal(FULL, round), end.to_f64(round))
        };
        Column { name, values: Values::Rounded(numbers.map(|x| x.map(end)).collect()) }
    }

    /// Doubles as they are.
    pub fn doubles(name: &'static str, numbers: impl Iterator<Item = Option<f64>>) -> Column {
        Column { name, values: Values::Rounded(numbers.map(|x| x.map(|x| (x.to_string(), x))).collect()) }
    }

    /// How many rows it has.
    #[must_use]
    pub fn rows(&self) -> usize {
        match &self.values {
            Values::Text(values) => values.len(),
            Values::Flag(values) => values.len(),
            Values::Count(values) => values.len(),
            Values::Exact(values) => values.len(),
            Values::Rounded(values) => values.len(),
        }
    }

    /// A field as text; empty where there is nothing.
    #[must_use]
    pub fn field(&self, row: usize) -> String {
        let text = match &self.values {
            Values::Text(values) => values[row].clone(),
            Values::Flag(values) => values[row].map(|flag| flag.to_string()),
            Values::Count(values) => values[row].map(|count| count.to_string()),
            Values::Exact(values) => values[row].as_ref().map(Rational::to_short),
            Values::Rounded(values) => values[row].as_ref().map(|(text, _)| text.clone()),
        };
        text.unwrap_or_default()
    }
}

impl Columns {
    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.0.first().map_or(0, Column::rows)
    }

    /// Comma-separated values.
    #[must_use]
    pub fn csv(&self) -> String {
        let heads: Vec<&str> = self.0.iter().map(|column| column.name).collect();
        let rows = (0..self.rows()).map(|row| self.0.iter().map(|column| column.field(row)).collect());
        csv(&heads, &rows.collect::<Vec<_>>())
    }
}

/// Comma-separated values.
///
/// A text that a spreadsheet would take for a formula has an apostrophe in front, which makes it a text.
#[must_use]
pub fn csv(heads: &[&str], rows: &[Vec<String>]) -> String {
    let quoted = |field: &str| {
        // Numbers may have a sign.
        let formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']) && field.parse::<f64>().is_err();
        let field = if formula { format!("'{field}") } else { field.to_string() };
        if field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field
        }
    };
    let mut text = heads.join(",") + "\n";
    for row in rows {
        text += &row.iter().map(|field| quoted(field)).collect::<Vec<_>>().join(",");
        text.push('\n');
    }
    text
}
