//! Promises that an allocation states: checked, started from, and kept by what is written.

use unspent::{Allocation, Epsilon, Promise, Release, Scaling};

use crate::paths::{certificate, ends};
use crate::support::preset;

#[test]
fn promises_are_checked() {
    let small = |epsilon: &str| {
        let text = format!(
            "name = \"x\"\nneighbours = \"bounded\"\ndelta = \"1e-10\"\nepsilon = \"{epsilon}\"\n[[levels]]\n\
             name = \"a\"\n[levels.sigma2]\nq = 4\nr = 5\n"
        );
        Release::from(Allocation::parse("x", &text).unwrap())
    };
    let delivered = certificate(&small("5")).lines[0].tight.clone();
    let kept = |epsilon: &str| {
        let certificate = certificate(&small(epsilon));
        (certificate.kept, certificate.promises[0].in_words())
    };
    let (broken, words) = kept("5");
    assert_eq!(broken, Some(false));
    assert!(
        words.starts_with("PROMISE NOT KEPT: states epsilon 5 at delta 1e-10, delivers at least "),
        "{words}"
    );
    assert!(words.contains(&delivered.at_least(8)), "{words}");
    assert_eq!(kept(&delivered.at_most(17)).0, Some(true));
    assert_eq!(kept(&delivered.at_least(12)).0, Some(false), "a little less is not kept");
    // What a conversion publishes is kept on every path; nothing is said where nothing is stated.
    assert_eq!(certificate(&preset("pl94-persons-us-2020")).kept, Some(true));
    let silent = "name = \"x\"\nneighbours = \"bounded\"\ndelta = \"1e-10\"\n[[levels]]\nname = \"a\"\n\
     [levels.sigma2]\nq = 4\n";
    assert_eq!(certificate(&Release::from(Allocation::parse("x", silent).unwrap())).kept, None);
}

/// Shares of an epsilon are a complete budget: rho is solved for, tightly, in few digits.
#[test]
fn a_budget_starts_from_epsilon() {
    let text = "name = \"x\"\nneighbours = \"bounded\"\ndelta = \"1e-10\"\nepsilon = \"5\"\n\
                [[levels]]\nname = \"a\"\nshare = \"1/3\"\n[levels.shares]\nq = 1\n\
                [[levels]]\nname = \"b\"\nshare = \"2/3\"\n[levels.shares]\nq = 0.5\nr = 0.5\n";
    let allocation = Allocation::parse("x.toml", text).unwrap();
    let certificate = certificate(&Release::from(allocation.clone()));
    assert_eq!(certificate.kept, Some(true));
    let (lower, upper) = ends(&certificate.lines[0]);
    assert!(upper <= 5.0 && lower > 4.999_999, "{lower} {upper}");
    assert!(allocation.rho().to_string().len() <= 24, "{}", allocation.rho());
    // It is written with its budget and its promise, and reads back the same.
    let file = allocation.to_file().unwrap();
    assert!(
        file.contains("epsilon = \"5\"\n") && file.contains("share = \"1/3\"") && file.contains("\nrho = \""),
        "{file}"
    );
    assert_eq!(Allocation::parse("back", &file).unwrap(), allocation);
    // Without delta it is no promise.
    let error = Allocation::parse("x.toml", &text.replace("delta = \"1e-10\"\n", "")).unwrap_err();
    assert!(error.to_string().contains("epsilon: was promised at some delta"), "{error}");
}

/// What is written keeps its author's unit, and few digits.
#[test]
fn calibrated_files_keep_their_units() {
    let promise = Promise::Epsilon(Epsilon::parse("5").unwrap());
    let written = |text: &str, scaling: Scaling| {
        let allocation = Allocation::parse("x", text).unwrap();
        let found = allocation.calibrate(&promise, scaling, None).unwrap();
        let file = found.allocation.to_file().unwrap();
        let longest = file.split('"').map(str::len).max().unwrap();
        assert!(longest <= 40, "{file}");
        file
    };
    let head = "name = \"x\"\nneighbours = \"bounded\"\ndelta = \"1e-10\"\n";
    let shares = format!(
        "{head}rho = \"7/3\"\n[[levels]]\nname = \"a\"\nshare = \"1/3\"\n[levels.shares]\nq = 1\n[[levels]]\n\
         name = \"b\"\nshare = \"2/3\"\n[levels.shares]\nq = 1\n"
    );
    let file = written(&shares, Scaling::Total);
    assert!(
        file.contains("share = \"1/3\"") && file.contains("share = \"2/3\"") && !file.contains("sigma2"),
        "{file}"
    );
    assert!(file.contains("epsilon = \"5\""), "{file}");
    let file = written(&shares, Scaling::Level);
    assert!(file.contains("\nrho = \"") && !file.contains("sigma2"), "{file}");
    let file =
        written(&format!("{head}[[levels]]\nname = \"a\"\n[levels.sigma2]\nq = \"22/7\"\n"), Scaling::Total);
    assert!(file.contains("[levels.sigma2]\nq = \""), "{file}");
    let file =
        written(&format!("{head}[[levels]]\nname = \"a\"\n[levels.rho]\nq = \"22/7\"\n"), Scaling::Total);
    assert!(file.contains("[levels.rho]\nq = \""), "{file}");
}
