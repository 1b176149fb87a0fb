use unspent::{Allocation, Ask};

use super::{Accuracy, AccuracyQuestion, Deviation, QueryAccuracy};

/// sd of the noise → sd of the estimate by level, on the average tree of the 2020 Census without structural
/// zeros: from a prototype that shares nothing with this crate.
const PROTOTYPE: [(&str, &str); 11] = [
    ("total", "exact exact 2.17→2.09 2.47→1.85 1.75→1.55 89.2→48.4"),
    ("cenrace", "34.9→12.4 27.6→11.3 38.3→9.25 34.6→2.58 41.8→2.56 66.5→14.9"),
    ("hispanic", "49.3→25.0 27.6→15.1 38.3→19.0 43.8→9.32 41.8→9.26 89.2→46.4"),
    ("votingage", "49.3→25.0 27.6→15.1 38.3→20.2 43.8→19.0 41.8→17.9 89.2→46.4"),
    ("hhinstlevels", "49.3→29.9 27.6→17.8 38.3→23.8 43.8→22.0 41.8→19.8 89.2→45.6"),
    ("hhgq", "49.3→33.7 27.6→21.4 38.3→27.6 43.8→23.7 41.8→19.6 89.2→38.9"),
    ("hispanic * cenrace", "22.0→9.69 19.5→9.01 22.9→6.84 2.23→1.84 2.23→1.82 43.5→10.9"),
    ("votingage * cenrace", "22.0→9.69 19.5→9.05 22.9→8.63 21.9→5.67 24.1→4.66 43.5→10.9"),
    ("votingage * hispanic", "49.3→26.4 27.6→16.5 38.3→21.3 43.8→18.0 41.8→16.4 89.2→40.3"),
    ("votingage * hispanic * cenrace", "12.0→7.45 11.6→7.08 12.1→6.48 12.0→4.21 14.8→3.39 23.7→7.91"),
    ("detailed", "4.43→4.21 4.45→4.18 4.42→3.98 4.46→2.53 2.02→1.79 3.18→3.09"),
];

fn redistricting() -> AccuracyQuestion {
    AccuracyQuestion::about(Allocation::preset("pl94-persons-us-2020").unwrap())
}

fn query<'a>(accuracy: &'a Accuracy, level: usize, name: &str) -> &'a QueryAccuracy {
    accuracy.levels[level].queries.iter().find(|query| query.query == name).unwrap()
}

/// With as many digits as the other figure has.
fn like(x: f64, printed: &str) -> String {
    format!("{x:.*}", printed.split_once('.').map_or(0, |(_, decimals)| decimals.len()))
}

