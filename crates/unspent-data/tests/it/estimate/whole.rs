//! Whole tables: every sum holds in whole numbers, and all that is known of units is kept or named.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use unspent::Allocation;
use unspent_data::estimate::{BoundsFile, LookAtFamily, Tables};
use unspent_data::{Columns, Estimate, Input, Quiet, WholeTables};

use super::{BUDGET, NOISY, answers, budget, count, measure, measure_towns, measured, towns};
use crate::support::Place;

const LENGTHS: [(&str, usize); 3] = [("Land", 0), ("County", 1), ("Town", 3)];

fn question(place: &Place, tables: WholeTables) -> Estimate {
    Estimate { tables: Some(tables), ..Estimate::new(&place.path("noisy")) }
}

fn tables(question: &Estimate) -> Tables {
    question.estimates(&mut Quiet).unwrap().tables(&mut Quiet).unwrap()
}

/// All twelve cells of every unit, by level and code.
type Dense = BTreeMap<(String, String), Vec<i64>>;

fn dense(tables: &Tables) -> Dense {
    let mut found = Dense::new();
    for (level, units) in &tables.levels {
        for (code, cells) in units {
            let mut table = vec![0; 12];
            cells.iter().for_each(|(cell, count)| table[*cell as usize] = *count);
            assert!(
                cells.iter().all(|(_, count)| *count > 0),
                "no count is negative, and none of 0 is listed"
            );
            found.insert((level.clone(), code.clone()), table);
        }
    }
    found
}

fn truth() -> Dense {
    let mut found = Dense::new();
    for (level, length) in LENGTHS {
        for (town, code) in towns().iter().enumerate() {
            let table = found.entry((level.into(), code[..length].into())).or_insert_with(|| vec![0; 12]);
            for (cell, sum) in table.iter_mut().enumerate() {
                *sum += count(town, cell / 4, cell / 2 % 2, cell % 2);
            }
        }
    }
    found
}

fn add_up(tables: &Dense) {
    for (above, below) in [(0, 1), (1, 2)] {
        let (level, length) = LENGTHS[above];
        for ((_, code), table) in tables.iter().filter(|((name, _), _)| name == level) {
            let mut sum = vec![0; 12];
            let inside = |key: &&(String, String)| key.0 == LENGTHS[below].0 && key.1[..length] == **code;
            for key in tables.keys().filter(inside) {
                sum.iter_mut().zip(&tables[key]).for_each(|(sum, count)| *sum += count);
            }
            assert_eq!(sum, *table, "{level} {code}");
        }
    }
}

#[test]
fn tables_do_not_depend_on_the_number_of_cores() {
    // More towns than a core takes at once.
    let two = |town: usize| [town / 36, town % 36].map(|i| char::from_digit(i as u32, 36).unwrap());
    let towns = (0..600).map(|town| format!("0{}", String::from_iter(two(town)))).collect();
    let place = Place::new("cores");
    measure_towns(towns, budget(NOISY), 11, false).to_directory(&place.path("noisy"), &mut Quiet).unwrap();
    let estimates = question(&place, WholeTables::default()).estimates(&mut Quiet).unwrap();
    let largest = AtomicUsize::new(0);
    let look: &LookAtFamily<'_> = &|_, family| {
        let (one, all) = (family.solve(false).unwrap(), family.solve(true).unwrap());
        assert_eq!((one.tables, one.quality), (all.tables, all.quality));
        largest.fetch_max(family.children.len(), Ordering::Relaxed);
    };
    estimates.tables_of(look, &mut Quiet).unwrap();
    assert_eq!(largest.into_inner(), 600);
}

#[test]
fn tables_are_whole_and_add_up_by_both_schemes() {
    let place = measured("whole", NOISY, false);
    let truth = truth();
    for own_measurements in [false, true] {
        let question = question(&place, WholeTables { own_measurements, ..WholeTables::default() });
        let found = tables(&question);
        assert!(found.largest_gap <= 1e-6, "{}", found.largest_gap);
        let found = dense(&found);
        assert_eq!(found.keys().collect::<Vec<_>>(), truth.keys().collect::<Vec<_>>());
        add_up(&found);
        let total = |tables: &Dense| tables[&("Land".to_string(), String::new())].iter().sum::<i64>();
        assert_eq!(total(&found), total(&truth), "the total of the land is exact");
        // Children are not at school.
        assert!(found.values().all(|table| table[1] == 0 && table[3] == 0));
        // Near to the truth: each of 33 towns has 10 cells with noise of σ² = 100/3.
        let towns = truth.keys().filter(|(level, _)| level == "Town");
        let error: i64 = towns
            .flat_map(|key| found[key].iter().zip(&truth[key]))
            .map(|(found, truth)| (found - truth).abs())
            .sum();
        assert!((200..1600).contains(&error), "{error}");
    }
}

