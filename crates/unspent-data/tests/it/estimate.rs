//! Estimates from folders: the same as those of a tree in which every unit is a node of its own, and what is
//! said of folders that do not fit together.

mod bypassed;
mod refused;
mod replicates;
mod whole;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use unspent::Allocation;
use unspent_data::estimate::{AreaName, Estimated, NamedArea};
use unspent_data::{
    BypassRule, Columns, Estimate, Input, Measure, Measurements, NoiseSource, Quiet, UnitList,
};
use unspent_estimate::{
    AnswerClasses, Measured, Model, Node, Precision, Scratch, Space, Tree, UnitClass, Values,
};

use crate::support::Place;

/// Three levels, a recode with a value in no group, and a combination that cannot occur.
const BUDGET: &str = r#"
name = "Towns"
neighbours = "bounded"
delta = "1e-10"
LEVELS
[queries]
total = []
age = ["age"]
grown = ["grown"]
detailed = ["age", "sex", "home"]
[attributes]
age = ["child", "adult", "old"]
sex = ["f", "m"]
home = ["house", "school"]
[recodes.grown]
of = "age"
groups = { "adult" = [1] }
[[impossible]]
name = "no children at school"
where = { age = [0], home = [1] }
[table]
code = "code"
count = "n"
[table.levels]
Land = 0
County = 1
Town = 3
"#;

const NOISY: &str = r#"
exact_totals = ["Land"]
[[levels]]
name = "Land"
sigma2 = { age = 3, detailed = 20 }
[[levels]]
name = "County"
sigma2 = { total = "16/3", grown = 2, detailed = 20 }
[[levels]]
name = "Town"
sigma2 = { total = 5, age = 40, detailed = "100/3" }
"#;

fn budget(levels: &str) -> Allocation {
    Allocation::parse("budget.toml", &BUDGET.replace("LEVELS", levels)).unwrap()
}

/// Five counties of up to nine towns; the last has one.
fn towns() -> Vec<String> {
    let in_county = |county: usize| (0..if county == 4 { 1 } else { 5 + county }).map(move |t| (county, t));
    (0..5).flat_map(in_county).map(|(county, town)| format!("{county}{town:02}")).collect()
}

fn count(town: usize, age: usize, sex: usize, home: usize) -> i64 {
    if (age, home) == (0, 1) { 0 } else { ((town * 7 + age * 13 + sex * 5 + home * 3) % 40) as i64 }
}

fn measure(levels: &str, seed: u64, bypass: bool) -> Measure {
    measure_towns(towns(), budget(levels), seed, bypass)
}

fn measure_towns(towns: Vec<String>, budget: Allocation, seed: u64, bypass: bool) -> Measure {
    let (mut codes, mut values, mut n) = (vec![], [vec![], vec![], vec![]], vec![]);
    for (town, code) in towns.iter().enumerate() {
        for (age, sex, home) in (0..12).map(|i| (i / 4, i / 2 % 2, i % 2)) {
            codes.push(code.clone());
            values[0].push(["child", "adult", "old"][age].to_string());
            values[1].push(["f", "m"][sex].to_string());
            values[2].push(["house", "school"][home].to_string());
            n.push(count(town, age, sex, home));
        }
    }
    let [age, sex, home] = values;
    let columns = vec![
        ("code".into(), codes.into()),
        ("age".into(), age.into()),
        ("sex".into(), sex.into()),
        ("home".into(), home.into()),
        ("n".into(), n.into()),
    ];
    let units = Columns::new(vec![("code".into(), towns.into())]).unwrap();
    Measure {
        noise: NoiseSource::NotPrivate(seed),
        units: UnitList::List(Input::Columns(units)),
        bypass: Some(if bypass { BypassRule::OnlyChildren } else { BypassRule::None }),
        ..Measure::new(Input::Columns(Columns::new(columns).unwrap()), budget)
    }
}

fn measured(name: &str, levels: &str, bypass: bool) -> Place {
    let place = Place::new(name);
    measure(levels, 11, bypass).to_directory(&place.path("noisy"), &mut Quiet).unwrap();
    place
}

type Answers = BTreeMap<(String, String, String), Vec<Option<Estimated>>>;

/// Every answer of every unit, by level, code and query.
fn answers(question: &Estimate) -> Answers {
    let estimates = question.estimates(&mut Quiet).unwrap();
    let mut found = Answers::new();
    for level in estimates.levels() {
        estimates
            .units(level, None, &mut |code, query, answers| {
                found.insert((level.clone(), code.into(), query.into()), answers.to_vec());
            })
            .unwrap();
    }
    found
}

