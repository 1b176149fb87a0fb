//! Tables of counts, row by row: CSV or Parquet, as large as they like.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;

use clap::Args;
use csv::{ByteRecord, ReaderBuilder};
use parquet::basic::{ConvertedType, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use unspent::measure::{Plan, parse_count};

use crate::Failure;
use crate::defect;
use crate::progress::Progress;

/// Rows that are read from Parquet at a time.
const BATCH: usize = 8_192;
/// Most bytes of a line of CSV: a quote that is not closed makes a line of all that follows.
const MAX_LINE: u64 = 1 << 24;

/// What messages say of a table.
#[derive(Args)]
pub struct Values {
    /// Shows values of the table in error messages
    ///
    /// Messages then have confidential data. Without it they name the line and the column.
    #[arg(long = "show-values")]
    pub shown: bool,
}

/// A table that was opened and has all the columns of a plan.
pub struct Table {
    name: String,
    kind: Kind,
    /// Whether messages show values.
    shown: bool,
}

enum Kind {
    Csv { reader: csv::Reader<Lines>, columns: Columns, bytes: Option<u64>, begun: Rc<Cell<u64>> },
    Parquet { reader: SerializedFileReader<File>, columns: Columns },
}

/// Where the columns of a plan are.
struct Columns {
    codes: Vec<usize>,
    counts: Vec<usize>,
    names: Vec<String>,
}

/// Bytes of which no line is too long.
struct Lines {
    source: Box<dyn Read>,
    read: u64,
    /// Where the line begins that is being read.
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

impl Table {
    /// Opens a table: CSV from stdin for `-`, Parquet if the name ends so, CSV otherwise.
    pub fn open(path: &str, plan: &Plan, values: &Values) -> Result<Table, Failure> {
        if !values.shown {
            defect::hide_values();
        }
        let opened = Table::opened(path, plan);
        opened.map(|table| Table { shown: values.shown, ..table }).map_err(|f| f.showing(values.shown))
    }

    fn opened(path: &str, plan: &Plan) -> Result<Table, Failure> {
        if path == "-" {
            return Table::csv("stdin".into(), Box::new(io::stdin()), None, plan);
        }
        let failed = |error: &io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::NotFound => "check the path",
                io::ErrorKind::PermissionDenied => "check that you may read it",
                _ => "check that it is a file that can be read",
            };
            Failure::usage(format!("{path}: cannot be read: {error}"), hint)
        };
        let file = File::open(path).map_err(|e| failed(&e))?;
        let metadata = file.metadata().map_err(|e| failed(&e))?;
        if metadata.is_dir() {
            return Err(Failure::usage(format!("{path}: is a directory"), "name a table: CSV or Parquet"));
        }
        if Path::new(path).extension().is_some_and(|e| e.eq_ignore_ascii_case("parquet")) {
            return Table::parquet(path.into(), file, plan);
        }
        let bytes = metadata.is_file().then_some(metadata.len());
        Table::csv(path.into(), Box::new(file), bytes, plan)
    }

    fn csv(name: String, source: Box<dyn Read>, bytes: Option<u64>, plan: &Plan) -> Result<Table, Failure> {
        let begun = Rc::new(Cell::new(0));
        let source = Lines { source, read: 0, begun: begun.clone() };
        let mut reader = ReaderBuilder::new().buffer_capacity(1 << 20).from_reader(source);
        let heads = reader.byte_headers().map_err(|e| broken(&name, &e))?.clone();
        let mut names = vec![];
        for head in &heads {
            let head = std::str::from_utf8(head).map_err(|_| {
                Failure::usage(
                    format!("{name}:1: is not a text"),
                    "a table is CSV in UTF-8, or Parquet (.parquet)",
                )
            })?;
            names.push(head.trim_start_matches('\u{feff}').trim().to_string());
        }
        if names.is_empty() {
            let hint = "a table has a line of names and then one line for each unit";
            return Err(Failure::usage(format!("{name}: is empty"), hint));
        }
        if let [one] = &names[..]
            && one.contains([';', '\t'])
        {
            return Err(Failure::usage(format!("{name}:1: is one column"), "separate columns with commas"));
        }
        let columns = Columns::find(&name, names, plan)?;
        Ok(Table { name, kind: Kind::Csv { reader, columns, bytes, begun }, shown: false })
    }

    fn parquet(name: String, file: File, plan: &Plan) -> Result<Table, Failure> {
        let reader = whole(&name, || SerializedFileReader::new(file))?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let names = schema.columns().iter().map(|c| c.path().string()).collect();
        let columns = Columns::find(&name, names, plan)?;
        let check = |at: usize, code: bool| {
            use ConvertedType::{ENUM, INT_8, INT_16, INT_32, INT_64, NONE, UINT_8, UINT_16, UTF8};
            let column = schema.column(at);
            let fits = match (column.physical_type(), column.converted_type()) {
                (
                    PhysicalType::INT32 | PhysicalType::INT64,
                    NONE | INT_8 | INT_16 | INT_32 | INT_64 | UINT_8 | UINT_16,
                ) => true,
                (PhysicalType::BYTE_ARRAY, NONE | UTF8 | ENUM) => code,
                // Decimals and dates are integers only as they are stored.
                _ => false,
            };
            if fits && column.max_rep_level() == 0 {
                return Ok(());
            }
            let kind = match column.converted_type() {
                NONE => column.physical_type().to_string(),
                kind => kind.to_string(),
            };
            let what = if code { "texts or integers" } else { "integers" };
            Err(Failure::usage(
                format!("{name}: column `{}` is of {kind}, not of {what}", columns.names[at]),
                "counts are columns of signed integers; codes are texts or integers",
            ))
        };
        columns.counts.iter().try_for_each(|at| check(*at, false))?;
        columns.codes.iter().try_for_each(|at| check(*at, true))?;
        Ok(Table { name, kind: Kind::Parquet { reader, columns }, shown: false })
    }

    /// Gives every row's codes and counts to `row`, whose objections get the row's place.
    pub fn rows(
        self,
        progress: &mut Progress,
        mut row: impl FnMut(&[&str], &[i64]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let read = match self.kind {
            Kind::Csv { reader, columns, bytes, begun } => {
                csv_rows(&self.name, reader, &columns, (bytes, &begun), progress, &mut row)
            }
            Kind::Parquet { reader, columns } => {
                parquet_rows(&self.name, &reader, &columns, progress, &mut row)
            }
        };
        read.map_err(|failure| failure.showing(self.shown))
    }
}

impl Columns {
    fn find(table: &str, names: Vec<String>, plan: &Plan) -> Result<Columns, Failure> {
        let find = |name: &String| {
            let mut places = names.iter().enumerate().filter(|(_, n)| *n == name).map(|(at, _)| at);
            match (places.next(), places.next()) {
                (Some(at), None) => Ok(at),
                (Some(_), Some(_)) => Err(Failure::usage(
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
                    Err(Failure::usage(format!("{table}: there is no column `{name}`"), hint))
                }
            }
        };
        let codes = plan.code_columns().iter().map(find).collect::<Result<_, _>>()?;
        let counts = plan.count_columns().iter().map(find).collect::<Result<_, _>>()?;
        Ok(Columns { codes, counts, names })
    }
}

fn csv_rows(
    name: &str,
    mut reader: csv::Reader<Lines>,
    columns: &Columns,
    (bytes, begun): (Option<u64>, &Cell<u64>),
    progress: &mut Progress,
    row: &mut impl FnMut(&[&str], &[i64]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut record = ByteRecord::new();
    let mut counts = vec![0; columns.counts.len()];
    let mut rows = 0u64;
    while reader.read_byte_record(&mut record).map_err(|e| broken(name, &e))? {
        let line = line(record.position());
        let place = |failure: Failure| failure.at(format!("{name}:{line}"));
        for (count, column) in counts.iter_mut().zip(&columns.counts) {
            let text = &record[*column];
            *count = match digits(text) {
                Some(count) => count,
                None => parse_count(&columns.names[*column], &String::from_utf8_lossy(text))
                    .map_err(|e| place(e.into()))?,
            };
        }
        let codes = columns.codes.iter().map(|column| {
            std::str::from_utf8(&record[*column]).map(str::trim).map_err(|_| {
                let cause = format!("{}: is not a text", columns.names[*column]);
                place(Failure::usage(cause, "a table is a text in UTF-8"))
            })
        });
        let codes: Vec<&str> = codes.collect::<Result<_, _>>()?;
        row(&codes, &counts).map_err(place)?;
        rows += 1;
        begun.set(reader.position().byte());
        if rows.is_multiple_of(1_024) {
            let read = reader.position().byte();
            progress.rows(rows, bytes.map(|all| read as f64 / all.max(1) as f64));
        }
    }
    Ok(())
}

/// The number of a record's line; the reader gives the first record that of the names.
fn line(position: Option<&csv::Position>) -> u64 {
    position.map_or(0, |position| position.line().max(2))
}

/// A short count without anything around it: nearly all of a table.
fn digits(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| 10 * n + i64::from(b - b'0')))
}

fn parquet_rows(
    name: &str,
    reader: &SerializedFileReader<File>,
    columns: &Columns,
    progress: &mut Progress,
    row: &mut impl FnMut(&[&str], &[i64]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let all = reader.metadata().file_metadata().num_rows().max(1);
    let mut rows = 0u64;
    for group in 0..reader.num_row_groups() {
        let group = whole(name, || reader.get_row_group(group))?;
        let open = |at: &usize, text| Column::open(name, &columns.names[*at], group.as_ref(), *at, text);
        let codes = columns.codes.iter().map(|at| open(at, true));
        let mut codes: Vec<Column> = codes.collect::<Result<_, _>>()?;
        let counts = columns.counts.iter().map(|at| open(at, false));
        let mut counts: Vec<Column> = counts.collect::<Result<_, _>>()?;
        let mut left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        while left > 0 {
            let some = left.min(BATCH);
            for column in codes.iter_mut().chain(&mut counts) {
                column.read(name, rows, some)?;
            }
            let mut texts: Vec<&str> = vec![""; codes.len()];
            let mut numbers = vec![0; counts.len()];
            for i in 0..some {
                let place = |failure: Failure| failure.at(format!("{name}: row {}", rows + i as u64 + 1));
                for (text, column) in texts.iter_mut().zip(&codes) {
                    *text = column.text(i).map_err(place)?;
                }
                for (number, column) in numbers.iter_mut().zip(&counts) {
                    *number = column.numbers[i];
                    if *number < 0 {
                        let text = number.to_string();
                        parse_count(&column.name, &text).map_err(|e| place(e.into()))?;
                    }
                }
                row(&texts, &numbers).map_err(place)?;
            }
            rows += some as u64;
            left -= some;
            progress.rows(rows, Some(rows as f64 / all as f64));
        }
    }
    Ok(())
}

/// A column of a row group, and the rows that were read last.
struct Column {
    name: String,
    reader: ColumnReader,
    /// The level that a value has and a null has not.
    present: i16,
    /// Whether texts are wanted, and not numbers.
    text: bool,
    numbers: Vec<i64>,
    bytes: Vec<ByteArray>,
}

impl Column {
    fn open(
        table: &str,
        name: &str,
        group: &dyn RowGroupReader,
        at: usize,
        text: bool,
    ) -> Result<Column, Failure> {
        let reader = whole(table, || group.get_column_reader(at))?;
        let present = group.metadata().schema_descr().column(at).max_def_level();
        Ok(Column { name: name.into(), reader, present, text, numbers: vec![], bytes: vec![] })
    }

    fn read(&mut self, table: &str, before: u64, count: usize) -> Result<(), Failure> {
        let mut levels = vec![];
        self.numbers.clear();
        self.bytes.clear();
        let rows = whole(table, || match &mut self.reader {
            ColumnReader::Int32ColumnReader(reader) => {
                let mut short = vec![];
                let read = values::<Int32Type>(reader, count, &mut levels, &mut short);
                self.numbers.extend(short.into_iter().map(i64::from));
                read
            }
            ColumnReader::Int64ColumnReader(reader) => {
                values::<Int64Type>(reader, count, &mut levels, &mut self.numbers)
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                values::<ByteArrayType>(reader, count, &mut levels, &mut self.bytes)
            }
            _ => unreachable!("other types were refused"),
        })?;
        let missing = |at: usize| {
            let row = before + at as u64 + 1;
            let cause = format!("{table}: row {row}: {}: is missing", self.name);
            Failure::usage(cause, "every row has all codes and counts; write 0 if there is nobody")
        };
        if let Some(at) = levels.iter().position(|level| *level < self.present) {
            return Err(missing(at));
        }
        if rows < count {
            return Err(missing(rows));
        }
        if self.text && self.bytes.is_empty() {
            self.bytes = self.numbers.iter().map(|n| n.to_string().into_bytes().into()).collect();
        }
        // A damaged page can have fewer values than it says.
        let found = if self.text { self.bytes.len() } else { self.numbers.len() };
        if found == count { Ok(()) } else { Err(damaged(table)) }
    }

    fn text(&self, i: usize) -> Result<&str, Failure> {
        std::str::from_utf8(self.bytes[i].data())
            .map(str::trim)
            .map_err(|_| Failure::usage(format!("{}: is not a text", self.name), "codes are texts in UTF-8"))
    }
}

/// Reads rows until there are `count` or no more.
fn values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    count: usize,
    levels: &mut Vec<i16>,
    values: &mut Vec<T::T>,
) -> Result<usize, ParquetError> {
    let mut rows = 0;
    while rows < count {
        let (read, _, _) = reader.read_records(count - rows, Some(levels), None, values)?;
        if read == 0 {
            break;
        }
        rows += read;
    }
    Ok(rows)
}

fn broken(name: &str, error: &csv::Error) -> Failure {
    let line = error.position().map_or_else(String::new, |p| format!(":{}", line(Some(p))));
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => Failure::usage(
            format!("{name}{line}: has {len} columns; the first line has {expected_len}"),
            "every line has all columns; quote what contains a comma",
        ),
        csv::ErrorKind::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
            Failure::usage(format!("{name}: {error}"), "a quote may not be closed")
        }
        csv::ErrorKind::Io(error) => Failure::other(
            format!("{name}: cannot be read: {error}"),
            "check that it is a file that can be read",
        ),
        _ => {
            Failure::usage(format!("{name}{line}: {error}"), "a table is CSV in UTF-8, or Parquet (.parquet)")
        }
    }
}

