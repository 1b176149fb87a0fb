//! Tables in memory, and where the columns that are read are in any table.

use unspent::{Error, Result, stop};

use super::{TakeOld, Wanted, count};
use crate::progress::Progress;

/// Rows between looks at whether to stop.
const ROWS: usize = 1_024;

/// A table in memory: columns of the same length, by name.
///
/// Its values may be confidential, so that it cannot be shown.
#[derive(Clone)]
pub struct Columns {
    columns: Vec<(String, Values)>,
    /// The names of columns that are not here, because nobody reads them.
    others: Vec<String>,
    rows: usize,
}

/// A column in memory.
#[derive(Clone)]
pub enum Values {
    /// Counts, or codes that are numbers.
    Numbers(Vec<i64>),
    /// Codes.
    Texts(Vec<String>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Numbers(values) => values.len(),
            Values::Texts(values) => values.len(),
        }
    }
}

impl Columns {
    /// Fails if the columns are not of the same length.
    pub fn new(columns: Vec<(String, Values)>) -> Result<Columns> {
        let rows = columns.first().map_or(0, |(_, values)| values.len());
        if let Some((name, values)) = columns.iter().find(|(_, values)| values.len() != rows) {
            return Err(Error::stated(
                format!(
                    "table: column `{name}` has {} rows; column `{}` has {rows}",
                    values.len(),
                    columns[0].0
                ),
                "every row has all codes and counts",
            ));
        }
        Ok(Columns { columns, others: vec![], rows })
    }

    /// The same, of a table with further columns, of which only the names are of use: for messages.
    #[must_use]
    pub fn beside(mut self, others: Vec<String>) -> Columns {
        self.others = others;
        self
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.columns.iter().map(|(name, _)| name).chain(&self.others).cloned().collect()
    }

    /// Fails if a column with counts has texts.
    pub(super) fn check(&self, name: &str, places: &Places) -> Result<()> {
        let texts = |at: &&usize| matches!(self.columns[**at].1, Values::Texts(_));
        let all = places.codes.iter().chain(&places.counts);
        assert!(all.max().is_none_or(|last| *last < self.columns.len()), "a column that is read is here");
        match places.counts.iter().find(texts) {
            None => Ok(()),
            Some(at) => Err(Error::stated(
                format!("{name}: column `{}` is of texts, not of integers", self.columns[*at].0),
                "counts are columns of integers; codes are texts or integers",
            )),
        }
    }

    pub(super) fn rows(
        &self,
        name: &str,
        places: &Places,
        progress: &mut dyn Progress,
        row: &mut TakeOld<'_>,
    ) -> Result<()> {
        let mut counts = vec![0; places.counts.len()];
        let mut written = vec![String::new(); places.codes.len()];
        for i in 0..self.rows {
            if i.is_multiple_of(ROWS) {
                stop::check();
                progress.rows(i as u64, Some(i as f64 / self.rows as f64));
            }
            let place = |error: Error| error.at(format!("{name}: row {}", i + 1));
            for (count, at) in counts.iter_mut().zip(&places.counts) {
                let (column, Values::Numbers(values)) = &self.columns[*at] else { unreachable!("checked") };
                count::check(column, values[i]).map_err(place)?;
                *count = values[i];
            }
            for (text, at) in written.iter_mut().zip(&places.codes) {
                if let Values::Numbers(values) = &self.columns[*at].1 {
                    *text = values[i].to_string();
                }
            }
            let mut codes: Vec<&str> = vec![];
            for (text, at) in written.iter().zip(&places.codes) {
                codes.push(match &self.columns[*at].1 {
                    Values::Numbers(_) => text,
                    Values::Texts(values) => values[i].trim(),
                });
            }
            row(&codes, &counts).map_err(place)?;
        }
        Ok(())
    }
}

/// Where the columns that are read are, by index.
pub(super) struct Places {
    pub(super) codes: Vec<usize>,
    pub(super) counts: Vec<usize>,
    /// The names of all columns of the table.
    pub(super) names: Vec<String>,
}

impl Places {
    /// Fails if a column that is wanted is not there, or is there twice.
    pub(super) fn find(table: &str, names: Vec<String>, wanted: Wanted<'_>) -> Result<Places> {
        let find = |name: &String| {
            let mut places = names.iter().enumerate().filter(|(_, n)| *n == name).map(|(at, _)| at);
            match (places.next(), places.next()) {
                (Some(at), None) => Ok(at),
                (Some(_), Some(_)) => Err(Error::stated(
                    format!("{table}: there are two columns `{name}`"),
                    "give every column a name of its own",
                )),
                (None, _) => {
                    let shown: Vec<&str> = names.iter().take(40).map(String::as_str).collect();
                    let more = if names.len() > 40 { ", …" } else { "" };
                    // Numbers are no names: the first line may be one of counts.
                    let hint = if names.iter().any(|name| name.parse::<f64>().is_ok()) {
                        "the first line has numbers: a table begins with a line of names".into()
                    } else {
                        format!("the table has {}{more}; [table] says which are read", shown.join(", "))
                    };
                    Err(Error::stated(format!("{table}: there is no column `{name}`"), hint))
                }
            }
        };
        let codes = wanted.codes.iter().map(find).collect::<Result<_>>()?;
        let counts = wanted.counts.iter().map(find).collect::<Result<_>>()?;
        Ok(Places { codes, counts, names })
    }
}
