//! The pages' files, from `web/`: one by one for the server, and as one script for a page that stands alone.
//!
//! They are inside this crate's directory because a published crate holds nothing from outside it. There is
//! no bundler: the modules of `web/` keep to a form that can be put together line by line (see [`script`]).

use std::fmt::Write;

/// The files that pages are made of, by their path in `web/`.
macro_rules! web {
    ($($path:literal)*) => { &[$(($path, include_str!(concat!("../web/", $path)))),*] };
}

static FILES: &[(&str, &str)] = web![
    "alone/accountant.js"
    "alone/brought.js"
    "alone/calculator.js"
    "alone/explorer.js"
    "alone/lanes.js"
    "alone/worker.js"
    "calculator/calculator.css"
    "calculator/index.html"
    "calculator/main.js"
    "calculator/question.js"
    "charts/charts.css"
    "charts/elements.js"
    "charts/figure.js"
    "charts/gestures.js"
    "charts/looks.js"
    "charts/numbers.js"
    "charts/panel.js"
    "charts/reading.js"
    "charts/series.js"
    "charts/shapes.js"
    "charts/ticks.js"
    "explorer/accuracy.js"
    "explorer/address.js"
    "explorer/also.js"
    "explorer/answers.js"
    "explorer/api.js"
    "explorer/ask.js"
    "explorer/budget.js"
    "explorer/certificate.js"
    "explorer/change.js"
    "explorer/closer.js"
    "explorer/control.js"
    "explorer/dom.js"
    "explorer/draft.js"
    "explorer/exact.js"
    "explorer/explorer.css"
    "explorer/exports.js"
    "explorer/index.html"
    "explorer/kinds.js"
    "explorer/limits.js"
    "explorer/links.js"
    "explorer/main.js"
    "explorer/needs.js"
    "explorer/needstext.js"
    "explorer/notices.js"
    "explorer/questions.js"
    "explorer/reading.js"
    "explorer/scales.js"
    "explorer/scope.js"
    "explorer/signal.js"
    "explorer/sources.js"
    "explorer/spend.js"
    "explorer/store.js"
    "explorer/tables.js"
    "explorer/trouble.js"
    "explorer/units.js"
    "explorer/verdict.js"
    "report/page.html"
    "report/report.css"
    "report/report.js"
];

/// A file by its path in `web/`.
pub fn text(path: &str) -> &'static str {
    find(path).unwrap_or_else(|| panic!("web/{path} is not listed"))
}

fn find(path: &str) -> Option<&'static str> {
    FILES.iter().find(|(name, _)| *name == path).map(|(_, text)| *text)
}

/// What the explorer's page consists of: the type and text of the file at an address.
pub fn served(address: &str) -> Option<(&'static str, &'static str)> {
    let path = if address == "/" { "explorer/index.html" } else { address.strip_prefix('/')? };
    let kind = match path.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        _ => "text/css; charset=utf-8",
    };
    Some((kind, find(path)?))
}

/// A module with all that it imports, as one script that imports nothing: each in a scope of its own, after
/// those it needs.
///
/// This relies on the form of the modules, which is tested: imports come first and rename nothing, and each
/// export is a declaration of one name, which is given a value once.
pub fn script(main: &str) -> String {
    let mut order = vec![];
    collect(main, &mut order);
    let mut script = String::from("'use strict';\n");
    for path in order {
        let _ = writeln!(script, "const {} = (() => {{", scope(&path));
        let mut rest = text(&path);
        while let Some(at) = import(rest) {
            let end = at + rest[at..].find(";\n").expect("an import ends with a semicolon") + 2;
            let names = rest[at..end].strip_prefix("import ").and_then(|names| names.split_once(" from "));
            let (names, from) = names.expect("an import names what it imports");
            let from = from.split('\'').nth(1).expect("an import names a file in quotes");
            let _ = writeln!(script, "{}const {names} = {};", &rest[..at], scope(&resolved(&path, from)));
            rest = &rest[end..];
        }
        let mut exported = vec![];
        for line in rest.lines() {
            let declared = line.strip_prefix("export ");
            exported.extend(declared.map(name));
            script += declared.unwrap_or(line);
            script.push('\n');
        }
        let _ = writeln!(script, "return {{ {} }};\n}})();", exported.join(", "));
    }
    script
}

/// What the scope of a module is called.
fn scope(path: &str) -> String {
    format!("${}", path.replace(|c: char| !c.is_ascii_alphanumeric(), "_"))
}

