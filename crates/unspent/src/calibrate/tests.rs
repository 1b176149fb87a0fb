use super::*;
use crate::mechanism::DiscreteGaussian;
use crate::oracle::{self, text};

fn target(epsilon: &str, delta: &str) -> Target {
    Target { epsilon: Epsilon::parse(epsilon).unwrap(), delta: Delta::parse(delta).unwrap() }
}

fn release(groups: &[(&str, u64)]) -> Composition {
    Composition::new(groups.iter().map(|(s, n)| (DiscreteGaussian::parse(s, "1").unwrap(), *n))).unwrap()
}

fn check(release: &Composition, found: &Calibration, target: &Target) {
    let delta =
        |factor: &Rational| release.with_sigma2(|_, s| s * factor).unwrap().delta(&target.epsilon).unwrap();
    let (low, high) = target.delta.value().to_magnitude_bounds();
    assert!(delta(&found.satisfying).upper() <= low);
    if let Some(failing) = &found.failing {
        assert!(failing < &found.satisfying);
        assert!(delta(failing).lower() > high);
    }
}

/// A target that is no double lies between two: only what is not above the lower one certainly meets it.
#[test]
fn verdicts_are_on_the_safe_side() {
    let target = target("1", "1e-10");
    let (low, high) = target.delta.value().to_magnitude_bounds();
    assert!(low.to_rational() < *target.delta.value() && *target.delta.value() < high.to_rational());
    let known = |lower, upper| target.verdict(&Bounds::new(lower, upper));
    let above = Magnitude::from_f64(high.to_f64(Round::Up).next_up());
    assert_eq!(known(Magnitude::ZERO, low), Verdict::Meets);
    assert_eq!([known(low, high), known(high, high)], [Verdict::Undecided; 2]);
    assert_eq!([known(high, above), known(low, Magnitude::ONE)], [Verdict::Undecided; 2]);
    assert_eq!([known(above, above), known(above, Magnitude::ONE)], [Verdict::Misses; 2]);
    // A target that is one: δ may be equal to it.
    let half = super::Target { delta: Delta::parse("0.5").unwrap(), ..target };
    let exactly = half.delta.value().to_bounds();
    assert_eq!(half.verdict(&exactly), Verdict::Meets);
}

/// Between the answer and its witness δ crosses the target, where the oracle says that it does.
#[test]
fn calibrations_enclose_the_exact_crossing() {
    for case in oracle::guarantees("calibrations") {
        let release = oracle::composition(&case);
        let target = target(text(&case["epsilon"]), text(&case["delta"]));
        let (missing, meeting) = oracle::enclosure(&case["factor"]);
        for found in [release.scale_meeting(&target).unwrap(), release.smallest_scale(&target).unwrap()] {
            let failing = found.failing.unwrap();
            assert!(found.satisfying >= meeting, "{case}: {} is too little", found.satisfying);
            assert!(failing <= missing, "{case}: {failing} is enough");
            let gap = found.satisfying.to_f64() / failing.to_f64() - 1.0;
            assert!(gap < 1e-8, "{case}: {gap:e}");
        }
        let made = release.with_sigma2(|_, sigma2| sigma2 * &missing).unwrap();
        assert!(!made.meets(&target).unwrap(), "{case}: what misses the target is said to meet it");
    }
}

/// State level of the paper's Table 1: σ² = 50000/10001 against the Bureau's ε at 10⁻¹¹.
#[test]
fn paper_table_one_state() {
    let release = release(&[("50000/10001", 10)]);
    let rho = Rho::new(release.rho().unwrap()).unwrap();
    let delta = Delta::parse("1e-11").unwrap();
    let published = rho.epsilon_bun_steinke(&delta);
    let target = Target { epsilon: Epsilon::new(Rational::from_f64("", published).unwrap()).unwrap(), delta };
    let found = release.smallest_scale(&target).unwrap();
    let sigma2 = 50000.0 / 10001.0 * found.satisfying.to_f64();
    assert!((sigma2 - 4.245382).abs() < 1e-6, "{sigma2}");
    assert_eq!(found.shape, Shape::Scanned(SCAN + 1));
    check(&release, &found, &target);
    let gap = found.satisfying.to_f64() / found.failing.unwrap().to_f64() - 1.0;
    assert!(gap < 1e-10, "{gap}");
}

#[test]
fn one_group_with_the_others_fixed() {
    let release = release(&[("5", 10), ("20", 10)]);
    let target = target("12", "1e-10");
    let found = release.smallest_sigma2(1, &target).unwrap();
    let at = |s: &Rational| {
        let made = release.with_sigma2(|i, old| if i == 1 { s.clone() } else { old.clone() });
        made.unwrap().delta(&target.epsilon).unwrap()
    };
    assert!(at(&found.satisfying).upper().to_rational() <= *target.delta.value());
    assert!(at(&found.failing.unwrap()).lower().to_rational() > *target.delta.value());
    assert!(release.smallest_sigma2(2, &target).is_err());
}

/// One mechanism at ε = 3: δ grows with σ² over whole stretches between 0.2 and 0.6.
#[test]
fn a_set_that_is_no_interval_is_reported() {
    let release = release(&[("1", 1)]);
    let mut seen = false;
    // Around 2.6068e-4 the rise is above σ² = 1: from 1.17 to 1.305.
    for delta in ["2.6068e-4", "0.08", "0.1", "0.12", "0.15", "0.2"] {
        let target = target("3", delta);
        let found = release.smallest_scale(&target).unwrap();
        check(&release, &found, &target);
        assert!(delta.len() < 5 || found.satisfying.to_f64() > 1.305, "{found:?}");
        if let Shape::Islands(islands) = &found.shape {
            seen = true;
            for island in islands {
                assert!(*island < found.satisfying);
                let delta = release.with_sigma2(|_, s| s * island).unwrap().delta(&target.epsilon).unwrap();
                assert!(delta.upper().to_rational() <= *target.delta.value());
            }
        }
    }
    assert!(seen, "a gap exists for some of these targets");
}

/// Targets at which δ cannot be told from 1, and noise at the ends of what is allowed: whatever is returned
/// must have been certified as it is returned, and something must be.
#[test]
fn nothing_is_returned_that_was_not_certified() {
    let nearly_one = "0.99999999999999999999";
    for (sigma2, n, epsilon, delta) in [
        ("1.7", 1, "0", nearly_one),
        ("1.7", 1, "1e-9", nearly_one),
        ("0.0011", 1, "1020", "1e-10"),
        ("0.001", 1, "1300", "1e-10"),
        ("3", 1, "1000000", "0.5"),
        ("7", 1, "1000000", "0.5"),
        ("5/7", 3, "1e12", "1e-300"),
    ] {
        let (release, target) = (release(&[(sigma2, n)]), target(epsilon, delta));
        for found in [release.scale_meeting(&target), release.smallest_scale(&target)] {
            match found {
                Ok(found) => check(&release, &found, &target),
                Err(error) => assert!(!error.is_input(), "{sigma2} {epsilon} {delta}: {error}"),
            }
        }
    }
}

#[test]
fn ends_of_the_range_are_answers_or_errors() {
    let easy = release(&[("5", 1)]).smallest_scale(&target("1000", "0.5")).unwrap();
    assert!(easy.failing.is_none() || easy.satisfying.to_f64() < 0.01);
    let error = release(&[("5", 1 << 62)]).smallest_scale(&target("0", "1e-300")).unwrap_err();
    assert!(!error.is_input() && error.to_string().contains("1e12"), "{error}");
}
