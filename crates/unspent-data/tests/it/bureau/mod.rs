//! The Census Bureau's noisy measurement files: what is written is read back, in every encoding.

mod fixture;
mod intervals;
mod refused;

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use unspent::schema::Schema;
use unspent_data::measurements::bureau::{
    BoundValues, BureauDataset, BureauMeasurements, BureauOptions, LevelBounds, Part, Sign,
};
use unspent_data::measurements::{
    AnyMeasurements, ExactMeasurements, ExactValues, RowNoise, Source, read_any,
};
use unspent_data::{LevelMeasurements, QueryMeasurements, Quiet};

use self::fixture::{FixtureRow, Form, PLAIN};
use crate::support::{Place, measure};

/// Numbers that are the same for the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn chance(&mut self) -> bool {
        self.below(2) == 0
    }

    fn shuffle<T>(&mut self, of: &mut [T]) {
        (1..of.len()).rev().for_each(|i| of.swap(i, self.below(i + 1)));
    }
}

/// A product, its columns of attributes, its levels, and queries that are not too long for a test.
struct Product {
    dataset: &'static str,
    schema: &'static str,
    attributes: &'static [&'static str],
    levels: &'static [&'static str],
    queries: &'static [&'static str],
}

const PRODUCTS: [Product; 4] = [
    Product {
        dataset: "US_Person_PL_PROD",
        schema: "pl94-persons",
        attributes: &["hhgq", "votingage", "hispanic", "cenrace"],
        levels: &["US", "State", "Block_Group", "Block"],
        queries: &["total", "cenrace", "hhinstlevels", "votingage * hispanic", "detailed"],
    },
    Product {
        dataset: "PR_Unit_PL_PROD",
        schema: "pl94-units",
        attributes: &["h1"],
        levels: &["State", "County", "Tract"],
        queries: &["detailed"],
    },
    Product {
        dataset: "US_DHCP_PROD",
        schema: "dhc-persons",
        attributes: &["relgq", "sex", "age", "hispanic", "cenrace"],
        levels: &["US", "Prim", "Tract_Subset_Group"],
        queries: &["age_18_64_116 * sex", "hispanic * sex", "popSehsdTargetsRelship"],
    },
    // Its name says nothing, its columns do.
    Product {
        dataset: "units",
        schema: "dhc-units",
        attributes: &["sex", "hhage", "hisp", "race", "elderly", "hhtenshort_3lev", "hhtype_dhch"],
        levels: &["US", "State"],
        queries: &["hisp * hhtenshort_2lev", "tenvacgq"],
    },
];

impl Product {
    /// The shape in files: that of the schema's query, or of a constraint on the first attribute.
    fn full_shape(&self, name: &str, shape: &[u32]) -> Vec<i64> {
        let schema = Schema::shipped(self.schema).unwrap();
        let mut full = vec![1; schema.attributes().len()];
        match schema.queries().iter().find(|query| query.name == name) {
            Some(query) => {
                let parts = schema.resolve(&query.by).unwrap();
                parts.iter().for_each(|part| full[part.attribute] = part.cells as i64);
            }
            None => full[0] = i64::from(shape[0]),
        }
        full
    }

    fn shape(&self, query: &str) -> Vec<u32> {
        let kept: Vec<u32> =
            self.full_shape(query, &[1]).into_iter().filter(|n| *n > 1).map(|n| n as u32).collect();
        if kept.is_empty() { vec![1] } else { kept }
    }

