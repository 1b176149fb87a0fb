//! A plain table of budgets: one line a measurement, with columns `level`, `query` and `rho`.
//!
//! `sigma2` (the variance), `sigma` or `scale` (the standard deviation) may stand instead of `rho`; `shift`
//! and `attributes` (names separated by `;`) may be added.
//! A table does not say how its levels nest, so that nothing is said of places.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use super::stated_sigma2;
use crate::allocation::{Allocation, AllocationBuilder, Budget, Form, Neighbours, check_length};
use crate::error::{Error, Result};
use crate::mechanism::{Stated, parse_shift};
use crate::number::Rational;
use crate::quantity::Rho;
use crate::spelling::did_you_mean;

const COLUMNS: &[&str] = &["level", "query", "rho", "sigma2", "sigma", "scale", "shift", "attributes"];
const FORMAT_HINT: &str = "the first line names the columns, like level,query,rho";

impl Allocation {
    /// Reads a table of budgets; errors call it `origin`.
    pub fn parse_csv(origin: &str, text: &str, neighbours: Neighbours) -> Result<Allocation> {
        let at = |span: &Range<usize>, error: Error| error.found_in(origin, text, span.clone());
        let mut rows = rows(text).map(|row| row.map_err(|(span, error)| at(&span, error)));
        let Some(head) = rows.next().transpose()? else {
            return Err(at(&(0..0), Error::stated("the table is empty", FORMAT_HINT)));
        };
        let names_a_column = |field: &Field| {
            let text = field.text.to_lowercase();
            COLUMNS.iter().any(|column| text.contains(column))
        };
        if !head.iter().any(names_a_column) {
            // It may be a table of counts, by mistake: no line of it is shown.
            let cause = format!("the first line names none of the columns {}", COLUMNS.join(", "));
            return Err(Error::stated(cause, FORMAT_HINT).at(origin));
        }
        let mut columns: HashMap<&str, usize> = HashMap::new();
        for (index, field) in head.iter().enumerate() {
            let known = COLUMNS.iter().find(|c| **c == field.text.trim()).ok_or_else(|| {
                let hint = if field.text.contains(';') {
                    "fields are separated by commas".into()
                } else {
                    did_you_mean(&field.text, COLUMNS.iter().copied(), FORMAT_HINT)
                };
                let allowed = format!("one of the columns {}", COLUMNS.join(", "));
                at(&field.span, Error::input("unknown column", &field.text, allowed, hint))
            })?;
            if columns.insert(known, index).is_some() {
                return Err(at(
                    &field.span,
                    Error::stated(format!("column `{known}` is there twice"), FORMAT_HINT),
                ));
            }
        }
        for column in ["level", "query"] {
            if !columns.contains_key(column) {
                return Err(at(
                    &line(&head),
                    Error::stated(format!("column `{column}` is missing"), FORMAT_HINT),
                ));
            }
        }
        let budgets = Stated::ALL.iter().map(|stated| stated.name()).chain(["rho"]);
        if budgets.filter(|column| columns.contains_key(column)).count() != 1 {
            let cause = "one of the columns rho, sigma2, sigma and scale must be there, and only one";
            return Err(at(&line(&head), Error::stated(cause, FORMAT_HINT)));
        }
        let stem = Path::new(origin).file_stem().map(|s| s.to_string_lossy().into_owned());
        let mut builder = Allocation::builder(&stem.unwrap_or_else(|| origin.into()), neighbours)
            .map_err(|e| at(&(0..0), e))?;
        builder.not_nested();
        builder.form(if columns.contains_key("rho") { Form::Rho } else { Form::Sigma2 });
        let mut is_empty = true;
        for row in rows {
            let row = row?;
            if row.len() != head.len() {
                let cause = format!("{} fields, but the first line names {} columns", row.len(), head.len());
                let hint = "put fields that contain commas in quotation marks";
                return Err(at(&line(&row), Error::stated(cause, hint)));
            }
            let field = |column: &str| columns.get(column).map(|i| &row[*i]);
            add(&mut builder, &field).map_err(|(span, error)| at(&span, error))?;
            is_empty = false;
        }
        if is_empty {
            return Err(at(&line(&head), Error::stated("the table has no line after its head", FORMAT_HINT)));
        }
        builder.build()
    }
}

/// A field and its place.
struct Field {
    text: String,
    span: Range<usize>,
}

type Located = (Range<usize>, Error);