/// A tree in which every unit is a node of its own.
fn plainly(folder: &Path) -> (Tree, Values, BTreeMap<(String, String), usize>) {
    let found = Measurements::read(folder).unwrap();
    let allocation = Allocation::read(&folder.join("allocation.toml"), None).unwrap();
    let model = Arc::new(Model::new(Space::of_allocation(&allocation, &[], &[]).unwrap()).unwrap());
    let space = model.space();
    let mut scratch = Scratch::default();
    let (mut nodes, mut all, mut places) = (vec![], vec![], BTreeMap::new());
    let lengths = [0, 1, 3];
    for (at, level) in found.levels.iter().enumerate() {
        for (unit, code) in level.codes.iter().enumerate() {
            let mut class =
                UnitClass { variances: vec![None; space.queries().len()], ..UnitClass::default() };
            for query in &level.queries {
                class.add(
                    space.query(&query.name).unwrap(),
                    query.noise(unit).sigma2.as_ref().unwrap().to_f64(),
                );
            }
            let mut exact = vec![];
            for known in found.exact.iter().filter(|exact| exact.level == level.level) {
                for values in &known.queries {
                    let query = space.query(&values.name).unwrap();
                    let at = known.codes.iter().position(|c| c == code).unwrap();
                    class.exact.push(query);
                    exact.push(model.lift(query, &values.values[at..=at], &mut scratch));
                }
            }
            let row = |query: usize| {
                let name = &space.queries()[query].name;
                let query = level.queries.iter().find(|q| q.name == *name).unwrap();
                &query.values[unit * query.length()..][..query.length()]
            };
            let mut gradient = vec![0.0; space.cells()];
            model.gradient(&class.variances, row, &mut scratch, &mut gradient);
            // The nearest unit above that is measured.
            let parent = (0..at).rev().find_map(|above| {
                places.get(&(found.levels[above].level.clone(), code[..lengths[above]].to_string())).copied()
            });
            places.insert((level.level.clone(), code.clone()), nodes.len());
            nodes.push(Node { parent, class: Arc::new(model.class(class)), count: 1.0 });
            all.push(Measured { gradient, exact });
        }
    }
    let (tree, values) = Tree::estimate(&model, nodes, all, true).unwrap();
    (tree, values, places)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(1.0)
}

#[test]
fn units_are_estimated_as_if_each_were_a_node_of_its_own() {
    for bypass in [false, true] {
        let place = measured(&format!("estimate-{bypass}"), NOISY, bypass);
        let found = answers(&Estimate::new(&place.path("noisy")));
        let (tree, values, places) = plainly(&place.path("noisy"));
        let space = tree.model().space();
        let queries = space.queries().len();
        let classes: Vec<AnswerClasses> =
            (0..queries).map(|query| AnswerClasses::new(tree.model(), query)).collect();
        let mut scratch = Scratch::default();
        // A unit that is bypassed is estimated too, and is no node of the plain tree.
        assert_eq!(found.len(), (places.len() + usize::from(bypass)) * queries);
        for ((level, code), node) in &places {
            let mut coordinates = vec![0.0; space.cells()];
            tree.coordinates(&values, *node, &mut coordinates);
            let all = vec![true; queries];
            let expected = tree.model().answer(&coordinates, &all, &mut scratch).answers.to_vec();
            let precisions = tree.precisions(*node, &classes);
            for query in 0..queries {
                let name = &space.queries()[query].name;
                let answers = &found[&(level.clone(), code.clone(), name.clone())];
                for (at, answer) in answers.iter().enumerate() {
                    let answer = answer.expect("everything is measured somewhere");
                    let precision = classes[query].class_of[at]
                        .map_or(Precision::Exact, |class| precisions[query][usize::from(class)]);
                    assert!(
                        close(answer.value, expected[query][at]),
                        "{level} {code} {name} {at}: {answer:?}"
                    );
                    assert!(
                        close(answer.variance, precision.variance().unwrap()),
                        "{level} {code} {name} {at}"
                    );
                }
            }
        }
        // The total of all is exact, and printed as the whole number that it is.
        let total = found[&("Land".into(), String::new(), "total".into())][0].unwrap();
        let truth: i64 = (0..towns().len())
            .flat_map(|town| (0..12).map(move |i| count(town, i / 4, i / 2 % 2, i % 2)))
            .sum();
        assert_eq!((total.value, total.variance), (truth as f64, 0.0));
        assert_eq!(total.normal, Some((truth, truth)));
    }
}