    fn measurements(&self, random: &mut Random) -> BureauMeasurements {
        let mut found = BureauMeasurements {
            schema: self.schema.into(),
            levels: vec![],
            exact: vec![],
            bounds: vec![],
            missing: vec![],
        };
        for level in self.levels {
            let mut codes: Vec<String> =
                (0..1 + random.below(5)).map(|_| format!("{:03}", random.below(1_000))).collect();
            codes.sort();
            codes.dedup();
            let queries = self.queries.iter().map(|name| self.query(random, name, codes.len())).collect();
            found.levels.push(LevelMeasurements { level: (*level).into(), codes: codes.clone(), queries });
            let mut values = |length: usize| -> Vec<i64> {
                (0..length * codes.len()).map(|_| random.below(99_999) as i64).collect()
            };
            let exact = ExactValues { name: "zero".into(), shape: vec![1], values: values(1) };
            let bound =
                |name: &str, sign, values| BoundValues { name: name.into(), sign, shape: vec![2], values };
            let bounds =
                vec![bound("total_lb", Sign::AtLeast, values(2)), bound("total_ub", Sign::AtMost, values(2))];
            let level = level.to_string();
            found.exact.push(ExactMeasurements {
                level: level.clone(),
                codes: codes.clone(),
                queries: vec![exact],
            });
            found.bounds.push(LevelBounds { level, codes, queries: bounds });
        }
        found
    }

    fn query(&self, random: &mut Random, name: &str, units: usize) -> QueryMeasurements {
        let shape = self.shape(name);
        let length: u32 = shape.iter().product();
        let values = (0..length as usize * units).map(|_| random.below(1 << 20) as i64 - (1 << 19)).collect();
        // They are 32-bit floats.
        let all = [456.619_995_117_187_5, 53.25, 5.25];
        let variances: Vec<f64> = (0..units).map(|_| all[random.below(3)]).collect();
        let noises = all.into_iter().filter(|variance| variances.contains(variance));
        let noises: Vec<RowNoise> =
            noises.map(|variance| RowNoise { sigma2: None, laplace: None, variance, rho: None }).collect();
        let place =
            |variance: &f64| noises.iter().position(|noise| noise.variance == *variance).unwrap() as u16;
        let noise_of = variances.iter().map(place).collect();
        QueryMeasurements { name: name.into(), shape, noises, noise_of, values }
    }

    /// Writes a dataset into any files of any form.
    fn write(&self, path: &Path, found: &BureauMeasurements, random: &mut Random, same: Option<Form>) {
        for level in self.levels {
            let folder = path.join(format!("{level}.parquet"));
            let full = |name: &str, shape: &[u32]| self.full_shape(name, shape);
            for (mut rows, part) in fixture::rows(found, level, &full).into_iter().zip(Part::ALL) {
                random.shuffle(&mut rows);
                let files = (1 + random.below(3)).min(rows.len());
                for (i, rows) in rows.chunks(rows.len().div_ceil(files)).enumerate() {
                    let partition = match random.below(3) {
                        0 => String::new(),
                        1 => format!("State=04{i}/"),
                        _ => format!("State=044/County=0441000{i}/"),
                    };
                    let file =
                        folder.join(format!("{}/{partition}part-{i}.c000.snappy.parquet", part.folder()));
                    let form = same.unwrap_or_else(|| any_form(random));
                    fixture::write(&file, &fixture::columns(rows, self.attributes, form), form);
                    let beside = file.with_file_name(format!(".part-{i}.c000.snappy.parquet.crc"));
                    fs::write(beside, "crc").unwrap();
                }
                fs::write(folder.join(part.folder()).join("_SUCCESS"), "").unwrap();
            }
        }
    }

    /// The levels of the product that a dataset with these has not.
    fn missing(&self) -> Vec<String> {
        let schema = Schema::shipped(self.schema).unwrap();
        let levels = schema.layout().unwrap().levels().iter().map(|level| level.name.clone());
        let expected = levels.filter(|level| !(self.dataset.starts_with("PR_") && level == "US"));
        let missing = expected.filter(|level| !self.levels.contains(&level.as_str()));
        missing.map(|level| format!("{level}.parquet")).collect()
    }
}

