//! An allocation, a table for it, and a place for files.

use std::fs;
use std::path::{Path, PathBuf};

use unspent::Allocation;
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

/// What is in a directory.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
