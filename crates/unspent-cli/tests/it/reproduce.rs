//! `unspent reproduce`: the tables against golden ones, the data behind the figures, and the page in a
//! browser.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::support::{Place, browser, interrupt, program, read, refuses, repository, succeeds};

/// δ of pairs of paths at some of the published ε, to as many digits as a double has.
const ORACLE: [(&str, &str, &str, f64); 6] = [
    ("13", "13", "8.67139664583831986102", 0.075_569_208_357_944_09),
    ("13", "13", "26.34058885272232435378", 1.783_199_335_041_752_7e-12),
    ("13", "13", "35.94242870913358014281", 9.614_584_784_830_053e-24),
    ("6", "6", "8.67139664583831986102", 0.075_565_911_185_303_29),
    ("6", "6", "26.34058885272232435378", 1.783_201_261_998_291e-12),
    ("6", "6", "35.94242870913358014281", 9.614_792_306_972_702e-24),
];

/// The whole study, computed once for all tests.
static STUDY: LazyLock<PathBuf> = LazyLock::new(|| {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reproduce");
    let _ = fs::remove_dir_all(&place);
    let output = program().args(["reproduce", "--paths", "--out"]).arg(&place).output().unwrap();
    succeeds(&output);
    place
});

#[test]
fn an_earlier_report_is_replaced_whole() {
    let place = Place::new("replace");
    let first = place.say("reproduce --no-png --out paper");
    assert_eq!(first.status.code(), Some(0));
    let page = fs::read(place.path("paper/report.html")).unwrap();
    place.write("paper/tables/comparison.csv", "old");
    assert_eq!(place.say("reproduce --no-png --out paper --force").status.code(), Some(0));
    assert_eq!(fs::read(place.path("paper/report.html")).unwrap(), page, "the same twice");
    assert_ne!(place.read("paper/tables/comparison.csv"), "old");
    assert_eq!(place.names(), ["paper"]);
    // What was added to it is not removed.
    place.write("paper/notes.txt", "mine");
    assert_eq!(place.say("reproduce --no-png --out paper --force").status.code(), Some(2));
    assert!(place.path("paper/notes.txt").exists());
}

/// Fields of a CSV, in which quotation marks may stand around commas.
fn rows(text: &str) -> Vec<Vec<String>> {
    text.lines()
        .map(|line| {
            let mut fields = vec![String::new()];
            let mut quoted = false;
            for c in line.chars() {
                match c {
                    '"' => quoted = !quoted,
                    ',' if !quoted => fields.push(String::new()),
                    c => fields.last_mut().unwrap().push(c),
                }
            }
            fields
        })
        .collect()
}

fn written(file: &str) -> String {
    read(&STUDY.join(file))
}

#[test]
fn tables_are_the_golden_ones() {
    let golden = repository("crates/unspent-cli/tests/it/golden");
    let mut seen = 0;
    for entry in fs::read_dir(golden).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (ours, golden) = (rows(&written(&format!("tables/{name}"))), rows(&read(&path)));
        assert_eq!(ours.len(), golden.len(), "{name}");
        for (a, b) in ours.iter().flatten().zip(golden.iter().flatten()) {
            match (a.parse::<f64>(), b.parse::<f64>()) {
                // The last digits may differ where another version of the same bound is as good.
                (Ok(a), Ok(b)) => assert!((a - b).abs() <= 1e-6 * b.abs(), "{name}: {a} {b}"),
                _ => assert_eq!(a, b, "{name}"),
            }
        }
        assert!(written(&format!("tables/{}", name.replace(".csv", ".md"))).contains("| --- |"));
        seen += 1;
    }
    assert_eq!(seen, 10);
}

#[test]
fn every_published_number_has_a_verdict_and_every_difference_a_reason() {
    let table = rows(&written("tables/comparison.csv"));
    assert_eq!(table[0], ["what", "where", "published", "computed", "verdict", "why"]);
    let mut verdicts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &table[1..] {
        *verdicts.entry(&row[4]).or_default() += 1;
        assert_eq!(row[4] == "agrees", row[5].is_empty(), "{row:?}");
        assert_eq!(row[4] == "not computed", row[3].is_empty(), "{row:?}");
    }
    let expected = BTreeMap::from([("agrees", 64), ("differs", 6), ("not computed", 9), ("simulated", 8)]);
    assert_eq!(verdicts, expected);
    let row =
        |what: &str| table.iter().find(|row| row[0].starts_with(what)).unwrap_or_else(|| panic!("{what}"));
    // The known ones: one term, the slip of the text, and Monte-Carlo values.
    assert!(row("whole release: reduction")[3].starts_with("12.179"));
    assert!(row("whole release: reduction")[5].contains("8.5921 %"));
    assert!(row("US: reduction of σ², as the text")[5].contains("State"));
    assert!(row("state: reduction of MSE")[5].contains("Monte-Carlo"));
}

