//! A plain table of budgets: one line a measurement, with columns `level`, `query` and `rho`.
//!
//! `sigma2` (the variance), `sigma` or `scale` (the standard deviation) may stand instead of `rho`; `shift`
//! and `attributes` (names separated by `;`) may be added.
//! A table does not say how its levels nest, so that nothing is said of places.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use super::{
    Allocation, Form, Level, Measurement, Neighbours, Production, Query, check_length, check_text,
    differ_in_capitals, noise, spent, stated_noise,
};
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
        let mut table = Table::default();
        for row in rows {
            let row = row?;
            if row.len() != head.len() {
                let cause = format!("{} fields, but the first line names {} columns", row.len(), head.len());
                let hint = "put fields that contain commas in quotation marks";
                return Err(at(&line(&row), Error::stated(cause, hint)));
            }
            let field = |column: &str| columns.get(column).map(|i| &row[*i]);
            table.add(&field, neighbours).map_err(|(span, error)| at(&span, error))?;
        }
        if table.levels.is_empty() {
            return Err(at(&line(&head), Error::stated("the table has no line after its head", FORMAT_HINT)));
        }
        let stem = Path::new(origin).file_stem().map(|s| s.to_string_lossy().into_owned());
        Ok(Allocation {
            name: stem.unwrap_or_else(|| origin.into()),
            source: None,
            record: "record".into(),
            neighbours,
            delta: None,
            conversion: None,
            epsilon: None,
            nested: false,
            attributes: table.attributes,
            queries: table.queries,
            levels: table.levels,
            form: if columns.contains_key("rho") { Form::Rho } else { Form::Sigma2 },
            table: None,
            production: Production::default(),
        })
    }
}

/// A field and its place.
struct Field {
    text: String,
    span: Range<usize>,
}

type Located = (Range<usize>, Error);

/// What has been read.
#[derive(Default)]
struct Table {
    attributes: Vec<String>,
    queries: Vec<Query>,
    levels: Vec<Level>,
    query_index: HashMap<String, usize>,
    level_index: HashMap<String, usize>,
    seen: HashSet<(usize, usize)>,
    /// Every attribute as it was first spelled, by its name without capitals.
    spelled: HashMap<String, String>,
}

impl Table {
    fn add<'f>(
        &mut self,
        field: &impl Fn(&str) -> Option<&'f Field>,
        neighbours: Neighbours,
    ) -> std::result::Result<(), Located> {
        let name = |column: &str| {
            let field = field(column).expect("a required column");
            let text = field.text.trim();
            if text.is_empty() {
                let error =
                    Error::stated(format!("{column}: is empty"), "every line names its level and its query");
                return Err((field.span.clone(), error));
            }
            check_text(column, text).map_err(|e| (field.span.clone(), e))?;
            Ok((text.to_string(), field.span.clone()))
        };
        let (level, _) = name("level")?;
        let (query, query_span) = name("query")?;
        let query_at = self.query(query, &query_span, field)?;
        let level_at = *self.level_index.entry(level.clone()).or_insert_with(|| {
            self.levels.push(Level { name: level, measurements: vec![] });
            self.levels.len() - 1
        });
        if !self.seen.insert((level_at, query_at)) {
            let cause = format!(
                "query: `{}` is asked at level `{}` twice",
                self.queries[query_at].name, self.levels[level_at].name
            );
            return Err((
                query_span,
                Error::stated(cause, "add the two budgets up, or name the queries apart"),
            ));
        }
        let shift = self.queries[query_at].shift;
        let stated = Stated::ALL.into_iter().find_map(|stated| Some((stated, field(stated.name())?)));
        let (rho, noise) = match (field("rho"), stated) {
            (Some(field), _) => {
                let located = |e: Error| (field.span.clone(), e);
                check_length("rho", &field.text).map_err(located)?;
                let rho = Rho::parse(&field.text).map_err(located)?.value().clone();
                let noise = noise(&rho, shift, neighbours).map_err(located)?;
                (rho, noise)
            }
            (None, Some((stated, field))) => {
                let located = |e: Error| (field.span.clone(), e.quoting(&field.text));
                check_length(stated.name(), &field.text).map_err(located)?;
                let number = Rational::parse(stated.name(), &field.text).map_err(located)?;
                let noise = stated_noise(stated, number, shift).map_err(located)?;
                (spent(&noise, neighbours), noise)
            }
            (None, None) => unreachable!("one of the two is required"),
        };
        self.levels[level_at].measurements.push(Measurement { query: query_at, rho, noise });
        Ok(())
    }

    /// The query of that name, which must always be the same.
    fn query<'f>(
        &mut self,
        name: String,
        span: &Range<usize>,
        field: &impl Fn(&str) -> Option<&'f Field>,
    ) -> std::result::Result<usize, Located> {
        let shift = match field("shift") {
            Some(shift) => parse_shift(&shift.text).map_err(|e| (shift.span.clone(), e))?,
            None => 1,
        };
        let mut attributes: Vec<String> = vec![];
        let mut listed = HashSet::new();
        if let Some(list) = field("attributes") {
            for name in list.text.split(';').map(str::trim).filter(|name| !name.is_empty()) {
                check_text("attributes", name).map_err(|e| (list.span.clone(), e))?;
                if name.contains(',') {
                    let allowed = "a name without commas";
                    let error = Error::input(
                        "attributes",
                        name,
                        allowed,
                        "names are separated by semicolons, as in age;sex",
                    );
                    return Err((list.span.clone(), error));
                }
                if !listed.insert(name) {
                    let cause = format!("attributes: `{name}` is in the list twice");
                    return Err((list.span.clone(), Error::stated(cause, "once is enough")));
                }
                attributes.push(name.into());
            }
        }
        let query = Query { name, attributes, shift };
        if let Some(index) = self.query_index.get(&query.name) {
            if self.queries[*index] != query {
                let cause = format!("query: `{}` had another shift or other attributes before", query.name);
                return Err((span.clone(), Error::stated(cause, "a query is the same at all levels")));
            }
            return Ok(*index);
        }
        for attribute in &query.attributes {
            match self.spelled.get(&attribute.to_lowercase()) {
                Some(first) if first == attribute => {}
                Some(first) => {
                    let span = field("attributes").map_or(span, |f| &f.span).clone();
                    return Err((span, differ_in_capitals(first, attribute)));
                }
                None => {
                    self.spelled.insert(attribute.to_lowercase(), attribute.clone());
                    self.attributes.push(attribute.clone());
                }
            }
        }
        self.query_index.insert(query.name.clone(), self.queries.len());
        self.queries.push(query);
        Ok(self.queries.len() - 1)
    }
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
