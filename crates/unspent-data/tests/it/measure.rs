//! `Measure`: what it releases, and what it refuses.

use std::num::NonZeroUsize;
use std::thread;

use unspent::{ErrorKind, Stop};
use unspent_data::measurements::RowNoise;
use unspent_data::{Columns, Input, Measure, Progress, Quiet, Values};

use crate::support::{BUDGET, Place, budget, columns, measure, names, table};

#[test]
fn memory_and_files_have_the_same_measurements() {
    let place = Place::new("same");
    let measured = measure(40).to_directory(&place.path("noisy"), &mut Quiet).unwrap();
    assert_eq!((measured.manifest.rows, measured.manifest.private), (Some(40), false));
    let read = unspent_data::Measurements::read(&place.path("noisy")).unwrap();
    let kept = measure(40).in_memory(&mut Quiet).unwrap();
    assert_eq!(read.levels, kept.levels);
    let [county, town] = &kept.levels[..] else { panic!("two levels") };
    assert_eq!((county.codes.len(), town.codes.len()), (4, 40));
    assert_eq!(county.codes, ["100", "101", "102", "103"]);
    let detailed = &town.queries[1];
    assert_eq!((detailed.shape.as_slice(), detailed.values.len()), (&[3, 2][..], 240));
    let RowNoise { sigma2, rho, .. } = detailed.noise(0).clone();
    let exact = |number: Option<unspent::Rational>| number.unwrap().to_string();
    assert_eq!((exact(sigma2), exact(rho)), ("100/3".into(), "3/200".into()));
    // Noise of variance 33.3: all of the 240 values within 40 of the exact ones, and not all exact.
    let exact = |i: usize| 100 * (i % 6) as i64 + (i / 6 % 7) as i64;
    let errors: Vec<i64> = detailed.values.iter().enumerate().map(|(i, x)| x - exact(i)).collect();
    assert!(errors.iter().all(|e| e.abs() < 40) && errors.iter().any(|e| *e != 0), "{errors:?}");
    // What the manifest says of both, but where and when.
    let (mut of_files, mut of_memory) = (read.manifest, kept.manifest);
    of_files.levels.iter_mut().for_each(|level| level.files.clear());
    of_files.files.clear();
    for manifest in [&mut of_files, &mut of_memory] {
        (manifest.started, manifest.finished) = Default::default();
    }
    assert_eq!(serde_json::to_value(of_files).unwrap(), serde_json::to_value(of_memory).unwrap());
}

/// The same budget, the towns' detailed query with discrete Laplace noise.
fn laplace(kind: &str) -> unspent::Allocation {
    let own = format!("detailed = {{ mechanism = \"{kind}\", scale = \"7/2\" }}");
    unspent::Allocation::parse("budget.toml", &BUDGET.replace("detailed = \"100/3\"", &own)).unwrap()
}

