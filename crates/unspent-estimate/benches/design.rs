//! Speed of designs, on one thread: `cargo bench -p unspent-estimate --bench design`. Every answer includes
//! its bound in exact fractions and its certified ε.

use std::fmt::Write;

use divan::Bencher;
use unspent::{Allocation, Rational};
use unspent_estimate::design::{Goal, Law, Need, Needs, Quantity, Rest, UnitTree, Units, explain};

fn main() {
    divan::main();
}

const CENSUS: [u64; 6] = [1, 51, 3_143, 84_414, 239_780, 8_132_968];

fn number(text: &str) -> Rational {
    text.parse().expect("a number")
}

fn table(level: usize, by: &[&str], margin: &str) -> Need {
    let by = by.iter().map(|name| (*name).into()).collect();
    let quantity = Quantity::Table { by, margin: number(margin) };
    Need { name: "need".into(), level, quantity, set: None, confidence: number("0.95"), all: false }
}

fn needs(offer: Allocation, units: Units, needs: Vec<Need>, rest: Rest) -> Needs {
    let delta = "1e-10".parse().expect("a number");
    Needs { offer, units, delta, goal: Goal::LeastEpsilon, law: Law::Normal, needs, rest, promises: vec![] }
}

fn redistricting() -> Allocation {
    Allocation::preset("pl94-persons-us-2020").expect("a preset")
}

/// Ten needs at all levels of the redistricting data, with their recode and structural zeros: 66 variables.
fn of_redistricting(units: Units) -> Needs {
    let race = ["hispanic", "cenrace"];
    let asked = vec![
        table(2, &[], "5"),
        table(3, &[], "5"),
        table(4, &[], "5"),
        table(5, &[], "60"),
        table(1, &["hhgq"], "40"),
        table(2, &race, "20"),
        table(3, &race, "5"),
        table(4, &race, "5"),
        table(4, &["votingage"], "25"),
        table(5, &race, "30"),
    ];
    needs(redistricting(), units, asked, Rest::Drop)
}

#[divan::bench(max_time = 10)]
fn redistricting_needs(bencher: Bencher) {
    let needs = of_redistricting(Units::PerLevel(CENSUS.to_vec()));
    bencher.bench_local(|| needs.design(false).expect("a design"));
}

/// All tables as accurate as they are: 228 limits.
#[divan::bench(max_time = 10)]
fn redistricting_explained(bencher: Bencher) {
    let (allocation, units) = (redistricting(), Units::PerLevel(CENSUS.to_vec()));
    bencher.bench_local(|| explain(&allocation, &units).expect("an explanation"));
}

/// Six attributes, all 64 marginals at five levels: 320 variables, and as many needs.
#[divan::bench(max_time = 10)]
fn three_hundred_and_twenty_variables(bencher: Bencher) {
    let names = ["a", "b", "c", "d", "e", "f"];
    let mut text = String::from("name = \"many\"\nneighbours = \"bounded\"\n[attributes]\n");
    for (name, values) in names.iter().zip([2, 3, 2, 4, 2, 3]) {
        let values: Vec<String> = (0..values).map(|v| format!("\"{v}\"")).collect();
        writeln!(text, "{name} = [{}]", values.join(", ")).expect("text");
    }
    let marginals: Vec<Vec<&str>> =
        (0..64).map(|set| (0..6).filter(|bit| set >> bit & 1 == 1).map(|bit| names[bit]).collect()).collect();
    text += "[queries]\n";
    for by in &marginals {
        writeln!(text, "\"q{}\" = {by:?}", by.concat()).expect("text");
    }
    for level in 0..5 {
        writeln!(text, "[[levels]]\nname = \"{level}\"\nsigma2 = {{ q = 1 }}").expect("text");
    }
    let offer = Allocation::parse("many.toml", &text).expect("an allocation");
    let mut asked = vec![];
    for level in 0..5 {
        for by in &marginals {
            let margin = (8 + 5 * level + 2 * by.len()).to_string();
            asked.push(table(level, by, &margin));
        }
    }
    let needs = needs(offer, Units::PerLevel(vec![1, 10, 200, 2_000, 30_000]), asked, Rest::Drop);
    bencher.bench_local(|| needs.design(false).expect("a design"));
}

/// A tree with the census's numbers of units and very different numbers of children.
fn listed() -> UnitTree {
    let mut state = 11u64;
    let mut parents = vec![];
    for pair in CENSUS.windows(2) {
        let (above, below) = (pair[0], pair[1]);
        // Every unit has one child; the others go to units of random weight.
        let weights: Vec<f64> = (0..above)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((state >> 11) as f64 / (1u64 << 53) as f64).powi(2) + 0.02
            })
            .collect();
        let sum: f64 = weights.iter().sum();
        let mut of_level = Vec::with_capacity(below as usize);
        let (mut reached, mut passed) = (0u64, 0.0);
        for (unit, weight) in weights.iter().enumerate() {
            passed += weight;
            let until = (passed / sum * (below - above) as f64).round() as u64;
            of_level.extend(std::iter::repeat_n(unit as u32, (1 + until - reached) as usize));
            reached = until;
        }
        parents.push(of_level);
    }
    UnitTree { roots: 1, parents }
}

/// One table on a tree of eight million blocks: all variances once.
#[divan::bench(sample_count = 1, sample_size = 1)]
fn eight_million_blocks_checked(bencher: Bencher) {
    let asked = vec![table(4, &["hispanic", "cenrace"], "5")];
    let needs = needs(redistricting(), Units::Listed(listed()), asked, Rest::Drop);
    let allocation = redistricting();
    bencher.bench_local(|| needs.check(&allocation).expect("an answer"));
}
