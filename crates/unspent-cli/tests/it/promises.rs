//! What is stated is checked wherever it is used.

use std::fs;

use crate::support::{BLOCKS, EXAMPLE, Place, parse_json, read, stderr, stdout};

/// `examples/blocks.toml` with an epsilon in place of the conversion.
fn blocks(place: &Place, epsilon: &str) {
    let text = read(EXAMPLE.as_ref());
    let stated = text.replace("conversion = \"canonne-kamath-steinke\"", &format!("epsilon = \"{epsilon}\""));
    assert_ne!(stated, text);
    place.write("budget.toml", stated);
    fs::copy(BLOCKS, place.path("blocks.csv")).unwrap();
}

fn run(place: &Place, arguments: &str) -> (i32, String, String) {
    let output = place.say(arguments);
    (output.status.code().unwrap(), stdout(&output).into(), stderr(&output).into())
}

#[test]
fn a_broken_promise_is_said_and_nothing_is_measured() {
    let place = Place::new("broken");
    blocks(&place, "5");
    let words = "PROMISE NOT KEPT: states epsilon 5 at delta 1e-10, delivers at least 16.25";
    let (code, table, error) = run(&place, "certificate budget.toml");
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(table.starts_with(words), "{table}");
    let (code, table, error) = run(&place, "certificate budget.toml --check");
    assert_eq!(code, 3);
    assert!(table.starts_with(words) && error.contains(words) && error.contains("hint: "), "{error}");
    let (_, markdown, _) = run(&place, "certificate budget.toml --markdown");
    // Below the title.
    assert!(markdown.lines().nth(2).is_some_and(|line| line.starts_with(words)), "{markdown}");
    let (_, csv, _) = run(&place, "certificate budget.toml --csv");
    let head: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let kept = head.iter().position(|name| *name == "kept").unwrap();
    assert_eq!(csv.lines().nth(1).unwrap().split(',').nth(kept), Some("false"));
    let (_, json, _) = run(&place, "certificate budget.toml --json");
    let report = parse_json(&json);
    assert_eq!(report["kept"], false);
    assert_eq!(report["promises"][0]["epsilon"], "5");
    // Refused before anything is created.
    let measure = "measure blocks.csv --allocation budget.toml --out noisy";
    let (code, output, error) = run(&place, measure);
    assert_eq!((code, output.as_str()), (3, ""));
    assert!(error.contains(words) && error.contains("--break-promise measures all the same"), "{error}");
    let names: Vec<_> = fs::read_dir(&place.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    // By name it goes, and the manifest says so.
    let (code, _, error) = run(&place, &format!("{measure} --break-promise"));
    assert_eq!(code, 0, "{error}");
    let manifest = place.json("noisy/manifest.json");
    assert_eq!((&manifest["kept"], &manifest["certificate"]["kept"]), (&false.into(), &false.into()));
    let certificate = place.read("noisy/certificate.md");
    assert!(certificate.lines().nth(2).is_some_and(|line| line.starts_with(words)), "{certificate}");
    let allocation = place.read("noisy/allocation.toml");
    assert!(allocation.contains("epsilon = \"5\""), "the promise stays in the file: {allocation}");
}

#[test]
fn a_kept_promise_is_said_too() {
    let place = Place::new("kept");
    blocks(&place, "17");
    let (code, table, _) = run(&place, "certificate budget.toml --check");
    assert_eq!(code, 0);
    assert!(table.starts_with("Promise kept: states epsilon 17 at delta 1e-10.\n"), "{table}");
    // An epsilon on the command line is another promise.
    let (code, table, _) = run(&place, "certificate budget.toml --epsilon 16 --check");
    assert_eq!(code, 3);
    assert!(table.contains("PROMISE NOT KEPT: states epsilon 16 at delta 1e-10"), "{table}");
    let (code, _, _) = run(&place, "certificate pl94-units-us-2020 --epsilon 2.3636 --check");
    assert_eq!(code, 0);
    let (code, _, _) = run(&place, "certificate pl94-units-us-2020 --epsilon 2.3632032 --check");
    assert_eq!(code, 3, "the main path keeps it, the worst pair does not");
    let (code, _, _) = run(&place, "measure blocks.csv --allocation budget.toml --out noisy");
    assert_eq!(code, 0);
    let manifest = place.read("noisy/manifest.json");
    assert!(manifest.contains("\"kept\": true"), "{manifest}");
}

/// Shares of an epsilon: a complete budget.
#[test]
fn a_budget_of_epsilon_is_measured() {
    let place = Place::new("shares");
    blocks(&place, "8");
    let path = place.path("budget.toml");
    let text = fs::read_to_string(&path).unwrap().replace("rho = \"2.5\"\n", "");
    fs::write(&path, text).unwrap();
    let (code, table, error) = run(&place, "certificate budget.toml --check");
    assert_eq!((code, error.as_str()), (0, ""), "{table}");
    assert!(table.contains("  8          7.99999"), "{table}");
    let (code, _, error) = run(&place, "measure blocks.csv --allocation budget.toml --out noisy");
    assert_eq!(code, 0, "{error}");
    let written = place.read("noisy/allocation.toml");
    assert!(written.contains("\nrho = \"0.") && written.contains("share = \"0.1\""), "{written}");
}

#[test]
fn each_level_by_itself_is_not_the_same_promise() {
    let place = Place::new("whose");
    blocks(&place, "10");
    let (code, table, error) = run(&place, "calibrate budget.toml --epsilon 5 --scope level --out less.toml");
    assert_eq!(code, 0, "{error}");
    let warning =
        "WARNING: together the levels exceed the epsilon of 10 that was promised for the whole release.";
    assert!(table.contains(warning), "{table}");
    let written = place.read("less.toml");
    assert!(written.contains("epsilon = \"10\""), "the promise of the whole stays: {written}");
    let (_, table, _) = run(&place, "utility blocks.csv --before budget.toml --query race --by race");
    assert!(table.contains("Only the noise after keeps the epsilon of 10 that was promised"), "{table}");
    blocks(&place, "17");
    let (_, table, _) = run(&place, "utility blocks.csv --before budget.toml --query race --by race");
    assert!(
        table.starts_with("Before: An example: blocks by voting age, race and ethnicity; the whole"),
        "{table}"
    );
    assert!(table.contains("Both keep the epsilon of 17 that was promised for the whole."), "{table}");
    let (_, json, _) = run(&place, "utility blocks.csv --before budget.toml --query race --by race --json");
    let report = parse_json(&json);
    assert_eq!(report["change"]["exceeds"], false);
    let (_, table, _) = run(&place, "utility blocks.csv --schema budget.toml --sigma2 Block=20:10 --by race");
    assert!(table.starts_with("No epsilon is known of this noise"), "{table}");
}

/// What a product that is known by its budget alone says, and that it says which part is known.
#[test]
fn a_budget_alone_is_one_sided() {
    let place = Place::new("budgets");
    let (code, table, error) = run(&place, "certificate ddhc-a-us-2020");
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(table.contains("known by what is stated of it alone; zCDP rho = 4.944"), "{table}");
    assert!(
        table.contains("  the whole release  4.9440000  26.283148  25.362819    25.362819  0°"),
        "{table}"
    );
    assert!(table.contains("Of some mechanism only zCDP is known: upper ends are guarantees"), "{table}");
    // There are no measurements to assume anything of.
    assert!(table.contains("Assumed, and not checked:") && !table.contains("The noise is"), "{table}");
    // What needs a law of the loss, noise or levels is refused by name.
    for (arguments, words) in [
        ("tradeoff ddhc-a-us-2020", "zCDP event: this mechanism has no law of the privacy loss"),
        ("calibrate ddhc-a-us-2020 --epsilon 3", "there is no noise to scale"),
    ] {
        let (code, _, error) = run(&place, arguments);
        assert!(code != 0 && error.contains(words), "{arguments}: {error}");
    }
}

#[test]
fn products_of_other_records_say_how_many_one_person_changes() {
    let place = Place::new("touches");
    let pair = "certificate --product pl94-persons-us-2020 --product pl94-units-us-2020";
    let (code, _, error) = run(&place, pair);
    assert_eq!(code, 2);
    assert!(error.contains("a record of") && error.contains("touches"), "{error}");
    let (code, table, error) = run(&place, &format!("{pair} --touches 2"));
    assert_eq!(code, 0, "{error}");
    assert!(table.contains("one person can change 2 of its records"), "{table}");
    assert!(table.contains("Not counted here, of the 2020 Census, United States:"), "{table}");
    let (code, _, error) = run(&place, &format!("{pair} --series us-2020"));
    assert_eq!(code, 2);
    assert!(error.contains("--series"), "{error}");
    let (code, _, error) = run(&place, "certificate --series us-2030");
    assert_eq!(code, 2);
    assert!(error.starts_with("error: series: `us-2030` is not one of us-2020, pr-2020"), "{error}");
    let (code, _, error) = run(&place, &format!("{pair} --touches 3"));
    assert_eq!(code, 2);
    assert!(error.starts_with("error: touches: `3` is not 1 or 2"), "{error}");
    let (code, _, error) = run(&place, &format!("{pair} --touches dhc=2"));
    assert_eq!(code, 2);
    assert!(error.contains("--touches: `dhc=2` is for no product that was named"), "{error}");
}
