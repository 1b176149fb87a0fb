//! The same rows, whatever format the table has.

use std::io::{Cursor, Read};
use std::sync::Arc;

use ::parquet::basic::LogicalType;

use super::written::*;
use super::*;

const CODES: [&str; 2] = ["state", "tract"];
const VALUES: [&str; 2] = ["race", "age"];
const COUNTS: [&str; 2] = ["people", "units"];

/// A random table, column by column.
struct Random {
    state: Vec<Option<String>>,
    tract: Vec<Option<i64>>,
    race: Vec<Option<String>>,
    age: Vec<Option<i64>>,
    counts: [Vec<i64>; 2],
}

impl Random {
    fn new(rows: usize, seed: u64) -> Random {
        let mut random = seed;
        let mut below = |n: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % n
        };
        let races = ["white", "two, or more", "a;b\tc", "some other race alone", "über 12 Zeichen", "\"x\""];
        let mut table =
            Random { state: vec![], tract: vec![], race: vec![], age: vec![], counts: [vec![], vec![]] };
        for _ in 0..rows {
            table.state.push(Some(format!("{:02}", below(60))));
            table.tract.push(Some(below(1_000_000) as i64));
            table.race.push(Some(below(7)).and_then(|i| races.get(i as usize)).map(|race| race.to_string()));
            table.age.push(Some(below(120) as i64 - 4).filter(|age| *age >= -2));
            table.counts[0].push(below(1 << 24) as i64);
            table.counts[1].push(if below(3) == 0 { 0 } else { below(120) as i64 });
        }
        table
    }

    fn rows(&self) -> Vec<Owned> {
        let digits = |number: &Option<i64>| number.map_or_else(String::new, |n| n.to_string());
        let row = |i: usize| {
            let codes = vec![self.state[i].clone().unwrap(), digits(&self.tract[i])];
            let values = vec![self.race[i].clone().unwrap_or_default(), digits(&self.age[i])];
            (codes, values, self.counts.iter().map(|counts| counts[i]).collect())
        };
        (0..self.state.len()).map(row).collect()
    }

    /// Columns in another order than they are read, among others.
    fn csv(&self, separator: char, decimals: bool) -> String {
        let quoted = |text: &String| format!("\"{}\"", text.replace('"', "\"\""));
        let zeros = if decimals { ".0" } else { "" };
        let mut text =
            ["age", "people", "state", "other", "units", "race", "tract"].join(&separator.to_string());
        for (codes, values, counts) in self.rows() {
            let [people, units] = counts[..] else { unreachable!() };
            let race = if values[0].is_empty() { String::new() } else { quoted(&values[0]) };
            let fields = [
                values[1].clone(),
                format!("{people}{zeros}"),
                codes[0].clone(),
                "x".into(),
                format!(" {units} "),
                race,
                codes[1].clone(),
            ];
            text += &format!("\n{}", fields.join(&separator.to_string()));
        }
        text
    }

    fn parquet(&self, [people, units]: [Stored; 2], group: usize, dictionary: bool) -> Vec<u8> {
        let short = |all: &[Option<i64>]| all.iter().map(|n| n.map(|n| n as i32)).collect();
        let columns = [
            ("state", Stored::Texts(self.state.clone())),
            ("units", units),
            ("age", Stored::Short(short(&self.age))),
            ("race", Stored::Texts(self.race.clone())),
            ("people", people),
            ("tract", Stored::Integers(self.tract.clone())),
        ];
        parquet_file(&columns, group, dictionary)
    }

    fn counts<T>(&self, from: fn(i64) -> T) -> [Vec<T>; 2] {
        self.counts.each_ref().map(|counts| counts.iter().map(|count| from(*count)).collect())
    }

    fn optional<T>(&self, from: fn(i64) -> T) -> [Vec<Option<T>>; 2] {
        self.counts(from).map(|counts| counts.into_iter().map(Some).collect())
    }

    /// Chunks that end at other rows in every column.
    fn columns(&self, texts: fn(&[Option<String>]) -> Chunk) -> Columns {
        let chunks =
            |rows: &[Option<String>], size: usize| Values::new(rows.chunks(size).map(texts).collect());
        // The rows that count begin in the middle of the memory.
        let tract: Vec<i32> =
            [9; 5].into_iter().chain(self.tract.iter().map(|n| n.unwrap() as i32)).collect();
        let tract = Content::Integers(Integers::I32(Arc::new(tract)));
        let tract = Chunk::new(tract, bitmap(&self.tract, 5), 5, self.tract.len()).unwrap();
        let age: Vec<i8> = self.age.iter().map(|age| age.unwrap_or(77) as i8).collect();
        let age = Content::Integers(Integers::I8(Arc::new(age)));
        let age = Chunk::new(age, bitmap(&self.age, 0), 0, self.age.len()).unwrap();
        let [people, _] = self.counts(|n| n as f32);
        let [_, units] = self.counts(|n| n as u8);
        let units = units.chunks(700).map(|part| {
            let content = Content::Integers(Integers::U8(Arc::new(part.to_vec())));
            Chunk::new(content, None, 0, part.len()).unwrap()
        });
        let columns = vec![
            ("people".into(), Content::Floats(Arc::new(people)).into()),
            ("race".into(), chunks(&self.race, 1_000)),
            ("tract".into(), Values::new(vec![tract])),
            ("state".into(), chunks(&self.state, 333)),
            ("units".into(), Values::new(units.collect())),
            ("age".into(), Values::new(vec![age])),
        ];
        Columns::new(columns).unwrap().beside(names(&["other"]))
    }
}

