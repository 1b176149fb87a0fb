//! A folder of noisy measurements, of which one file is another.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use unspent::Allocation;
use unspent_data::{Columns, Estimate, Input, Measure, NoiseSource, Quiet, WholeTables, read_any};

use crate::tables::FOLDER;
use crate::text::{found, refused};

const BUDGET: &str = r#"
name = "Towns"
neighbours = "bounded"
delta = "1e-10"
[queries]
total = []
age = ["age"]
[attributes]
age = ["child", "adult"]
[[levels]]
name = "Land"
sigma2 = { age = 3 }
[[levels]]
name = "Town"
sigma2 = { total = 5, age = "100/3" }
[table]
code = "code"
cells = [{ age = "child", column = "a" }, { age = "adult", column = "b" }]
[table.levels]
Land = 0
Town = 3
"#;

/// Its files, by their paths.
static FILES: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let towns = Columns::new(vec![
        ("code".into(), vec!["101", "102", "201", "202"].into()),
        ("a".into(), vec![120, 0, 7, 3].into()),
        ("b".into(), vec![80, 2, 9, 0].into()),
    ]);
    let allocation = Allocation::parse("budget.toml", BUDGET).expect("a good allocation");
    let measure = Measure {
        noise: NoiseSource::NotPrivate(7),
        ..Measure::new(Input::Columns(towns.expect("good columns")), allocation)
    };
    let path = FOLDER.join("whole");
    measure.to_directory(&path, &mut Quiet).expect("a good table");
    let mut files = vec![];
    collect(&path, Path::new(""), &mut files);
    fs::remove_dir_all(&path).expect("it was made here");
    files.sort();
    files
});

fn collect(folder: &Path, below: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let path = below.join(entry.file_name());
        if entry.path().is_dir() {
            collect(&entry.path(), &path, files);
        } else {
            files.push((path, fs::read(entry.path()).expect("a file")));
        }
    }
}

/// Which file, and its bytes; the first seeds are the folder as it is.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    (0..FILES.len()).map(|i| [&[i as u8], &FILES[i].1[..]].concat()).collect()
}

/// Estimates from the folder with one file of these bytes, and tables that add up.
pub(crate) fn estimate(bytes: &[u8]) -> bool {
    let Some((which, content)) = bytes.split_first() else { return false };
    let which = usize::from(*which) % FILES.len();
    let place = FOLDER.join(format!("{:?}", std::thread::current().id()));
    let (noisy, out) = (place.join("noisy"), place.join("out"));
    let _ = fs::remove_dir_all(&place);
    for (i, (path, good)) in FILES.iter().enumerate() {
        let path = noisy.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(path, if i == which { content } else { good }).expect("it can be written");
    }
    let read = found(read_any(&noisy)).is_some();
    let mut question = Estimate::new(&noisy);
    question.tables = Some(WholeTables::default());
    let good = match question.to_directory(&out, &mut Quiet) {
        Ok(_) => {
            assert!(out.join("manifest.json").is_file());
            true
        }
        Err(error) => {
            refused(&error);
            let left: Vec<_> =
                fs::read_dir(&place).expect("a folder").flatten().map(|e| e.file_name()).collect();
            assert_eq!(left, ["noisy"], "what is refused leaves nothing");
            false
        }
    };
    let _ = fs::remove_dir_all(&place);
    good && read
}