#[test]
fn laplace_noise_is_drawn_with_its_variance_and_named() {
    let place = Place::new("laplace");
    let noise = unspent_data::NoiseSource::NotPrivate(9);
    let towns = 4_000;
    let measure = || Measure { noise, ..Measure::new(table(towns), laplace("geometric")) };
    measure().to_directory(&place.path("noisy"), &mut Quiet).unwrap();
    let read = unspent_data::Measurements::read(&place.path("noisy")).unwrap();
    assert_eq!(read.levels, measure().in_memory(&mut Quiet).unwrap().levels);
    let detailed = &read.levels[1].queries[1];
    let exact = |i: usize| 100 * (i % 6) as i64 + (i / 6 % 7) as i64;
    let squares = detailed.values.iter().enumerate().map(|(i, x)| ((x - exact(i)).pow(2)) as f64);
    let count = detailed.values.len() as f64;
    // 2α/(1 − α)², α = e^-2/7. Six standard errors of squares, whose variance is at most 6 of their mean's.
    let variance = 24.334_011_408_054_38;
    assert!((squares.sum::<f64>() / count / variance - 1.0).abs() < 6.0 * (6.0 / count).sqrt());
    let RowNoise { sigma2, laplace: scale, variance: written, rho } = detailed.noise(0).clone();
    assert!((written / variance - 1.0).abs() < 1e-14);
    assert_eq!((sigma2, scale.unwrap().to_string()), (None, "7/2".into()));
    assert_eq!(rho.unwrap().to_string(), "2/49");
    let manifest: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(place.path("noisy/manifest.json")).unwrap()).unwrap();
    let [total, detailed] = [0, 1].map(|i| &manifest["levels"][1]["queries"][i]);
    assert_eq!((&detailed["mechanism"], &detailed["scale"]), (&"discrete_laplace".into(), &"3.5".into()));
    assert!(detailed.get("sigma2").is_none() && total.get("mechanism").is_none() && total["sigma2"] == "5");
    // The certificate is that of both kinds.
    let epsilon = |allocation| {
        let certificate = unspent::question::CertificateQuestion::about([allocation]);
        serde_json::to_value(unspent::Ask::answer(&certificate).unwrap()).unwrap()["lines"][0]["tight"]
            .clone()
    };
    assert_eq!(manifest["certificate"]["lines"][0]["tight"], epsilon(laplace("geometric")));
    // What is only known of Gaussian noise is refused.
    let confidence = "0.95".parse().unwrap();
    let error = read.intervals(&confidence).unwrap_err().to_string();
    assert_eq!(error, "intervals: a count has discrete Laplace noise, of scale 7/2");
    let estimate = unspent_data::Estimate::new(&place.path("noisy"));
    let error = estimate.to_directory(&place.path("estimates"), &mut Quiet).err().unwrap().to_string();
    assert_eq!(error, "an estimate: `detailed` at level `Town` of `Towns` has discrete Laplace noise");
}

#[test]
fn noise_on_the_line_is_refused_before_anything_is_read() {
    let place = Place::new("line");
    let measure = Measure::new(table(40), laplace("laplace"));
    let error = measure.to_directory(&place.path("noisy"), &mut Quiet).err().unwrap();
    assert_eq!(error.to_string(), "query `detailed`: Laplace noise cannot be drawn exactly");
    assert!(place.names().is_empty());
}

#[test]
fn threads_do_not_matter() {
    let on = |threads| {
        let threads = NonZeroUsize::new(threads).unwrap();
        Measure { threads, ..measure(500) }.in_memory(&mut Quiet).unwrap().levels
    };
    assert_eq!(on(1), on(2));
    assert_eq!(on(1), on(5));
}

#[test]
fn private_noise_is_another_every_time() {
    let noisy = || {
        let levels = Measure::new(table(40), budget()).in_memory(&mut Quiet).unwrap().levels;
        levels[1].queries[1].values.clone()
    };
    let (one, two) = (noisy(), noisy());
    let same = one.iter().zip(&two).filter(|(a, b)| a == b).count();
    assert!(same < 120, "{same} of 240 are the same");
}

#[test]
fn several_may_be_measured_at_once() {
    let place = Place::new("at-once");
    thread::scope(|scope| {
        for i in 0..4 {
            let place = &place;
            scope.spawn(move || {
                measure(200 + i).to_directory(&place.path(&format!("noisy-{i}")), &mut Quiet).unwrap();
            });
        }
    });
    assert_eq!(place.names(), ["noisy-0", "noisy-1", "noisy-2", "noisy-3"]);
    for i in 0..4 {
        let read = unspent_data::Measurements::read(&place.path(&format!("noisy-{i}"))).unwrap();
        assert_eq!(read.levels[1].codes.len(), 200 + i);
    }
}

/// Changes a column of the table.
fn with_column(name: &str, values: Values) -> Measure {
    let mut columns = columns(40);
    columns.iter_mut().find(|(n, _)| n == name).unwrap().1 = values;
    Measure { table: Input::Columns(Columns::new(columns).unwrap()), ..measure(40) }
}