/// Less noise is less error at every stage; how much less is known of raw answers.
#[test]
fn less_noise_is_worth_something_in_published_tables() {
    let table = rows(&written("tables/published-tables.csv"));
    let column = |name: &str| table[0].iter().position(|head| head == name).unwrap();
    let (level, query, stage) = (column("level"), column("query"), column("published"));
    let figure = |published: &str, of: &str, name: &str| -> f64 {
        let is = |row: &&Vec<String>| row[level] == "Block" && row[query] == of && row[stage] == published;
        table.iter().find(is).unwrap()[column(name)].parse().unwrap()
    };
    for of in ["total", "race"] {
        // One less the root of what is left: 4.39 % and 6.29 %.
        for (name, part) in [("first_term", 8.5921f64), ("both_terms", 12.1793)] {
            let [less, error] = ["less_percent", "standard_error"].map(|x| format!("{name}_{x}"));
            let expected = 100.0 * (1.0 - (1.0 - part / 100.0).sqrt());
            assert!((figure("raw", of, &less) - expected).abs() < 0.1, "{of} {name}");
            let whole = figure("whole tables", of, &less);
            assert!(whole > 1.0 && whole < expected + 0.5, "{of} {name}: {whole}");
            assert!(figure("whole tables", of, &error) < 1.0, "{of} {name}");
        }
        assert!(figure("whole tables", of, "mae") < figure("raw", of, "mae"));
    }
    assert!(written("report.html").contains("What is that worth in published tables?"));
}

#[test]
fn every_point_of_the_second_paper_has_bounds_and_a_verdict() {
    let table = rows(&written("tables/paths-points.csv"));
    assert_eq!(
        table[0],
        ["from", "to", "epsilon", "published", "delta_lower", "delta_upper", "ratio", "verdict"]
    );
    let points = &table[1..];
    assert_eq!(points.len(), 39_732);
    let mut verdicts: BTreeMap<&str, usize> = BTreeMap::new();
    let number = |text: &String| text.parse::<f64>().unwrap();
    for row in points {
        *verdicts.entry(&row[7]).or_default() += 1;
        let [published, lower, upper, ratio] = [3, 4, 5, 6].map(|i| number(&row[i]));
        assert!(lower <= upper && upper <= lower * (1.0 + 1e-6), "{row:?}");
        // What is off is off towards less privacy than there is.
        assert!(ratio >= 1.0 && published >= lower, "{row:?}");
        let verdict = match row[7].as_str() {
            "agrees" => published <= upper * (1.0 + 1e-15),
            "within 1 %" => published <= 1.01 * upper,
            _ => published > 1.01 * upper,
        };
        assert!(verdict, "{row:?}");
    }
    // How many of the others agree depends on how narrow the bounds are.
    assert_eq!(verdicts["off by more than 1 %"], 4_715);
    assert!(verdicts["agrees"] > 19_000, "{verdicts:?}");
    // By the oracle (oracle/oracle.py, method dft).
    for (from, to, epsilon, truth) in ORACLE {
        let row = points.iter().find(|row| row[0] == from && row[1] == to && row[2] == epsilon).unwrap();
        let inside = |lower: &String, upper: &String| number(lower) <= truth && truth <= number(upper);
        assert!(inside(&row[4], &row[5]), "{row:?}");
    }
    let pairs = rows(&written("tables/paths-pairs.csv"));
    assert_eq!(pairs.len(), 947);
    // The pair that a certificate calls the worst.
    let worst = pairs[1..].iter().max_by(|a, b| number(&a[2]).total_cmp(&number(&b[2]))).unwrap();
    assert_eq!(worst[..2], ["6", "6"]);
    assert!(worst[2].starts_with("24.45651445") && worst[3].starts_with("24.45651445"), "{worst:?}");
    assert!(written("report.html").contains("Every path through the geography"));
}

/// `series → [(x, y)]` of one panel.
fn series(file: &str, panel: &str) -> BTreeMap<String, Vec<(f64, f64)>> {
    let mut found: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for row in
        rows(&written(&format!("figures/{file}.csv"))).into_iter().skip(1).filter(|row| row[0] == panel)
    {
        let y = row[3].parse().unwrap_or(f64::NEG_INFINITY);
        found.entry(row[1].clone()).or_default().push((row[2].parse().unwrap(), y));
    }
    assert!(!found.is_empty(), "{file} {panel}");
    found
}

fn pick<'s>(series: &'s BTreeMap<String, Vec<(f64, f64)>>, start: &str) -> &'s [(f64, f64)] {
    series.iter().find(|(name, _)| name.starts_with(start)).map(|(_, points)| points.as_slice()).unwrap()
}

const LEVELS: [&str; 8] =
    ["US", "State", "County", "PEPG", "Tract Subset Group", "Tract Subset", "Optimized Block Group", "Block"];