#[test]
fn every_format_has_the_same_rows() {
    let place = Place::new("formats");
    for (rows, seed) in [(1, 1), (7, 2), (5_000, 3), (9_001, 4)] {
        let table = Random::new(rows, seed);
        let expected = table.rows();
        let check = |what: &str, input: Input| {
            let found = read(input, &CODES, &VALUES, &COUNTS).unwrap();
            assert!(found == expected, "{what}, {rows} rows");
        };
        for (what, separator) in [("comma", ','), ("semicolon", ';'), ("tab", '\t')] {
            let text = table.csv(separator, separator == ';');
            check(what, place.write("table.csv", &text));
            check(what, place.write("table.csv.gz", gzip(text.as_bytes())));
            let (one, other) = text.as_bytes().split_at(text.len() / 3);
            check(what, place.write("table.csv", [gzip(one), gzip(b""), gzip(other)].concat()));
        }
        let integers = || table.optional(|n| n).map(Stored::Integers);
        let short = || table.optional(|n| n as i32).map(Stored::Short);
        let doubles = || table.optional(|n| n as f64).map(Stored::Doubles);
        let floats = || table.optional(|n| n as f32).map(Stored::Floats);
        let decimal = LogicalType::decimal(0, 18);
        let decimals = || table.optional(|n| n).map(|counts| Stored::Meant(decimal.clone(), counts));
        for (what, counts) in [
            ("integers", integers()),
            ("short", short()),
            ("doubles", doubles()),
            ("floats", floats()),
            ("decimals", decimals()),
        ] {
            check(what, place.write("table.parquet", table.parquet(counts.clone(), 1 << 20, false)));
            check(what, place.write("table.parquet", table.parquet(counts, 1_000, true)));
        }
        check("bytes and places", Input::Columns(table.columns(texts)));
        check("views", Input::Columns(table.columns(views)));
        check("dictionaries", Input::Columns(table.columns(dictionary)));
    }
}

/// A pipe gives a few bytes at a time.
struct Pipe(Cursor<Vec<u8>>);

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let some = buffer.len().min(1 + self.0.position() as usize % 3);
        self.0.read(&mut buffer[..some])
    }
}

#[test]
fn a_pipe_may_be_packed() {
    let table = Random::new(100, 5);
    let (codes, values, counts) = (names(&CODES), names(&VALUES), names(&COUNTS));
    let wanted = Wanted { codes: &codes, values: &values, counts: &counts };
    let plain = table.csv('\t', false).into_bytes();
    for bytes in [gzip(&plain), plain] {
        let pipe = Pipe(Cursor::new(bytes));
        let kind = Kind::Csv(csv::Csv::new("stdin", pipe, None, wanted).unwrap());
        assert_eq!(all_rows(Table { name: "stdin".into(), kind }).unwrap(), table.rows());
    }
}

#[test]
fn progress_is_the_part_of_the_packed_file() {
    struct Parts(Vec<f64>);
    impl Progress for Parts {
        fn rows(&mut self, _: u64, part: Option<f64>) {
            self.0.push(part.unwrap());
        }
    }
    let place = Place::new("progress");
    let text = Random::new(100_000, 6).csv(',', false);
    let packed = gzip(text.as_bytes());
    assert!(packed.len() > 1 << 19);
    let input = place.write("table.csv.gz", packed);
    let counts = names(&COUNTS);
    let wanted = Wanted { codes: &[], values: &[], counts: &counts };
    let mut parts = Parts(vec![]);
    Table::open(input, wanted).unwrap().rows(&mut parts, &mut |_| Ok(())).unwrap();
    assert!(parts.0.is_sorted() && parts.0[0] < 0.6 && *parts.0.last().unwrap() > 0.9, "{:?}", parts.0);
}

#[test]
fn the_separator_is_the_one_that_finds_the_columns() {
    let place = Place::new("separator");
    for (text, rows) in [
        ("a;b,n\nx;y,1\n", vec![(names(&["x;y"]), vec![], vec![1])]),
        ("\u{feff}a,1;a;b,n;c\n;x;2;\n", vec![]),
        ("\"a;b\"\tn\tc,d\n;\t3\t\n", vec![(names(&[";"]), vec![], vec![3])]),
    ] {
        let found = read(place.write("table.csv", text), &["a;b"], &[], &["n"]);
        match rows.is_empty() {
            false => assert_eq!(found.unwrap(), rows),
            true => {
                let error = found.unwrap_err();
                let path = place.path().join("table.csv");
                assert_eq!(error.to_string(), format!("{}: there is no column `a;b`", path.display()));
                let said = "the first line has none of the columns that are read: a table begins with a \
                            line of names, separated by commas, semicolons or tabs";
                assert_eq!(error.hint(), said);
            }
        }
    }
}

#[test]
fn the_schema_of_a_packed_table_lies_beside_it() {
    let place = Place::new("beside");
    let input = place.write("towns.csv.gz", []);
    let schema = "[table]\ncells = [{ column = \"people\" }]\n[table.levels]\nTown = \"town\"\n";
    place.write("towns.toml", schema);
    assert!(input.schema(None, None).unwrap().is_some());
}
