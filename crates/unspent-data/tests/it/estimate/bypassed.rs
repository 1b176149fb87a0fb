//! Units that are bypassed: listed beside the measurements, and estimated like all others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use serde_json::Value;
use unspent::Allocation;
use unspent_data::estimate::{AreaName, Estimated, NamedArea};
use unspent_data::measurements::BypassedUnits;
use unspent_data::{
    BypassRule, Columns, Estimate, Input, Manifest, Measure, Measurements, NoiseSource, Quiet, UnitList,
    WholeTables,
};

use super::{answers, close};
use crate::support::{Place, restate};

/// Four levels. Exact totals of tracts are known also where groups and blocks are not measured.
const BUDGET: &str = r#"
name = "Blocks"
neighbours = "bounded"
delta = "1e-10"
exact_totals = [EXACT]
[queries]
total = []
age = ["age"]
detailed = ["age", "sex"]
[attributes]
age = ["child", "adult", "old"]
sex = ["f", "m"]
[[levels]]
name = "State"
sigma2 = { age = 3, detailed = 20 }
[[levels]]
name = "Tract"
sigma2 = { total = "16/3", detailed = 20 }
[[levels]]
name = "Group"
sigma2 = { total = 7, age = 20 }
[[levels]]
name = "Block"
sigma2 = { total = 5, age = 40, detailed = "100/3" }
[table]
code = "code"
count = "n"
[table.levels]
State = 1
Tract = 2
Group = 3
Block = 5
"#;

/// Tract 11 has one group; group 121 has one block; tract 13 is one group of one block, and state 2 one tract
/// of one group of one block. State 3 has two of everything.
const BLOCKS: [&str; 14] = [
    "11101", "11102", "11103", "12101", "12201", "12202", "13101", "21101", "31101", "31102", "31201",
    "31202", "32101", "32201",
];

/// The levels, and how long their codes are.
const LEVELS: [(&str, usize); 4] = [("State", 1), ("Tract", 2), ("Group", 3), ("Block", 5)];

const LIST: &str = "level,geocode\nTract,21\nGroup,111\nGroup,131\nGroup,211\nBlock,12101\nBlock,13101\n\
                    Block,21101\nBlock,32101\nBlock,32201\n";

fn measure(blocks: &[&str], exact: &str, seed: u64, bypass: BypassRule) -> Measure {
    let (mut codes, mut ages, mut sexes, mut n) = (vec![], vec![], vec![], vec![]);
    for (at, block) in blocks.iter().enumerate() {
        for (age, sex) in (0..6).map(|i| (i / 2, i % 2)) {
            codes.push((*block).to_string());
            ages.push(["child", "adult", "old"][age].to_string());
            sexes.push(["f", "m"][sex].to_string());
            n.push(((at * 7 + age * 13 + sex * 5) % 23) as i64);
        }
    }
    let columns = vec![
        ("code".into(), codes.into()),
        ("age".into(), ages.into()),
        ("sex".into(), sexes.into()),
        ("n".into(), n.into()),
    ];
    let units = blocks.iter().map(|block| (*block).to_string()).collect::<Vec<_>>();
    let units = Columns::new(vec![("code".into(), units.into())]).unwrap();
    let allocation = Allocation::parse("blocks.toml", &BUDGET.replace("EXACT", exact)).unwrap();
    Measure {
        noise: NoiseSource::NotPrivate(seed),
        units: UnitList::List(Input::Columns(units)),
        bypass: Some(bypass),
        ..Measure::new(Input::Columns(Columns::new(columns).unwrap()), allocation)
    }
}

fn measured(name: &str, exact: &str) -> Place {
    let place = Place::new(name);
    let measure = measure(&BLOCKS, exact, 11, BypassRule::OnlyChildren);
    measure.to_directory(&place.path("noisy"), &mut Quiet).unwrap();
    place
}

/// Every unit of every level.
fn units(blocks: &[&str]) -> BTreeSet<(String, String)> {
    let of_level = |(level, length): (&str, usize)| {
        blocks.iter().map(move |block| (level.to_string(), block[..length].to_string())).collect::<Vec<_>>()
    };
    LEVELS.into_iter().flat_map(of_level).collect()
}

fn parent(level: &str, code: &str) -> (String, String) {
    let above = LEVELS.iter().position(|(name, _)| *name == level).unwrap() - 1;
    (LEVELS[above].0.into(), code[..LEVELS[above].1].into())
}

fn change_manifest(folder: &Path, change: impl Fn(&mut Value)) {
    let path = folder.join("manifest.json");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut manifest);
    fs::write(path, manifest.to_string()).unwrap();
}

