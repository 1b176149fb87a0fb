//! Errors of estimates on the tree of a list of units.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use parquet::file::reader::SerializedFileReader;
use parquet::record::Field;
use unspent::{Allocation, Ask};
use unspent_data::{
    BypassRule, Columns, Estimate, Input, Measure, NoiseSource, Quiet, UnitsAccuracy, unit_tree,
};
use unspent_estimate::accuracy::{Deviation, TreeKind};
use unspent_estimate::{Accuracy, AccuracyQuestion};

use crate::support::Place;

const TOWNS: &str = r#"
name = "Towns"
neighbours = "bounded"
delta = "1e-9"
[attributes]
sex = ["female", "male"]
[queries]
total = []
sex = ["sex"]
[bypass]
keep = ["State"]
[[levels]]
name = "State"
rho = "1/2"
shares = { total = "1" }
[[levels]]
name = "County"
rho = "1/2"
shares = { total = "1/2", sex = "1/2" }
[[levels]]
name = "Town"
rho = "1"
shares = { total = "1/4", sex = "3/4" }
[table]
code = "code"
[table.levels]
State = 1
County = 2
Town = 4
"#;

fn question(codes: &[&str], others: &[(&str, &[&str])]) -> UnitsAccuracy {
    let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>().into();
    let mut columns = vec![("code".to_string(), texts(codes))];
    columns.extend(others.iter().map(|(name, values)| (name.to_string(), texts(values))));
    let allocation = Allocation::parse("towns.toml", TOWNS).unwrap();
    UnitsAccuracy::new(Input::Columns(Columns::new(columns).unwrap()), allocation)
}

/// The variances of a query at a level: the mean, the smallest, and the largest.
fn variances(accuracy: &Accuracy, level: usize, query: &str) -> [f64; 3] {
    let query = accuracy.levels[level].queries.iter().find(|found| found.query == query).unwrap();
    match query.estimate {
        Deviation::Estimated { sd, smallest, largest, undetermined } => {
            assert_eq!(undetermined, 0.0);
            [sd, smallest, largest].map(|sd| sd * sd)
        }
        other => panic!("{other:?}"),
    }
}

fn near(found: [f64; 3], wanted: [f64; 3]) {
    let close = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12 * b);
    assert!(close, "{found:?} is not {wanted:?}");
}

#[test]
fn a_list_that_is_regular_has_the_errors_of_a_regular_tree() {
    // Not in order, and with a column that has no numbers in it: only codes are read.
    let codes = ["1203", "1101", "1102", "1103", "1201", "1202"];
    let listed = question(&codes, &[("people", &["many"; 6])]).answer(&mut Quiet).unwrap();
    let allocation = Allocation::parse("towns.toml", TOWNS).unwrap();
    let regular =
        AccuracyQuestion { per_level: Some(vec![1, 2, 6]), ..AccuracyQuestion::about(allocation) }.answer();
    let regular = regular.unwrap();
    assert_eq!((listed.tree, regular.tree), (TreeKind::Listed, TreeKind::Regular));
    for level in 0..3 {
        assert_eq!(listed.levels[level].units, regular.levels[level].units);
        assert_eq!(listed.levels[level].bypassed, 0);
        for query in ["total", "sex"] {
            near(variances(&listed, level, query), variances(&regular, level, query));
        }
    }
}

#[test]
fn units_of_different_families_have_different_errors() {
    let mut question = question(&["1101", "1102", "1201"], &[]);
    question.bypass = Some(BypassRule::None);
    let accuracy = question.answer(&mut Quiet).unwrap();
    assert_eq!(accuracy.levels.iter().map(|level| level.units).collect::<Vec<_>>(), [1, 2, 3]);
    // σ² = 1/ρ: the state's total has 2, a county's 4 and its sexes 4, a town's 4 and its sexes 4/3.
    // A total of two counts of variance 4/3 is as good as one of 8/3: with the town's own, 1/(1/4 + 3/8).
    let town = 1.0 / (1.0 / 4.0 + 3.0 / 8.0);
    let own = 1.0 / 4.0 + 1.0 / 8.0;
    let (first, second) = (1.0 / (own + 1.0 / (2.0 * town)), 1.0 / (own + 1.0 / town));
    let state = 1.0 / (1.0 / 2.0 + 1.0 / (first + second));
    near(variances(&accuracy, 0, "total"), [state; 3]);
    let given = |up: f64, sum: f64, above: f64| up * (1.0 - up / sum) + (up / sum).powi(2) * above;
    let counties = [first, second].map(|up| given(up, first + second, state));
    let [a, b] = counties;
    near(variances(&accuracy, 1, "total"), [(a + b) / 2.0, a.min(b), a.max(b)]);
    // The only town of a county is known as well as the county.
    let pair = given(town, 2.0 * town, a);
    near(variances(&accuracy, 2, "total"), [(2.0 * pair + b) / 3.0, pair.min(b), pair.max(b)]);
}

