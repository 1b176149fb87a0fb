//! Figures that are known to many digits, and the edges of what can be asked.

use unspent::{Bounds, Composition, Delta, DiscreteGaussian, Epsilon, Magnitude, Method, Rational, Round};

fn release(groups: &[(&str, u64)]) -> Composition {
    Composition::new(groups.iter().map(|(s, n)| (DiscreteGaussian::parse(s, "1").unwrap(), *n))).unwrap()
}

fn census() -> Composition {
    let shares = [20, 274, 85, 131, 238, 118, 3].into_iter().zip([10, 10, 10, 20, 10, 10, 10]);
    let groups = shares.map(|(a, n)| {
        let sigma2 = &Rational::integer(100_000) / &Rational::integer(73 * a);
        (DiscreteGaussian::new(sigma2, 1).unwrap(), n)
    });
    Composition::new(groups).unwrap()
}

fn irrational() -> Composition {
    let root = Rational::parse("root", "1.4142135623730950488016887242096980785697").unwrap();
    let sigma2 = |j: u64| &Rational::integer(5) + &(&root * &Rational::from(j));
    Composition::new((0..80).map(|j| (DiscreteGaussian::new(sigma2(j), 1).unwrap(), 1))).unwrap()
}

/// `value` is right to half a unit in its last digit; the bounds must allow it and be this narrow.
fn assert_epsilon(release: &Composition, delta: &str, value: &str, width: f64) {
    let bounds = release.epsilon(&Delta::parse(delta).unwrap()).unwrap();
    let places = value.split_once('.').unwrap().1.len() as u32;
    let unit = &Rational::integer(1) / &Rational::integer(10u64.pow(places));
    let value: Rational = value.parse().unwrap();
    let exact = |x: f64| Rational::from_f64("", x).unwrap();
    assert!(exact(bounds.lower()) <= &value + &unit && &value - &unit <= exact(bounds.upper()), "{bounds:?}");
    assert!(bounds.upper() - bounds.lower() <= width, "{bounds:?}");
}

fn assert_delta(release: &Composition, epsilon: &str, value: &str, width: f64) {
    let bounds = release.delta(&Epsilon::parse(epsilon).unwrap()).unwrap();
    let value: Rational = value.parse().unwrap();
    assert!(bounds.lower().to_rational() <= value && value <= bounds.upper().to_rational(), "{bounds:?}");
    assert!(bounds.relative_width() <= width, "{bounds:?}");
}

#[test]
fn ten_fold() {
    let release = release(&[("5", 10)]);
    assert_epsilon(&release, "1e-11", "10.1248309344810", 1e-12);
    assert_epsilon(&release, "1e-50", "21.8984804322233", 1e-12);
    assert_delta(&release, "6.57", "1.00473574693982460001524492089e-5", 1e-12);
    assert_delta(&release, "0", "0.519766947536754958676922999528", 1e-11);
    assert_delta(&release, "40", "1.53755265568180573182073925122e-169", 1e-11);
    let variation = release.total_variation().unwrap();
    assert_eq!(variation, release.delta(&Epsilon::parse("0").unwrap()).unwrap());
}

#[test]
fn american_community_survey_and_a_million() {
    assert_epsilon(&release(&[("5000", 1890)]), "1e-5", "2.51298931444041", 1e-12);
    assert_epsilon(&release(&[("1e6", 1_000_000)]), "1e-11", "6.90182024499939", 1e-12);
}

#[test]
fn eighty_fold_census() {
    let release = census();
    assert_eq!((release.method(), release.kinds()), (Method::Lattice, 7));
    assert_eq!(release.rho().unwrap().to_string(), "73/20");
    assert_epsilon(&release, "1e-10", "20.3246897507897", 1e-11);
    for (epsilon, delta) in [
        ("5", "0.207210363764277416116902941915"),
        ("10", "0.00456788436876784340724578912702"),
        ("15", "4.95600312209419845253105050049e-6"),
        ("21.97", "1.66338957440104413589264764792e-12"),
        ("30", "1.92329446074175661481017474946e-23"),
    ] {
        assert_delta(&release, epsilon, delta, 1e-11);
    }
}

#[test]
fn irrational_variances() {
    let release = irrational();
    assert_eq!(release.method(), Method::Smoothing);
    assert_epsilon(&release, "1e-10", "10.4987093571952", 1e-6);
    let at = Epsilon::parse("10.4987093571952").unwrap();
    assert!(release.delta(&at).unwrap().relative_width() <= 1e-6);
    let finer = irrational().with_tolerance(1e-10).unwrap();
    assert_epsilon(&finer, "1e-10", "10.4987093571952", 1e-10);
}