/// As if nobody had listed bypassed units.
fn unlist(folder: &Path) {
    fs::remove_file(folder.join("bypassed.csv")).unwrap();
    change_manifest(folder, |manifest| _ = manifest.as_object_mut().unwrap().remove("bypassed").unwrap());
}

fn same(a: Option<Estimated>, b: Option<Estimated>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => {
            close(a.value, b.value) && close(a.variance, b.variance) && a.normal == b.normal
        }
        (a, b) => a.is_none() && b.is_none(),
    }
}

#[test]
fn bypassed_units_are_listed_beside_the_measurements() {
    let place = measured("bypassed-list", "");
    let noisy = place.path("noisy");
    assert_eq!(fs::read_to_string(noisy.join("bypassed.csv")).unwrap(), LIST);
    let manifest = Manifest::read(&noisy).unwrap();
    let entry = manifest.bypassed.unwrap();
    let levels: Vec<(&str, u64)> =
        entry.levels.iter().map(|level| (level.level.as_str(), level.units)).collect();
    assert_eq!(
        (entry.file.as_str(), levels),
        ("bypassed.csv", vec![("Tract", 1), ("Group", 3), ("Block", 5)])
    );
    // Together with those that are measured they are all.
    let read = Measurements::read(&noisy).unwrap();
    let noised = read.levels.iter().flat_map(|level| level.codes.iter().map(|c| (&level.level, c)));
    let bypassed = read.bypassed.iter().flat_map(|level| level.codes.iter().map(|c| (&level.level, c)));
    let all: Vec<(String, String)> = noised.chain(bypassed).map(|(l, c)| (l.clone(), c.clone())).collect();
    assert_eq!(all.len(), units(&BLOCKS).len());
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), units(&BLOCKS));
    let in_memory = measure(&BLOCKS, "", 11, BypassRule::OnlyChildren).in_memory(&mut Quiet).unwrap();
    assert_eq!(in_memory.bypassed, read.bypassed);
    // No record matters: the same list without any.
    let nobody = Columns::new(vec![
        ("code".into(), vec!["11101"].into()),
        ("age".into(), vec!["child"].into()),
        ("sex".into(), vec!["f"].into()),
        ("n".into(), vec![0].into()),
    ]);
    let table = Input::Columns(nobody.unwrap());
    let empty = Measure { table, ..measure(&BLOCKS, "", 12, BypassRule::OnlyChildren) };
    assert_eq!(empty.in_memory(&mut Quiet).unwrap().bypassed, read.bypassed);
    // Where nobody is bypassed there is no list.
    measure(&BLOCKS, "", 11, BypassRule::None).to_directory(&place.path("all"), &mut Quiet).unwrap();
    assert!(!place.path("all").join("bypassed.csv").exists());
    assert_eq!(Manifest::read(&place.path("all")).unwrap().bypassed, None);
    assert_eq!(Measurements::read(&place.path("all")).unwrap().bypassed, Vec::<BypassedUnits>::new());
}

#[test]
fn a_bypassed_unit_has_the_estimates_of_its_parent() {
    for (name, exact) in [("bypassed", ""), ("bypassed-exact", "\"State\", \"Tract\"")] {
        let place = measured(name, exact);
        let noisy = place.path("noisy");
        let listed = Measurements::read(&noisy).unwrap().bypassed;
        let found = answers(&Estimate::new(&noisy));
        let written: BTreeSet<(String, String)> =
            found.keys().map(|(level, code, _)| (level.clone(), code.clone())).collect();
        assert_eq!(written, units(&BLOCKS));
        assert_eq!(found.len(), 3 * written.len(), "three queries of every unit");
        let mut compared = 0;
        for BypassedUnits { level, codes } in &listed {
            for code in codes {
                let (above, above_code) = parent(level, code);
                for query in ["total", "age", "detailed"] {
                    let key = |level: &str, code: &str| (level.into(), code.into(), query.into());
                    let (own, above) = (&found[&key(level, code)], &found[&key(&above, &above_code)]);
                    for (own, above) in own.iter().zip(above) {
                        assert!(same(*own, *above), "{level} {code} {query}: {own:?} {above:?}");
                        compared += usize::from(own.is_some());
                    }
                }
            }
        }
        // Only what tract 32 has of each sex and age in either of its groups is measured nowhere.
        assert_eq!(compared, 9 * 10 - 2 * 6);
        assert_eq!(found[&("Block".into(), "32101".into(), "detailed".into())], [None; 6]);
        // An area of a bypassed block, and one of a bypassed group, are these units.
        let area = |name: &str, code: &str| NamedArea {
            name: AreaName { map: "m".into(), area: name.into() },
            codes: vec![code.into()],
        };
        let areas = vec![area("block", "13101"), area("group", "111")];
        let estimates = Estimate { areas, ..Estimate::new(&noisy) }.estimates(&mut Quiet).unwrap();
        for (name, level, code) in [("block", "Tract", "13"), ("group", "Tract", "11")] {
            for row in estimates.area(name).unwrap() {
                let answer = row.answer.unwrap();
                let expected = found[&(level.into(), code.into(), row.query.clone())][row.cell].unwrap();
                assert!(close(answer.value, expected.value), "{name} {row:?} {expected:?}");
                assert!(close(answer.variance, expected.variance), "{name} {row:?} {expected:?}");
            }
        }
        // All other units are estimated as they are without the list.
        unlist(&noisy);
        let before = answers(&Estimate::new(&noisy));
        assert!(before.len() < found.len());
        for (key, before) in &before {
            for (a, b) in found[key].iter().zip(before) {
                assert!(same(*a, *b), "{key:?}: {a:?} {b:?}");
            }
        }
    }
}