/// The name that is declared.
fn name(declaration: &str) -> &str {
    let kinds = ["const ", "function ", "async function ", "class "];
    let name = kinds.iter().find_map(|kind| declaration.strip_prefix(kind)).unwrap_or_default();
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// Where the first import of a module begins.
fn import(module: &str) -> Option<usize> {
    if module.starts_with("import ") { Some(0) } else { module.find("\nimport ").map(|at| at + 1) }
}

/// A module after all that it imports, each once.
fn collect(path: &str, order: &mut Vec<String>) {
    if order.iter().any(|known| known == path) {
        return;
    }
    for imported in imports(path) {
        collect(&imported, order);
    }
    order.push(path.into());
}

/// The paths of what a module imports.
fn imports(path: &str) -> Vec<String> {
    let mut found = vec![];
    let mut rest = text(path);
    while let Some(at) = import(rest) {
        let (statement, after) = rest[at..].split_once(";\n").expect("an import ends with a semicolon");
        let from = statement.rsplit('\'').nth(1).expect("an import names a file in quotes");
        found.push(resolved(path, from));
        rest = after;
    }
    found
}

/// A path that is given relative to a module.
fn resolved(module: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = module.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    fn modules() -> impl Iterator<Item = (&'static str, &'static str)> {
        FILES.iter().copied().filter(|(path, _)| path.ends_with(".js"))
    }

    #[test]
    fn every_file_is_listed() {
        let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
        let mut there: Vec<String> = vec![];
        for folder in ["alone", "calculator", "charts", "explorer", "report"] {
            for entry in fs::read_dir(web.join(folder)).unwrap() {
                there.push(format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap()));
            }
        }
        there.sort();
        let listed: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
        assert_eq!(listed, there);
    }

    #[test]
    fn modules_have_the_form_that_can_be_put_together() {
        for (path, module) in modules() {
            let code = module.lines().filter(|line| !line.starts_with("//"));
            let mut imports_are_over = false;
            for line in code {
                if line.starts_with("import ") {
                    assert!(!imports_are_over, "{path}: {line}");
                    assert!(!line.contains(" as ") && line.starts_with("import { "), "{path}: {line}");
                }
                imports_are_over |= line.starts_with("const ") || line.starts_with("export ");
                if let Some(declared) = line.strip_prefix("export ") {
                    assert!(!name(declared).is_empty(), "{path}: {line}");
                }
            }
            for imported in imports(path) {
                assert!(find(&imported).is_some(), "{path} imports {imported}");
            }
        }
    }

    /// No module needs, through others, itself.
    #[test]
    fn modules_have_no_cycles() {
        fn visit(path: &str, above: &mut Vec<String>, done: &mut HashSet<String>) {
            assert!(!above.iter().any(|other| other == path), "{above:?} {path}");
            above.push(path.into());
            for imported in
                imports(path).iter().filter(|imported| !done.contains(*imported)).collect::<Vec<_>>()
            {
                visit(imported, above, done);
            }
            above.pop();
            done.insert(path.into());
        }
        let mut done = HashSet::new();
        modules().for_each(|(path, _)| visit(path, &mut vec![], &mut done));
    }

    #[test]
    fn modules_are_put_together() {
        for main in ["report/report.js", "alone/explorer.js", "alone/calculator.js", "alone/worker.js"] {
            let script = script(main);
            assert!(!script.lines().any(|line| line.starts_with("import ") || line.starts_with("export ")));
            assert!(!script.contains("</script") && !script.contains("<!--"), "{main}");
            let mut scopes = HashSet::new();
            for line in script.lines() {
                if let Some(needed) = line.strip_suffix(';').and_then(|line| line.split_once(" } = $")) {
                    assert!(scopes.contains(needed.1), "{main} needs {}", needed.1);
                }
                if let Some(begun) = line.strip_prefix("const $") {
                    assert!(scopes.insert(begun.strip_suffix(" = (() => {").unwrap()), "{main}: {begun}");
                }
            }
            assert!(scopes.contains(main.replace(['/', '.'], "_").as_str()) && scopes.len() > 1, "{main}");
        }
        assert!(!script("report/report.js").contains("explorer"));
        assert!(script("report/report.js").contains("\nreturn { Figure };\n})();\n"));
    }

    #[test]
    fn nothing_is_fetched_from_elsewhere() {
        for (path, text) in FILES {
            let text = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains("http://") && !text.contains("https://"), "{path}");
        }
    }

    #[test]
    fn paths_are_resolved() {
        assert_eq!(resolved("report/report.js", "../charts/figure.js"), "charts/figure.js");
        assert_eq!(resolved("charts/figure.js", "./panel.js"), "charts/panel.js");
        assert!(served("/").unwrap().1.starts_with("<!doctype html>"));
        assert_eq!(served("/charts/ticks.js").unwrap().0, "text/javascript; charset=utf-8");
        assert!(served("/charts/").is_none() && served("/../src/page.rs").is_none());
    }
}