#[test]
fn bypassed_units_have_the_estimates_and_the_budget_of_their_parents() {
    // State 2 has one county of one town: its own budget, and that of the county and the town.
    let accuracy = question(&["1101", "1102", "1201", "1202", "2101"], &[]).answer(&mut Quiet).unwrap();
    assert_eq!(accuracy.levels.iter().map(|level| level.bypassed).collect::<Vec<_>>(), [0, 1, 1]);
    assert_eq!(accuracy.levels.iter().map(|level| level.units).collect::<Vec<_>>(), [2, 3, 5]);
    // All of ρ = 2 is spent on the total: σ² = 1/2, at every level.
    let total = |level: usize| variances(&accuracy, level, "total");
    assert!((total(0)[1] - 0.5).abs() < 1e-12 && total(0)[2] > 0.5, "{:?}", total(0));
    assert_eq!([total(1)[1], total(2)[1]].map(|x| (x * 1e12).round()), [0.5e12; 2]);
    // The sexes of that state are not measured at all.
    let sex =
        |level: usize| accuracy.levels[level].queries.iter().find(|query| query.query == "sex").unwrap();
    for (level, part) in [(0, 1.0 / 2.0), (1, 1.0 / 3.0), (2, 1.0 / 5.0)] {
        let Deviation::Estimated { undetermined, .. } = sex(level).estimate else { panic!("{level}") };
        assert!((undetermined - part).abs() < 1e-15, "{level}: {undetermined}");
    }
    let mut named = question(&["1101", "1102", "2101"], &[("not", &["", "", "County|Town"])]);
    named.bypass = Some(BypassRule::Column("not".into()));
    let accuracy = named.answer(&mut Quiet).unwrap();
    assert_eq!(accuracy.levels.iter().map(|level| level.bypassed).collect::<Vec<_>>(), [0, 1, 1]);
}

/// A prototype that shares nothing with this crate drew noise ten times and found mean absolute errors of its
/// estimates. A normal error of deviation 1 is 0.798 on average.
#[test]
fn rhode_island_has_the_errors_that_a_prototype_found() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let allocation = Allocation::read(&root.join("examples/blocks.toml"), None).unwrap();
    let question = UnitsAccuracy::new(Input::File(root.join("data/ri-2010-blocks.csv")), allocation);
    let accuracy = question.answer(&mut Quiet).unwrap();
    let units: Vec<u64> = accuracy.levels.iter().map(|level| level.units).collect();
    assert_eq!(units, [1, 5, 244, 815, 25181]);
    #[rustfmt::skip]
    let found = [
        (1, "total", 2.18), (2, "total", 1.48), (2, "voting age", 1.65), (2, "race", 1.39),
        (2, "voting age * race", 1.12), (3, "total", 1.35), (3, "race", 1.23),
        (3, "voting age * race", 0.984), (4, "total", 1.84), (4, "race", 1.30),
        (4, "voting age * race", 1.02),
    ];
    for (level, query, error) in found {
        let expected = 0.797_885 * variances(&accuracy, level, query)[0].sqrt();
        // Ten times 5 counties, 244 tracts, 815 block groups, 25,181 blocks.
        let tolerance = [0.0, 0.1, 0.03, 0.015, 0.007][level];
        assert!((error / expected - 1.0).abs() < tolerance, "{level} {query}: {expected}, found {error}");
    }
}

/// The variances that `estimate` writes for noisy measurements are those that were said before any noise.
#[test]
fn estimates_have_the_errors_that_were_said() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (blocks, place) = (root.join("data/ri-2010-blocks.csv"), Place::new("accuracy"));
    let allocation = Allocation::read(&root.join("examples/blocks.toml"), None).unwrap();
    let said =
        UnitsAccuracy::new(Input::File(blocks.clone()), allocation.clone()).answer(&mut Quiet).unwrap();
    let noise = NoiseSource::NotPrivate(7);
    let measure = Measure { noise, ..Measure::new(Input::File(blocks), allocation) };
    measure.to_directory(&place.path("noisy"), &mut Quiet).unwrap();
    Estimate::new(&place.path("noisy")).to_directory(&place.path("estimates"), &mut Quiet).unwrap();
    let folders = ["state", "county", "tract", "block-group", "block"];
    for (level, folder) in folders.iter().enumerate() {
        let path = place.path("estimates").join("estimates").join(folder).join("part-00000.parquet");
        let mut written: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for row in SerializedFileReader::new(File::open(path).unwrap()).unwrap() {
            let (mut query, mut variances) = (String::new(), vec![]);
            for (name, field) in row.unwrap().get_column_iter() {
                match (name.as_str(), field) {
                    ("query_name", Field::Str(name)) => query.clone_from(name),
                    ("variance", Field::ListInternal(list)) => {
                        variances.extend(list.elements().iter().map(|field| match field {
                            Field::Double(variance) => *variance,
                            other => panic!("{other}"),
                        }));
                    }
                    _ => {}
                }
            }
            written.entry(query).or_default().extend(variances);
        }
        assert!(written.len() >= 3, "{written:?}");
        for (query, all) in written {
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            let ends = [f64::min, f64::max].map(|end| all.iter().copied().reduce(end).unwrap());
            let found = variances(&said, level, &query);
            let close = found.iter().zip([mean, ends[0], ends[1]]).all(|(a, b)| (a / b - 1.0).abs() < 1e-9);
            assert!(close, "{folder} {query}: {found:?}, written {mean} {ends:?}");
        }
    }
}

/// In any order, with words where counts would be; bypassed units are units.
#[test]
fn units_know_their_parents_and_counts_are_not_read() {
    let codes = ["b2yy", "a1xx", "a1xy", "a3xx", "b2yx", "b2xx"];
    let question = question(&codes, &[("people", &["x"; 6])]);
    let tree = unit_tree(question.units, None, question.allocation, &mut Quiet).unwrap();
    assert_eq!((tree.roots, tree.per_level()), (2, vec![2, 3, 6]));
    assert_eq!(tree.parents, [vec![0, 0, 1], vec![0, 0, 1, 2, 2, 2]]);
}