#[test]
fn accuracy_says_which_units_are_bypassed() {
    let place = measured("bypassed-accuracy", "");
    let report = Estimate::new(&place.path("noisy")).to_directory(&place.path("out"), &mut Quiet).unwrap();
    let levels: Vec<(u64, u64)> =
        report.accuracy.levels.iter().map(|level| (level.units, level.bypassed)).collect();
    assert_eq!(levels, [(3, 0), (6, 1), (9, 3), (14, 5)]);
    let written: Vec<u64> = report.manifest.levels.iter().map(|level| level.units).collect();
    assert_eq!(written, [3, 6, 9, 14]);
}

/// The tables of all units of a directory of estimates.
fn tables(out: &Path) -> BTreeMap<(String, String), Vec<i64>> {
    let mut found = BTreeMap::new();
    for (level, _) in LEVELS {
        let folder = out.join("tables").join(level.to_lowercase());
        for entry in fs::read_dir(folder).unwrap() {
            let file = File::open(entry.unwrap().path()).unwrap();
            for row in SerializedFileReader::new(file).unwrap().get_row_iter(None).unwrap() {
                let row = row.unwrap();
                let values = row.get_list(1).unwrap().elements().iter();
                let values = values.map(|value| value.to_string().parse().unwrap()).collect();
                assert!(found.insert((level.into(), row.get_string(0).unwrap().clone()), values).is_none());
            }
        }
    }
    found
}

#[test]
fn whole_tables_have_every_unit_and_add_up() {
    for own_measurements in [false, true] {
        for exact in ["", "\"State\", \"Tract\""] {
            let place = measured(&format!("bypassed-tables-{own_measurements}-{}", exact.len()), exact);
            let question = Estimate {
                tables: Some(WholeTables { own_measurements, replicates: 2, ..WholeTables::default() }),
                ..Estimate::new(&place.path("noisy"))
            };
            question.to_directory(&place.path("out"), &mut Quiet).unwrap();
            let found = tables(&place.path("out"));
            assert_eq!(found.keys().cloned().collect::<BTreeSet<_>>(), units(&BLOCKS));
            let mut sums: BTreeMap<(String, String), Vec<i64>> = BTreeMap::new();
            for ((level, code), table) in found.iter().filter(|((level, _), _)| level != "State") {
                assert!(table.len() == 6 && table.iter().all(|count| *count >= 0), "{level} {code}");
                let sum = sums.entry(parent(level, code)).or_insert(vec![0; 6]);
                sum.iter_mut().zip(table).for_each(|(sum, count)| *sum += count);
            }
            for (unit, sum) in &sums {
                assert_eq!(found[unit], *sum, "{unit:?}");
            }
            assert_eq!(found[&("Block".into(), "13101".into())], found[&("Tract".into(), "13".into())]);
        }
    }
}

/// A land that is one chain of units: no block is measured at all.
#[test]
fn a_level_of_bypassed_units_alone_is_there_too() {
    let place = Place::new("bypassed-chain");
    let blocks = ["11101", "12101"];
    let measure = measure(&blocks, "", 3, BypassRule::OnlyChildren);
    measure.to_directory(&place.path("noisy"), &mut Quiet).unwrap();
    let question = Estimate { tables: Some(WholeTables::default()), ..Estimate::new(&place.path("noisy")) };
    let report = question.to_directory(&place.path("out"), &mut Quiet).unwrap();
    let written: Vec<u64> = report.manifest.levels.iter().map(|level| level.units).collect();
    assert_eq!(written, [1, 2, 2, 2]);
    let found = answers(&Estimate::new(&place.path("noisy")));
    let total = |level: &str, code: &str| found[&(level.into(), code.into(), "total".into())][0].unwrap();
    assert!(close(total("Block", "11101").value, total("Tract", "11").value));
    let tables = tables(&place.path("out"));
    assert_eq!(tables.keys().cloned().collect::<BTreeSet<_>>(), units(&blocks));
    assert_eq!(tables[&("Block".into(), "12101".into())], tables[&("Tract".into(), "12".into())]);
}

