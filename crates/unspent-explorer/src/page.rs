//! The pages' files, from `web/`: one by one for the server, and as one script for a page that stands alone.
//!
//! They are inside this crate's directory because a published crate holds nothing from outside it. There is
//! no bundler: the modules of `web/` keep to a form that can be put together line by line (see [`script`]).

/// The files that pages are made of, by their path in `web/`.
macro_rules! web {
    ($($path:literal)*) => { &[$(($path, include_str!(concat!("../web/", $path)))),*] };
}

static FILES: &[(&str, &str)] = web![
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

/// A module with all that it imports, as one module that imports nothing: each after those it needs.
///
/// Imports and exports are left out, so that all names are in one scope. This relies on the form of the
/// modules, which is tested: imports come first and rename nothing, each export is a declaration, and no two
/// modules declare the same name.
pub fn script(main: &str) -> String {
    let mut order = vec![];
    collect(main, &mut order);
    let mut script = String::new();
    for path in order {
        let mut rest = text(&path);
        while let Some(at) = import(rest) {
            let end = at + rest[at..].find(";\n").expect("an import ends with a semicolon") + 2;
            script += &rest[..at];
            rest = &rest[end..];
        }
        for line in rest.lines() {
            script += line.strip_prefix("export ").unwrap_or(line);
            script.push('\n');
        }
    }
    script
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
        for folder in ["charts", "explorer", "report"] {
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
                    let kinds = ["const ", "function ", "async function ", "class "];
                    assert!(kinds.iter().any(|kind| declared.starts_with(kind)), "{path}: {line}");
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
    fn the_report_has_one_script() {
        let script = script("report/report.js");
        let lines = || script.lines();
        assert!(!lines().any(|line| line.starts_with("import ") || line.starts_with("export ")));
        assert!(!script.contains("</script") && !script.contains("<!--"));
        let words = ["const ", "let ", "function ", "async function ", "class "];
        let names: Vec<&str> = lines()
            .filter_map(|line| words.iter().find_map(|word| line.strip_prefix(word)))
            .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap())
            .collect();
        let distinct: HashSet<&str> = names.iter().copied().collect();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
        // What is used is declared before it is.
        let at = |name: &str| names.iter().position(|found| *found == name).expect(name);
        assert!(at("LOOKS") < at("svg") && at("svg") < at("Panel") && at("Panel") < at("Figure"));
        assert!(at("Figure") < at("follow") && !names.contains(&"Question"));
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
