//! `unspent estimate` as a user meets it.

use std::fs;
use std::process::Output;

use unspent::file::FileDigest;

use crate::support::{Place, repository, stderr, stdout};

/// A place with measurements of the example.
fn measured(name: &str) -> Place {
    let place = Place::new(name);
    for file in ["blocks.csv", "blocks.toml"] {
        fs::copy(repository("examples").join(file), place.path(file)).unwrap();
    }
    let measured = place.say("measure blocks.csv --allocation blocks.toml --out noisy --not-private-seed 3");
    assert!(measured.status.success(), "{}", stderr(&measured));
    place
}

/// Words with spaces between them; what is between single quotes is one.
fn ask(place: &Place, arguments: &str) -> Output {
    let quoted = arguments.split('\'').enumerate();
    let words: Vec<&str> = quoted
        .flat_map(|(i, part)| if i % 2 == 1 { vec![part] } else { part.split_whitespace().collect() })
        .collect();
    place.run(&words)
}

fn refused(place: &Place, arguments: &str) -> String {
    let before = fs::read_dir(&place.0).unwrap().count();
    let output = ask(place, arguments);
    assert!(!output.status.success(), "{}", stdout(&output));
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(fs::read_dir(&place.0).unwrap().count(), before, "nothing is left");
    stderr(&output).to_string()
}