#[test]
fn measurements_without_noise_give_the_table_back() {
    // A discrete Gaussian of σ² = 1/200 is 0 but with probability 10⁻⁴³.
    let levels = r#"
[[levels]]
name = "Land"
sigma2 = { age = "1/200" }
[[levels]]
name = "County"
sigma2 = { grown = "1/200" }
[[levels]]
name = "Town"
sigma2 = { detailed = "1/200" }
"#;
    let place = measured("estimate-exactly", levels, false);
    let found = answers(&Estimate::new(&place.path("noisy")));
    for ((level, code, query), answers) in &found {
        let lengths = BTreeMap::from([("Land", 0), ("County", 1), ("Town", 3)]);
        let inside = |town: &str| town[..lengths[level.as_str()]] == *code;
        let codes = towns();
        let sum = |keep: &dyn Fn(usize, usize, usize) -> bool| -> i64 {
            let mut sum = 0;
            for (town, _) in codes.iter().enumerate().filter(|(_, town)| inside(town)) {
                for (age, sex, home) in (0..12).map(|i| (i / 4, i / 2 % 2, i % 2)) {
                    sum += if keep(age, sex, home) { count(town, age, sex, home) } else { 0 };
                }
            }
            sum
        };
        for (at, answer) in answers.iter().enumerate() {
            let truth = match query.as_str() {
                "total" => sum(&|_, _, _| true),
                "age" => sum(&|age, _, _| age == at),
                "grown" => sum(&|age, _, _| age == 1),
                _ => sum(&|age, sex, home| age * 4 + sex * 2 + home == at),
            };
            let value = answer.expect("determined").value;
            assert!((value - truth as f64).abs() < 1e-9, "{level} {code} {query} {at}: {value} {truth}");
        }
    }
}

#[test]
fn what_no_measurement_determines_has_no_number() {
    let levels = r#"
[[levels]]
name = "Land"
sigma2 = { detailed = 3 }
[[levels]]
name = "Town"
sigma2 = { total = 2, grown = 5 }
"#;
    let place = measured("estimate-unknown", levels, false);
    let question = Estimate {
        sums: vec!["old women: age = old and sex = f".into()],
        ..Estimate::new(&place.path("noisy"))
    };
    let found = answers(&question);
    let at = |level: &str, code: &str, query: &str| {
        found[&(level.to_string(), code.to_string(), query.to_string())].clone()
    };
    assert!(at("Land", "", "detailed").iter().all(Option::is_some));
    assert!(at("Land", "", "old women")[0].is_some());
    assert!(at("Town", "003", "total")[0].is_some() && at("Town", "003", "grown")[0].is_some());
    // Adults are known, and of children and old people only the sum.
    let age: Vec<bool> = at("Town", "003", "age").iter().map(Option::is_some).collect();
    assert_eq!(age, [false, true, false]);
    assert_eq!(at("Town", "003", "old women"), [None]);
    // Children cannot be at school, which is known everywhere.
    let detailed = at("Town", "003", "detailed");
    assert_eq!(detailed.iter().filter(|answer| answer.is_some()).count(), 2);
    assert_eq!(detailed[1].unwrap().variance, 0.0);
    let out = place.path("out");
    let report = question.to_directory(&out, &mut Quiet).unwrap();
    assert_eq!(report.manifest.levels[1].not_determined, ["age", "old women"]);
}

#[test]
fn areas_are_sums_of_their_units() {
    let place = measured("estimate-areas", NOISY, true);
    let area = |name: &str, codes: &[&str]| NamedArea {
        name: AreaName { map: "m".into(), area: name.into() },
        codes: codes.iter().map(|code| (*code).to_string()).collect(),
    };
    let some = ["000", "003", "102", "204", "205"];
    let all: Vec<String> = towns();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let question = Estimate {
        // The only town of county 4 is bypassed; a county is a unit too.
        areas: vec![area("some", &some), area("all", &all), area("4", &["400"]), area("three", &["3"])],
        ..Estimate::new(&place.path("noisy"))
    };
    let estimates = question.estimates(&mut Quiet).unwrap();
    let found = answers(&question);
    let unit = |level: &str, code: &str, query: &str, cell: usize| {
        found[&(level.to_string(), code.to_string(), query.to_string())][cell].unwrap()
    };
    let (tree, values, places) = plainly(&place.path("noisy"));
    let weights = some.map(|code| (places[&("Town".to_string(), code.to_string())], 1.0));
    let plain = tree.area(&BTreeMap::from(weights));
    let mut coordinates = vec![0.0; tree.model().space().cells()];
    plain.coordinates(&tree, &values, &mut coordinates);
    let age = tree.model().space().query("age").unwrap();
    let expected =
        tree.model().answer(&coordinates, &[true; 4], &mut Scratch::default()).answers[age].clone();
    let ages: Vec<Estimated> = estimates
        .area("some")
        .unwrap()
        .into_iter()
        .filter(|row| row.query == "age")
        .map(|row| row.answer.unwrap())
        .collect();
    let class = AnswerClasses::new(tree.model(), age);
    for (at, answer) in ages.iter().enumerate() {
        assert!(close(answer.value, expected[at]));
        let sum: f64 = some.iter().map(|code| unit("Town", code, "age", at).value).sum();
        assert!(close(answer.value, sum));
        let variance = plain.precision(&class.classes[usize::from(class.class_of[at].unwrap())]);
        assert!(close(answer.variance, variance.variance().unwrap()));
        // Less than if they were independent would say, and not the same.
        let apart: f64 = some.iter().map(|code| unit("Town", code, "age", at).variance).sum();
        assert!(answer.variance < apart && answer.variance > apart / 10.0);
    }
    for (name, level, code) in [("all", "Land", ""), ("m:4", "County", "4"), ("three", "County", "3")] {
        for row in estimates.area(name).unwrap() {
            let (answer, expected) = (row.answer.unwrap(), unit(level, code, &row.query, row.cell));
            assert!(close(answer.value, expected.value), "{name} {row:?} {expected:?}");
            assert!((answer.variance - expected.variance).abs() < 1e-8, "{name} {row:?} {expected:?}");
        }
    }
    // Var(a − b) = Var a + Var b − 2 Cov: towns of one county go against each other.
    let (some, three) = (estimates.area("some").unwrap(), estimates.area("three").unwrap());
    for (at, row) in estimates.difference("some", "three").unwrap().into_iter().enumerate() {
        let variance = |answer: Option<Estimated>| answer.unwrap().variance;
        let apart = variance(some[at].answer) + variance(three[at].answer);
        let together = variance(row.difference.answer) + 2.0 * row.covariance.unwrap();
        assert!(close(together, apart), "{row:?}");
    }
    assert!(estimates.area("m:5").unwrap_err().hint().contains("m:"));
}

