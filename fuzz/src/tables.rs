//! Tables of counts, rows for units or for combinations of values, and records: CSV and Parquet.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::sync::LazyLock;

use flate2::read::GzEncoder;
use unspent::Allocation;
use unspent_data::table::Wanted;
use unspent_data::{Input, Measure, NoiseSource, Quiet, Table};

use crate::text::{found, refused};

/// A folder of this process, in memory where the system has such a place.
pub(crate) static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let shared = PathBuf::from("/dev/shm");
    let place = if shared.is_dir() { shared } else { std::env::temp_dir() };
    let folder = place.join(format!("unspent-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder can be made");
    folder
});

/// A level of towns and one above, with a certificate that is made quickly; the table's part is added.
const BUDGET: &str = r#"
name = "Towns"
neighbours = "add-remove"
delta = "1e-10"
attributes = ["age", "sex"]
[queries]
detailed = ["age", "sex"]
[[levels]]
name = "County"
sigma2 = { detailed = 4 }
[[levels]]
name = "Town"
sigma2 = { detailed = 4 }
[table]
code = "code"
"#;
const ATTRIBUTES: &str = r#"
[table.levels]
County = 1
Town = 3
[table.attributes]
age = ["child", "adult"]
sex = ["f", "m"]
"#;
const CELLS: &str = r#"cells = [
  { age = "child", sex = "f", column = "a" },
  { age = "child", sex = "m", column = "b", minus = "a" },
  { age = "adult", sex = "f", column = "c" },
  { age = "adult", sex = "m", column = "d" },
]"#;

/// Rows that are units, rows with a count, and records.
static BUDGETS: LazyLock<[Allocation; 3]> = LazyLock::new(|| {
    [CELLS, "count = \"people\"", ""].map(|rows| {
        Allocation::parse("budget.toml", &format!("{BUDGET}{rows}{ATTRIBUTES}")).expect("a good allocation")
    })
});

const UNITS: &str = "code,a,b,c,d\n101,0,3,2,1\n102,5,7,0,0\n201,1,1,1,1\n";
const LONG: &str = "code,age,sex,people\n101,child,f,3\n101,adult,m,12\n201,child,m,1\n102,adult,f,2\n";
const RECORDS: &str = "code;age;sex\n101;child;f\n102;adult;m\n201;\"child\";m\n201;adult;f\n";

pub(crate) fn csv_seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = [UNITS, LONG, RECORDS].map(Into::into).to_vec();
    seeds.push(LONG.replace(',', "\t").into());
    seeds.push(UNITS.replace('\n', "\r\n").into());
    for text in [UNITS, LONG] {
        let mut packed = vec![];
        GzEncoder::new(text.as_bytes(), flate2::Compression::fast())
            .read_to_end(&mut packed)
            .expect("memory");
        seeds.push(packed);
    }
    seeds
}

/// They are committed: no table is written as Parquet here.
pub(crate) fn parquet_seeds() -> Vec<Vec<u8>> {
    vec![]
}

pub(crate) fn csv(bytes: &[u8]) -> bool {
    table(bytes, "table.csv")
}

pub(crate) fn parquet(bytes: &[u8]) -> bool {
    table(bytes, "table.parquet")
}

fn table(bytes: &[u8], name: &str) -> bool {
    // Tests may run on several threads.
    let name = format!("{:?}-{name}", std::thread::current().id());
    let path = FOLDER.join(name);
    fs::write(&path, bytes).expect("the folder can be written");
    let input = || Input::File(path.clone());
    let columns = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect::<Vec<_>>();
    let (codes, values, counts) = (columns(&["code"]), columns(&["age", "sex"]), columns(&["people"]));
    let wanted = Wanted { codes: &codes, values: &values, counts: &counts };
    let rows = Table::open(input(), wanted).and_then(|table| {
        let mut rows = 0;
        table.rows(&mut Quiet, &mut |row| {
            assert_eq!((row.codes.len(), row.values.len(), row.counts.len()), (1, 2, 1));
            assert!(row.counts[0] >= 0);
            rows += 1;
            Ok(())
        })?;
        Ok(rows)
    });
    let mut good = found(rows).is_some_and(|rows: u64| rows > 0);
    // As the columns say that there are.
    let names = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
    let which = if names(b"people") { 1 } else { usize::from(names(b"age")) * 2 };
    let measure =
        Measure { noise: NoiseSource::NotPrivate(7), ..Measure::new(input(), BUDGETS[which].clone()) };
    match measure.in_memory(&mut Quiet) {
        Ok(noisy) => {
            good = true;
            for level in &noisy.levels {
                // Each once, whatever the order of codes is: as texts, or as numbers.
                let different = level.codes.iter().collect::<BTreeSet<_>>().len();
                assert_eq!(different, level.codes.len(), "{:?}", level.codes);
                assert!(level.queries.iter().all(|query| query.values.len() == 4 * level.codes.len()));
            }
        }
        Err(error) => refused(&error),
    }
    good
}
