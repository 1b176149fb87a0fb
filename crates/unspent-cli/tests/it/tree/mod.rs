//! The shape of the repository: which module knows which, how long files are, how wide lines are.
//!
//! What is not yet as it should be stands in one list for each rule. A list may only get shorter: whoever
//! mends a file takes it off, and the test says so.

mod exceptions;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use exceptions::{CYCLES, LONG, WIDE};

use crate::support::{read, repository};

/// The most lines of a source file.
const LINES: usize = 500;
/// The most characters of a line.
const WIDTH: usize = 110;

/// Every file of the repository, by its path in it. What is built or installed is not part of it.
fn files() -> Vec<String> {
    fn walk(directory: &Path, below: &str, found: &mut Vec<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if ["target", ".git", "node_modules", "__pycache__", ".venv", ".pytest_cache", ".ruff_cache"]
                .contains(&name.as_str())
            {
                continue;
            }
            let path = format!("{below}{name}");
            match entry.file_type().unwrap().is_dir() {
                true => walk(&entry.path(), &format!("{path}/"), found),
                false => found.push(path),
            }
        }
    }
    let mut found = vec![];
    walk(&repository(""), "", &mut found);
    found.sort();
    assert!(found.iter().any(|path| path == "crates/unspent/src/lib.rs"), "this is the repository");
    found
}

fn has_extension(path: &str, extensions: &[&str]) -> bool {
    Path::new(path).extension().is_some_and(|e| extensions.iter().any(|known| e == *known))
}

/// Fails if something is wrong that is not listed, or listed and no longer wrong.
#[track_caller]
fn only_known(what: &str, found: &BTreeMap<String, String>, known: &[&str]) {
    let new: Vec<&String> =
        found.iter().filter(|(path, _)| !known.contains(&path.as_str())).map(|f| f.1).collect();
    let mended: Vec<&&str> = known.iter().filter(|path| !found.contains_key(**path)).collect();
    assert!(new.is_empty(), "{what}:\n{}", new.iter().map(|line| format!("  {line}\n")).collect::<String>());
    assert!(mended.is_empty(), "{what}: mended, so take it off the list in tests/it/tree: {mended:?}");
}

#[test]
fn modules_form_no_cycle() {
    let mut found = BTreeMap::new();
    let mut crates = 0;
    for entry in fs::read_dir(repository("crates")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let uses = source::uses(&entry.path().join("src"));
        // What glues two crates together has a module or two.
        let small = uses.len() <= 3;
        assert!(small || uses.values().any(|used| !used.is_empty()), "{name}: {uses:?}");
        for module in uses.keys() {
            if let Some(cycle) = cycle(&uses, module) {
                let text = format!("{name}: {}", cycle.join(" → "));
                found.insert(text.clone(), text);
            }
        }
        crates += usize::from(!small);
    }
    assert!(crates >= 7);
    only_known("modules that know each other in a circle", &found, CYCLES);
}

/// The library, from the bottom up: a module uses its own layer and those below.
const LAYERS: [(&str, &[&str]); 6] = [
    ("words and numbers", &["error", "named", "stop", "parallel", "number", "quantity", "effort", "scope"]),
    (
        "one answer",
        &[
            "transform",
            "mechanism",
            "loss",
            "spelling",
            "schema",
            "residual",
            "sampler",
            "expected",
            "margin",
        ],
    ),
    ("many answers", &["envelope", "zcdp", "profile", "composition"]),
    ("what is built on them", &["calibrate", "dominating", "tradeoff"]),
    ("budgets", &["allocation", "worst", "release", "file"]),
    ("questions and reports", &["report", "question"]),
];

#[test]
fn the_library_is_built_in_layers() {
    let uses = source::uses(&repository("crates/unspent/src"));
    let layer = |module: &str| LAYERS.iter().position(|(_, modules)| modules.contains(&module));
    for (module, used) in &uses {
        let own = layer(module).unwrap_or_else(|| panic!("`{module}` is in no layer: add it to LAYERS"));
        for other in used {
            let below = layer(other).is_some_and(|layer| layer <= own);
            assert!(below, "`{module}` ({}) uses `{other}`, which is above it", LAYERS[own].0);
        }
    }
    let known: Vec<&&str> = LAYERS.iter().flat_map(|(_, modules)| *modules).collect();
    assert!(known.iter().all(|module| uses.contains_key(**module)), "LAYERS names what is not there");
}

/// A shortest way from a module back to itself in which it is the first by name, so that each cycle is found
/// once.
fn cycle(uses: &BTreeMap<String, BTreeSet<String>>, start: &String) -> Option<Vec<String>> {
    let mut ways = vec![vec![start.clone()]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = vec![];
        for way in ways {
            for next in uses.get(way.last().expect("not empty")).into_iter().flatten() {
                let way = [&way[..], std::slice::from_ref(next)].concat();
                if next == start {
                    return Some(way);
                }
                if next > start && seen.insert(next.clone()) {
                    longer.push(way);
                }
            }
        }
        ways = longer;
    }
    None
}

#[test]
fn a_cycle_is_found_once() {
    let uses = [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("d", "")];
    let mut map: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, used) in uses {
        map.entry(module.into()).or_default().insert(used.into());
    }
    let found: Vec<Vec<String>> = map.keys().filter_map(|module| cycle(&map, module)).collect();
    assert_eq!(found, [["b", "c", "b"]]);
}

#[test]
fn no_source_file_is_too_long() {
    let mut found = BTreeMap::new();
    for path in files() {
        if has_extension(&path, &["rs", "py", "js", "mjs", "css", "html"]) {
            let lines = read(&repository(&path)).lines().count();
            if lines > LINES {
                found.insert(path.clone(), format!("{path}: {lines} lines"));
            }
        }
    }
    assert!(LONG.iter().all(|(_, reason)| !reason.is_empty()));
    let known: Vec<&str> = LONG.iter().map(|(path, _)| *path).collect();
    only_known(&format!("files of more than {LINES} lines"), &found, &known);
}

