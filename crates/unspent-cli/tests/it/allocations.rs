//! The commands about allocations, as a user meets them.

use std::fs;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use serde_json::{Value, json};
use unspent::Rational;

use crate::support::{Place, number, parse_json, refuses_with, stderr, succeeds};

/// How the command is met: arguments are split at spaces.
trait Session {
    fn data(&self, arguments: &str) -> String;
    fn report(&self, arguments: &str) -> Value;
    fn refuses(&self, arguments: &str, cause: &str, hint: &str);
    fn files(&self) -> Vec<(String, u64)>;
}

impl Session for Place {
    #[track_caller]
    fn data(&self, arguments: &str) -> String {
        succeeds(&self.say(arguments))
    }

    #[track_caller]
    fn report(&self, arguments: &str) -> Value {
        parse_json(&self.data(&format!("{arguments} --json")))
    }

    #[track_caller]
    fn refuses(&self, arguments: &str, cause: &str, hint: &str) {
        let before = self.files();
        refuses_with(&self.say(arguments), cause, hint);
        assert_eq!(self.files(), before, "nothing is written");
    }

    /// What is there, with its length.
    fn files(&self) -> Vec<(String, u64)> {
        let entry = |e: std::io::Result<fs::DirEntry>| {
            let e = e.unwrap();
            (e.file_name().to_string_lossy().into_owned(), e.metadata().unwrap().len())
        };
        let mut files: Vec<_> = fs::read_dir(&self.0).unwrap().map(entry).collect();
        files.sort();
        files
    }
}

/// Rows of a CSV without quoted fields, by column.
fn column<'t>(csv: &'t str, name: &str) -> Vec<&'t str> {
    let mut lines = csv.lines();
    let at = lines.next().unwrap().split(',').position(|c| c == name).unwrap_or_else(|| panic!("no {name}"));
    lines.map(|line| line.split(',').nth(at).unwrap()).collect()
}

#[test]
fn presets_are_listed_and_printed() {
    let place = Place::new("presets");
    let list = place.data("presets");
    let line = "  paper-2022-08-25           add-remove  3.65                       8       10       80\n";
    assert!(list.contains(line), "{list}");
    for entry in place.report("presets").as_array().unwrap() {
        let name = entry["preset"].as_str().unwrap();
        let text = place.data(&format!("preset {name}"));
        place.write("file.toml", &text);
        // The file is the preset.
        let [mut a, mut b] = [name, "file.toml"].map(|a| place.report(&format!("certificate {a}")));
        // The bytes are the same, and only the name of the file is not.
        let files = [&mut a, &mut b].map(|report| report["products"][0]["file"].take());
        assert_eq!(files[0]["sha256"], files[1]["sha256"]);
        assert_eq!(
            (&files[0]["name"], &files[1]["name"]),
            (&json!(format!("preset {name}")), &json!("file.toml"))
        );
        assert_eq!(a, b, "{name}");
        assert_eq!(a["products"][0]["rho"], entry["rho"]);
    }
    place.refuses(
        "preset pl94",
        "preset: `pl94` is not the name of a preset",
        "did you mean `pl94-persons-us-2020` or `pl94-persons-pr-2020` or `pl94-units-us-2020` or \
         `pl94-units-pr-2020`?; `unspent presets` lists them",
    );
}

#[test]
fn the_commented_example_works() {
    let place = Place::new("example");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/allocation.toml");
    fs::copy(example, place.path("allocation.toml")).unwrap();
    let report = place.report("certificate allocation.toml");
    assert_eq!(report["products"][0]["measurements"], 7);
    assert_eq!(report["lines"][0]["rho"]["upper"], "2.5");
}

#[test]
fn every_form_says_which_neighbours_and_which_delta() {
    let place = Place::new("forms");
    for (preset, neighbours) in [("pl94-units-us-2020", "bounded"), ("paper-2022-08-25", "add-remove")] {
        let table = place.data(&format!("certificate {preset}"));
        assert!(table.contains(&format!("\nNeighbours: {neighbours}")), "{table}");
        assert!(table.contains("\ndelta = 1e-10\n"));
        let markdown = place.data(&format!("certificate {preset} --markdown --delta 1e-7"));
        assert!(markdown.contains(&format!("Neighbours: {neighbours}")), "{markdown}");
        assert!(markdown.contains("delta = 1e-7") && markdown.contains("| epsilon of | rho |"));
        let csv = place.data(&format!("certificate {preset} --csv"));
        assert!(column(&csv, "neighbours").iter().all(|n| *n == neighbours));
        assert!(column(&csv, "delta").iter().all(|d| *d == "1e-10"));
        let json = place.report(&format!("certificate {preset}"));
        assert_eq!((&json["neighbours"], &json["delta"]), (&neighbours.into(), &"1e-10".into()));
        let curve = place.data(&format!("curve {preset} --points 3"));
        assert!(column(&curve, "neighbours").iter().all(|n| *n == neighbours));
    }
}

