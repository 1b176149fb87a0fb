//! What a stranger may send: numbers, files, tables, schemas and drafts, mutated from those that are good.
//!
//! Every case is answered or refused with a message and a hint: nothing panics, and nothing takes long. What
//! is read is also written and read again. Cases follow from a seed alone; `make fuzz` runs a million of
//! them, and a failure names its case.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use unspent::file::Draft;
use unspent::schema::Schema;
use unspent::{Allocation, Alpha, Delta, DiscreteGaussian, Epsilon, Neighbours, Preset, Rational, Rho, Stop};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn one_of<'t, T: ?Sized>(&mut self, list: &[&'t T]) -> &'t T {
        list[self.below(list.len())]
    }
}

/// What stands at the ends of something, or is read by nobody.
const PIECES: [&str; 56] = [
    "",
    "0",
    "-1",
    "1e-9223372036854775808",
    "1e9223372036854775807",
    "1e10000",
    "1e-10000",
    "1e10001",
    "18446744073709551616",
    "9223372036854775808",
    "-9223372036854775808",
    "1e308",
    "5e-324",
    "0x10",
    "0b1",
    "1_000",
    "nan",
    "inf",
    "-inf",
    "1/0",
    "0/0",
    "1/3",
    "1//2",
    "½",
    "١",
    "1,5",
    "50%",
    "true",
    "null",
    "\"",
    "'''",
    "\"\"\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "é",
    "🙂",
    "\r",
    "\n",
    "\n\n[[levels]]\n",
    "[levels.shares]\n",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "=",
    ",",
    ";",
    ":",
    "#",
    "1979-05-27T07:32:00Z",
    "e",
];

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A part of the text: some bytes, a line, or what stands between two signs.
fn part(random: &mut Random, text: &str) -> (usize, usize) {
    let at = floor(text, random.below(text.len() + 1));
    match random.below(3) {
        0 => (at, floor(text, (at + random.below(12)).min(text.len()))),
        1 => {
            let start = text[..at].rfind('\n').map_or(0, |i| i + 1);
            (start, text[at..].find('\n').map_or(text.len(), |i| at + i + 1))
        }
        _ => {
            let sign = |c: char| !c.is_alphanumeric() && !matches!(c, '.' | '_' | '/');
            let start = text[..at]
                .rfind(sign)
                .map_or(0, |i| floor(text, i) + text[i..].chars().next().map_or(0, char::len_utf8));
            (start, text[at..].find(sign).map_or(text.len(), |i| at + i))
        }
    }
}

fn mutated(random: &mut Random, text: &str, others: &[String]) -> String {
    let mut text = text.to_string();
    for _ in 0..=random.below(3) {
        let (from, to) = part(random, &text);
        let new = match random.below(7) {
            0 => String::new(),
            1 => text[from..to].repeat(2),
            2 => {
                let other = &others[random.below(others.len())];
                let (from, to) = part(random, other);
                other[from..to].to_string()
            }
            3 => {
                let digits = 1 + random.below(300);
                let digit = |random: &mut Random| char::from(b'0' + random.below(10) as u8);
                let mut number: String = (0..digits).map(|_| digit(random)).collect();
                if random.below(2) == 0 {
                    number.insert_str(digits / 2, random.one_of(&["/", ".", "e", "e-", "E+"]));
                }
                number
            }
            4 => random.one_of(&PIECES).repeat(1 + random.below(40)),
            _ => random.one_of(&PIECES).to_string(),
        };
        text.replace_range(from..to, &new);
    }
    text
}

/// The good ones, by kind.
struct Seeds {
    files: Vec<String>,
    tables: Vec<String>,
    schemas: Vec<String>,
    drafts: Vec<String>,
    numbers: Vec<String>,
}

impl Seeds {
    fn new() -> Seeds {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files: Vec<String> = Preset::ALL.iter().map(|preset| preset.text.to_string()).collect();
        for entry in std::fs::read_dir(root.join("examples")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "toml") {
                files.push(std::fs::read_to_string(path).unwrap());
            }
        }
        let good: Vec<Allocation> =
            files.iter().filter_map(|text| Allocation::parse("", text).ok()).collect();
        assert!(good.len() > 10);
        let mut tables =
            vec!["level,query,sigma2,shift,attributes\nUS,age,5,2,age;sex\nUS,sex,1/3,1,sex\n".into()];
        for allocation in &good {
            let mut table = String::from("level,query,rho,attributes\n");
            for (level, query, m) in allocation.measurements() {
                table +=
                    &format!("{},\"{}\",{},{}\n", level.name, query.name, m.rho, query.attributes.join(";"));
            }
            tables.push(table);
        }
        let drafts: Vec<Draft> = good.iter().map(|allocation| Draft::of(allocation).unwrap()).collect();
        let schemas = drafts.iter().filter_map(|draft| draft.table.clone()).collect();
        let numbers = ["104/4099", "3.65", "1e-10", "-2.50E+2", "+.5", "293764/114921", "0.1/0.3", "5."];
        Seeds {
            files,
            tables,
            schemas,
            drafts: drafts.iter().map(|draft| serde_json::to_string(draft).unwrap()).collect(),
            numbers: numbers.map(String::from).to_vec(),
        }
    }

    fn kind(&self, kind: usize) -> (&'static str, &[String]) {
        match kind {
            0 => ("number", &self.numbers),
            1 => ("file", &self.files),
            2 => ("table", &self.tables),
            3 => ("schema", &self.schemas),
            _ => ("draft", &self.drafts),
        }
    }
}