#[test]
fn no_line_is_too_wide() {
    let mut found = BTreeMap::new();
    for path in files() {
        let is_text = has_extension(&path, &["rs", "py", "js", "mjs", "css", "md", "toml"]);
        // Expected texts are what the program prints; presets are data, with names of one line each.
        let is_data = path.contains("tests/it/expected/") || path.starts_with("crates/unspent/presets/");
        if !(is_text || path == "Makefile") || is_data {
            continue;
        }
        let markdown = path.ends_with(".md");
        let text = read(&repository(&path));
        // In Markdown a table's row cannot be broken, nor what a program prints, nor an address anywhere.
        let mut printed = false;
        let mut may_be_wide = |line: &str| {
            if markdown && line.starts_with("```") {
                printed = line == "```console" || line == "```pycon";
            }
            printed || (markdown && line.trim_start().starts_with('|')) || line.contains("://")
        };
        let is_wide = |line: &str| line.chars().count() > WIDTH;
        let mut wide = text.lines().enumerate().filter(|(_, line)| !may_be_wide(line) && is_wide(line));
        if let Some((first, _)) = wide.next() {
            found.insert(path.clone(), format!("{path}:{}, and {} more", first + 1, wide.count()));
        }
    }
    only_known(&format!("lines of more than {WIDTH} characters"), &found, WIDE);
}

/// Where `unsafe` may stand, each with its reason; SECURITY.md has the same list.
const UNSAFE: [(&str, &str); 7] = [
    ("crates/unspent/src/sampler/vector.rs", "loads and stores of registers, and calls that need them"),
    ("crates/unspent/src/sampler/vector/avx512.rs", "the same for the widest registers"),
    ("crates/unspent/tests/fork.rs", "a real fork, in a test"),
    ("crates/unspent-py/src/arrow.rs", "structures, functions and memory of Arrow's C interface"),
    ("crates/unspent-py/src/columns.rs", "memory of NumPy's arrays"),
    ("crates/unspent-py/src/memory.rs", "slices of memory that others own"),
    ("crates/unspent-wasm/src/module.rs", "a bounded allocator, and functions that a page calls"),
];

#[test]
fn unsafe_code_is_where_it_is_listed() {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = BTreeMap::new();
    for path in files().into_iter().filter(|path| has_extension(path, &["rs"])) {
        let text = source::without_comments(&read(&repository(&path)));
        if text.split(|c| !is_word(c)).any(|word| ["unsafe", "unsafe_code"].contains(&word)) {
            found.insert(path.clone(), path);
        }
    }
    let known: Vec<&str> = UNSAFE.iter().map(|(path, _)| *path).collect();
    only_known("files with unsafe code", &found, &known);
    let listed = read(&repository("SECURITY.md"));
    for (path, reason) in UNSAFE {
        assert!(!reason.is_empty());
        let name = path.rsplit('/').next().expect("a file");
        assert!(listed.contains(name), "SECURITY.md does not list {path}");
    }
    // Whoever adds some elsewhere is stopped by the compiler too.
    assert!(read(&repository("Cargo.toml")).contains("unsafe_code = \"deny\""));
}

/// Labels like `S9` or `E2a` in a text.
fn labels(text: &str) -> impl Iterator<Item = &str> {
    let is_label = |word: &&str| {
        let Some(rest) = word.strip_prefix(|c: char| c.is_ascii_uppercase()) else { return false };
        let digits = rest.trim_end_matches(|c: char| c.is_ascii_lowercase());
        rest.len() - digits.len() <= 1
            && matches!(digits.len(), 1 | 2)
            && digits.bytes().all(|c| c.is_ascii_digit())
    };
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(is_label)
}

/// What the pages of theory state: `**Lemma S9 (…).**`, `**Transforms (M3).**`, `## X1. …`.
fn stated(page: &str) -> BTreeSet<String> {
    let heads = page.lines().filter_map(|line| match line.strip_prefix("**") {
        Some(bold) => bold.split_once("**").map(|(head, _)| head),
        None => line.strip_prefix("## ").and_then(|head| head.split_once('.')).map(|(label, _)| label),
    });
    heads.flat_map(|head| labels(head).next()).map(String::from).collect()
}

#[test]
fn what_is_cited_is_proved() {
    let mut cited = 0;
    for library in ["crates/unspent/", "crates/unspent-estimate/"] {
        let inside = |part: &str| {
            let start = format!("{library}{part}/");
            files().into_iter().filter(move |path| path.starts_with(&start))
        };
        let pages: Vec<(String, String)> =
            inside("theory").map(|path| (path.clone(), read(&repository(&path)))).collect();
        let stated: BTreeSet<String> = pages.iter().flat_map(|(_, page)| stated(page)).collect();
        let sources = inside("src").filter(|path| has_extension(path, &["rs"]));
        for (path, text) in
            pages.clone().into_iter().chain(sources.map(|p| (p.clone(), read(&repository(&p)))))
        {
            for (number, line) in text.lines().enumerate() {
                let comment =
                    if path.ends_with(".md") { line } else { line.split_once("//").map_or("", |c| c.1) };
                for label in labels(comment) {
                    let place = format!("{path}:{}", number + 1);
                    assert!(
                        stated.contains(label),
                        "{place}: {label} is cited, and no page of theory states it"
                    );
                    cited += 1;
                }
            }
        }
    }
    assert!(cited > 500, "{cited}");
}