fn any_form(random: &mut Random) -> Form {
    let lists = [
        ("list", Some("element")),
        ("list", Some("item")),
        ("bag", Some("array_element")),
        ("array", None),
        ("element", None),
    ];
    Form {
        long: [random.chance(), random.chance()],
        double: random.chance(),
        list: lists[random.below(lists.len())],
        optional: random.chance(),
        more: true,
        group: 1 + random.below(7),
        null: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_back_exactly(seed in any::<u64>(), which in 0usize..4) {
        let (random, product) = (&mut Random(seed), &PRODUCTS[which]);
        let mut written = product.measurements(random);
        let place = Place::new("bureau-any");
        let path = place.path(product.dataset);
        product.write(&path, &written, random, None);
        written.missing = product.missing();
        let AnyMeasurements::Bureau(read) = read_any(&path).unwrap() else { panic!("it has no manifest") };
        prop_assert_eq!(&read, &written);

        // One level alone, whose folder's parent has the name.
        let level = product.levels[0];
        let alone = BureauDataset::open(&path.join(format!("{level}.parquet")), &BureauOptions::default());
        let alone = alone.unwrap().read().unwrap();
        prop_assert_eq!(&alone.levels, &written.levels[..1]);
        prop_assert_eq!(&alone.exact, &written.exact[..1]);
        prop_assert_eq!(&alone.bounds, &written.bounds[..1]);
        prop_assert!(alone.missing.is_empty());
    }
}

/// A dataset of PL94 persons, and what is in it.
pub fn persons(name: &str, form: Form) -> (Place, BureauMeasurements) {
    let (place, random) = (Place::new(name), &mut Random(7));
    let written = PRODUCTS[0].measurements(random);
    PRODUCTS[0].write(&place.path(PRODUCTS[0].dataset), &written, random, Some(form));
    (place, written)
}

#[test]
fn rows_come_one_by_one_with_their_own_variance() {
    let (place, written) = persons("bureau-rows", Form { group: 3, ..PLAIN });
    let dataset = BureauDataset::open(&place.path("US_Person_PL_PROD"), &BureauOptions::default()).unwrap();
    assert_eq!(dataset.schema_name(), "pl94-persons");
    assert_eq!(dataset.levels().collect::<Vec<_>>(), ["US", "State", "Block_Group", "Block"]);
    let mut rows = 0;
    for level in &written.levels {
        let found = dataset.rows(&level.level, Part::Noisy, &mut |row| {
            let query = level.queries.iter().find(|query| query.name == row.query).unwrap();
            let unit = level.codes.iter().position(|code| code == row.geocode).unwrap();
            assert_eq!((row.level, row.shape), (level.level.as_str(), &query.shape[..]));
            assert_eq!(row.values, &query.values[unit * query.length()..][..query.length()]);
            assert_eq!((row.variance, row.sign), (query.noise(unit).variance, None));
            rows += 1;
            Ok(())
        });
        found.unwrap();
    }
    assert_eq!(rows, written.levels.iter().map(|level| level.codes.len() * 5).sum::<usize>());
    let mut signs = vec![];
    let take = &mut |row: unspent_data::measurements::bureau::BureauRow<'_>| {
        signs.extend(row.sign.map(|sign| sign.to_string()));
        Ok(())
    };
    dataset.rows("State", Part::Constraint, take).unwrap();
    dataset.rows("Tract", Part::Constraint, take).unwrap();
    assert_eq!(signs.len(), 3 * written.levels[1].codes.len());
    signs.sort();
    signs.dedup();
    assert_eq!(signs, ["<=", "=", ">="]);
}

