//! Directories of measurements, read back and checked against their manifests.

use std::fs;
use std::path::Path;

use unspent_data::measurements::Reader;
use unspent_data::{Measurements, Quiet};

use crate::support::{Place, measure, restate};

fn written(name: &str) -> Place {
    let place = Place::new(name);
    measure(40).to_directory(&place.path("noisy"), &mut Quiet).unwrap();
    place
}

#[test]
fn rows_are_typed_and_in_order() {
    let place = written("rows");
    let reader = Reader::open(&place.path("noisy")).unwrap();
    let mut rows = 0;
    for (level, file) in reader.files() {
        let read = reader.rows(level, file).unwrap();
        for (i, row) in read.iter(&level.level).enumerate() {
            let query = &level.queries[i % 2];
            assert_eq!((row.level, row.query), (level.level.as_str(), query.query_name.as_str()));
            assert_eq!(row.values.len(), query.length());
            assert_eq!((row.variance, row.plb), (query.noise.variance, query.noise.plb));
            assert!(row.geocode.len() == if row.level == "Town" { 4 } else { 3 });
        }
        rows += read.len();
    }
    assert_eq!(rows, 2 * (4 + 40));
    assert_eq!(reader.manifest().allocation, "Towns");
}

/// Changes a file of a directory that is whole, and returns what is said of it then. The manifest states the
/// digests of what is there.
fn changed(name: &str, change: impl FnOnce(&Path)) -> String {
    let place = written(name);
    change(&place.path("noisy"));
    if place.path("noisy/manifest.json").exists() && name != "json" {
        restate(&place.path("noisy"));
    }
    let error = Measurements::read(&place.path("noisy")).map(|_| ()).unwrap_err();
    assert!(error.is_input(), "{error}");
    error.to_string().replace(&format!("{}/", place.path("noisy").display()), "")
}

fn in_manifest(from: &'static str, to: &'static str) -> impl FnOnce(&Path) {
    move |noisy| {
        let path = noisy.join("manifest.json");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from}: {text}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }
}

#[test]
fn what_is_not_as_the_manifest_says_is_refused_by_name() {
    let part = "town/part-00000.parquet";
    assert_eq!(
        changed("gone", |noisy| fs::remove_file(noisy.join(part)).unwrap()),
        format!("{part}: cannot be read: No such file or directory (os error 2)")
    );
    assert_eq!(
        changed("more", |noisy| fs::copy(noisy.join(part), noisy.join("town/part-00001.parquet"))
            .map(drop)
            .unwrap()),
        "town/part-00001.parquet: is not in the manifest"
    );
    assert_eq!(
        changed("swapped", |noisy| fs::copy(noisy.join("county/part-00000.parquet"), noisy.join(part))
            .map(drop)
            .unwrap()),
        format!("{part}: has 8 rows; the manifest says 80")
    );
    assert!(
        changed("cut", |noisy| {
            let bytes = fs::read(noisy.join(part)).unwrap();
            fs::write(noisy.join(part), &bytes[..bytes.len() / 2]).unwrap();
        })
        .starts_with(&format!("{part}: cannot be read: "))
    );
    assert_eq!(
        changed("unmanifested", |noisy| fs::remove_file(noisy.join("manifest.json")).unwrap()),
        "manifest.json: cannot be read: No such file or directory (os error 2)"
    );
    assert_eq!(
        changed("unwarned", in_manifest("\"warning\"", "\"wasning\"")),
        "manifest.json: says that its noise is not private, without the warning"
    );
    assert_eq!(
        changed("private", |noisy| {
            let path = noisy.join("manifest.json");
            let text = fs::read_to_string(&path).unwrap();
            let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
            json["private"] = true.into();
            json.as_object_mut().unwrap().remove("warning").unwrap();
            fs::write(path, json.to_string()).unwrap();
        }),
        "county/part-00000.parquet: says something else of whether its noise is private"
    );
    assert_eq!(
        changed(
            "variance",
            in_manifest("\"variance\": 5.333333333333333", "\"variance\": 5.333333333333334")
        ),
        "county/part-00000.parquet: query `total`: has other noise than the manifest says"
    );
    assert_eq!(
        changed("shape", |noisy| {
            let path = noisy.join("manifest.json");
            let text = fs::read_to_string(&path).unwrap();
            let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
            json["levels"][1]["queries"][1]["query_shape"] = serde_json::json!([2, 3]);
            fs::write(path, json.to_string()).unwrap();
        }),
        format!("{part}: query `detailed`: has another shape than the manifest says")
    );
    assert_eq!(
        changed("names", in_manifest("\"query_name\": \"total\"", "\"query_name\": \"all\"")),
        "county/part-00000.parquet: query `all`: is missing for a unit, or comes in another order"
    );
    assert!(changed("json", in_manifest("{", "[")).starts_with("manifest.json: is no manifest: "));
}

/// Several hundred damaged files whose digests are stated all the same: all are read, with other values
/// perhaps, or refused as files that cannot be.
#[test]
fn damaged_files_are_refused() {
    let place = written("damaged");
    let path = place.path("noisy/town/part-00000.parquet");
    let good = fs::read(&path).unwrap();
    let mut random = 1u64;
    let mut below = |n: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % n
    };
    let hook = std::panic::take_hook();
    // A library that trips over a damaged file is no news.
    std::panic::set_hook(Box::new(move |panic| {
        if !unspent_data::panics::is_caught() {
            hook(panic);
        }
    }));
    let (mut read, mut refused) = (0, 0);
    for i in 0..600 {
        let mut bytes = good.clone();
        let at = below(bytes.len());
        bytes[at] ^= 1 + below(255) as u8;
        fs::write(&path, bytes).unwrap();
        if i % 20 == 0 {
            let error = Measurements::read(&place.path("noisy")).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("part-00000.parquet: its SHA-256 is "), "{error}");
        }
        restate(&place.path("noisy"));
        match Measurements::read(&place.path("noisy")) {
            Ok(_) => read += 1,
            Err(error) => {
                assert!(error.is_input() && error.to_string().contains("part-00000.parquet: "), "{error}");
                refused += 1;
            }
        }
    }
    assert!(read > 10 && refused > 100, "{read} were read, {refused} refused");
}