/// What one folder bypasses and another measures is estimated from the other, too.
#[test]
fn a_unit_that_another_folder_measures_is_known_better() {
    let place = measured("bypassed-two", "");
    measure(&BLOCKS, "", 12, BypassRule::None).to_directory(&place.path("all"), &mut Quiet).unwrap();
    let one = answers(&Estimate::new(&place.path("noisy")));
    let of = |first: &str, second: &str| {
        let noisy = vec![place.path(first), place.path(second)];
        answers(&Estimate { noisy, ..Estimate::new(&place.path(first)) })
    };
    let (both, turned) = (of("noisy", "all"), of("all", "noisy"));
    assert_eq!(both.len(), one.len());
    for (key, found) in &both {
        for (at, found) in found.iter().enumerate() {
            let better = |one: Estimated| found.unwrap().variance < one.variance;
            assert!(one[key][at].is_none_or(better), "{key:?}");
            assert!(found.is_some() && same(*found, turned[key][at]), "{key:?}");
        }
    }
}

#[test]
fn lists_that_do_not_fit_are_refused() {
    let refused = |name: &str, change: &dyn Fn(&Path)| {
        let place = measured(&format!("bypassed-refused-{name}"), "");
        let noisy = place.path("noisy");
        change(&noisy);
        restate(&noisy);
        let error = Estimate::new(&noisy).estimates(&mut Quiet).map(|_| ()).unwrap_err();
        assert!(!error.hint().is_empty());
        error.to_string().replace(&noisy.display().to_string(), "noisy")
    };
    let list = |from: &str, to: &str| {
        assert!(LIST.contains(from));
        let text = LIST.replacen(from, to, 1);
        move |noisy: &Path| fs::write(noisy.join("bypassed.csv"), &text).unwrap()
    };
    assert_eq!(
        refused("level", &list("Tract,21", "Street,21")),
        "noisy/bypassed.csv:2: level: `Street` is not one of Tract, Group, Block"
    );
    assert_eq!(
        refused("twice", &list("Group,131", "Group,111")),
        "noisy/bypassed.csv:4: unit `111` of level `Group` is there twice"
    );
    assert_eq!(
        refused("number", &list("Group,131\n", "")),
        "noisy/bypassed.csv: has 2 units of level `Group`; the manifest says 3"
    );
    assert_eq!(
        refused("measured", &list("Block,12101", "Block,12201")),
        "noisy: unit `12201` of level `Block` is measured and bypassed"
    );
    assert_eq!(
        refused("missing", &list("Block,12101", "Block,31103")),
        "noisy: unit `121` of level `Group` has no units of the levels below"
    );
    assert_eq!(
        refused("nowhere", &list("Block,21101", "Block,91101")),
        "noisy: unit `91101` of level `Block` lies in no unit of the levels above"
    );
    let more = |noisy: &Path| {
        fs::write(noisy.join("bypassed.csv"), format!("{LIST}Block,31103\n")).unwrap();
        change_manifest(noisy, |manifest| manifest["bypassed"]["levels"][2]["units"] = 6.into());
    };
    assert_eq!(
        refused("more", &more),
        "noisy: unit `31103` of level `Block` is bypassed, and is not the only one of the unit above"
    );
    assert!(
        refused("lost", &|noisy| fs::remove_file(noisy.join("bypassed.csv")).unwrap())
            .starts_with("noisy/bypassed.csv: cannot be read: ")
    );
    let entry = |change: fn(&mut Value)| {
        move |noisy: &Path| change_manifest(noisy, |manifest| change(&mut manifest["bypassed"]))
    };
    for (name, change, expected) in [
        (
            "outside",
            (|e| e["file"] = "../list.csv".into()) as fn(&mut Value),
            "bypassed: file `../list.csv`: is not in the directory",
        ),
        ("unknown", |e| e["levels"][0]["level"] = "Street".into(), "bypassed: there is no level `Street`"),
        ("repeated", |e| e["levels"][0]["level"] = "Block".into(), "bypassed: level `Block` is there twice"),
    ] {
        assert_eq!(refused(name, &entry(change)), format!("noisy/manifest.json: {expected}"));
    }
}