#[test]
fn missing_folders_are_said() {
    let (place, written) = persons("bureau-missing", PLAIN);
    let path = place.path("US_Person_PL_PROD");
    fs::remove_dir_all(path.join("State.parquet/DPQuery")).unwrap();
    fs::remove_dir_all(path.join("Block.parquet/Constraint")).unwrap();
    fs::remove_dir_all(path.join("US.parquet")).unwrap();
    let read = read_any(&path).unwrap();
    let levels: Vec<&str> = read.levels().iter().map(|level| level.level.as_str()).collect();
    assert_eq!(levels, ["Block_Group", "Block"]);
    assert_eq!(read.exact(), &written.exact[1..3]);
    assert_eq!(read.bounds(), &written.bounds[1..3]);
    assert!(read.manifest().is_none());
    let AnyMeasurements::Bureau(read) = read else { panic!("it has no manifest") };
    assert_eq!(
        read.missing,
        [
            "US.parquet",
            "County.parquet",
            "Tract.parquet",
            "State.parquet/DPQuery",
            "Block.parquet/Constraint"
        ]
    );
}

#[test]
fn unknown_queries_are_kept_on_request() {
    let (place, written) = persons("bureau-unknown", PLAIN);
    let path = place.path("US_Person_PL_PROD");
    let row = |geocode: &String| FixtureRow {
        geocode: geocode.clone(),
        name: "hispanic2_dpq".into(),
        shape: vec![1, 3, 1, 4],
        values: (0..12).collect(),
        variance: 2.0,
        sign: None,
    };
    let rows: Vec<FixtureRow> = written.levels[1].codes.iter().map(row).collect();
    fixture::write(&path.join("State.parquet/DPQuery/x"), &fixture::columns(&rows, &[], PLAIN), PLAIN);
    let options = BureauOptions { keep_unknown: true, ..BureauOptions::default() };
    let read = BureauDataset::open(&path, &options).unwrap().read().unwrap();
    assert_eq!(read.levels[1].queries[..5], written.levels[1].queries);
    let kept = &read.levels[1].queries[5];
    assert_eq!((kept.name.as_str(), &kept.shape[..], kept.values[11]), ("hispanic2", &[3, 4][..], 11));
}

#[test]
fn one_door_takes_our_directories_too() {
    let place = Place::new("bureau-door");
    measure(40).to_directory(&place.path("noisy"), &mut Quiet).unwrap();
    let read = read_any(&place.path("noisy")).unwrap();
    let own = unspent_data::Measurements::read(&place.path("noisy")).unwrap();
    assert_eq!((read.levels(), read.exact()), (&own.levels[..], &own.exact[..]));
    assert_eq!(read.manifest().unwrap().allocation, "Towns");
    assert!(read.bounds().is_empty());
    assert!(matches!(Source::open(&place.path("noisy")).unwrap(), Source::Own(_)));
}

/// More values than are read at a time, and lists of very different lengths.
#[test]
fn a_large_row_group_is_read_in_parts() {
    let place = Place::new("bureau-large");
    let row = |i: i64| {
        let long = i % 2 == 0;
        FixtureRow {
            geocode: format!("{:04}", i / 2),
            name: if long { "detailed_dpq".into() } else { "total_dpq".into() },
            shape: if long { vec![8, 2, 2, 63] } else { vec![1; 4] },
            values: (0..if long { 2_016 } else { 1 }).map(|cell| cell * 3 - i).collect(),
            variance: 5.25,
            sign: None,
        }
    };
    let rows: Vec<FixtureRow> = (0..2_400).map(row).collect();
    let form = Form { list: ("array", None), group: rows.len(), ..PLAIN };
    let path = place.path("US_Person_PL_PROD");
    fixture::write(&path.join("Tract.parquet/DPQuery/a"), &fixture::columns(&rows, &[], form), form);
    let read = read_any(&path).unwrap();
    let level = &read.levels()[0];
    assert_eq!((level.codes.len(), level.codes[1_199].as_str()), (1_200, "1199"));
    let [total, detailed] = &level.queries[..] else { panic!("two queries") };
    assert_eq!(total.values, (0..1_200).map(|i| -2 * i - 1).collect::<Vec<i64>>());
    let expected = (0..1_200).flat_map(|i| (0..2_016).map(move |cell| cell * 3 - 2 * i));
    assert!(detailed.values.iter().copied().eq(expected));
}