#[test]
fn the_redistricting_data_have_the_errors_that_a_prototype_found() {
    let accuracy = AccuracyQuestion {
        exact_totals: vec!["State".into()],
        structural_zeros: Some(false),
        ..redistricting()
    };
    let accuracy = accuracy.answer().unwrap();
    let mut wrong = vec![];
    for (name, cells) in PROTOTYPE {
        for (level, printed) in cells.split(' ').enumerate() {
            let found = query(&accuracy, level, name);
            let Some((noise, estimate)) = printed.split_once('→') else {
                assert_eq!((printed, found.estimate), ("exact", Deviation::Exact), "{name} {level}");
                continue;
            };
            let sd = |deviation: &Deviation| deviation.sd().unwrap();
            let (own, best) = (sd(found.noise.as_ref().unwrap()), sd(&found.estimate));
            if (like(own, noise), like(best, estimate)) != (noise.into(), estimate.into()) {
                wrong.push(format!("{name} {level}: {printed}, found {own}→{best}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_figures_depend_on_the_numbers_of_units() {
    // The blocks of 2010.
    let per_level = vec![1, 51, 3_143, 84_414, 239_780, 11_078_297];
    let answer = |per_level| AccuracyQuestion { per_level, ..redistricting() }.answer().unwrap();
    let (usual, other) = (answer(None), answer(Some(per_level)));
    let sd = |accuracy: &Accuracy| query(accuracy, 4, "hhgq").estimate.sd().unwrap();
    assert!(sd(&other) > sd(&usual) * 1.001, "{} {}", sd(&other), sd(&usual));
}

#[test]
fn the_preset_measures_the_totals_of_states_and_says_nothing_of_exact_ones() {
    let noisy = redistricting().answer().unwrap();
    let total = query(&noisy, 1, "total");
    assert!(matches!(total.noise, Some(Deviation::Estimated { .. })));
    assert!(total.estimate.sd().unwrap() < total.noise.unwrap().sd().unwrap());
    // Not measured, and the sum of the states.
    assert_eq!(query(&noisy, 0, "total").noise, None);
    let sum = query(&noisy, 0, "total").estimate.sd().unwrap();
    assert!(sum > total.estimate.sd().unwrap() && sum < 51.0, "{sum}");
    let exact = AccuracyQuestion { exact_totals: vec!["State".into()], ..redistricting() }.answer().unwrap();
    assert_eq!(query(&exact, 1, "total").noise, Some(Deviation::Exact));
    for level in [0, 1] {
        let total = query(&exact, level, "total");
        assert_eq!(
            (total.estimate, total.margin, total.guaranteed_margin),
            (Deviation::Exact, Some(0.0), Some(0.0))
        );
    }
    let error = AccuracyQuestion { exact_totals: vec!["state".into()], ..redistricting() }.answer();
    let error = error.unwrap_err();
    assert!(error.to_string().contains("exact_totals: `state`"), "{error}");
}

#[test]
fn structural_zeros_help_a_little() {
    let answer =
        |zeros| AccuracyQuestion { structural_zeros: Some(zeros), ..redistricting() }.answer().unwrap();
    let (with, without) = (answer(true), answer(false));
    assert_eq!((with.structural_zeros, without.structural_zeros), (Some(true), Some(false)));
    assert_eq!(query(&with, 0, "detailed").answers, 2016 - 126);
    assert_eq!(query(&without, 0, "detailed").answers, 2016);
    let mut gains = vec![];
    for (a, b) in with.levels.iter().zip(&without.levels) {
        for (a, b) in a.queries.iter().zip(&b.queries) {
            gains.push(1.0 - a.estimate.sd().unwrap() / b.estimate.sd().unwrap());
        }
    }
    let largest = gains.iter().copied().fold(0.0, f64::max);
    // Answers with fewer cells that can occur are better known; the root mean square is over other answers.
    assert!(gains.iter().all(|gain| *gain > -0.01) && largest > 0.01 && largest < 0.04, "{gains:?}");
}

/// A county of two towns, each level with what is measured there.
fn towns(county: &str, town: &str) -> AccuracyQuestion {
    let text = format!(
        "name = 'Towns'\nneighbours = 'bounded'\n[attributes]\nage = ['young', 'middle', 'old']\n\
         [recodes.grown]\nof = 'age'\ngroups = {{ young = ['young'], grown = ['middle', 'old'] }}\n\
         [queries]\ntotal = []\nage = ['age']\ngrown = ['grown']\n\
         [[levels]]\nname = 'County'\nsigma2 = {{ {county} }}\n\
         [[levels]]\nname = 'Town'\nsigma2 = {{ {town} }}\n"
    );
    let allocation = Allocation::parse("towns.toml", &text).unwrap();
    AccuracyQuestion { per_level: Some(vec![1, 2]), ..AccuracyQuestion::about(allocation) }
}

#[test]
fn a_small_tree_by_hand() {
    let towns = towns("total = 6", "age = 1");
    let accuracy = towns.answer().unwrap();
    let variance = |level, name| {
        let Deviation::Estimated { sd, smallest, largest, undetermined } =
            query(&accuracy, level, name).estimate
        else {
            panic!("{name} is estimated");
        };
        assert_eq!(undetermined, 0.0);
        [sd * sd, smallest * smallest, largest * largest]
    };
    let near = |found: [f64; 3], wanted: [f64; 3]| {
        let close = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close, "{found:?} is not {wanted:?}");
    };
    // Six counts of variance 1 add up to a variance of 6, as good as the county's own.
    near(variance(0, "total"), [3.0; 3]);
    // Town: 3·(1 − ½) + ¼·3.
    near(variance(1, "total"), [2.25; 3]);
    // A third of the total, and what is not the total of a count of variance 1.
    let age = 2.25 / 9.0 + 2.0 / 3.0;
    near(variance(1, "age"), [age; 3]);
    // Young: a count. Grown: two, 4/9 of the total's and 2/3 that is not of the total.
    let grown = 4.0 * 2.25 / 9.0 + 2.0 / 3.0;
    near(variance(1, "grown"), [(age + grown) / 2.0, age, grown]);
    let margins = query(&accuracy, 1, "grown");
    assert!((margins.margin.unwrap() - 1.959_963_984_540_054 * ((age + grown) / 2.0).sqrt()).abs() < 1e-12);
    assert!((margins.guaranteed_margin.unwrap() / grown.sqrt() - 2.716_203_033).abs() < 1e-8);
    assert_eq!(accuracy.structural_zeros, None);
    let text = accuracy.document().terminal();
    assert!(text.contains("0.9574 to 1.291"), "{text}");
}

#[test]
fn what_is_not_determined_is_said_in_words() {
    let towns = towns("age = 1", "grown = 1");
    let accuracy = towns.answer().unwrap();
    let age = query(&accuracy, 1, "age");
    // The young are counted alone; nothing tells the others apart.
    let Deviation::Estimated { undetermined, .. } = age.estimate else { panic!("{age:?}") };
    assert!((undetermined - 2.0 / 3.0).abs() < 1e-15);
    let text = accuracy.document().terminal();
    assert!(text.contains("67 % not determined") && text.contains("not measured"), "{text}");
    let only_totals = self::towns("age = 1", "total = 1");
    let accuracy = only_totals.answer().unwrap();
    let age = query(&accuracy, 1, "age");
    assert_eq!((age.estimate, age.margin, age.guaranteed_margin), (Deviation::NotDetermined, None, None));
    let json = serde_json::to_string(&accuracy).unwrap();
    assert!(json.contains(r#""estimate":{"known":"not-determined"},"margin":null"#), "{json}");
    let csv = accuracy.columns().csv();
    assert!(csv.contains("\nTown,2,0,age,3,not-measured,,,,not-determined,,,,1,,\n"), "{csv}");
}

#[test]
fn numbers_of_units_are_checked() {
    let wrong = |per_level: Option<Vec<u64>>| {
        let towns = towns("total = 6", "age = 1");
        AccuracyQuestion { per_level, ..towns }.answer().unwrap_err().to_string()
    };
    assert!(wrong(Some(vec![1])).contains("2 numbers of units, of County, Town"));
    assert!(wrong(Some(vec![0, 3])).contains("`0,3`"));
    assert!(wrong(Some(vec![4, 3])).contains("that do not fall"));
    assert!(wrong(None).contains("how many units the levels County, Town have is not known"));
}
