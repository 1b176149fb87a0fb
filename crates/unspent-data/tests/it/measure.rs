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
    for manifest in [&mut of_files, &mut of_memory] {
        (manifest.started, manifest.finished) = Default::default();
    }
    assert_eq!(serde_json::to_value(of_files).unwrap(), serde_json::to_value(of_memory).unwrap());
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
