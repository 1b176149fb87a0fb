//! Tables as CSV.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use csv::{ByteRecord, ReaderBuilder};
use unspent::{Error, Result, stop};

use super::columns::Places;
use super::{TakeOld, Wanted, count};
use crate::progress::Progress;

/// Most bytes of a line: a quote that is not closed makes a line of all that follows.
const MAX_LINE: u64 = 1 << 24;
/// Rows between looks at the time.
const ROWS: u64 = 1_024;

/// A table that was opened.
pub(super) struct Csv {
    reader: csv::Reader<Lines>,
    places: Places,
    /// How long it is, if that is known.
    bytes: Option<u64>,
    /// Where the line begins that is being read.
    begun: Rc<Cell<u64>>,
}

/// Bytes of which no line is too long.
struct Lines {
    source: Box<dyn Read>,
    read: u64,
    begun: Rc<Cell<u64>>,
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read - self.begun.get() > MAX_LINE {
            let cause = format!("a line has more than {} megabytes", MAX_LINE >> 20);
            return Err(io::Error::new(io::ErrorKind::InvalidData, cause));
        }
        let read = self.source.read(buffer)?;
        self.read += read as u64;
        Ok(read)
    }
}

impl Csv {
    pub(super) fn new(
        name: &str,
        source: Box<dyn Read>,
        bytes: Option<u64>,
        wanted: Wanted<'_>,
    ) -> Result<Csv> {
        let begun = Rc::new(Cell::new(0));
        let source = Lines { source, read: 0, begun: begun.clone() };
        let mut reader = ReaderBuilder::new().buffer_capacity(1 << 20).from_reader(source);
        let heads = reader.byte_headers().map_err(|e| broken(name, &e))?.clone();
        let mut names = vec![];
        for head in &heads {
            let head = std::str::from_utf8(head).map_err(|_| {
                Error::stated(
                    format!("{name}:1: is not a text"),
                    "a table is CSV in UTF-8, or Parquet (.parquet)",
                )
            })?;
            names.push(head.trim_start_matches('\u{feff}').trim().to_string());
        }
        if names.is_empty() {
            let hint = "a table has a line of names and then one line for each unit";
            return Err(Error::stated(format!("{name}: is empty"), hint));
        }
        if let [one] = &names[..]
            && one.contains([';', '\t'])
        {
            return Err(Error::stated(format!("{name}:1: is one column"), "separate columns with commas"));
        }
        Ok(Csv { reader, places: Places::find(name, names, wanted)?, bytes, begun })
    }

    pub(super) fn rows(self, name: &str, progress: &mut dyn Progress, row: &mut TakeOld<'_>) -> Result<()> {
        let Csv { mut reader, places, bytes, begun } = self;
        let mut record = ByteRecord::new();
        let mut counts = vec![0; places.counts.len()];
        let mut rows = 0u64;
        while reader.read_byte_record(&mut record).map_err(|e| broken(name, &e))? {
            let line = line(record.position());
            let place = |error: Error| error.at(format!("{name}:{line}"));
            for (count, column) in counts.iter_mut().zip(&places.counts) {
                let text = &record[*column];
                *count = match count::digits(text) {
                    Some(count) => count,
                    None => {
                        count::parse(&places.names[*column], &String::from_utf8_lossy(text)).map_err(place)?
                    }
                };
            }
            let codes = places.codes.iter().map(|column| {
                std::str::from_utf8(&record[*column]).map(str::trim).map_err(|_| {
                    let cause = format!("{}: is not a text", places.names[*column]);
                    place(Error::stated(cause, "a table is a text in UTF-8"))
                })
            });
            let codes: Vec<&str> = codes.collect::<Result<_>>()?;
            row(&codes, &counts).map_err(place)?;
            rows += 1;
            begun.set(reader.position().byte());
            if rows.is_multiple_of(ROWS) {
                stop::check();
                let read = reader.position().byte();
                progress.rows(rows, bytes.map(|all| read as f64 / all.max(1) as f64));
            }
        }
        Ok(())
    }
}

/// The number of a record's line; the reader gives the first record that of the names.
fn line(position: Option<&csv::Position>) -> u64 {
    position.map_or(0, |position| position.line().max(2))
}

fn broken(name: &str, error: &csv::Error) -> Error {
    let line = error.position().map_or_else(String::new, |p| format!(":{}", line(Some(p))));
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => Error::stated(
            format!("{name}{line}: has {len} columns; the first line has {expected_len}"),
            "every line has all columns; quote what contains a comma",
        ),
        csv::ErrorKind::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
            Error::stated(format!("{name}: {error}"), "a quote may not be closed")
        }
        csv::ErrorKind::Io(error) => Error::io(
            format!("{name}: cannot be read: {error}"),
            io::Error::new(error.kind(), error.to_string()),
            "check that it is a file that can be read",
        ),
        _ => {
            Error::stated(format!("{name}{line}: {error}"), "a table is CSV in UTF-8, or Parquet (.parquet)")
        }
    }
}
