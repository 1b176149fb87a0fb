//! Tables as CSV: columns are separated by commas, semicolons or tabs, whichever the first line has.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use csv::{ByteRecord, ReaderBuilder};
use unspent::{Error, Result, stop};

use super::packed::{Bytes, Refused};
use super::places::{Names, Places, not_a_text};
use super::{Row, TakeRow, Wanted, count};
use crate::progress::Progress;

/// Most bytes of a line: a quote that is not closed makes a line of all that follows.
const MAX_LINE: u64 = 1 << 24;
/// Rows between looks at the time.
const ROWS: u64 = 1_024;
/// What may separate columns.
const SEPARATORS: [Separator; 3] = [
    Separator { byte: b',', name: "comma" },
    Separator { byte: b';', name: "semicolon" },
    Separator { byte: b'\t', name: "tab" },
];

/// What separates the columns.
#[derive(Clone, Copy)]
struct Separator {
    byte: u8,
    name: &'static str,
}

/// A table that was opened.
pub(super) struct Csv {
    reader: csv::Reader<Lines<Box<dyn Read>>>,
    separator: Separator,
    places: Places,
    /// The part of the file that was read, if that is known.
    part: Box<dyn Fn() -> Option<f64>>,
    /// Where the line begins that is being read.
    begun: Rc<Cell<u64>>,
}

/// Bytes of which no line is too long.
struct Lines<R> {
    source: R,
    read: u64,
    begun: Rc<Cell<u64>>,
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read - self.begun.get() > MAX_LINE {
            let cause = format!("a line has more than {} megabytes", MAX_LINE >> 20);
            return Err(Refused::io(cause, "a quote may not be closed"));
        }
        let read = self.source.read(buffer)?;
        self.read += read as u64;
        Ok(read)
    }
}

/// Bytes that can be read again: the first line is split in several ways.
struct Again<'s> {
    source: &'s mut Bytes,
    seen: &'s mut Vec<u8>,
    at: usize,
}

impl Read for Again<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut left = &self.seen[self.at..];
        let read = if left.is_empty() {
            let read = self.source.read(buffer)?;
            self.seen.extend_from_slice(&buffer[..read]);
            read
        } else {
            left.read(buffer)?
        };
        self.at += read;
        Ok(read)
    }
}

impl Csv {
    pub(super) fn new(
        name: &str,
        source: impl Read + 'static,
        bytes: Option<u64>,
        wanted: Wanted<'_>,
    ) -> Result<Csv> {
        let mut source = Bytes::new(source, bytes).map_err(|error| unreadable(name, &error))?;
        let mut seen = vec![];
        let (separator, places) = find(name, &mut source, &mut seen, wanted)?;
        let part = Box::new(source.part());
        let begun = Rc::new(Cell::new(0));
        let source: Box<dyn Read> = Box::new(io::Cursor::new(seen).chain(source));
        let source = Lines { source, read: 0, begun: begun.clone() };
        let reader =
            ReaderBuilder::new().delimiter(separator.byte).buffer_capacity(1 << 20).from_reader(source);
        Ok(Csv { reader, separator, places, part, begun })
    }

    pub(super) fn rows(self, name: &str, progress: &mut dyn Progress, row: &mut TakeRow<'_>) -> Result<()> {
        let Csv { mut reader, separator, places, part, begun } = self;
        let mut record = ByteRecord::new();
        let mut texts = Vec::with_capacity(places.texts.len());
        let mut counts = vec![0; places.counts.len()];
        let mut rows = 0u64;
        while reader.read_byte_record(&mut record).map_err(|e| broken(name, separator, &e))? {
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
            let mut of_row: Vec<&str> = texts;
            for column in &places.texts {
                let text = std::str::from_utf8(&record[*column]);
                of_row.push(text.map_err(|_| place(not_a_text(&places.names[*column])))?.trim());
            }
            let (codes, values) = of_row.split_at(places.codes);
            row(Row { codes, values, counts: &counts }).map_err(place)?;
            texts = emptied(of_row);
            rows += 1;
            begun.set(reader.position().byte());
            if rows.is_multiple_of(ROWS) {
                stop::check();
                progress.rows(rows, part());
            }
        }
        Ok(())
    }
}

/// The memory of texts that may be gone, for others: a hundred million rows do not ask for any.
fn emptied<'t>(mut texts: Vec<&str>) -> Vec<&'t str> {
    texts.clear();
    // The standard library collects in place what has the same size.
    texts.into_iter().map(|_| "").collect()
}

/// What separates the columns and where those are that are wanted. `seen` takes all that was read of the
/// source.
fn find(
    name: &str,
    source: &mut Bytes,
    seen: &mut Vec<u8>,
    wanted: Wanted<'_>,
) -> Result<(Separator, Places)> {
    let mut most = 0;
    let mut refusal = None;
    for separator in SEPARATORS {
        let again = Again { source: &mut *source, seen: &mut *seen, at: 0 };
        let lines = Lines { source: again, read: 0, begun: Rc::default() };
        let mut reader = ReaderBuilder::new().delimiter(separator.byte).from_reader(lines);
        let heads = reader.byte_headers().map_err(|error| broken(name, separator, &error))?;
        let mut names = vec![];
        for head in heads {
            let head = std::str::from_utf8(head).map_err(|_| {
                Error::stated(
                    format!("{name}:1: is not a text"),
                    "a table is CSV in UTF-8, or Parquet (.parquet)",
                )
            })?;
            names.push(head.trim_start_matches('\u{feff}').trim().to_string());
        }
        let columns = names.len();
        match Places::find(name, names, Names::FirstLine, wanted) {
            Ok(places) if columns > 0 => return Ok((separator, places)),
            // What splits the line into the most columns is most likely what was meant.
            Err(error) if columns > most => (most, refusal) = (columns, Some(error)),
            _ => {}
        }
    }
    Err(refusal.unwrap_or_else(|| {
        let hint = "a table has a line of names and then one line for each unit";
        Error::stated(format!("{name}: is empty"), hint)
    }))
}

/// The number of a record's line; the reader gives the first record that of the names.
fn line(position: Option<&csv::Position>) -> u64 {
    position.map_or(0, |position| position.line().max(2))
}

fn broken(name: &str, separator: Separator, error: &csv::Error) -> Error {
    let line = error.position().map_or_else(String::new, |p| format!(":{}", line(Some(p))));
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => Error::stated(
            format!("{name}{line}: has {len} columns; the first line has {expected_len}"),
            format!("every line has all columns; quote what contains a {}", separator.name),
        ),
        csv::ErrorKind::Io(error) => unreadable(name, error),
        _ => {
            Error::stated(format!("{name}{line}: {error}"), "a table is CSV in UTF-8, or Parquet (.parquet)")
        }
    }
}

fn unreadable(name: &str, error: &io::Error) -> Error {
    match Refused::of(error) {
        Some(Refused { cause, hint }) => Error::stated(format!("{name}: {cause}"), *hint),
        None => Error::io(
            format!("{name}: cannot be read: {error}"),
            io::Error::new(error.kind(), error.to_string()),
            "check that it is a file that can be read",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_share_their_memory() {
        let text = String::from("a");
        let texts: Vec<&str> = vec![&text; 5];
        let (place, capacity) = (texts.as_ptr().addr(), texts.capacity());
        let again: Vec<&'static str> = emptied(texts);
        assert_eq!((again.as_ptr().addr(), again.capacity(), again.len()), (place, capacity, 0));
    }
}
