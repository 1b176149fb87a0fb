//! An allocation, a table for it, and a place for files.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use unspent::Allocation;
use unspent::file::FileDigest;
use unspent_data::{Columns, Input, Measure, NoiseSource, Values};

/// Two levels, and queries with one value and with six.
pub const BUDGET: &str = r#"
name = "Towns"
neighbours = "add-remove"
delta = "1e-10"
attributes = ["age", "sex"]
[queries]
total = []
detailed = ["age", "sex"]
[[levels]]
name = "County"
sigma2 = { total = "16/3", detailed = 20 }
[[levels]]
name = "Town"
sigma2 = { total = 5, detailed = "100/3" }
[table]
code = "code"
cells = [
  { age = "child", sex = "f", column = "a" },
  { age = "child", sex = "m", column = "b" },
  { age = "adult", sex = "f", column = "c" },
  { age = "adult", sex = "m", column = "d" },
  { age = "old", sex = "f", column = "e" },
  { age = "old", sex = "m", column = "f" },
]
[table.levels]
County = 3
Town = 4
[table.attributes]
age = ["child", "adult", "old"]
sex = ["f", "m"]
"#;

pub fn budget() -> Allocation {
    Allocation::parse("budget.toml", BUDGET).unwrap()
}

/// So many towns, ten in a county.
pub fn columns(towns: i64) -> Vec<(String, Values)> {
    let codes: Vec<String> = (0..towns).map(|i| format!("{:04}", 1_000 + i)).collect();
    let mut columns = vec![("code".into(), codes.into())];
    for (k, name) in ["a", "b", "c", "d", "e", "f"].iter().enumerate() {
        let counts: Vec<i64> = (0..towns).map(|i| 100 * k as i64 + i % 7).collect();
        columns.push(((*name).into(), counts.into()));
    }
    columns
}

pub fn table(towns: i64) -> Input {
    Input::Columns(Columns::new(columns(towns)).unwrap())
}

/// The same noise whenever the seed is the same.
pub fn measure(towns: i64) -> Measure {
    Measure { noise: NoiseSource::NotPrivate(7), ..Measure::new(table(towns), budget()) }
}

/// A directory of a test's own, removed at its end.
pub struct Place(pub PathBuf);

impl Place {
    pub fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("unspent-data-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn names(&self) -> Vec<String> {
        names(&self.0)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes the manifest of a directory of measurements state the digests that its files have now: what is
/// changed in them is then looked for in their contents.
pub fn restate(noisy: &Path) {
    let path = noisy.join("manifest.json");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let restate = |entry: &mut Value, name: &str| {
        let read = fs::read(noisy.join(entry[name].as_str().unwrap()));
        entry["sha256"] = FileDigest::of("", read.unwrap_or_default()).sha256.into();
    };
    for part in ["levels", "exact"] {
        for level in manifest.get_mut(part).and_then(Value::as_array_mut).into_iter().flatten() {
            level["files"].as_array_mut().unwrap().iter_mut().for_each(|file| restate(file, "file"));
        }
    }
    manifest["files"].as_array_mut().unwrap().iter_mut().for_each(|file| restate(file, "name"));
    fs::write(path, serde_json::to_string_pretty(&manifest).unwrap()).unwrap();
}

/// What is in a directory.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