#[test]
fn the_terminal_table_fits_100_columns() {
    let place = Place::new("width");
    let long = "x".repeat(200);
    let text = format!(
        "name = \"{long}\"\nneighbours = \"bounded\"\ndelta = 1e-10\n\
         [[levels]]\nname = \"{long}\"\n[levels.rho]\nq = 1\n[[levels]]\nname = \"b\"\n[levels.rho]\nq = 1\n"
    );
    place.write("long.toml", text);
    let presets = place.report("presets");
    // Only what has levels can be calibrated and compared.
    let with_levels = presets.as_array().unwrap().iter().filter(|p| p["levels"] != 0);
    let names = with_levels.map(|p| p["preset"].as_str().unwrap());
    for name in names.clone().chain(["long.toml"]) {
        for command in ["certificate", "calibrate --published bun-steinke", "compare paper-2022-08-25"] {
            let text = place.data(&format!("{command} {name}"));
            // The name of the release may be as long as it is.
            let wide = text.lines().filter(|l| l.chars().count() > 100 && !l.contains(&long));
            assert_eq!(wide.collect::<Vec<_>>(), Vec::<&str>::new(), "{command} {name}");
        }
    }
}

#[test]
fn csv_and_json_are_the_same_certificate() {
    let place = Place::new("csv");
    let csv = place.data("certificate dhc-persons-us-2020 --csv");
    let json = place.report("certificate dhc-persons-us-2020");
    let lines = json["lines"].as_array().unwrap();
    for (name, field) in
        [("bun_steinke", "bun_steinke"), ("canonne_kamath_steinke", "canonne_kamath_steinke")]
    {
        let ours = column(&csv, name);
        assert_eq!(ours, lines.iter().map(|l| l[field].as_str().unwrap()).collect::<Vec<_>>());
    }
    let upper = column(&csv, "tight_upper");
    assert_eq!(upper, lines.iter().map(|l| l["tight"]["upper"].as_str().unwrap()).collect::<Vec<_>>());
    for (least, most) in column(&csv, "tight_lower").into_iter().zip(upper) {
        assert!(number(least) <= number(most));
    }
    let factors: Vec<&str> = column(&csv, "factor").into_iter().filter(|f| !f.is_empty()).collect();
    let reductions = json["reductions"].as_array().unwrap();
    assert_eq!(factors, reductions.iter().map(|r| r["factor"].as_str().unwrap()).collect::<Vec<_>>());
    assert_eq!(reductions.len(), 9);
}

