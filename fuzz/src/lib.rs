//! What strangers may send, and questions whose answers must agree: one target for each entry.
//!
//! A target takes any bytes. It panics if something is wrong: a panic of what it asks, an answer that takes
//! long, or two answers of which one must be false. What bytes mean is the same for a fuzzer (`make fuzz`,
//! which looks where the program branches) and for the tests here, which take the seeds and a fixed number
//! of mutations of them.
//!
//! A target is told by its name, and has seeds: those that are made of files of the repository, and those in
//! `seeds/NAME`, where whatever was once found stays.

mod answers;
mod bytes;
mod folder;
mod http;
mod mechanisms;
mod mutate;
mod noise;
mod seeds;
mod tables;
mod text;

use std::path::Path;
use std::sync::Once;
use std::time::Duration;

use unspent::Stop;

pub use mutate::{Random, mutated};

/// Longer than that is a defect.
const LIMIT: Duration = Duration::from_secs(10);

/// One entry.
#[derive(Clone, Copy)]
pub struct Target {
    /// What it is called.
    pub name: &'static str,
    /// Whether it takes texts.
    pub is_text: bool,
    /// Whether a test can try many mutations in a second.
    pub is_quick: bool,
    made: fn() -> Vec<Vec<u8>>,
    /// Whether the bytes were taken for good ones.
    asked: fn(&[u8]) -> bool,
}

const fn target(
    name: &'static str,
    is_text: bool,
    is_quick: bool,
    made: fn() -> Vec<Vec<u8>>,
    asked: fn(&[u8]) -> bool,
) -> Target {
    Target { name, is_text, is_quick, made, asked }
}

/// All of them.
pub const TARGETS: [Target; 17] = [
    target("number", true, true, seeds::numbers, text::number),
    target("allocation", true, true, seeds::allocations, text::allocation),
    target("csv-allocation", true, true, seeds::csv_allocations, text::csv_allocation),
    target("schema", true, true, seeds::schemas, text::schema),
    target("draft", true, true, seeds::drafts, text::draft),
    target("needs", true, true, seeds::none, text::needs),
    target("account", true, true, seeds::none, mechanisms::account),
    target("question", true, false, seeds::questions, http::question),
    target("http", false, false, seeds::requests, http::request),
    target("csv-table", true, true, tables::csv_seeds, tables::csv),
    target("parquet-table", false, true, tables::parquet_seeds, tables::parquet),
    target("folder", false, false, folder::seeds, folder::estimate),
    target("gaussian-answers", false, false, seeds::random, answers::gaussian),
    target("answers", false, false, seeds::random, answers::mixed),
    target("tradeoff", false, false, seeds::random, answers::tradeoff),
    target("noise", false, true, seeds::random, noise::paths),
    target("addressed-noise", false, true, seeds::random, noise::addressed),
];

impl Target {
    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// What its mutations begin with, always the same and in the same order.
    #[must_use]
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(self.name);
        let mut paths: Vec<_> =
            std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let kept = paths.iter().map(|path| std::fs::read(path).expect("a seed can be read"));
        (self.made)().into_iter().chain(kept).collect()
    }

    /// Whether the bytes were taken for good ones.
    ///
    /// # Panics
    /// If something is wrong.
    pub fn run(&self, bytes: &[u8]) -> bool {
        match Stop::after(LIMIT).run(|| Ok((self.asked)(bytes))) {
            Ok(good) => good,
            Err(late) => panic!("{}: {late}", self.name),
        }
    }
}

/// From now on a panic ends the process, unless it is one that is caught.
pub fn end_at_a_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|defect| {
            if !unspent_data::panics::is_caught() {
                eprintln!("{defect}");
                std::process::abort();
            }
        }));
    });
}

/// What the server's source needs of the command.
struct Failure;

impl Failure {
    fn other(_: impl Into<String>, _: impl Into<String>) -> Failure {
        Failure
    }
}
