//! `unspent regress`: the slopes of real files, what noise does to them, and what is said of files that have
//! none.

use std::process::Output;

use serde_json::Value;

use crate::support::{Place, parse_json, refuses, repository, stderr, stdout, succeeds, succeeds_seeded};

const PLAIN: &str = "geo_id,name,pop25plus,lt_9th_grade,g9_12_no_diploma,hs_graduate,some_college_no_degree,\
                     associates,bachelors_or_higher,median_earnings\n";
const SEED: [&str; 2] = ["--not-private-seed", "1"];

/// Four states of a thousand people: shares 0.1, 0.2, 0.3, 0.6 and earnings 10, 30, 20, 60 thousand. By hand,
/// the means are 0.3 and 30,000, Sxy = 4000 + 9000 and Sxx = 0.04 + 0.01 + 0.09: the slope is 13000/0.14, or
/// 9.28571 for 1/10,000.
const FOUR: [(u32, &str); 4] = [(100, "10000"), (200, "30000"), (300, "20000"), (600, "60000")];

fn plain(rows: &[(u32, &str)]) -> String {
    let mut text = String::from(PLAIN);
    for (i, (high, earnings)) in rows.iter().enumerate() {
        let middle = 700 - high;
        text += &format!("0400000US{i:02},State {i},1000,50,50,{middle},100,100,{high},\"{earnings}\"\n");
    }
    text
}

/// The same as the Bureau's site gives it: a mark, quotes, labels, margins, a comma at the end, annotations.
fn bureau(rows: &[(u32, &str)]) -> String {
    let mut text = String::from("\u{feff}\"GEO_ID\",\"NAME\"");
    let columns = ["006", "007", "008", "009", "010", "011", "012", "013", "014", "015", "059"];
    columns.iter().for_each(|c| text += &format!(",\"S1501_C01_{c}E\",\"S1501_C01_{c}M\""));
    text += ",\n\"Geography\",\"Geographic Area Name\"";
    for column in columns {
        let label = match column {
            "059" => "MEDIAN EARNINGS IN THE PAST 12 MONTHS (IN 2022 INFLATION-ADJUSTED DOLLARS)",
            _ => "AGE BY EDUCATIONAL ATTAINMENT!!Population 25 years and over",
        };
        text += &format!(",\"Estimate!!Total!!{label}\",\"Margin of Error!!Total!!{label}\"");
    }
    text += ",\n";
    for (i, (high, earnings)) in rows.iter().enumerate() {
        let (middle, graduate) = (700 - high, high / 4);
        text += &format!("\"0400000US{i:02}\",\"State, {i}\"");
        let bachelors = high - graduate;
        for value in ["1,000", "50", "50", &middle.to_string(), "100", "100", &bachelors.to_string()] {
            text += &format!(",\"{value}\",\"***\"");
        }
        text += &format!(
            ",\"{graduate}\",\"±9\",\"(X)\",\"(X)\",\"(X)\",\"(X)\",\"{earnings}\",\"±1,234\"{}\n",
            ["", ","][i % 2]
        );
    }
    text
}

fn with(name: &str, files: &[(&str, String)]) -> Place {
    let place = Place::new(name);
    files.iter().for_each(|(name, text)| place.write(name, text));
    place
}

fn run(place: &Place, arguments: &[&str]) -> Output {
    place.run(&[&["regress"], arguments, &SEED].concat())
}

#[track_caller]
fn json(place: &Place, arguments: &[&str]) -> Value {
    parse_json(&succeeds_seeded(&run(place, &[arguments, &["--json"]].concat())))
}

/// Of states, of tracts around Oakland, of Vermont's county subdivisions.
fn surveys() -> [String; 3] {
    ["acs-2022-s1501-states", "acs-2020-s1501-oakland-tracts", "acs-2022-s1501-vermont-towns"]
        .map(|name| repository(&format!("data/{name}.csv")).to_str().unwrap().into())
}