#[test]
fn calibrate_writes_a_file_that_passes_certificate() {
    let place = Place::new("calibrate");
    let command = "calibrate paper-2022-08-25 --epsilon 21.97 --delta 1e-10 --out less.toml";
    let table = place.data(command);
    assert!(
        table.contains("  the whole release      21.970000  20.324690         21.970000        "),
        "{table}"
    );
    assert!(table.contains("−12.179 %") && table.ends_with("\nWritten to less.toml.\n"), "{table}");
    let after = place.report("certificate less.toml");
    let tight = &after["lines"][0]["tight"];
    assert!(number(tight["upper"].as_str().unwrap()) <= number("21.97"));
    assert!(number(tight["lower"].as_str().unwrap()) > number("21.9699999"));
    // A second time it is refused, and nothing is lost; with --force it is replaced.
    place.refuses(
        command,
        "--out: `less.toml` exists already",
        "add --force to replace it, or choose another name",
    );
    // Calibrated once more it is the same: what is promised is stated in it.
    let again = place.report("calibrate less.toml");
    assert_eq!(again["rows"][0]["promised"]["upper"], "21.97");
    let factor = number(again["rows"][0]["factor"].as_str().unwrap());
    assert!(factor > number("0.999999"), "{factor}");
    let table = place.data("calibrate paper-2022-08-25 --delta 1e-11 --scope level --out less.toml --force");
    assert!(table.contains("WARNING: together the levels exceed the epsilon of 22.88"), "{table}");
    // What was promised for the whole stays in the file, and is not kept.
    let after = place.report("certificate less.toml");
    assert_eq!((&after["delta"], &after["against"]), (&"1e-11".into(), &"epsilon".into()));
    assert_eq!(after["kept"], false);
    let state = after["lines"].as_array().unwrap().iter().find(|l| l["label"] == "State").unwrap();
    assert!(state["tight"]["upper"].as_str().unwrap().starts_with("11.06607"), "{state}");
    let files: Vec<String> = place.files().into_iter().map(|f| f.0).collect();
    assert_eq!(files, ["less.toml"], "no temporary file is left");
    // Without --out nothing is written, and it says so.
    assert!(place.data("calibrate pl94-units-us-2020").ends_with("--out FILE.toml writes the allocation.\n"));
    let json = place.report("calibrate pl94-units-us-2020 --epsilon 2");
    assert_eq!(json["rows"][0]["promised"]["upper"], "2");
    assert!(number(json["rows"][0]["factor"].as_str().unwrap()) > number("1"), "more noise for less epsilon");
    place.refuses(
        "calibrate pl94-units-us-2020 --out x.csv",
        "--out: `x.csv` does not end in .toml",
        "the extension says what to write",
    );
}

#[test]
fn an_unreachable_promise_is_no_answer() {
    let place = Place::new("unreachable");
    let output = place.say("calibrate pl94-units-us-2020 --epsilon 0 --out x.toml");
    let message = "error: no variance up to 1e12 meets the target\nhint: ask for a larger epsilon or delta\n";
    assert_eq!(stderr(&output), message);
    assert_eq!((output.status.code(), place.files().len()), (Some(1), 0));
}

