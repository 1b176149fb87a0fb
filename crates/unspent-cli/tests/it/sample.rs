//! `unspent sample`: noise as text, CSV and Parquet, and what it refuses.

use std::fs::File;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;

use crate::support::blocks::left_behind;
use crate::support::{Place, stderr, succeeds, succeeds_seeded};

#[test]
fn noise_comes_as_text_csv_or_parquet() {
    let place = Place::new("sample");
    let sample = |more: &[&str]| {
        let all = [&["sample", "--sigma2", "68.49", "--count", "3000000", "--not-private-seed", "5"], more]
            .concat();
        succeeds_seeded(&place.run(&all))
    };
    let numbers = |text: &str| text.lines().skip(1).map(|l| l.parse().unwrap()).collect::<Vec<i64>>();
    let text = numbers(&sample(&[]));
    assert_eq!(text.len(), 3_000_000);
    let squares: f64 = text.iter().map(|x| (x * x) as f64).sum();
    // Six standard errors: a false-alarm rate of 2e-9, with a fixed seed.
    assert!((squares / 3e6 - 68.49).abs() < 6.0 * (2.0f64 / 3e6).sqrt() * 68.49);
    assert_eq!(numbers(&sample(&["--csv", "--threads", "1"])), text);
    sample(&["--out", "noise.txt"]);
    assert_eq!(numbers(&place.read("noise.txt")), text);
    assert_eq!(
        sample(&["--out", "noise.parquet"]),
        "3000000 draws of N_Z(0, 68.49) written to noise.parquet.\n"
    );
    let reader = SerializedFileReader::new(File::open(place.path("noise.parquet")).unwrap()).unwrap();
    let read: Vec<i64> =
        reader.get_row_iter(None).unwrap().map(|row| row.unwrap().get_long(0).unwrap()).collect();
    assert_eq!(read, text);
    // Without a seed it is other noise every time.
    let private = || succeeds(&place.run(&["sample", "--sigma2", "5", "--count", "100"]));
    assert_ne!(private(), private());
}

#[test]
fn laplace_noise_has_its_law_and_says_so() {
    let place = Place::new("sample-laplace");
    let sample = |kind: &str, more: &[&str]| {
        let all = [&["sample", "--mechanism", kind, "--scale", "7/3", "--count", "1000000"], more].concat();
        succeeds_seeded(&place.run(&[&all[..], &["--not-private-seed", "5"]].concat()))
    };
    let text = sample("discrete-laplace", &[]);
    let numbers: Vec<i64> = text.lines().skip(1).map(|l| l.parse().unwrap()).collect();
    let mean = |f: fn(i64) -> f64| numbers.iter().map(|x| f(*x)).sum::<f64>() / 1e6;
    // 2α/(1 − α)² with α = e^-3/7, and P[X = 0] = (1 − α)/(1 + α). Six standard errors, with a fixed seed.
    let (variance, zero) = (10.723_741_749_693_495, 0.211_064_974_441_171_4);
    assert!((mean(|x| (x * x) as f64) / variance - 1.0).abs() < 6.0 * (6f64 / 1e6).sqrt());
    let zeros = mean(|x| f64::from(u8::from(x == 0)));
    assert!((zeros - zero).abs() < 6.0 * (zero / 1e6).sqrt());
    assert_eq!(sample("geometric", &[]), text);
    let said = sample("discrete_laplace", &["--out", "noise.parquet"]);
    assert_eq!(said, "1000000 draws of discrete Laplace noise of scale 7/3 written to noise.parquet.\n");
    let reader = SerializedFileReader::new(File::open(place.path("noise.parquet")).unwrap()).unwrap();
    let notes = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let note = |key: &str| notes.iter().find(|n| n.key == key).and_then(|n| n.value.as_deref());
    assert_eq!(note("unspent.mechanism"), Some("discrete_laplace"));
    assert_eq!((note("unspent.scale"), note("unspent.sigma2")), (Some("7/3"), None));
}

#[test]
fn bad_samples_are_refused_by_name() {
    let place = Place::new("bad-sample");
    for (arguments, message) in [
        ("--sigma2 0 --count 3", "sigma2: `0` is not a variance between 1e-3 and 1e12"),
        ("--sigma2 1e13 --count 3", "sigma2: `1e13` is not a variance between 1e-3 and 1e12"),
        ("--sigma2 five --count 3", "sigma2: `five` is not a number"),
        ("--sigma2 5 --count 0", "--count: `0` is not a whole number between 1 and 1000000000000"),
        ("--sigma2 5 --count 1.5", "--count: `1.5` is not a whole number between 1 and 1000000000000"),
        ("--sigma2 5 --count 3 --threads 0", "--threads: `0` is not a whole number between 1 and 1024"),
        (
            "--sigma2 5 --count 3 --not-private-seed -1",
            "--not-private-seed: `-1` is not a whole number between 0 and 2^64 − 1",
        ),
        (
            "--mechanism discrete-laplace --scale 1e7 --count 3",
            "scale: `10000000` is not a scale b between 1e-3 and 1e6 of discrete Laplace noise that is drawn",
        ),
        (
            "--mechanism discrete-laplace --sigma 3 --count 3",
            "--sigma is a width of Gaussian noise, not of Laplace noise",
        ),
        ("--mechanism geometric --count 3", "nothing says how wide the noise is"),
        (
            "--mechanism laplace --scale 3 --count 3",
            "--mechanism: `laplace` is not noise that is drawn: discrete-gaussian or discrete-laplace",
        ),
        ("--sigma2 5 --count 3 --out noise.json", "--out: `noise.json` does not end in .txt, .csv, .parquet"),
    ] {
        let output = place.run(&[&["sample"], &arguments.split(' ').collect::<Vec<_>>()[..]].concat());
        let errors = stderr(&output);
        assert_eq!(errors.lines().next(), Some(format!("error: {message}").as_str()));
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    }
    assert_eq!(left_behind(&place), [""; 0]);
}
