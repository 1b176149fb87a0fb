//! Rust sources, read only as far as is needed to see which top-level module uses which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::support::read;

/// For each top-level module of the crate in `src`, those of its siblings that it names outside tests.
///
/// Names that the crate's root takes from a module (`pub use number::Rational`) count as that module's.
pub fn uses(src: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let root = ["lib.rs", "main.rs"].map(|name| src.join(name)).into_iter().find(|path| path.is_file());
    let root = code(&read(&root.expect("a root")));
    let modules: BTreeSet<String> = modules(&root);
    let exported = exports(&root, &modules);
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for module in &modules {
        let used = uses.entry(module.clone()).or_default();
        for (depth, text) in texts(src, module) {
            let text = code(&text);
            // In `src/module.rs` the root is one step up, in `src/module/part.rs` two.
            let up = "super::".repeat(depth);
            for start in ["crate::", up.as_str()] {
                for name in named(&text, start) {
                    used.extend(modules.get(&name).or(exported.get(&name)).cloned());
                }
            }
        }
        used.remove(module);
    }
    uses
}

/// The sources of a top-level module, with how deep they are below the root. Files of tests are left out.
fn texts(src: &Path, module: &str) -> Vec<(usize, String)> {
    fn walk(directory: &Path, depth: usize, found: &mut Vec<(usize, String)>) {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            // `inclusion` is the test of the profile.
            if ["tests", "oracle", "inclusion"].contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() {
                walk(&path, depth + 1, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push((if name == "mod" { depth - 1 } else { depth }, read(&path)));
            }
        }
    }
    let mut found = vec![];
    let file = src.join(format!("{module}.rs"));
    if file.is_file() {
        found.push((1, read(&file)));
    }
    walk(&src.join(module), 2, &mut found);
    assert!(!found.is_empty(), "{module} has a source");
    found
}

/// The modules that a root declares.
fn modules(root: &str) -> BTreeSet<String> {
    let words: Vec<&str> = root.split_whitespace().collect();
    let declared = words.windows(2).filter(|pair| pair[0] == "mod");
    declared.filter_map(|pair| pair[1].strip_suffix(';')).map(String::from).collect()
}

/// What a root exports, and the module that it is from.
fn exports(root: &str, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for part in root.split("use ").skip(1) {
        let Some((path, _)) = part.split_once(';') else { continue };
        let Some((module, names)) = path.split_once("::") else { continue };
        if modules.contains(module) {
            for name in
                names.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty())
            {
                found.insert(name.into(), module.into());
            }
        }
    }
    found
}

/// The names that follow `start`, alone or in a group.
fn named(text: &str, start: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word = |text: &str| text.chars().take_while(|c| is_word(*c)).collect::<String>();
    let mut found = vec![];
    for (at, _) in text.match_indices(start) {
        // `super::super::` ends with `super::` too; `x_crate::` ends with `crate::`.
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| is_word(c) || c == ':') {
            continue;
        }
        let rest = &text[at + start.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            found.push(word(rest));
            continue;
        };
        let (mut depth, mut first) = (0, true);
        for (i, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => first = true,
                c if first && is_word(c) => {
                    found.push(word(&group[i..]));
                    first = false;
                }
                _ => {}
            }
        }
    }
    found
}

/// The text without comments, without what stands in quotation marks, and without items that are for tests
/// only.
pub fn code(text: &str) -> String {
    without_tests(&without_comments(text))
}

/// The text without comments and without what stands in quotation marks.
pub fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if c == '"' || rest.starts_with("r\"") || rest.starts_with("r#") {
            quoted(rest)
        } else if c == '\'' {
            character(rest)
        } else {
            0
        };
        if skipped > 0 {
            kept.push(' ');
            rest = &rest[skipped..];
        } else {
            kept.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    kept
}

/// Where a comment in `/* */` ends, which may have others inside.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    for (at, _) in text.char_indices() {
        if text[at..].starts_with("/*") {
            depth += 1;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            if depth == 0 {
                return at + 2;
            }
        }
    }
    text.len()
}

/// Where a string ends, raw or not; 0 if none begins here (`r#type` is a name).
fn quoted(text: &str) -> usize {
    if let Some(raw) = text.strip_prefix('r') {
        let hashes = raw.chars().take_while(|c| *c == '#').count();
        if !raw[hashes..].starts_with('"') {
            return 0;
        }
        let (start, end) = (hashes + 2, format!("\"{}", "#".repeat(hashes)));
        return text[start..].find(&end).map_or(text.len(), |at| start + at + end.len());
    }
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// Where a character ends; 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    match letters.next() {
        Some((_, '\\')) => {
            text[2..].char_indices().skip(1).find(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 3)
        }
        Some(_) => letters.next().filter(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1),
        None => 0,
    }
}

/// Drops every item behind `#[cfg(test)]`: up to its semicolon, or to the end of its braces.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("#[cfg(test)]") {
        kept += &rest[..at];
        let (mut depth, mut end) = (0, rest.len());
        for (i, c) in rest.char_indices().skip(at) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 && (c == '}' || c == ';') {
                end = i + 1;
                break;
            }
        }
        rest = &rest[end..];
    }
    kept + rest
}

#[test]
fn what_is_not_code_is_dropped() {
    let text = "use crate::a::B; // crate::c\n/* crate::d /* crate::e */ */ fn f<'a>(x: &'a str) -> char { \
     '\"' }\n\
                const X: &str = \"crate::g \\\" crate::h\"; const Y: &str = r#\"crate::i \" \"#;\n\
                #[cfg(test)]\nmod tests { use crate::j; fn k() { let _ = '{'; } }\n#[cfg(test)]\nuse \
                crate::l;\n\
                fn m() { crate::n::o(); x_crate::p(); } use crate::{q::{r, s}, t};";
    assert_eq!(named(&code(text), "crate::"), ["a", "n", "q", "t"]);
    let text = "use super::super::a; use super::b;";
    assert_eq!(
        (named(text, "super::"), named(text, "super::super::")),
        (vec!["super".into(), "b".into()], vec!["a".into()])
    );
}