/// Refused: in words, with a hint, and in no more of them than a screen holds.
fn refused(error: &unspent::Error) {
    assert!(!error.hint().is_empty() && !error.to_string().is_empty());
    if let Some(excerpt) = error.excerpt() {
        assert!(excerpt.to_string().chars().count() < 400);
    }
}

/// What is read can be written and read again.
fn read(found: unspent::Result<Allocation>) -> unspent::Result<bool> {
    match found {
        Ok(allocation) => {
            if let Ok(text) = allocation.to_file() {
                assert_eq!(Allocation::parse("", &text).as_ref(), Ok(&allocation));
            }
            if let Ok(draft) = Draft::of(&allocation) {
                assert_eq!(draft.allocation().as_ref(), Ok(&allocation));
            }
            Ok(true)
        }
        Err(error) => {
            refused(&error);
            Ok(false)
        }
    }
}

/// Whether the case was taken for a good one.
fn tried(kind: &str, text: &str, random: &mut Random) -> unspent::Result<bool> {
    match kind {
        "number" => match Rational::parse("number", text) {
            Ok(number) => {
                assert_eq!(
                    Rational::parse("again", &number.to_string()).ok().as_ref().unwrap_or(&number),
                    &number
                );
                let _ = (number.to_short(), number.to_f64(), number.to_bounds());
                let _ =
                    (Delta::parse(text).is_ok(), Epsilon::parse(text).is_ok(), Alpha::parse(text).is_ok());
                let _ = (Rho::parse(text).is_ok(), DiscreteGaussian::parse(text, text).is_ok());
                Ok(true)
            }
            Err(error) => {
                refused(&error);
                Ok(false)
            }
        },
        "file" => read(Allocation::parse("a.toml", text)),
        "table" => {
            let neighbours = if random.below(2) == 0 { Neighbours::Bounded } else { Neighbours::AddRemove };
            read(Allocation::parse_csv("a.csv", text, neighbours))
        }
        "schema" => Ok(Schema::parse("a.toml", text).map_err(|error| refused(&error)).is_ok()),
        _ => match serde_json::from_str::<Draft>(text) {
            Ok(draft) => read(draft.allocation()),
            Err(_) => Ok(false),
        },
    }
}

/// Longer than that is a defect: the case is stopped.
const LIMIT: Duration = Duration::from_secs(10);

fn fuzz(cases: u64, seed: u64) {
    let seeds = Seeds::new();
    let next = AtomicU64::new(0);
    let good = AtomicU64::new(0);
    let slowest: Mutex<(Duration, String)> = Mutex::default();
    let work = || {
        let mut failures = vec![];
        loop {
            let case = next.fetch_add(1, Ordering::Relaxed);
            if case >= cases {
                return failures;
            }
            let mut random = Random(seed.wrapping_mul(1 << 32).wrapping_add(case));
            random.next();
            let (kind, texts) = seeds.kind(random.below(5));
            let text = &texts[random.below(texts.len())];
            let text = mutated(&mut random, text, texts);
            let began = Instant::now();
            let found =
                catch_unwind(AssertUnwindSafe(|| Stop::after(LIMIT).run(|| tried(kind, &text, &mut random))));
            let took = began.elapsed();
            let place = format!("case {case} of seed {seed}, a {kind} of {} bytes", text.len());
            match found {
                Ok(Ok(is_good)) => drop(good.fetch_add(is_good.into(), Ordering::Relaxed)),
                Ok(Err(late)) => failures.push(format!("{place}: {late}\n{text}")),
                Err(_) => failures.push(format!("{place}: panicked\n{text}")),
            }
            let mut slowest = slowest.lock().unwrap_or_else(PoisonError::into_inner);
            if took > slowest.0 {
                *slowest = (took, place);
            }
        }
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("panics are caught")).collect()
    });
    let (took, place) = slowest.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("{cases} cases, {} of them good; the slowest took {took:.2?}: {place}", good.into_inner());
    assert!(failures.is_empty(), "{} failures, the first:\n{}", failures.len(), failures[0]);
}

#[test]
fn strangers_are_answered() {
    fuzz(3_000, 1);
}

/// `make fuzz`, with CASES and SEED.
#[test]
#[ignore = "takes minutes"]
fn strangers_are_answered_a_million_times() {
    let given = |name: &str, otherwise| {
        std::env::var(name).map_or(otherwise, |text| text.parse().expect("a whole number"))
    };
    fuzz(given("CASES", 1_000_000), given("SEED", 2));
}
