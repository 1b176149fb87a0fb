use super::search::SCAN;
use super::*;
use crate::effort::Effort;
use crate::mechanism::{Described, DiscreteGaussian, Entry};
use crate::oracle::{self, text};
use crate::profile::Direction;
use crate::quantity::Rho;

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

fn solved(rest: &[&str], open: &str, target: &Target) -> Result<Solution> {
    let rest: Vec<Described> = rest.iter().map(|text| Described::parse(text).unwrap()).collect();
    let Entry::Open(open) = Entry::parse(open).unwrap() else { panic!("nothing is open: {open}") };
    solve(&rest, &open, target, Direction::Both, Effort::Normal)
}

/// Where δ has a closed form, its inverse lies between the two values, which are next to each other.
#[test]
fn parameters_with_closed_forms_are_found() {
    let (epsilon, delta) = (2.0f64, 1e-6f64);
    let largest = epsilon - 2.0 * float::ln1p(-delta);
    let two = float::ln(float::exp(epsilon) + delta) - float::ln1p(-delta);
    let wanted = target("2", "1e-6");
    for (open, truth) in [
        // δ = 1 − e^{(ε−τ)/2} of one Laplace answer of largest loss τ.
        ("laplace:b=?", 1.0 / largest),
        ("laplace:scale=?,shift=3", 3.0 / largest),
        ("laplace:b=5,shift=?", 5.0 * largest),
        // δ = (e^ε₀ − e^ε)/(1 + e^ε₀) of two values.
        ("randomised_response:k=2,epsilon=?", two),
        ("pure_dp:epsilon=?", two),
        ("subsampled_gaussian:sigma=1,q=?", q_of_one_gaussian(2.0, 1e-6)),
    ] {
        let found = solved(&[], open, &wanted).unwrap_or_else(|e| panic!("{open}: {e}"));
        let next = found.next.expect("a value that misses");
        assert!(next.fails && found.shape == Shape::Monotone, "{open}");
        let (a, b) = (found.value.to_f64().min(next.value.to_f64()), found.value.max(next.value).to_f64());
        assert!(b / a - 1.0 < 1e-9, "{open}: {a} {b}");
        assert!(a * (1.0 - 1e-9) <= truth && truth <= b * (1.0 + 1e-9), "{open}: {truth} in {a} {b}");
    }
}

/// q at which one subsampled Gaussian with σ = 1 has that δ: in the direction of removal
/// δ = (1−q)N(−x) + qN(1−x) − e^εN(−x) with x = ½ + ln((e^ε − 1 + q)/q), by bisection.
fn q_of_one_gaussian(epsilon: f64, delta: f64) -> f64 {
    // The tail of the normal law: its continued fraction, which is good to all digits from 2 on.
    let tail = |x: f64| {
        let fraction = (1..200).rev().fold(x, |rest, k| x + f64::from(k) / rest);
        float::exp(-0.5 * x * x) / (2.0 * std::f64::consts::PI).sqrt() / fraction
    };
    let at = |q: f64| {
        let x = 0.5 + float::ln((float::expm1(epsilon) + q) / q);
        (1.0 - q) * tail(x) + q * tail(x - 1.0) - float::exp(epsilon) * tail(x)
    };
    let (mut low, mut high) = (1e-9f64, 0.1f64);
    for _ in 0..200 {
        let middle = (low * high).sqrt();
        if at(middle) < delta { low = middle } else { high = middle }
    }
    high
}

/// The same noise under three names, and as a factor of all variances.
#[test]
fn the_names_of_a_deviation_agree() {
    let wanted = target("3", "1e-8");
    let value = |open: &str| solved(&[], open, &wanted).unwrap().value.to_f64();
    let sigma2 = value("gaussian:sigma2=?,count=4");
    assert!((value("gaussian:sigma=?,count=4").powi(2) / sigma2 - 1.0).abs() < 1e-9);
    assert!((value("gaussian:scale=?,count=4").powi(2) / sigma2 - 1.0).abs() < 1e-9);
    assert!((value("gdp:mu=?,count=4").powi(-2) / sigma2 - 1.0).abs() < 1e-9);
    let found = solved(&[], "sigma2=?,count=10", &wanted).unwrap();
    let factor = release(&[("1", 10)]).smallest_scale(&wanted).unwrap();
    assert!((found.value.to_f64() / factor.satisfying.to_f64() - 1.0).abs() < 1e-9);
}

