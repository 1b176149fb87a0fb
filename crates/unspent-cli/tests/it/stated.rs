//! Noise is stated as a standard deviation or as its square, everywhere by the same three names, and
//! nothing offers one for the other without saying that it is the square.

use std::fs;

use unspent::Allocation;

use crate::support::{Place, stderr, stdout};

const MEANING: &str = "sigma and scale are the standard deviation, sigma2 is its square, the variance";

/// What a command that succeeds prints.
#[track_caller]
fn says(place: &Place, command: &str) -> String {
    let output = place.say(command);
    let stderr = stderr(&output);
    assert!(output.status.success(), "{command}: {stderr}");
    stdout(&output).into()
}

/// What one that fails says.
#[track_caller]
fn refuses(place: &Place, command: &str) -> String {
    let output = place.say(command);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{command}");
    stderr(&output).into()
}

#[test]
fn flags() {
    let place = Place::new("flags");
    fs::write(
        place.path("table.toml"),
        "[table]\ncode = \"block\"\ncells = [{ sex = \"m\", column = \"m\" }, { sex = \"f\", column = \"f\" \
         }]\n\
         [table.levels]\nBlock = 2\n[table.attributes]\nsex = [\"m\", \"f\"]\n",
    )
    .unwrap();
    place.write("table.csv", "block,m,f\n01,3,9\n02,1,0\n");
    let mut survey = String::from(
        "geo_id,name,pop25plus,lt_9th_grade,g9_12_no_diploma,hs_graduate,some_college_no_degree,associates,\
         bachelors_or_higher,median_earnings\n",
    );
    for (i, high) in [100, 200, 300, 600].iter().enumerate() {
        survey += &format!("0400000US{i:02},S{i},1000,50,50,{},100,100,{high},{i}0000\n", 700 - high);
    }
    place.write("survey.csv", survey);
    for (variance, deviation) in [
        (
            "account --mechanism sigma2=6.25,count=10 --delta 1e-10 --json",
            "account --mechanism KEY=2.5,count=10 --delta 1e-10 --json",
        ),
        (
            "sample --sigma2 6.25 --count 50 --not-private-seed 1",
            "sample --KEY 2.5 --count 50 --not-private-seed 1",
        ),
        ("interval 12 --sigma2 6.25 --json", "interval 12 --KEY 2.5 --json"),
        (
            "utility table.csv --schema table.toml --sigma2 Block=6.25:4 --json",
            "utility table.csv --schema table.toml --KEY Block=2.5:2 --json",
        ),
        (
            "regress survey.csv --before 6.25 --after sigma2=4 --trials 100 --not-private-seed 1 --json",
            "regress survey.csv --before KEY=2.5 --after KEY=2 --trials 100 --not-private-seed 1 --json",
        ),
    ] {
        let expected = says(&place, variance);
        for key in ["sigma", "scale"] {
            assert_eq!(says(&place, &deviation.replace("KEY", key)), expected, "{key}");
        }
        assert_ne!(says(&place, &deviation.replace("KEY", "sigma2")), expected);
    }
    let both = format!("hint: give one of sigma2, sigma and scale: {MEANING}\n");
    assert_eq!(
        refuses(&place, "sample --sigma 5 --sigma2 25 --count 1"),
        format!("error: the noise is given twice, as sigma2 and as sigma\n{both}")
    );
    assert_eq!(refuses(&place, "interval 12"), format!("error: nothing says how wide the noise is\n{both}"));
    assert!(
        refuses(&place, "utility table.csv --schema table.toml --sigma Block=2:1 --scale block=2")
            .starts_with("error: --scale: the noise of level `block` is given twice\n")
    );
    assert_eq!(
        refuses(&place, "sample --sigma -5 --count 1"),
        format!(
            "error: sigma: `-5` is not a positive standard deviation whose square is between 1e-3 and 1e12\n\
             hint: {MEANING}\n"
        )
    );
}

/// A report without the digest of the file, which is another for every spelling.
fn without_file(json: &str) -> String {
    let mut report: serde_json::Value = serde_json::from_str(json).unwrap();
    report["products"][0]["file"].take();
    report.to_string()
}

#[test]
fn files_and_tables() {
    let place = Place::new("files");
    let file = |key: &str, number: &str| {
        format!(
            "name = \"x\"\nneighbours = \"bounded\"\ndelta = \"1e-10\"\n[queries]\na = []\n\
             b = {{ shift = 3 }}\n\
             [[levels]]\nname = \"L\"\n[levels.{key}]\na = {number}\nb = \"{number}\"\n"
        )
    };
    let certificate = |key: &str, number: &str| {
        place.write("x.toml", file(key, number));
        without_file(&says(&place, "certificate x.toml --json"))
    };
    let table = |key: &str, number: &str| {
        fs::write(place.path("x.csv"), format!("level,query,{key},shift\nL,a,{number},1\nL,b,{number},3\n"))
            .unwrap();
        without_file(&says(&place, "certificate x.csv --neighbours bounded --delta 1e-10 --json"))
    };
    for read in [&certificate as &dyn Fn(&str, &str) -> String, &table] {
        assert_eq!(read("sigma", "2.5"), read("sigma2", "6.25"));
        assert_eq!(read("scale", "2.5"), read("sigma2", "6.25"));
        assert_ne!(read("sigma", "2.5"), read("sigma2", "2.5"));
    }
    // The longest there are, written as what they are read from.
    for number in ["2.5", &format!("1.{}", "1".repeat(60))] {
        let read = Allocation::parse("x", &file("scale", number)).unwrap();
        assert_eq!(Allocation::parse("x", &read.to_file().unwrap()), Ok(read));
    }
    place.write("x.toml", file("sigma", "2") + "[levels.sigma2]\na = 4\n");
    assert!(
        refuses(&place, "certificate x.toml").contains("level `L`: its budget is incomplete or given twice")
    );
    place.write("x.csv", "level,query,sigma,sigma2\nL,a,2,4\n");
    assert!(
        refuses(&place, "certificate x.csv --neighbours bounded")
            .contains("one of the columns rho, sigma2, sigma and scale must be there, and only one")
    );
    // Its square would be too long for the file that it is written to.
    let long = format!("1.{}", "1".repeat(200));
    place.write("x.toml", file("scale", &long));
    assert!(refuses(&place, "certificate x.toml").contains(
        "scale: `1.1111111111111111111111111111111111111111111111111111111111…` is not a \
             number whose square has"
    ));
}

#[test]
fn hints() {
    let place = Place::new("hints");
    place.write("x.csv", "level,query,sigm\nL,a,5\n");
    fs::write(
        place.path("x.toml"),
        "name = \"x\"\nneighbours = \"bounded\"\n[[levels]]\nname = \"L\"\n[levels.sigma3]\na = 5\n",
    )
    .unwrap();
    for command in [
        "sample --sigm 5 --count 1",
        "sample --sigma-squared 5 --count 1",
        "sample --scales 5 --count 1",
        "interval 12 --sigma3 5",
        "utility x.csv --sgma Block=5",
        "account --sigma 5 --delta 1e-5",
        "account --sigma2 5 --delta 1e-5",
        "account --scale 5 --delta 1e-5",
        "account --mechanism sigma=5,sigma2=25 --delta 1e-5",
        "regress x.csv --before sgima=5 --after 4",
        "certificate x.csv --neighbours bounded",
        "certificate x.toml",
    ] {
        let said = refuses(&place, command);
        assert!(said.trim_end().ends_with(MEANING), "{command}: {said}");
    }
}