#[test]
fn estimates_say_what_they_rest_on() {
    let place = measured("estimate");
    let output = ask(
        &place,
        "estimate noisy --out out --confidence 0.9 --plot out.svg \
         --sum 'adults: \"voting age\" = \"18 and over\"' \
         --ratio 'adults / total'",
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let printed = stdout(&output);
    assert!(printed.contains("estimate sd") && printed.contains("± at 0.9"), "{printed}");
    // Noise that is not private is said everywhere.
    assert!(printed.contains("NOT PRIVATE") && stderr(&output).contains("NOT PRIVATE"), "{printed}");
    let manifest: serde_json::Value = serde_json::from_str(&place.read("out/manifest.json")).unwrap();
    assert_eq!(manifest["confidence"], "0.9");
    assert!(manifest["warning"].as_str().unwrap().contains("NOT PRIVATE"));
    assert_eq!(manifest["levels"][4]["units"], 24);
    assert_eq!(manifest["files"][2], "ratios.csv");
    let ratios = place.read("out/ratios.csv");
    assert_eq!(ratios.lines().count(), 1 + 1 + 2 + 3 + 6, "{ratios}");
    let accuracy = place.read("out/accuracy.csv");
    assert!(accuracy.starts_with("level,units,"), "{accuracy}");
    assert!(place.read("out.svg").contains("Errors of estimates"));
}

/// Bytes in the middle of a file, which would be read as other counts; and labels of values.
#[test]
fn what_was_changed_after_the_release_is_refused() {
    let place = measured("estimate-changed");
    let part = place.path("noisy/block/part-00000.parquet");
    let good = fs::read(&part).unwrap();
    let digest = |bytes: &[u8]| FileDigest::of("", bytes).sha256;
    for at in [394, 600, good.len() - 1] {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        fs::write(&part, &bytes).unwrap();
        let (found, stated) = (digest(&bytes), digest(&good));
        let expected = format!(
            "error: noisy/block/part-00000.parquet: its SHA-256 is {found}, not the {stated} that \
             manifest.json states\nhint: it was damaged or changed after the release: copy it again from \
             where it was released\n"
        );
        for arguments in ["estimate noisy --out out", "interval --measurements noisy --out all.csv"] {
            assert!(refused(&place, arguments).ends_with(&expected));
        }
    }
    fs::write(&part, good).unwrap();
    let allocation = place.read("noisy/allocation.toml");
    fs::write(place.path("noisy/allocation.toml"), allocation.replacen("under 18", "under 16", 1)).unwrap();
    let said = refused(&place, "estimate noisy --out out");
    assert!(said.contains("noisy/allocation.toml: its SHA-256 is "), "{said}");
    fs::write(place.path("noisy/allocation.toml"), allocation).unwrap();
    assert!(ask(&place, "estimate noisy --out out").status.success());
}

#[test]
fn districts_are_answered_with_their_own_variance() {
    let place = measured("districts");
    let table = place.read("blocks.csv");
    let codes: Vec<&str> = table.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    let district =
        |(i, code): (usize, &&str)| format!("{code},{},{}\n", i % 2, if i < 5 { "old" } else { "" });
    let map: String = codes.iter().enumerate().map(district).collect();
    fs::write(place.path("map.csv"), format!("block,half,town\n{map}")).unwrap();
    let said = ask(&place, "estimate noisy --out out --districts map.csv --difference 'half:0 - half:1'");
    assert!(said.status.success(), "{}", stderr(&said));
    let districts = place.read("out/districts.csv");
    let total = |map: &str, area: &str| {
        let line = districts.lines().find(|line| line.starts_with(&format!("{map},{area},total,0,")));
        line.unwrap_or_else(|| panic!("{districts}")).to_string()
    };
    let number = |line: &str, at: usize| line.split(',').nth(at).unwrap().parse::<f64>().unwrap();
    let (even, odd) = (total("half", "0"), total("half", "1"));
    let difference = place.read("out/differences.csv");
    let difference = difference.lines().find(|line| line.contains(",total,0,")).unwrap();
    assert!((number(difference, 5) - (number(&even, 5) - number(&odd, 5))).abs() < 1e-6);
    // Var(a − b) = Var a + Var b − 2 Cov.
    let variance = number(&even, 6) + number(&odd, 6) - 2.0 * number(difference, 11);
    assert!((number(difference, 6) - variance).abs() < 1e-9, "{difference}");
    assert!(total("town", "old").contains(','));

    // Columns may be separated by semicolons or tabs too.
    for (separator, out) in [(";", "semicolons"), ("\t", "tabs")] {
        fs::write(place.path("map.csv"), format!("block,half,town\n{map}").replace(',', separator)).unwrap();
        let said = ask(&place, &format!("estimate noisy --out {out} --districts map.csv"));
        assert!(said.status.success(), "{}", stderr(&said));
        assert_eq!(place.read(&format!("{out}/districts.csv")), districts);
    }

    let said = refused(&place, "estimate out --out wrong");
    assert!(said.contains("is the manifest of estimates, not of noisy measurements"), "{said}");
    fs::write(place.path("wrong.csv"), "block,half\n999,1\n").unwrap();
    let said = refused(&place, "estimate noisy --out wrong --districts wrong.csv");
    assert!(said.contains("unit `999` is not among the units that are measured"), "{said}");
    fs::write(place.path("wrong.csv"), format!("block,half,half\n{},1,2\n", codes[0])).unwrap();
    let said = refused(&place, "estimate noisy --out wrong --districts wrong.csv");
    assert!(said.contains("wrong.csv: line 1: two columns are called `half`"), "{said}");
    fs::write(place.path("wrong.csv"), format!("block,half\n{},1\n{},1\n", codes[0], &codes[0][..2]))
        .unwrap();
    let said = refused(&place, "estimate noisy --out wrong --districts wrong.csv");
    assert!(said.contains("and a unit inside it"), "{said}");
}

#[test]
fn bad_questions_are_refused_with_a_hint() {
    let place = measured("estimate-refused");
    for (arguments, says) in [
        ("estimate nowhere --out out", "nowhere"),
        ("estimate noisy --out out --levels Blok", "level: `Blok` is not one of State, County"),
        ("estimate noisy --out out --queries sex", "query: `sex` is not one of"),
        ("estimate noisy --out out --confidence 95", "above 0 and below 1"),
        ("estimate noisy --out out --sum 'x: sex = 1'", "sex"),
        ("estimate noisy --out out --sum 'total: race = white'", "is the name of a query or of another sum"),
        ("estimate noisy --out out --ratio total", "a sum of cells over another"),
        ("estimate noisy --out out --ratio 'race / total'", "it has several answers"),
        ("estimate noisy --out out --ratio 'totl / total'", "did you mean `total`?"),
        ("estimate noisy --out out --districts no.csv", "no.csv: cannot be read"),
        ("estimate noisy --out noisy", "exists already"),
        ("estimate blocks.csv --out out", "blocks.csv"),
    ] {
        let said = refused(&place, arguments);
        assert!(said.contains(says) && said.contains("hint:"), "{arguments}: {said}");
    }
}

#[test]
fn tables_are_whole_and_say_that_they_are_biased() {
    let place = measured("estimate-tables");
    fs::write(
        place.path("bounds.csv"),
        "level,geocode,query,answer,at_least,at_most\nBlock group,990010001001,race,aian,0,0\n",
    )
    .unwrap();
    let output =
        ask(&place, "estimate noisy --out out --tables --replicates 2 --bounds bounds.csv --records");
    assert!(output.status.success(), "{}", stderr(&output));
    let printed = stdout(&output);
    for words in [
        "Whole tables of 36 units, not negative, adding up exactly over 5 levels.",
        "They are biased",
        "Errors of the whole tables, simulated (2 replicates):",
        "a simulation, no guarantee",
        "plain: the tables as they are stand for the truth (2 replicates)",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    let manifest: serde_json::Value = serde_json::from_str(&place.read("out/manifest.json")).unwrap();
    let tables = &manifest["tables"];
    assert_eq!(tables["columns"], serde_json::json!(["geocode", "values"]));
    assert_eq!(tables["levels"][4]["units"], 24);
    assert!(tables["largest_gap"].as_f64().unwrap() <= 1e-6);
    let what = tables["replicates"]["what"].as_str().unwrap();
    assert!(what.starts_with("a simulation, no guarantee"), "{what}");
    for file in ["replicates.csv", "replicates-by-size.csv", "records.csv"] {
        assert!(place.path("out").join(file).exists(), "{file}");
    }
    // Parts of tables are asked for together with tables.
    let said = refused(&place, "estimate noisy --out other --replicates 2");
    assert!(said.contains("--tables"), "{said}");
    let said = refused(&place, "estimate noisy --out other --tables --published");
    assert!(said.contains("P1") || said.contains("published"), "{said}");
    let said = refused(&place, "estimate noisy --out other --tables --bounds none.csv");
    assert!(said.contains("none.csv"), "{said}");
}