#[test]
fn curves_as_csv_json_and_parquet_are_the_same() {
    let place = Place::new("curves");
    let command = "curve dhc-persons-us-2020 --level State --from 0 --to 120 --points 61";
    let csv = place.data(command);
    let json = place.report(command);
    place.data(&format!("{command} --out curve.parquet"));
    place.data(&format!("{command} --out curve.csv"));
    assert_eq!(place.read("curve.csv"), csv);
    let points = json["points"].as_array().unwrap();
    assert_eq!((points.len(), csv.lines().count()), (61, 62));
    let file = fs::File::open(place.path("curve.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let notes = reader.metadata().file_metadata().key_value_metadata().unwrap();
    assert!(notes.iter().any(|n| n.key == "unspent.neighbours" && n.value.as_deref() == Some("bounded")));
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 61);
    for (i, row) in rows.iter().enumerate() {
        let (upper, lower) = (column(&csv, "delta_upper")[i], column(&csv, "delta_lower")[i]);
        assert_eq!(points[i]["delta"]["upper"], upper);
        // Doubles are rounded outward from what has 17 digits.
        let exactly = |x: f64| Rational::from_f64("", x).unwrap();
        let (double_upper, double_lower) = (row.get_double(1).unwrap(), row.get_double(2).unwrap());
        assert!(exactly(double_lower) <= number(upper) && number(lower) <= exactly(double_upper), "{upper}");
        assert!(double_upper > 0.0 && double_lower <= double_upper);
        assert_eq!(row.get_string(8).unwrap(), "State");
        assert_eq!(row.get_string(9).unwrap(), "bounded");
        let ends = [1, 5, 6].map(|c| row.get_double(c).unwrap());
        assert!(ends[0] <= ends[2] && ends[2] <= ends[1], "tight, then each conversion: {ends:?}");
    }
    // δ falls, and the last is far below what anyone prints.
    let deltas: Vec<Rational> = column(&csv, "delta_upper").into_iter().map(number).collect();
    assert!(deltas.windows(2).all(|pair| pair[1] < pair[0]));
    assert!(deltas[60] < number("1e-250"));
}

/// What was asked before, or at the same time on another thread, changes no digit of an answer.
#[test]
fn a_point_of_a_curve_does_not_depend_on_the_others() {
    let place = Place::new("alone");
    let command = "curve dhc-persons-us-2020 --level State";
    let many = place.data(&format!("{command} --from 0 --to 120 --points 61"));
    let few = place.data(&format!("{command} --from 100 --to 120 --points 3"));
    for alone in few.lines() {
        assert!(many.lines().any(|line| line == alone), "{alone}");
    }
}

#[test]
fn curves_over_delta_and_tradeoffs() {
    let place = Place::new("over");
    let csv = place.data("curve paper-2022-08-25 --over delta --from 1e-400 --to 1e-5 --points 5");
    assert_eq!(column(&csv, "delta")[0], "1e-400");
    assert!(column(&csv, "epsilon_upper").windows(2).all(|pair| number(pair[1]) < number(pair[0])));
    let csv = place.data("curve paper-2022-08-25 --over delta --from 1e-10 --to 1e-9 --points 2");
    assert!(column(&csv, "epsilon_upper")[0].starts_with("20.324689750789"), "{csv}");
    let csv = place.data("tradeoff paper-2022-08-25 --within State --points 11");
    assert_eq!((column(&csv, "scope")[0], column(&csv, "name")[0]), ("within", "State"));
    let (lower, upper) = (column(&csv, "misses_lower"), column(&csv, "misses_upper"));
    assert_eq!((lower[0], upper[10]), ("1", "0"));
    assert!(lower.iter().zip(&upper).all(|(l, u)| number(l) <= number(u)));
    let log = place.data("tradeoff paper-2022-08-25 --log --from 1e-8 --points 9");
    assert_eq!(column(&log, "alpha")[4], "0.0001");
}

/// A guarantee must hold at the number that is read: δ is rounded up, α down, whatever is not a short
/// decimal.
#[test]
fn what_is_given_is_rounded_to_the_safe_side() {
    let place = Place::new("rounding");
    let csv = place.data("curve paper-2022-08-25 --over delta --from 1/30000000000 --to 1/7 --points 3");
    assert!(number(column(&csv, "delta")[0]) > number("1/30000000000"));
    assert!(number(column(&csv, "delta")[2]) > number("1/7"));
    let csv = place.data("tradeoff paper-2022-08-25 --from 1/3 --to 0.9999999999999999999999 --points 2");
    assert!(number(column(&csv, "alpha")[0]) < number("1/3"));
    assert!(number(column(&csv, "alpha")[1]) < number("0.9999999999999999999999"));
    let csv = place.data("curve paper-2022-08-25 --from 1/3 --to 2 --points 2");
    assert!(number(column(&csv, "epsilon")[0]) > number("1/3"));
    // Below the doubles δ is never written as 0.
    place.data("curve paper-2022-08-25 --over delta --from 1e-400 --to 1/7 --points 2 --out d.parquet");
    let file = fs::File::open(place.path("d.parquet")).unwrap();
    let rows: Vec<_> = SerializedFileReader::new(file).unwrap().into_iter().map(Result::unwrap).collect();
    let delta = |i: usize| Rational::from_f64("", rows[i].get_double(0).unwrap()).unwrap();
    assert!(delta(0) > number("1e-400") && delta(1) >= number("1/7"));
    let table = place.data("certificate paper-2022-08-25 --delta 1e-10/3");
    assert!(table.contains("\ndelta = 1/30000000000 ≈ 3.3333334e-11\n"), "{table}");
    assert!(place.data("certificate pl94-units-us-2020").contains("zCDP rho ≈ 0.074943665\n"));
}

#[test]
fn pictures_are_drawn() {
    let place = Place::new("pictures");
    place.data("curve pl94-persons-us-2020 --plot curve.svg --points 5");
    let svg = place.read("curve.svg");
    for text in [">δ<", ">ε<", "Canonne–Kamath–Steinke, from ρ", "Bun–Steinke, from ρ", "Bounded neighbours"]
    {
        assert!(svg.contains(text), "{text}");
    }
    assert!(svg.matches("stroke-dasharray").count() >= 2, "told apart without colour");
    place.data("tradeoff pl94-units-us-2020 --plot t.png");
    assert_eq!(&fs::read(place.path("t.png")).unwrap()[..8], b"\x89PNG\r\n\x1a\n");
    place.refuses(
        "curve pl94-persons-us-2020 --plot curve.svg",
        "--plot: `curve.svg` exists already",
        "add --force to replace it, or choose another name",
    );
    place.refuses(
        "curve pl94-persons-us-2020 --plot no/curve.svg",
        "--plot: the directory of `no/curve.svg` does not exist",
        "make it first, or check the path",
    );
    place.refuses(
        "curve pl94-persons-us-2020 --plot curve.gif",
        "--plot: `curve.gif` does not end in .svg, .png, .pdf",
        "the extension says what to write",
    );
}

#[test]
fn bad_selections_and_grids_are_refused_by_name() {
    let place = Place::new("selections");
    for (arguments, cause, hint) in [
        (
            "curve pl94-units-us-2020 --level Stat",
            "level: `Stat` is not one of US, State, County, Tract, Block_Group, Block",
            "did you mean `State`?",
        ),
        (
            "curve pl94-units-us-2020 --attribute age",
            "attribute: `age` is not one of h1",
            "names are written as in the allocation",
        ),
        (
            "tradeoff pl94-units-us-2020 --within Block",
            "within: no level is below `Block`",
            "levels come from the largest areas to the smallest",
        ),
        ("curve pl94-units-us-2020 --from 3 --to 2", "--from: 3 is not below --to, 2", "a grid goes up"),
        (
            "curve pl94-units-us-2020 --from -1",
            "--from: epsilon: `-1` is not a number between 0 and 1e12",
            "epsilon is never negative: check the sign",
        ),
        (
            "curve pl94-units-us-2020 --points 1",
            "points: `1` is not a whole number between 2 and 100000",
            "201 make a smooth curve",
        ),
        (
            "tradeoff pl94-units-us-2020 --log --from 0",
            "--from: `0` has no logarithm",
            "with --log start above 0, at 1e-6 say",
        ),
        (
            "certificate pl94-units-us-2020 --delta -1e-5",
            "delta: `-1e-5` is not a number strictly between 0 and 1",
            "delta is a probability, like 1e-10",
        ),
        (
            "certificate",
            "no release was named: a preset or an allocation file is needed",
            "for example: unspent certificate pl94-persons-us-2020; `unspent presets` lists the presets",
        ),
        (
            "certificate pl94-units-us-2020 --neighbours bounded",
            "neighbours: `pl94-units-us-2020` is not a table of budgets (.csv)",
            "a preset says what its neighbours are; `unspent compare` shows another reading",
        ),
        (
            "compare pl94-units-us-2020",
            "missing: <B>",
            "`unspent --help` lists the commands, and `unspent COMMAND --help` has examples",
        ),
    ] {
        place.refuses(arguments, cause, hint);
    }
}

#[test]
fn products_add_up() {
    let place = Place::new("products");
    let both = place.report("certificate --product pl94-persons-us-2020 --product dhc-persons-us-2020");
    let also = place.report("certificate pl94-persons-us-2020 --product dhc-persons-us-2020");
    assert_eq!(both, also);
    assert_eq!(both["products"].as_array().unwrap().len(), 2);
    // More pairs of paths than can be listed: what zCDP says of all of them, and the main path from below.
    let total = &both["lines"][0];
    assert_eq!(total["attained"], false);
    assert_eq!(total["tight"]["upper"], total["canonne_kamath_steinke"]);
    assert!(total["tight"]["lower"].as_str().unwrap().starts_with("31.5955"), "{total}");
    assert!(total["main_path"]["upper"].as_str().unwrap().starts_with("31.5955"), "{total}");
    place.refuses(
        "certificate --product paper-2022-08-25 --product dhc-persons-us-2020",
        "`2022-08-25 demonstration as read by Su, Su and Wang` is for add-remove neighbours, \
         `Demographic and Housing Characteristics, persons, United States, 2020 production` for bounded",
        "one guarantee needs one notion of neighbours; a comparison shows both under either: \
         `unspent compare A B`",
    );
}

#[test]
fn comparisons() {
    let place = Place::new("compare");
    let same = place.data("compare pl94-units-us-2020 pl94-units-us-2020");
    assert!(same.contains("\nThe noise of all 6 measurements is the same.\n"), "{same}");
    let table = place.data("compare dhc-persons-us-2022-08-25 paper-2022-08-25");
    assert!(table.contains("not comparable"), "{table}");
    assert!(
        table.contains("  bounded                      20.311378     31.019316     +10.708\n"),
        "{table}"
    );
    assert!(table.contains("… and 80 more; CSV and JSON have them all\n"), "{table}");
    let csv = place.data("compare dhc-persons-us-2022-08-25 dhc-persons-us-2020 --csv");
    let what = column(&csv, "what");
    assert_eq!(what.iter().filter(|w| **w == "sigma2").count(), 80);
    assert!(what.contains(&"tight epsilon") && what.contains(&"rho"));
}