#[test]
fn files_have_the_same_tables() {
    let place = measured("whole-files", NOISY, false);
    let wanted = WholeTables { replicates: 3, seed: 5, records: true, ..WholeTables::default() };
    let question = question(&place, wanted);
    let report = question.to_directory(&place.path("out"), &mut Quiet).unwrap();
    let entry = report.manifest.tables.unwrap();
    assert_eq!(entry.columns, ["geocode", "values"]);
    assert_eq!((entry.cells, entry.parents), (12, 7));
    assert!(entry.largest_gap <= 1e-6 && !entry.largest_gap_at.is_empty());
    let units: Vec<u64> = entry.levels.iter().map(|level| level.units).collect();
    assert_eq!(units, [1, 5, 27]);
    // One record for each one that is counted.
    let records = fs::read_to_string(place.path("out").join("records.csv")).unwrap();
    let total: i64 = dense(&tables(&question))[&("Land".to_string(), String::new())].iter().sum();
    assert_eq!(records.lines().count() as i64, total + 1);
    // The Land's total is exact in every replicate; the towns' tables are not.
    let replicates = fs::read_to_string(place.path("out").join("replicates.csv")).unwrap();
    assert!(replicates.contains("Land,total,1,1,0,0,0,0\n"), "{replicates}");
    let detailed = replicates.lines().find(|line| line.starts_with("Town,detailed,27,12,")).unwrap();
    let [rms, plain] = [5, 7].map(|column| detailed.split(',').nth(column).unwrap().parse::<f64>().unwrap());
    assert!((2.0..6.0).contains(&rms) && (2.0..6.0).contains(&plain), "{rms} {plain}");
    let made = entry.replicates.map(|of| (of.replicates, of.plain_replicates, of.seed));
    assert_eq!(made, Some((3, 3, 5)));
    assert!(place.path("out").join("replicates-by-size.csv").exists());
}

#[test]
fn replicates_keep_what_is_known_without_noise() {
    // Towns have noise in which most of them are lost, but for two bounds; counties have exact totals.
    let levels = NOISY.replace("[\"Land\"]", "[\"County\"]").replace("100/3", "4000").replace("= 5", "= 900");
    let place = measured("whole-known", &levels, false);
    let bounds =
        "level,geocode,query,answer,at_least,at_most\nTown,001,age,old,60,70\nTown,203,age,child,0,0\n";
    fs::write(place.path("bounds.csv"), bounds).unwrap();
    for bounds in [vec![], vec![BoundsFile::read(&place.path("bounds.csv")).unwrap()]] {
        let wanted = WholeTables { replicates: 2, bounds, ..WholeTables::default() };
        let estimates = question(&place, wanted).estimates(&mut Quiet).unwrap();
        let errors = estimates.tables_and_errors(&mut Quiet).unwrap().1.unwrap();
        let total = |level: usize| errors.levels[level].queries.iter().find(|query| query.query == "total");
        // The county's total is that of the tables that stand for the truth, in every replicate.
        assert_eq!((total(1).unwrap().rms, total(1).unwrap().plain_rms), (0.0, 0.0));
        assert!(total(2).unwrap().rms > 1.0);
    }
}

#[test]
fn without_noise_tables_are_the_truth() {
    let exact = r#"
[[levels]]
name = "Land"
sigma2 = { age = "1/200" }
[[levels]]
name = "Town"
sigma2 = { detailed = "1/200" }
"#;
    let place = measured("whole-exactly", exact, false);
    let found = dense(&tables(&question(&place, WholeTables::default())));
    let truth = truth();
    assert_eq!(found.len(), 28);
    found.iter().for_each(|(key, table)| assert_eq!(*table, truth[key], "{key:?}"));
}

#[test]
fn tables_are_made_where_measurements_do_not_determine_them() {
    let levels = [
        // Towns have totals alone.
        "[[levels]]\nname = \"Land\"\nsigma2 = { detailed = 3 }\n\
         [[levels]]\nname = \"Town\"\nsigma2 = { total = 2 }",
        // And nothing else is measured.
        "[[levels]]\nname = \"Town\"\nsigma2 = { grown = 2 }",
        "[[levels]]\nname = \"Town\"\nsigma2 = { detailed = 2 }",
    ];
    for (at, levels) in levels.iter().enumerate() {
        let place = measured(&format!("whole-unseen-{at}"), levels, false);
        let found = dense(&tables(&question(&place, WholeTables::default())));
        assert_eq!(found.len(), if at == 0 { 28 } else { 27 });
        if at == 0 {
            // Towns are like the land, as large as they were measured to be.
            let truth = truth();
            let total = |tables: &Dense, town: &str| -> i64 {
                tables[&("Town".to_string(), town.to_string())].iter().sum()
            };
            for town in towns() {
                assert!((total(&found, &town) - total(&truth, &town)).abs() <= 12, "{town}");
            }
            let all: Vec<f64> = found[&("Land".into(), String::new())].iter().map(|x| *x as f64).collect();
            let town = &found[&("Town".to_string(), "003".to_string())];
            let share = town.iter().sum::<i64>() as f64 / all.iter().sum::<f64>();
            let near = |(count, all): (&i64, &f64)| (*count as f64 - share * all).abs() <= 2.0;
            assert!(town.iter().zip(&all).all(near), "{town:?}");
        }
    }
}

/// Numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

fn bounds_file(place: &Place, rows: &[String]) -> WholeTables {
    let path = place.path("bounds.csv");
    fs::write(&path, format!("level,geocode,query,answer,at_least,at_most\n{}\n", rows.join("\n"))).unwrap();
    WholeTables { bounds: vec![BoundsFile::read(&path).unwrap()], ..WholeTables::default() }
}

#[test]
fn bounds_that_the_truth_meets_are_met() {
    let truth = truth();
    let ages = ["child", "adult", "old"];
    for seed in 0..12 {
        let place = Place::new(&format!("whole-bounds-{seed}"));
        measure(NOISY, 100 + seed, false).to_directory(&place.path("noisy"), &mut Quiet).unwrap();
        let mut random = Random(seed);
        let mut rows = vec![];
        let mut claims = vec![];
        for (key, table) in &truth {
            for age in [None, Some(0), Some(1), Some(2)] {
                if random.below(3) > 0 {
                    continue;
                }
                let sum = |cells: std::ops::Range<usize>| table[cells].iter().sum::<i64>();
                let count = age.map_or_else(|| sum(0..12), |age| sum(age * 4..age * 4 + 4));
                // Exact, or from somewhat less to somewhat more.
                let slack = [0, 0, 3, 1000][random.below(4) as usize];
                let (low, high) = ((count - slack).max(0), count + slack);
                let (query, answer) = age.map_or(("total", ""), |age| ("age", ages[age]));
                rows.push(format!("{},{},{query},{answer},{low},{high}", key.0, key.1));
                claims.push((key, age, low, high));
            }
        }
        let wanted = bounds_file(&place, &rows);
        for own_measurements in [false, true] {
            let found = tables(&question(&place, WholeTables { own_measurements, ..wanted.clone() }));
            let found = dense(&found);
            add_up(&found);
            for (key, age, low, high) in &claims {
                let cells = age.map_or(0..12, |age| age * 4..age * 4 + 4);
                let count: i64 = found[*key][cells].iter().sum();
                assert!((*low..=*high).contains(&count), "{key:?} {age:?}: {count} {low} {high}");
            }
        }
    }
}

#[test]
fn bounds_that_nobody_can_meet_are_named() {
    let place = measured("whole-unmet", NOISY, false);
    let refused = |rows: &[&str]| {
        let rows: Vec<String> = rows.iter().map(|row| (*row).to_string()).collect();
        let wanted =
            Estimate { tables: Some(bounds_file(&place, &rows)), ..Estimate::new(&place.path("noisy")) };
        let error = wanted.to_directory(&place.path("out"), &mut Quiet).unwrap_err().to_string();
        assert!(!place.path("out").exists(), "nothing is left");
        error
    };
    let error = refused(&["County,0,age,old,,5", "Town,001,age,old,6,"]);
    assert!(error.contains("unit `0` of level `County`") && error.contains("in age old"), "{error}");
    assert!(error.contains("at least 6 are needed, at most 5 are possible"), "{error}");
    // Where totals and groups contradict each other only together.
    let error = refused(&[
        "Town,001,age,old,,5",
        "Town,001,age,adult,,5",
        "Town,001,age,child,,5",
        "Town,001,total,,16,",
    ]);
    assert!(
        error.contains("unit `001` of level `Town`") && error.contains("16") && error.contains("15"),
        "{error}"
    );
    for (row, what) in [
        ("Town,999,total,,1,", "there is no unit `999` of level `Town`"),
        ("Village,001,total,,1,", "level"),
        ("Town,001,ages,child,1,", "query"),
        ("Town,001,age,baby,1,", "`baby` is not a label of `age`"),
        ("Town,001,age,child,-1,", "at_least"),
        ("Town,001,age,child,2,1", "at_least"),
    ] {
        let error = refused(&[row]);
        assert!(error.contains(what) && error.contains("line 2"), "{row}: {error}");
    }
    let error = refused(&["Town,001,age,child,1,3", "Town,001,grown,adult,1,5"]);
    assert!(error.contains("`grown`") && error.contains("`age`"), "{error}");
}