/// The largest number of equal mechanisms: one more misses.
#[test]
fn whole_numbers_are_next_to_each_other() {
    for (rest, open) in [
        (&["sigma2=50"][..], "laplace:b=20,count=?"),
        (&[][..], "sigma2=100,count=?"),
        (&[][..], "subsampled_gaussian:sigma=2,q=1/100,count=?"),
        (&["pure_dp:epsilon=1/10"][..], "discrete_laplace:b=40,shift=?"),
    ] {
        let found = solved(rest, open, &target("2", "1e-6")).unwrap_or_else(|e| panic!("{open}: {e}"));
        let next = found.next.clone().unwrap();
        assert!(next.fails && next.value == &found.value + &Rational::integer(1), "{open}: {found:?}");
    }
}

/// Of a zCDP event no lower bound is known: nothing is said to fail.
#[test]
fn one_sided_solutions_say_so() {
    let found = solved(&["sigma2=50"], "zcdp:rho=?", &target("3", "1e-6")).unwrap();
    assert!(!found.next.as_ref().unwrap().fails && found.shape == Shape::Monotone, "{found:?}");
    assert!(target("3", "1e-6").is_met_by(&found.delta));
    let beside = solved(&["zcdp:rho=1/10"], "laplace:b=?,count=3", &target("3", "1e-6")).unwrap();
    assert!(!beside.next.unwrap().fails);
}

/// Every kind, beside others: what is returned is certified, and so is what is said of its neighbour.
#[test]
fn every_parameter_is_found_beside_others() {
    let rest = ["laplace:b=10,count=2", "randomised_response:k=3,epsilon=0.1"];
    let wanted = target("2.5", "1e-5");
    let (low, high) = wanted.delta.value().to_magnitude_bounds();
    for open in [
        "sigma2=?,count=3",
        "gaussian:sigma=?,count=3",
        "discrete_laplace:b=?,shift=2",
        "approximate_dp:epsilon=?,delta=1e-7",
        "truncated_discrete_gaussian:sigma2=?,bound=60",
        "subsampled_gaussian:sigma=?,q=0.01,count=500",
        "subsampled_discrete_gaussian:sigma2=?,q=0.1",
        "subsampled_gaussian:sigma=1,q=?,count=500",
        "gdp:mu=?",
    ] {
        let found = solved(&rest, open, &wanted).unwrap_or_else(|e| panic!("{open}: {e}"));
        assert!(found.delta.upper() <= low, "{open}");
        let next = found.next.clone().unwrap_or_else(|| panic!("{open}: no next"));
        assert!(next.fails && next.delta.lower() > high, "{open}");
        assert!((next.value.to_f64() / found.value.to_f64() - 1.0).abs() < 1e-4, "{open}: {found:?}");
    }
}

#[test]
fn what_the_others_exceed_is_refused_with_their_epsilon() {
    let refused = |rest: &[&str], open: &str| {
        let error = solved(rest, open, &target("2", "1e-6")).unwrap_err();
        assert!(!error.is_input(), "{error}");
        error.to_string()
    };
    let message = refused(&["sigma2=1,count=5"], "laplace:b=?");
    assert!(message.starts_with("the other mechanisms alone exceed the target: their epsilon"), "{message}");
    assert!(message.ends_with("no b of laplace keeps epsilon 2"), "{message}");
    let message = refused(&["approximate_dp:epsilon=0.1,delta=1e-5"], "laplace:b=?");
    assert!(message.contains("revealed for certain"), "{message}");
    let message = refused(&[], "pure_dp:epsilon=3,count=?");
    assert!(message.starts_with("pure_dp: not even count = 1"), "{message}");
}
