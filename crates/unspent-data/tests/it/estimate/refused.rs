//! Folders that do not fit together, codes that do not say enough, and noise that would count twice.

use std::fs;
use std::path::Path;

use serde_json::Value;
use unspent::Allocation;
use unspent_data::{Columns, Estimate, Input, Measure, NoiseSource, Quiet};

use super::{NOISY, answers, measure, measured};
use crate::support::{Place, restate};

/// Towns whose code says nothing of their county: `levels` are where codes are.
fn by_columns(levels: &str) -> Measure {
    let text = format!(
        "name = \"x\"\nneighbours = \"bounded\"\ndelta = \"1e-9\"\n\
         [[levels]]\nname = \"Land\"\nsigma2 = {{ total = 2 }}\n\
         [[levels]]\nname = \"County\"\nsigma2 = {{ total = 2 }}\n\
         [[levels]]\nname = \"Town\"\nsigma2 = {{ total = 2 }}\n\
         [table]\ncode = \"town\"\ncells = [{{ column = \"n\" }}]\n[table.levels]\nLand = 0\n{levels}\n"
    );
    let texts = |of: &[&str]| of.iter().map(|text| (*text).to_string()).collect::<Vec<_>>().into();
    let columns = Columns::new(vec![
        ("county".into(), texts(&["1", "1", "10", "10", "11", "11"])),
        ("town".into(), texts(&["1001", "1002", "1101", "1102", "1201", "1202"])),
        ("n".into(), vec![50, 50, 5, 5, 500, 500].into()),
    ]);
    let allocation = Allocation::parse("x.toml", &text).unwrap();
    let table = Input::Columns(columns.unwrap());
    Measure { noise: NoiseSource::NotPrivate(5), ..Measure::new(table, allocation) }
}

#[test]
fn a_unit_is_put_nowhere_that_its_code_does_not_say() {
    let place = Place::new("estimate-columns");
    let joined = "County = \"county\"\nTown = [\"county\", \"town\"]";
    for (name, levels) in
        [("mixed", "County = \"county\"\nTown = 4"), ("apart", "County = \"county\"\nTown = \"town\"")]
    {
        let folder = place.path(name);
        if by_columns(levels).to_directory(&folder, &mut Quiet).is_err() {
            continue;
        }
        let error = Estimate::new(&folder).estimates(&mut Quiet).map(|_| ()).unwrap_err();
        assert!(
            error.to_string().contains("codes of level `Town` do not say in which unit of level `County`"),
            "{error}"
        );
        assert!(error.hint().contains("county"), "{error}");
    }
    by_columns(joined).to_directory(&place.path("joined"), &mut Quiet).unwrap();
    let found = answers(&Estimate::new(&place.path("joined")));
    for (code, count) in [("1", 100.0), ("10", 10.0), ("11", 1000.0)] {
        let county = found[&("County".into(), code.into(), "total".into())][0].unwrap();
        assert!((county.value - count).abs() < 10.0, "{code}: {county:?}");
    }
}

#[test]
fn folders_that_do_not_fit_together_are_refused_and_nothing_is_left() {
    let refused = |name: &str, change: &dyn Fn(&Path)| {
        let place = measured(name, NOISY, false);
        change(&place.path("noisy"));
        let out = place.path("out");
        let error =
            Estimate::new(&place.path("noisy")).to_directory(&out, &mut Quiet).unwrap_err().to_string();
        let left: Vec<_> = fs::read_dir(&place.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["noisy"], "{error}");
        error
    };
    let error =
        refused("estimate-lost", &|noisy| fs::remove_file(noisy.join("town/part-00000.parquet")).unwrap());
    assert!(error.contains("part-00000.parquet: cannot be read"), "{error}");
    let error = refused("estimate-other", &|noisy| {
        fs::copy(noisy.join("county/part-00000.parquet"), noisy.join("town/part-00000.parquet")).unwrap();
        restate(noisy);
    });
    assert!(error.contains("part-00000.parquet: has 15 rows; the manifest says"), "{error}");
    // Another total than the one that was measured would be is seen only in what is exact: two of them.
    let change = |noisy: &Path, from: &str, to: &str| {
        let path = noisy.join("manifest.json");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    };
    let error =
        refused("estimate-noise", &|noisy| change(noisy, "\"sigma2\": \"16/3\"", "\"sigma2\": \"1e-12\""));
    assert!(error.contains("too different") || error.contains("manifest"), "{error}");
    // What the manifest calls a level is what the allocation calls it, also where only totals are known.
    for name in ["levels", "exact"] {
        let error = refused(&format!("estimate-level-{name}"), &|noisy| {
            let path = noisy.join("manifest.json");
            let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            manifest[name][0]["level"] = "Lant".into();
            fs::write(path, manifest.to_string()).unwrap();
        });
        assert!(error.ends_with("allocation.toml: has no level `Lant`"), "{error}");
    }
    let place = measured("estimate-out", NOISY, false);
    fs::create_dir(place.path("out")).unwrap();
    let error = Estimate::new(&place.path("noisy")).to_directory(&place.path("out"), &mut Quiet).unwrap_err();
    assert!(error.to_string().contains("exists already"), "{error}");
}