#[test]
fn queries_that_ask_the_same_are_measurements_of_their_own() {
    // Noise of σ² = 1/200 is 0: a sum that counts one of two rows twice, or leaves it out, is far off.
    let levels = r#"
[[levels]]
name = "Land"
sigma2 = { age = "1/200", ages = "1/100", total = "1/200", everybody = "1/200" }
[[levels]]
name = "Town"
sigma2 = { detailed = "1/200" }
"#;
    let text = BUDGET
        .replace("LEVELS", levels)
        .replace("[queries]", "[queries]\nages = [\"age\"]\neverybody = [\"all\"]");
    let text = text.replace(
        "[[impossible]]",
        "[recodes.all]\nof = \"age\"\ngroups = { \"all\" = [0, 1, 2] }\n[[impossible]]",
    );
    let place = Place::new("whole-same");
    let budget = Allocation::parse("budget.toml", &text).unwrap();
    measure_towns(towns(), budget, 3, false).to_directory(&place.path("noisy"), &mut Quiet).unwrap();
    let truth = truth();
    let land = &truth[&("Land".to_string(), String::new())];
    let found = answers(&Estimate::new(&place.path("noisy")));
    let at = |query: &str| -> Vec<f64> {
        let answers = &found[&("Land".to_string(), String::new(), query.to_string())];
        answers.iter().map(|answer| answer.expect("determined").value).collect()
    };
    for age in 0..3 {
        let sum = land[age * 4..age * 4 + 4].iter().sum::<i64>() as f64;
        assert!((at("age")[age] - sum).abs() < 1e-6 && (at("ages")[age] - sum).abs() < 1e-6);
    }
    let total = land.iter().sum::<i64>() as f64;
    assert!((at("total")[0] - total).abs() < 1e-6 && (at("everybody")[0] - total).abs() < 1e-6);
    let tables = dense(&tables(&question(&place, WholeTables::default())));
    tables.iter().for_each(|(key, table)| assert_eq!(*table, truth[key], "{key:?}"));
}

#[test]
fn bounds_hold_also_where_a_level_is_the_only_one() {
    let place = measured("whole-one-level", "[[levels]]\nname = \"Town\"\nsigma2 = { detailed = 9 }", false);
    let rows = ["Town,001,total,,0,0", "Town,002,age,old,50,", "Town,003,total,,7,7"];
    let wanted = bounds_file(&place, &rows.map(String::from));
    let found = dense(&tables(&question(&place, wanted)));
    let town = |code: &str| &found[&("Town".to_string(), code.to_string())];
    assert_eq!(town("001").iter().sum::<i64>(), 0);
    assert!(town("002")[8..].iter().sum::<i64>() >= 50);
    assert_eq!(town("003").iter().sum::<i64>(), 7);
}

fn houses_only() -> Input {
    let (mut codes, mut ages, mut sexes, mut n) = (vec![], vec![], vec![], vec![]);
    for (town, code) in towns().into_iter().enumerate() {
        for (age, sex) in (0..6).map(|i| (i / 2, i % 2)) {
            codes.push(code.clone());
            ages.push(["child", "adult", "old"][age].to_string());
            sexes.push(["f", "m"][sex].to_string());
            n.push(count(town, age, sex, 0));
        }
    }
    let homes = vec!["house".to_string(); n.len()];
    let columns = vec![
        ("code".into(), codes.into()),
        ("age".into(), ages.into()),
        ("sex".into(), sexes.into()),
        ("home".into(), homes.into()),
        ("n".into(), n.into()),
    ];
    Input::Columns(Columns::new(columns).unwrap())
}

#[test]
fn an_attribute_of_one_value_changes_nothing() {
    // Of homes there are only houses, as the schema says or because no other can occur.
    let only = BUDGET
        .replace("LEVELS", NOISY)
        .replace("where = { age = [0], home = [1] }", "where = { home = [1] }");
    let place = Place::new("whole-one-value");
    let budget = Allocation::parse("budget.toml", &only).unwrap();
    let mut question_of = measure_towns(towns(), budget, 3, false);
    // Nobody is at school.
    question_of.table = houses_only();
    question_of.to_directory(&place.path("noisy"), &mut Quiet).unwrap();
    let found = tables(&question(&place, WholeTables::default()));
    assert!(found.largest_gap <= 1e-6, "{}", found.largest_gap);
    add_up(&dense(&found));
    let total: i64 = dense(&found)[&("Land".to_string(), String::new())].iter().sum();
    let towns = (0..towns().len()).flat_map(|town| (0..12).map(move |i| (town, i)));
    let houses = towns.filter(|(_, i)| i % 2 == 0).map(|(town, i)| count(town, i / 4, i / 2 % 2, 0));
    assert_eq!(total, houses.sum::<i64>(), "the total of the land is exact");
}