#[test]
fn what_fails_leaves_nothing_and_tells_no_values() {
    let place = Place::new("fails");
    let refused = |measure: Measure| {
        let error = measure.to_directory(&place.path("noisy"), &mut Quiet).map(|_| ()).unwrap_err();
        assert_eq!(place.names(), [""; 0]);
        error
    };
    let mut negative = vec![7; 40];
    negative[12] = -123_456;
    let error = refused(with_column("c", negative.into()));
    assert_eq!(error.to_string(), "table: row 13: c: is not a count");
    assert_eq!(error.hint(), "counts are never negative");
    assert_eq!(error.revealed().to_string(), "table: row 13: c: `-123456` is not a count");

    let mut codes: Vec<String> = (0..40).map(|i| format!("{}", 1_000 + i)).collect();
    codes.swap(20, 21);
    let error = refused(with_column("code", codes.into()));
    assert_eq!(error.to_string(), "table: row 22: the code of level `Town` is not after the one before");

    let without_table = BUDGET.split("[table]").next().unwrap();
    let allocation = unspent::Allocation::parse("budget.toml", without_table).unwrap();
    let error = refused(Measure { allocation, ..measure(40) });
    assert_eq!(error.kind(), ErrorKind::NoTable);
    assert!(!error.hint().contains("--"), "{}", error.hint());
}

#[test]
fn a_promise_that_is_not_kept_is_refused_unless_it_is_meant() {
    let stating = BUDGET.replacen("delta = \"1e-10\"", "delta = \"1e-10\"\nepsilon = \"0.5\"", 1);
    let allocation = unspent::Allocation::parse("budget.toml", &stating).unwrap();
    let measure = |break_promise| {
        let measure = Measure { break_promise, ..Measure::new(table(40), allocation.clone()) };
        measure.in_memory(&mut Quiet)
    };
    let error = measure(false).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PromiseNotKept);
    assert!(error.to_string().contains("PROMISE NOT KEPT: states epsilon 0.5"), "{error}");
    assert_eq!(measure(true).unwrap().manifest.kept, Some(false));
}

#[test]
fn what_is_there_already_stays() {
    let place = Place::new("exists");
    std::fs::create_dir(place.path("noisy")).unwrap();
    let error = measure(4).to_directory(&place.path("noisy"), &mut Quiet).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Output);
    assert!(error.to_string().ends_with("noisy` exists already"), "{error}");
    assert_eq!(names(&place.path("noisy")), [""; 0]);
    let error = measure(4).to_directory(&place.path("a/b"), &mut Quiet).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Output);
}

/// Tells a run to stop once it has read some rows, or panics then.
struct Ends<'e> {
    stop: &'e Stop,
    panics: bool,
}

impl Progress for Ends<'_> {
    fn rows(&mut self, rows: u64, _part: Option<f64>) {
        if rows > 0 {
            assert!(!self.panics, "somebody who listens has a defect");
            self.stop.tell();
        }
    }
}

#[test]
fn a_run_that_is_stopped_or_panics_leaves_nothing() {
    let place = Place::new("stopped");
    let stop = Stop::new();
    for panics in [false, true] {
        let run = || {
            let mut ends = Ends { stop: &stop, panics };
            measure(6_000).to_directory(&place.path("noisy"), &mut ends).map(|_| ())
        };
        if panics {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
            assert!(caught.is_err());
        } else {
            assert!(stop.run(run).unwrap_err().is_stopped());
        }
        assert_eq!(place.names(), [""; 0]);
    }
    // Nothing stands in the way of another.
    measure(40).to_directory(&place.path("noisy"), &mut Quiet).unwrap();
    assert_eq!(place.names(), ["noisy"]);
}

/// Hears what must be known at once.
#[derive(Default)]
struct Hears(Vec<String>);

impl Progress for Hears {
    fn warning(&mut self, text: &str) {
        self.0.push(text.into());
    }
}

#[test]
fn noise_from_a_seed_is_told_wherever_it_goes() {
    let mut hears = Hears::default();
    let noisy = measure(4).in_memory(&mut hears).unwrap();
    let [warning] = &hears.0[..] else { panic!("one warning") };
    assert!(warning.starts_with("NOT PRIVATE: the noise was made from the fixed seed 7"));
    assert_eq!(noisy.manifest.warning.as_ref(), Some(warning));
    let mut hears = Hears::default();
    let noisy = Measure::new(table(4), budget()).in_memory(&mut hears).unwrap();
    assert!(hears.0.is_empty() && noisy.manifest.private && noisy.manifest.warning.is_none());
}