#[test]
fn real_files_have_the_slopes_they_are_known_for() {
    let [states, oakland, vermont] = surveys();
    let place = Place::new("slopes");
    let slopes = |arguments: &[&str]| -> Vec<(u64, String)> {
        let report = json(&place, &[arguments, &["--trials", "100"]].concat());
        let rows = report["regressions"].as_array().unwrap().iter();
        rows.map(|row| (row["areas"].as_u64().unwrap(), format!("{:.5}", row["slope"].as_f64().unwrap())))
            .collect()
    };
    let is = |areas, slope: &str| (areas, String::from(slope));
    assert_eq!(
        slopes(&[&states, &oakland, &vermont]),
        [is(52, "10.38162"), is(118, "9.70275"), is(246, "2.99192")]
    );
    assert_eq!(slopes(&[&states, "--without", "Puerto Rico"]), [is(51, "9.84331")]);
    // Two of the Oakland file's areas are cities, one of which is made of most of the tracts.
    let cities = ["--without", "1600000US0653000", "--without", "Piedmont city, California"];
    assert_eq!(slopes(&[&[oakland.as_str()][..], &cities].concat()), [is(116, "9.55577")]);
}

#[test]
fn calibrated_noise_distorts_less_at_every_geography() {
    let files = surveys();
    let files = files.each_ref().map(String::as_str);
    let place = Place::new("distortion");
    let report = json(&place, &files);
    for row in report["regressions"].as_array().unwrap() {
        assert_eq!(row["trials"], 10_000);
        let (before, after) = (&row["before"], &row["after"]);
        let sigma2 = |of: &Value| {
            let (p, q) = of["sigma2"].as_str().unwrap().split_once('/').unwrap();
            format!("{:.2}", p.parse::<f64>().unwrap() / q.parse::<f64>().unwrap())
        };
        // The paper's Table 1.
        match row["level"].as_str().unwrap() {
            "State" => assert_eq!((sigma2(before), sigma2(after)), ("5.00".into(), "4.25".into())),
            "Tract Subset" => assert_eq!((sigma2(before), sigma2(after)), ("5.76".into(), "4.87".into())),
            other => panic!("{other}"),
        }
        for estimate in ["plain", "aware"] {
            assert_eq!(row[estimate]["improves"], true, "{row}");
            // What 15 % less variance does to the size of a normal error is 8 %; small areas gain some more.
            let percent = row[estimate]["percent"]["mean"].as_f64().unwrap();
            assert!((5.0..12.0).contains(&percent), "{row}");
            assert_eq!((&before[estimate]["failed"], &after[estimate]["failed"]), (&0.into(), &0.into()));
        }
    }
    // Where areas are small the slope is drawn to zero, and knowing the noise helps.
    let vermont = &report["regressions"][2]["before"];
    let ends = |estimate: &str| {
        let [mean, half] =
            ["mean", "half_width"].map(|field| vermont[estimate]["mae"][field].as_f64().unwrap());
        (mean - half, mean + half)
    };
    assert!(ends("aware").1 < ends("plain").0, "{vermont}");
    let text = succeeds_seeded(&run(&place, &files));
    for line in [
        "  states               52     10.38162  State         ≈ 4.9995001        ≈ 4.2453823\n",
        "  tracts               118    9.70275   Tract Subset  ≈ 5.755727         ≈ 4.8731799\n",
        "\ntracts: 2 areas left out: earnings missing (2).\n",
        "\ntracts: 2 of the areas are of another kind, by their codes.\n",
        "\ncounty subdivisions: 9 areas left out: nobody in it (8), earnings missing (1).\n",
        "\nAll reductions are significant at 95 %.\n",
        "\nAll of these are from simulation; none is a guarantee.\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}

#[test]
fn a_small_table_is_read_in_both_shapes() {
    let place = with("shapes", &[("plain.csv", plain(&FOUR)), ("S1501.csv", bureau(&FOUR))]);
    let report = json(&place, &["plain.csv", "S1501.csv", "--before", "5", "--after", "17/4"]);
    for (row, name) in report["regressions"].as_array().unwrap().iter().zip(["plain", "S1501"]) {
        assert_eq!(row["geography"], format!("states ({name})"));
        assert_eq!((&row["areas"], &row["left_out"]), (&4.into(), &Value::Array(vec![])));
        assert!((row["slope"].as_f64().unwrap() - 13_000.0 / 0.14 * 1e-4).abs() < 1e-9, "{row}");
        assert!(
            (row["intercept"].as_f64().unwrap() - (30_000.0 - 13_000.0 / 0.14 * 0.3)).abs() < 1e-6,
            "{row}"
        );
        assert_eq!((&row["before"]["sigma2"], &row["after"]["sigma2"]), (&"5".into(), &"4.25".into()));
        assert_eq!(row["level"], Value::Null);
    }
    assert_eq!((&report["private"], report.get("allocation")), (&false.into(), None));
}

#[test]
fn what_cannot_be_used_is_left_out_and_counted() {
    let rows =
        [&FOUR[..], &[(500, "250,000+"), (500, "2,500-"), (500, "-"), (500, "(X)"), (500, "null")]].concat();
    for (name, text) in [("plain.csv", plain(&rows)), ("S1501.csv", bureau(&rows))] {
        let place = with("left-out", &[(name, text)]);
        let text = succeeds_seeded(&run(&place, &[name, "--trials", "100"]));
        let line = "states: 5 areas left out: earnings missing (3), earnings only bounded (2).\n";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("  states     4      9.28571  State "), "{text}");
    }
    let text = plain(&rows).replacen(",50,50,600,", ",**,50,600,", 1).replacen(
        "State 8,1000,50,50,200,100,100,500",
        "State 8,0,0,0,0,0,0,0",
        1,
    );
    let place = with("counts", &[("t.csv", text)]);
    let text = succeeds_seeded(&run(&place, &["t.csv", "--trials", "100", "--without", "State 7"]));
    let lines = "states: 6 areas left out: as asked (1), education counts missing (1), nobody in it (1), \
     earnings\n  \
                 missing (1), earnings only bounded (2).\n";
    assert!(text.contains(lines), "{text}");
}

#[test]
fn without_noise_nothing_is_distorted() {
    let place = with("none", &[("t.csv", plain(&FOUR))]);
    let text =
        succeeds_seeded(&run(&place, &["t.csv", "--before", "1e-3", "--after", "1e-3", "--trials", "100"]));
    assert!(text.contains("plain        0.0 ± 0.0  0.0 ± 0.0  –\n"), "{text}");
    assert!(text.contains("NOT significant at 95 %: the reduction of states (plain)"), "{text}");
}

#[test]
fn trials_that_fail_are_told() {
    // Noise far above the counts: areas are emptied, and often no spread is left that is not noise.
    let place = with("failures", &[("t.csv", plain(&FOUR))]);
    let report = json(&place, &["t.csv", "--before", "1e7", "--after", "1e6"]);
    let before = &report["regressions"][0]["before"];
    let [emptied, failed] = [&before["emptied"], &before["aware"]["failed"]].map(|n| n.as_u64().unwrap());
    assert!(emptied > 0 && failed > 0 && failed <= 10_000, "{before}");
    let text = succeeds_seeded(&run(&place, &["t.csv", "--before", "1e7", "--after", "1e6"]));
    let line = format!(
        "states, before: {emptied} times in all trials an area was left out, with no noisy count above 0.\n"
    );
    assert!(text.contains(&line), "{line}{text}");
    assert!(text.contains("states, before: trials without a slope, which are in no mean: "), "{text}");
    assert!(text.contains(&format!(" (plain), {failed} (noise-aware).\n")), "{text}");
}

#[test]
fn the_result_does_not_depend_on_threads_but_on_the_seed() {
    let rows: Vec<(u32, &str)> = (0..200).map(|i| FOUR[i % 4]).collect();
    let place = with("threads", &[("t.csv", plain(&rows))]);
    let on = |threads: &str| {
        succeeds_seeded(&run(&place, &["t.csv", "--trials", "1000", "--json", "--threads", threads]))
    };
    assert_eq!(on("1"), on("3"));
    let other = place.run(&["regress", "t.csv", "--trials", "1000", "--json", "--not-private-seed", "2"]);
    assert_ne!(stdout(&other), on("1"));
}

#[test]
fn noise_from_the_system_needs_no_seed() {
    let place = with("private", &[("t.csv", plain(&FOUR))]);
    let output = place.run(&["regress", "t.csv", "--trials", "100", "--json"]);
    let report = parse_json(&succeeds(&output));
    assert_eq!((&report["private"], report.get("warning")), (&true.into(), None));
}

#[test]
fn reports_come_in_every_form() {
    let place = with("forms", &[("t.csv", plain(&FOUR))]);
    let markdown = succeeds_seeded(&run(&place, &["t.csv", "--markdown"]));
    assert!(
        markdown
            .contains("| geography | areas | slope | noise of | sigma2, published | sigma2, calibrated |\n")
    );
    let csv = succeeds_seeded(&run(&place, &["t.csv", "--csv"]));
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    // A fixed seed is told by a column of its own.
    assert_eq!((lines.len(), lines[0].len(), lines[0][19]), (3, 20, "noise_NOT_PRIVATE"));
    assert!(
        csv.lines().skip(1).all(|line| line.contains(",\"NOT PRIVATE: the noise was made from the fixed"))
    );
    let private = place.run(&["regress", "t.csv", "--csv", "--trials", "100"]);
    let private = succeeds(&private);
    assert!(private.lines().next().unwrap().ends_with(",improves"), "{private}");
    assert_eq!(lines[0][..4], ["file", "geography", "areas", "left_out"]);
    assert_eq!(lines[1][..4], ["t.csv", "states", "4", "0"]);
    assert_eq!((lines[1][9], lines[2][9], lines[1][18]), ("plain", "noise-aware", "true"));
    let report = json(&place, &["t.csv"]);
    let row = &report["regressions"][0];
    assert_eq!(row["unit"], "earnings for each 1/10,000 of share");
    assert_eq!(row["before"]["plain"]["mae"]["mean"].to_string(), lines[1][10]);
    assert_eq!(report["calibrated"], "each level to its own epsilon by Bun–Steinke, at delta = 1e-11");
}

#[test]
fn noise_is_that_of_the_level_and_query_that_were_asked_for() {
    let place =
        with("noise", &[("t.csv", plain(&FOUR)), ("else.csv", plain(&FOUR).replace("0400000US", "tract-"))]);
    let dhc = ["--allocation", "dhc-persons-us-2020", "--trials", "100"];
    let output = run(&place, &[&["t.csv"][..], &dhc].concat());
    let message = stderr(&output);
    assert!(
        message.starts_with(
            "error: level `State`: its queries have different noise\nhint: name one with --query: "
        ),
        "{message}"
    );
    let report = json(&place, &[&["t.csv", "--query", "detailed"][..], &dhc].concat());
    assert_eq!(report["regressions"][0]["level"], "State");
    // Areas of no known kind get what tracts get, under the name of their file.
    let report = json(&place, &[&["else.csv", "--query", "detailed"][..], &dhc].concat());
    let row = &report["regressions"][0];
    assert_eq!((&row["level"], &row["geography"]), (&"Tract_Subset".into(), &"else".into()));
    refuses(
        &run(&place, &["t.csv", "--level", "Tract"]),
        "error: --level: `Tract` is not one of US, State, County, PEPG, Tract Subset Group, Tract Subset, \
         Optimized Block Group, Block\nhint: names are written as in the allocation\n",
    );
    let output = run(&place, &["t.csv", "--query", "age"]);
    let message = stderr(&output);
    assert!(
        message.starts_with(
            "error: --query: `age` is not asked at level `State`\n\
         hint: it asks age_18_64_116 * relgq_4_groups, "
        ),
        "{message}"
    );
    // The paper's Table 1 at another delta would be another noise.
    let report = json(&place, &["t.csv", "--level", "County", "--trials", "100"]);
    let after = report["regressions"][0]["after"]["sigma2"].clone();
    let report = json(&place, &["t.csv", "--level", "County", "--trials", "100", "--delta", "1e-6"]);
    assert_ne!(report["regressions"][0]["after"]["sigma2"], after);
}

#[test]
fn files_without_a_slope_are_refused_by_name() {
    let hint = "hint: a line needs at least three areas with counts and earnings\n";
    let same: Vec<(u32, &str)> = FOUR.iter().map(|(_, earnings)| (200, *earnings)).collect();
    let flat: Vec<(u32, &str)> = FOUR.iter().map(|(high, _)| (*high, "40000")).collect();
    let missing: Vec<(u32, &str)> = FOUR.iter().map(|(high, _)| (*high, "-")).collect();
    for (text, message) in [
        (
            String::new(),
            "is empty\nhint: a table has a line of names and then one line for each area\n".into(),
        ),
        (plain(&[]), format!("there are no areas\n{hint}")),
        (bureau(&[]), format!("there are no areas\n{hint}")),
        (plain(&FOUR[..1]), format!("there is one area only\n{hint}")),
        (bureau(&FOUR[..2]), format!("there are two areas only\n{hint}")),
        (plain(&missing), format!("there are no areas; 4 areas left out: earnings missing (4)\n{hint}")),
        (
            plain(&[&FOUR[..2], &missing[..1]].concat()),
            format!("there are two areas only; 1 area left out: earnings missing (1)\n{hint}"),
        ),
        (
            plain(&same),
            "all 4 areas have the same share with a bachelor's degree\n\
             hint: a slope needs shares that differ\n"
                .into(),
        ),
        (
            plain(&flat),
            "all 4 areas have the same earnings\nhint: the slope is 0 whatever the noise: there is nothing \
             to distort\n"
                .into(),
        ),
    ] {
        let place = with("no-slope", &[("t.csv", text)]);
        refuses(&place.run(&["regress", "t.csv"]), &format!("error: t.csv: {message}"));
    }
}

#[test]
fn files_that_make_no_sense_are_refused_with_their_line() {
    for (text, message) in [
        (
            "a,b\n1,2\n".into(),
            "t.csv: there is no column `lt_9th_grade`\n\
             hint: a table has the columns of S1501 (S1501_C01_007E …) or plain ones (lt_9th_grade …)\n",
        ),
        (
            bureau(&FOUR).replace("S1501_C01_059E", "S1501_C01_060E"),
            "t.csv: there is no column `S1501_C01_059E`\n\
             hint: a table has the columns of S1501 (S1501_C01_007E …) or plain ones (lt_9th_grade …)\n",
        ),
        (
            bureau(&FOUR).replace("MEDIAN EARNINGS", "POVERTY RATE"),
            "t.csv:2: S1501_C01_059E: `Estimate!!Total!!POVERTY RATE IN THE PAST 12 MONTHS (IN 2022…` is not \
             median \
             earnings\nhint: the columns of S1501 were others before 2015\n",
        ),
        (
            plain(&FOUR).replace(",50,50,500,", ",50,-50,500,"),
            "t.csv:3: g9_12_no_diploma: is not a count\nhint: counts are never negative\n",
        ),
        (
            plain(&FOUR).replace(",50,50,100,", ",5.5,5.5,10.5,"),
            "t.csv:5: lt_9th_grade: is not a count\nhint: counts are whole: noise on the integers is for \
             integers\n",
        ),
        (
            plain(&FOUR).replace("60000", "lots"),
            "t.csv:5: median_earnings: is not earnings between 0 and 1e12\n\
             hint: an amount, or an annotation such as (X) or - where there is none\n",
        ),
        (
            plain(&FOUR).replace("State 1,1000", "State 1,999"),
            "t.csv:3: the six counts by education do not sum to the population\n\
             hint: every person of 25 or over has one level of education: check the columns\n",
        ),
        (
            plain(&FOUR) + "0400000US09,short\n",
            "t.csv:6: has 2 columns; the first line has 10\n\
             hint: every line has all columns; quote what contains a comma\n",
        ),
    ] {
        let place = with("nonsense", &[("t.csv", text)]);
        refuses(&place.run(&["regress", "t.csv"]), &format!("error: {message}"));
    }
}

#[test]
fn arguments_are_checked_first() {
    let place = with("arguments", &[("t.csv", plain(&FOUR))]);
    for (arguments, message) in [
        (
            &["--trials", "3"][..],
            "--trials: `3` is not a whole number between 100 and 1000000\n\
             hint: 10000 tell a tenth less noise from none\n",
        ),
        (
            &["--before", "0", "--after", "1"],
            "--before: sigma2: `0` is not a variance between 1e-3 and 1e12\n",
        ),
        (
            &["--without", "Atlantis"],
            "--without: there is no area `Atlantis`\nhint: write its code or its name as in the file\n",
        ),
        (&["--before", "5"], "missing: --after <S>\n"),
        (
            &["--before", "5", "--after", "4", "--level", "State"],
            "the argument '--before <S>' cannot be used with",
        ),
    ] {
        let output = place.run(&[&["regress", "t.csv"], arguments].concat());
        let stderr = stderr(&output);
        assert!(stderr.starts_with(&format!("error: {message}")), "{stderr}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    }
    let output = place.run(&["regress", "nowhere.csv"]);
    refuses(
        &output,
        "error: nowhere.csv: cannot be read: No such file or directory (os error 2)\n\
         hint: name a table of S1501 (.csv)\n",
    );
}