#[test]
fn two_folders_of_the_same_records_are_one_estimate() {
    let place = measured("estimate-two", NOISY, false);
    measure(NOISY, 12, false).to_directory(&place.path("again"), &mut Quiet).unwrap();
    let one = answers(&Estimate::new(&place.path("noisy")));
    let both = Estimate {
        noisy: vec![place.path("noisy"), place.path("again")],
        ..Estimate::new(&place.path("noisy"))
    };
    for (key, answer) in answers(&both) {
        for (a, b) in answer.iter().zip(&one[&key]) {
            let (a, b) = (a.unwrap().variance, b.unwrap().variance);
            // Twice the information about everything.
            assert!(close(2.0 * a, b), "{key:?}: {a} {b}");
        }
    }
    // Coarser tables of some of the levels, with a schema of their own.
    let coarse = r#"
name = "Only by sex"
neighbours = "bounded"
delta = "1e-10"
[queries]
sex = ["sex"]
[[levels]]
name = "County"
sigma2 = { sex = 1 }
[attributes]
sex = ["f", "m"]
[table]
code = "code"
count = "n"
[table.levels]
County = 1
"#;
    let mut rows: (Vec<String>, Vec<String>, Vec<i64>) = Default::default();
    for county in 0..5 {
        for (sex, name) in ["f", "m"].iter().enumerate() {
            let codes = towns();
            let inside = codes.iter().enumerate().filter(|(_, code)| code.starts_with(&county.to_string()));
            let cells = |town: usize| {
                (0..12).filter(move |i| i / 2 % 2 == sex).map(move |i| count(town, i / 4, sex, i % 2))
            };
            rows.0.push(county.to_string());
            rows.1.push((*name).into());
            rows.2.push(inside.flat_map(|(town, _)| cells(town)).sum());
        }
    }
    let columns =
        vec![("code".into(), rows.0.into()), ("sex".into(), rows.1.into()), ("n".into(), rows.2.into())];
    let table = Input::Columns(Columns::new(columns).unwrap());
    let measure = Measure {
        noise: NoiseSource::NotPrivate(3),
        units: UnitList::Table,
        ..Measure::new(table, Allocation::parse("sex.toml", coarse).unwrap())
    };
    measure.to_directory(&place.path("sexes"), &mut Quiet).unwrap();
    let joined = Estimate {
        noisy: vec![place.path("noisy"), place.path("sexes")],
        ..Estimate::new(&place.path("noisy"))
    };
    let found = answers(&joined);
    let sex = found[&("County".into(), "2".into(), "sex".into())][0].unwrap();
    assert!(sex.variance < 1.0 && sex.variance > 0.5, "{sex:?}");
    let key = ("County".to_string(), "2".to_string(), "detailed".to_string());
    assert!(found[&key][2].unwrap().variance < one[&key][2].unwrap().variance);
    // The other way round the first has no towns.
    let wrong = Estimate {
        noisy: vec![place.path("sexes"), place.path("noisy")],
        ..Estimate::new(&place.path("sexes"))
    };
    let error = wrong.estimates(&mut Quiet).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("level: `Land` is not one of the levels of the first folder, County"), "{error}");
}
