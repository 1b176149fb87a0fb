//! A folder of noisy measurements, of which one file is another.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use unspent::Allocation;
use unspent::file::FileDigest;
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

/// Which file, and its bytes: all are the folder as it is.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    (0..FILES.len()).map(|i| [&[i as u8], &FILES[i].1[..]].concat()).collect()
}

/// A manifest that states the digest of what another file has now.
fn restated(manifest: &[u8], good: &[u8], content: &[u8]) -> Vec<u8> {
    let [good, content] = [good, content].map(|bytes| FileDigest::of("", bytes).sha256);
    String::from_utf8_lossy(manifest).replace(&good, &content).into_bytes()
}

/// Estimates from the folder with one file of these bytes, and tables that add up. The manifest states the
/// file's digest, so that the bytes are read; from 128 on it does not, and they must be refused.
pub(crate) fn estimate(bytes: &[u8]) -> bool {
    let Some((which, content)) = bytes.split_first() else { return false };
    let (is_stated, which) = (*which < 128, usize::from(*which % 128) % FILES.len());
    let (changed, original) = &FILES[which];
    let is_read =
        changed == Path::new("allocation.toml") || changed.extension().is_some_and(|e| e == "parquet");
    let place = FOLDER.join(format!("{:?}", std::thread::current().id()));
    let (noisy, out) = (place.join("noisy"), place.join("out"));
    let _ = fs::remove_dir_all(&place);
    for (i, (path, good)) in FILES.iter().enumerate() {
        let path = noisy.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        let stated = match (i == which, is_stated && path.ends_with("manifest.json")) {
            (true, _) => content.to_vec(),
            (false, true) => restated(good, original, content),
            (false, false) => good.clone(),
        };
        fs::write(path, stated).expect("it can be written");
    }
    let read = found(read_any(&noisy)).is_some();
    let mut question = Estimate::new(&noisy);
    question.tables = Some(WholeTables::default());
    let good = match question.to_directory(&out, &mut Quiet) {
        Ok(_) => {
            assert!(is_stated || !is_read || content == original, "{} was changed", changed.display());
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
