//! Where the columns that are read are in a table.

use unspent::{Error, Result};

use super::Wanted;

/// Where the names of columns come from.
#[derive(Clone, Copy)]
pub(super) enum Names {
    /// The first line of a text. It may be one of records by mistake, or have all of them in one name.
    FirstLine,
    /// The format itself.
    Format,
}

/// Where the columns that are read are, by index.
pub(super) struct Places {
    /// Those with codes, and then those with values.
    pub(super) texts: Vec<usize>,
    /// How many of these have codes.
    pub(super) codes: usize,
    pub(super) counts: Vec<usize>,
    /// The names of all columns of the table.
    pub(super) names: Vec<String>,
}

impl Places {
    /// Fails if a column that is wanted is not there, or is there twice.
    pub(super) fn find(table: &str, names: Vec<String>, from: Names, wanted: Wanted<'_>) -> Result<Places> {
        let find = |name: &String| {
            let mut places = names.iter().enumerate().filter(|(_, n)| *n == name).map(|(at, _)| at);
            match (places.next(), places.next()) {
                (Some(at), None) => Ok(at),
                (Some(_), Some(_)) => Err(Error::stated(
                    format!("{table}: there are two columns `{name}`"),
                    "give every column a name of its own",
                )),
                (None, _) => Err(Error::stated(
                    format!("{table}: there is no column `{name}`"),
                    advice(&names, from, wanted),
                )),
            }
        };
        let texts = wanted.codes.iter().chain(wanted.values).map(find).collect::<Result<_>>()?;
        let counts = wanted.counts.iter().map(find).collect::<Result<_>>()?;
        Ok(Places { texts, codes: wanted.codes.len(), counts, names })
    }
}

/// What is said of a table that lacks a column. No message may have what is in a table: a first line is shown
/// only if names that are wanted are in it, and if it is a line.
fn advice(names: &[String], from: Names, wanted: Wanted<'_>) -> String {
    if matches!(from, Names::FirstLine) {
        let is_wanted =
            |name: &String| [wanted.codes, wanted.values, wanted.counts].iter().any(|of| of.contains(name));
        if names.iter().any(|name| name.parse::<f64>().is_ok()) {
            return "the first line has numbers: a table begins with a line of names".into();
        }
        if names.iter().any(|name| name.contains(['\n', '\r'])) {
            return "a name has several lines: a quote in the line of names may not be closed".into();
        }
        if !names.iter().any(is_wanted) {
            return "the first line has none of the columns that are read: a table begins with a line of \
                    names, separated by commas, semicolons or tabs"
                .into();
        }
    }
    let shown: Vec<&str> = names.iter().take(40).map(String::as_str).collect();
    let more = if names.len() > 40 { ", …" } else { "" };
    format!("the table has {}{more}; [table] says which are read", shown.join(", "))
}

/// A code or a count that a row lacks.
pub(super) fn missing(column: &str) -> Error {
    Error::stated(
        format!("{column}: is missing"),
        "every row has all codes and counts; write 0 if there is nobody",
    )
}

/// A code or a value that cannot be read.
pub(super) fn not_a_text(column: &str) -> Error {
    Error::stated(format!("{column}: is not a text"), "a table is a text in UTF-8")
}