/// Adds the measurement of one line.
fn add<'f>(
    builder: &mut AllocationBuilder,
    field: &impl Fn(&str) -> Option<&'f Field>,
) -> std::result::Result<(), Located> {
    let name = |column: &str| {
        let field = field(column).expect("a required column");
        let text = field.text.trim();
        if text.is_empty() {
            let hint = "every line names its level and its query";
            return Err((field.span.clone(), Error::stated(format!("{column}: is empty"), hint)));
        }
        Ok((text, field.span.clone()))
    };
    let (level, level_span) = name("level")?;
    let (query, query_span) = name("query")?;
    let query = find_query(builder, query, &query_span, field)?;
    let level = builder.find_level(level).map_err(|e| (level_span, e))?;
    let stated = Stated::ALL.into_iter().find_map(|stated| Some((stated, field(stated.name())?)));
    let budget = match (field("rho"), stated) {
        (Some(field), _) => {
            let located = |e: Error| (field.span.clone(), e);
            check_length("rho", &field.text).map_err(located)?;
            Budget::Rho(Rho::parse(&field.text).map_err(located)?.value().clone())
        }
        (None, Some((stated, field))) => {
            let located = |e: Error| (field.span.clone(), e.quoting(&field.text));
            check_length(stated.name(), &field.text).map_err(located)?;
            let number = Rational::parse(stated.name(), &field.text).map_err(located)?;
            Budget::Sigma2(stated_sigma2(stated, number).map_err(located)?)
        }
        (None, None) => unreachable!("one of the two is required"),
    };
    // What is out of range is the budget; what is there twice is the query.
    let budgeted = field("rho").or(stated.map(|(_, field)| field)).expect("one of the two is required");
    let place = if builder.is_asked(level, query) { query_span } else { budgeted.span.clone() };
    builder.measure(level, query, budget).map_err(|e| (place, e))
}

/// The query of that name, which must always be the same.
fn find_query<'f>(
    builder: &mut AllocationBuilder,
    name: &str,
    span: &Range<usize>,
    field: &impl Fn(&str) -> Option<&'f Field>,
) -> std::result::Result<usize, Located> {
    let shift = match field("shift") {
        Some(shift) => parse_shift(&shift.text).map_err(|e| (shift.span.clone(), e))?,
        None => 1,
    };
    let mut attributes: Vec<&str> = vec![];
    let place = field("attributes").map_or(span, |field| &field.span);
    let located = |e: Error| (place.clone(), e);
    if let Some(list) = field("attributes") {
        for name in list.text.split(';').map(str::trim).filter(|name| !name.is_empty()) {
            if name.contains(',') {
                let hint = "names are separated by semicolons, as in age;sex";
                return Err(located(Error::input("attributes", name, "a name without commas", hint)));
            }
            attributes.push(name);
        }
    }
    if let Some(index) = builder.query_named(name) {
        let query = &builder.queries()[index];
        if query.shift != shift || query.attributes != attributes {
            let cause = format!("query: `{name}` had another shift or other attributes before");
            return Err((span.clone(), Error::stated(cause, "a query is the same at all levels")));
        }
        return Ok(index);
    }
    for attribute in &attributes {
        if !builder.has_attribute(attribute) {
            builder.attribute(attribute).map_err(located)?;
        }
    }
    builder.query(name, &attributes, shift).map_err(located)
}

fn line(row: &[Field]) -> Range<usize> {
    row.first().map_or(0, |f| f.span.start)..row.last().map_or(0, |f| f.span.end)
}

/// The lines that are not blank, split into fields. A field in quotation marks may contain commas,
/// and quotation marks written twice.
fn rows(text: &str) -> impl Iterator<Item = std::result::Result<Vec<Field>, Located>> {
    let mut start = text.len() - text.trim_start_matches('\u{feff}').len();
    text[start..].split_inclusive('\n').filter_map(move |line| {
        let at = start;
        start += line.len();
        let line = line.trim_end_matches(['\n', '\r']);
        (!line.trim().is_empty()).then(|| fields(line, at))
    })
}

fn fields(line: &str, start: usize) -> std::result::Result<Vec<Field>, Located> {
    let mut fields = vec![];
    let mut at = 0;
    loop {
        let rest = &line[at..];
        let (text, length) = match rest.strip_prefix('"') {
            None => {
                let length = rest.find(',').unwrap_or(rest.len());
                (rest[..length].to_string(), length)
            }
            Some(quoted) => {
                let mut end = 0;
                // Two in a row stand for one inside; the first that stands alone is the end.
                let close = loop {
                    match quoted[end..].find('"') {
                        Some(at) if quoted[end + at + 1..].starts_with('"') => end += at + 2,
                        Some(at) => break end + at,
                        None => {
                            let hint = "fields end on the line they begin on";
                            let error = Error::stated("a quotation mark is not closed", hint);
                            return Err((start + at..start + line.len(), error));
                        }
                    }
                };
                let length = close + 2;
                if !matches!(rest.as_bytes().get(length), None | Some(b',')) {
                    let error =
                        Error::stated("text follows a closing quotation mark", "put the whole field inside");
                    return Err((start + at..start + at + length, error));
                }
                (quoted[..close].replace("\"\"", "\""), length)
            }
        };
        fields.push(Field { text, span: start + at..start + at + length.max(1) });
        at += length;
        if at >= line.len() {
            return Ok(fields);
        }
        at += 1;
    }
}