/// What reading a Parquet file gives; a library that trips over a damaged one is no reason to end.
fn whole<T>(name: &str, read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Failure> {
    match defect::caught(read) {
        Some(read) => read.map_err(|e| no_parquet(name, &e)),
        None => Err(damaged(name)),
    }
}

fn damaged(name: &str) -> Failure {
    Failure::usage(
        format!("{name}: cannot be read: lengths in it do not fit"),
        "check that it is a whole Parquet file",
    )
}

fn no_parquet(name: &str, error: &ParquetError) -> Failure {
    let hint = if error.to_string().contains("feature") {
        "write it with the compression snappy, or without"
    } else {
        "check that it is a whole Parquet file"
    };
    Failure::usage(format!("{name}: cannot be read: {error}"), hint)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use unspent::Allocation;
    use unspent::population::SCHEMA;

    use super::*;
    use crate::defect;

    const ALLOCATION: &str = "name = \"x\"\nneighbours = \"bounded\"\ndelta = \"1e-9\"\nattributes = [\"race\"]\n\
                              [queries]\nrace = [\"race\"]\n[[levels]]\nname = \"Block\"\nsigma2 = { race = 5 }\n";

    /// A few thousand damaged files: all are read, or refused as files that cannot be.
    #[test]
    fn damaged_parquet_is_refused() {
        let place = std::env::temp_dir().join(format!("unspent-damaged-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        let allocation = Allocation::parse("x.toml", &[ALLOCATION, SCHEMA].concat()).unwrap();
        let plan = Plan::new(&allocation).unwrap();
        let path = place.join("people.parquet");
        let good = crate::synthesize::parquet_of(300);
        let mut random = 1u64;
        let mut below = |n: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % n
        };
        let (mut read, mut refused) = (0, 0);
        for _ in 0..3_000 {
            let mut bytes = good.clone();
            // Mostly one byte, now and then several.
            for _ in 0..=below(2) * below(4) {
                let at = below(bytes.len());
                bytes[at] ^= 1 + below(255) as u8;
            }
            fs::write(&path, bytes).unwrap();
            let rows = || {
                let table = Table::open(path.to_str().unwrap(), &plan, &Values { shown: false })?;
                table.rows(&mut Progress::new(), |_, _| Ok(()))
            };
            match defect::caught(rows).expect("nothing escapes") {
                Ok(()) => read += 1,
                Err(failure) => {
                    assert!(
                        failure.code == 2 && failure.cause.contains("people.parquet: "),
                        "{}",
                        failure.cause
                    );
                    refused += 1;
                }
            }
        }
        fs::remove_dir_all(&place).unwrap();
        assert!(read > 500 && refused > 500, "{read} were read, {refused} refused");
    }
}