#[test]
fn what_the_curves_show_is_so() {
    for level in LEVELS {
        let curves = series("curves-by-level", level);
        let (tight, cks, bun_steinke) =
            (pick(&curves, "tight"), pick(&curves, "Canonne"), pick(&curves, "Bun"));
        for ((t, c), b) in tight.iter().zip(cks).zip(bun_steinke) {
            assert!(t.1 <= c.1 + 1e-12 && c.1 <= b.1 + 1e-12, "{level}: {t:?} {c:?} {b:?}");
        }
        assert!(tight.windows(2).all(|pair| pair[1].1 <= pair[0].1), "{level}");
        // With reduced noise the tight curve is below the Bureau's above 10⁻¹¹ and above it below. Right
        // around it the steps of the lattice of losses show (State's curve crosses more than once).
        let curves = series("curves-reduced-noise", level);
        for (r, b) in pick(&curves, "tight, reduced").iter().zip(pick(&curves, "Bun")) {
            if b.1 > -10.5 {
                assert!(r.1 <= b.1, "{level}: {r:?} {b:?}");
            } else if b.1 < -11.5 {
                assert!(r.1 > b.1, "{level}: {r:?} {b:?}");
            }
        }
        let functions = series("tradeoff-by-level", level);
        let (same, reduced) = (pick(&functions, "tight, same"), pick(&functions, "tight, reduced"));
        for (s, r) in same.iter().zip(reduced) {
            assert!(r.1 <= s.1 + 1e-9 && s.1 <= 1.0 - s.0 + 1e-12, "{level}: {s:?} {r:?}");
        }
        let gains = series("gain", level);
        assert!(pick(&gains, "over Bun").iter().all(|(_, gain)| *gain > 0.0), "{level}");
    }
    let whole = series("overall-curve", "");
    let (tight, one) = (pick(&whole, "tight, same"), pick(&whole, "first term"));
    assert!(tight.iter().zip(one).all(|(t, o)| t.1 <= o.1 + 1e-12), "a term was dropped, and δ is larger");
}

#[test]
fn the_gallery_shows_what_is_drawn() {
    for name in ["curves-by-level", "tradeoff-by-level", "overall-curve"] {
        let kept = repository(&format!("docs/{name}.svg"));
        let same = read(&kept) == written(&format!("figures/{name}.svg"));
        assert!(same, "{name}: run `make gallery`");
    }
}

#[test]
fn every_character_drawn_is_in_the_font() {
    let known = "εδαρσμφ²≤≥−×·–—±≈∞…%’′";
    for entry in fs::read_dir(STUDY.join("figures")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "svg") {
            let text = read(&path);
            let strange: String = text.chars().filter(|c| !c.is_ascii() && !known.contains(*c)).collect();
            // Raised digits are drawn as such; the description keeps them as they were written.
            let strange: String = strange.chars().filter(|c| !"⁰¹²³⁴⁵⁶⁷⁸⁹⁻\u{a0}".contains(*c)).collect();
            assert_eq!(strange, "", "{}", path.display());
        }
    }
}

#[test]
fn a_second_run_overwrites_only_with_force_and_only_its_own() {
    let place = Place::new("force");
    fs::create_dir(place.path("mine")).unwrap();
    place.write("mine/thesis.txt", "years of work");
    let refused = |arguments: &str, message: &str| {
        refuses(&place.say(arguments), message);
    };
    refused(
        "reproduce --out mine",
        "error: --out: `mine` exists already\nhint: add --force to replace it, or choose another name\n",
    );
    refused(
        "reproduce --out mine --force",
        "error: --out: `mine/thesis.txt` was not written by this command\n\
         hint: choose another name; --force replaces earlier reports only\n",
    );
    // Neither a page of the same name nor what was added to an earlier report is ours to remove.
    fs::create_dir(place.path("theirs")).unwrap();
    place.write("theirs/report.html", "<html>my own</html>");
    refused(
        "reproduce --out theirs --force",
        "error: --out: `theirs/report.html` was not written by this command\n\
         hint: choose another name; --force replaces earlier reports only\n",
    );
    fs::remove_dir_all(place.path("theirs")).unwrap();
    refused(
        "reproduce --out no/where",
        "error: --out: the directory of `no/where` does not exist\nhint: make it first, or check the path\n",
    );
    assert_eq!(place.read("mine/thesis.txt"), "years of work");
    assert_eq!(place.names(), ["mine"]);
}

#[test]
#[cfg(unix)]
fn an_interrupted_run_leaves_nothing() {
    let place = Place::new("interrupt");
    for wait in [50, 2500] {
        let mut child = place
            .program()
            .args(["reproduce", "--out", "paper"])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        interrupt(child.id());
        let finished = child.wait().unwrap().success();
        // Either it was done before, and is whole, or there is nothing at all.
        let names = place.names();
        if finished {
            assert_eq!(names, ["paper"]);
            assert!(place.path("paper/report.html").is_file());
            fs::remove_dir_all(place.path("paper")).unwrap();
        } else {
            assert_eq!(names, Vec::<String>::new());
        }
    }
}

#[test]
fn the_page_in_a_browser() {
    let said = browser::run("report.mjs", |script| {
        script.arg(STUDY.join("report.html")).arg("11");
    });
    if let Some(said) = said {
        assert!(said.contains("ok   no errors, no warnings, no requests"), "{said}");
    }
}