#[test]
fn a_tolerance_that_cannot_be_met_is_an_error_with_the_width_in_it() {
    let error =
        irrational().with_tolerance(1e-15).unwrap().delta(&Epsilon::parse("10").unwrap()).unwrap_err();
    assert!(
        error.is_tolerance() && error.to_string().contains("wider than the tolerance 1.0e-15"),
        "{error}"
    );
    assert!(error.hint().contains("or more"), "{}", error.hint());
    for bad in [0.0, -1.0, 1.0, f64::NAN] {
        assert!(irrational().with_tolerance(bad).unwrap_err().is_input());
    }
}

/// Nothing is NaN, nothing hangs, nothing is silently infinite.
#[test]
fn extremes_are_answered() {
    let sane = |b: &Bounds<Magnitude>| {
        let (low, high) = (b.lower(), b.upper());
        assert!(low <= high && high <= Magnitude::ONE, "{b:?}");
        let text = b.to_decimal();
        assert!(!text.0.contains("inf") && !text.1.contains("NaN"), "{text:?}");
    };
    let many = 1_000_000;
    for (sigma2, count) in
        [("0.01", 1), ("0.01", many), ("5", 1), ("5", many), ("1e12", 1), ("0.001", 1), ("5", 1 << 63)]
    {
        let release = release(&[(sigma2, count)]);
        for epsilon in ["0", "1e-9", "3", "200", "1e6"] {
            sane(&release.delta(&Epsilon::parse(epsilon).unwrap()).unwrap());
        }
        for delta in ["1e-1000", "1e-10", "0.5", "0.999999999999"] {
            let bounds = release.epsilon(&Delta::parse(delta).unwrap()).unwrap();
            assert!(
                bounds.lower() >= 0.0 && bounds.upper().is_finite(),
                "{sigma2} x {count}, {delta}: {bounds:?}"
            );
            assert!(
                bounds.upper() - bounds.lower() <= 1e-9 + 1e-8 * bounds.upper(),
                "{sigma2} x {count}, {delta}: {bounds:?}"
            );
        }
    }
    // δ ≥ δ(0) needs no ε at all.
    assert_eq!(release(&[("5", 1)]).epsilon(&Delta::parse("0.9").unwrap()).unwrap().upper(), 0.0);
    // And far below every double, to seventeen digits.
    let far = release(&[("5", 1)]).delta(&Epsilon::parse("200").unwrap()).unwrap();
    assert_eq!(&far.upper().to_decimal(12, Round::Up), "6.04924195155e-43432");
}

#[test]
fn absurd_releases_are_refused_by_name() {
    let nothing: [(DiscreteGaussian, u64); 0] = [];
    assert!(Composition::new(nothing).unwrap_err().to_string().starts_with("composition: "));
    let error = Composition::new([(DiscreteGaussian::parse("5", "1").unwrap(), 0)]).unwrap_err();
    assert_eq!(error.to_string(), "count: `0` is not a whole number between 1 and 2^63");
    let error = Composition::new([(DiscreteGaussian::parse("1e-3", "1").unwrap(), 1 << 63)]).unwrap_err();
    assert!(error.to_string().contains("a release of rho at most 1e18"), "{error}");
    for (sigma2, shift) in
        [("1e13", "1"), ("1e-4", "1"), ("-5", "1"), ("NaN", "1"), ("5", "0"), ("5", "1000001"), ("5", "1/2")]
    {
        assert!(DiscreteGaussian::parse(sigma2, shift).unwrap_err().is_input());
    }
    assert_eq!(
        Delta::parse("0").unwrap_err().to_string(),
        "delta: `0` is not a number strictly between 0 and 1"
    );
    assert!(
        Delta::parse("1").is_err() && Epsilon::parse("-1e-9").is_err() && Epsilon::parse("1e13").is_err()
    );
}

/// Variances near 10⁻³: a handful of atoms, each below every double. Exact values by brute force
/// in sixty digits.
#[test]
fn sparse_laws_below_the_doubles() {
    let five = ["0.0012", "0.00120012", "0.00120024", "0.00120036", "0.00120048"];
    let six = ["0.001008", "0.001008101", "0.001008202", "0.001008302", "0.001008403", "0.001008504"];
    for (sigmas, epsilon, delta) in
        [(&five[..], "4165.834", "1.74408786964e-542"), (&six[..], "5950.893", "1.126e-646")]
    {
        let release = release(&sigmas.iter().map(|s| (*s, 1)).collect::<Vec<_>>());
        let bounds = release.delta(&Epsilon::parse(epsilon).unwrap()).unwrap();
        let digits = delta.split_once('e').unwrap().0.len() as u32 - 1;
        let (low, high) =
            (bounds.lower().to_decimal(digits, Round::Down), bounds.upper().to_decimal(digits, Round::Up));
        let number = |t: &str| t.parse::<Rational>().unwrap();
        assert!(number(&low) <= number(delta) && number(delta) <= number(&high), "{bounds:?}");
        assert!(bounds.relative_width() < 1e-9, "{bounds:?}");
    }
}