/// A bit of each file that an estimate reads, at several places.
#[test]
fn what_was_changed_after_the_release_is_refused_and_nothing_is_left() {
    let place = measured("estimate-digest", NOISY, true);
    let (noisy, out) = (place.path("noisy"), place.path("out"));
    let refused = |file: &str| {
        let error = Estimate::new(&noisy).to_directory(&out, &mut Quiet).unwrap_err();
        let (cause, place_of) = (error.to_string(), noisy.join(file));
        assert!(cause.starts_with(&format!("{}: its SHA-256 is ", place_of.display())), "{file}: {cause}");
        assert!(cause.ends_with(" that manifest.json states") && error.is_input(), "{cause}");
        assert!(error.hint().contains("copy it again"), "{}", error.hint());
        assert_eq!(place.names(), ["noisy"], "{file}");
    };
    let parts = ["land", "county", "town", "exact-land"].map(|folder| format!("{folder}/part-00000.parquet"));
    for file in parts.iter().map(String::as_str).chain(["allocation.toml", "bypassed.csv"]) {
        let good = fs::read(noisy.join(file)).unwrap();
        for at in (0..9).map(|i| i * (good.len() - 1) / 8) {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(noisy.join(file), bytes).unwrap();
            refused(file);
        }
        fs::write(noisy.join(file), [&good[..], b"\n"].concat()).unwrap();
        refused(file);
        fs::write(noisy.join(file), good).unwrap();
    }
    // A label of a value, with which the estimate would be of something else.
    let allocation = fs::read_to_string(noisy.join("allocation.toml")).unwrap();
    let turned = allocation.replacen("\"child\", \"adult\"", "\"adult\", \"child\"", 1);
    assert_ne!(turned, allocation);
    fs::write(noisy.join("allocation.toml"), turned).unwrap();
    refused("allocation.toml");
    fs::write(noisy.join("allocation.toml"), allocation).unwrap();
    // A certificate is signed where it lies; nothing is read from it.
    fs::write(noisy.join("certificate.md"), "signed").unwrap();
    Estimate::new(&noisy).to_directory(&out, &mut Quiet).unwrap();
}

#[test]
fn a_manifest_without_digests_is_refused_by_name() {
    let place = measured("estimate-undigested", NOISY, false);
    let path = place.path("noisy/manifest.json");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let refused = |manifest: &Value| {
        fs::write(&path, manifest.to_string()).unwrap();
        let error = Estimate::new(&place.path("noisy")).estimates(&mut Quiet).map(|_| ()).unwrap_err();
        format!("{error}\n{}", error.hint()).replace(&path.display().to_string(), "manifest.json")
    };
    let files = manifest["files"].take();
    manifest["files"] = serde_json::json!([]);
    let unstated = refused(&manifest);
    assert!(
        unstated.starts_with("manifest.json: does not state the SHA-256 of allocation.toml\n"),
        "{unstated}"
    );
    manifest["files"] = files;
    manifest["levels"][0]["files"][0]["sha256"] = "0".into();
    let short = refused(&manifest);
    assert!(short.contains("its SHA-256 is not 64 hexadecimal digits but `0`"), "{short}");
    manifest.as_object_mut().unwrap().remove("files");
    manifest["version"] = "0.1.0".into();
    assert_eq!(
        refused(&manifest),
        "manifest.json: unspent 0.1.0 wrote it without the SHA-256 of its files\n\
         read it with that version: measuring again is another release"
    );
}

#[test]
fn the_same_noise_counts_once() {
    let place = measured("estimate-same", NOISY, false);
    measure(NOISY, 11, false).to_directory(&place.path("seed"), &mut Quiet).unwrap();
    for other in ["noisy", "seed"] {
        let twice = Estimate {
            noisy: vec![place.path("noisy"), place.path(other)],
            ..Estimate::new(&place.path("noisy"))
        };
        let error = twice.estimates(&mut Quiet).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("have the same noise"), "{error}");
    }
}
