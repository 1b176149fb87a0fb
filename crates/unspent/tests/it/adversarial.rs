//! Questions made to break a bound: next to a loss, far beyond the doubles, beyond the integers.
//! The truths are exact sums of a few atoms, or the continuous Gaussian where that is as good.

use unspent::{Bounds, Composition, DiscreteGaussian, Epsilon, Magnitude, Rational, Round};

use crate::support::number;

fn release(groups: &[(&str, u64, u64)]) -> Composition {
    let noise = |s: &str, shift| DiscreteGaussian::new(number(s), shift).unwrap();
    Composition::new(groups.iter().map(|(s, n, shift)| (noise(s, *shift), *n))).unwrap()
}

/// The loss at which each of the mechanisms (shift 1) took the value `x`, less `gap`.
fn below_loss(atoms: &[(&str, i64)], gap: &str) -> Epsilon {
    let half = number("1/2");
    let loss = atoms.iter().fold(Rational::integer(0), |sum, (sigma2, x)| {
        sum + (Rational::integer(*x) - half.clone()) / number(sigma2)
    });
    Epsilon::new(loss - number(gap)).unwrap()
}

/// `truth` is right in all but its last digit.
#[track_caller]
fn assert_holds(bounds: &Bounds<Magnitude>, truth: &str, width: f64) {
    let (mantissa, exponent) = truth.split_once('e').unwrap_or((truth, "0"));
    let places = mantissa.split_once('.').map_or(0, |(_, part)| part.len() as i64);
    let unit = number(&format!("1e{}", exponent.parse::<i64>().unwrap() - places));
    let (low, high) = (number(truth) - unit.clone(), number(truth) + unit);
    assert!(
        bounds.lower().to_rational() <= high && low <= bounds.upper().to_rational(),
        "{truth} is not in {:?}",
        bounds.to_decimal()
    );
    assert!(bounds.relative_width() <= width, "{:?}", bounds.to_decimal());
}

#[test]
fn next_to_a_loss() {
    let pair = [("0.0041", 1, 1), ("0.0013", 1, 1)];
    for (atoms, truth) in [([1, 1], "1.0000e-32"), ([2, 1], "1.0896e-85")] {
        let at = below_loss(&[("0.0041", atoms[0]), ("0.0013", atoms[1])], "1e-32");
        assert_holds(&release(&pair).delta(&at).unwrap(), truth, 1e-9);
    }
    let at = below_loss(&[("39/6448", 2)], "6.1e-97");
    assert_holds(&release(&[("39/6448", 1, 1)]).delta(&at).unwrap(), "7.65e-133", 1e-9);
    let at = below_loss(&[("92/6659", 4)], "3.7e-208");
    assert_holds(&release(&[("92/6659", 1, 1)]).delta(&at).unwrap(), "3.3466678314222401e-252", 1e-9);
    for gap in ["7e-324", "1e-315"] {
        let at = below_loss(&[("0.001", 2)], gap);
        let truth = if gap.starts_with('7') { "4.987e-541" } else { "7.1245764067e-533" };
        assert_holds(&release(&[("0.001", 1, 1)]).delta(&at).unwrap(), truth, 1e-9);
    }
    // These used to panic.
    for (sigma2, k) in [("63/6835", 2), ("77/8368", 2), ("83/9299", 5)] {
        let at = below_loss(&[(sigma2, k)], "1e-200");
        let bounds = release(&[(sigma2, 1, 1)]).delta(&at).unwrap();
        assert!(bounds.relative_width() < 1e-9, "{bounds:?}");
    }
}

/// Integers near 10⁸ squared are no doubles.
#[test]
fn far_integers() {
    for (sigma2, shift, epsilon, log10) in
        [("0.15", 500, "947865861865", -117_057_317_598_888_522.96), ("0.001", 1, "1500.5", f64::NAN)]
    {
        let bounds = release(&[(sigma2, 1, shift)]).delta(&Epsilon::parse(epsilon).unwrap()).unwrap();
        let (low, high) = (bounds.lower().log10(Round::Down), bounds.upper().log10(Round::Up));
        assert!(log10.is_nan() || (low <= log10 + 64.0 && log10 - 64.0 <= high), "{low} {high}");
    }
}

/// A lattice so fine that its nodes cannot be counted: N(0, σ²) is as good.
#[test]
fn fine_lattices_with_huge_counts() {
    let many = 1 << 63;
    let first = release(&[("1e12", many, 1), ("400000000000000/401", many, 1)]);
    let bounds = first.delta(&Epsilon::parse("9226305").unwrap()).unwrap();
    assert_holds(&bounds, "0.97724924", 1e-3);
    let second = release(&[("1e12", many, 1), ("1000000000000000/1001", many, 1)]);
    let tail = second.q_tail(&Epsilon::parse("9.222e6").unwrap()).unwrap().to_f64();
    assert!(tail.lower() <= 0.918167 && 0.918166 <= tail.upper(), "{tail:?}");
    let far = second.delta(&Epsilon::parse("9.3e6").unwrap()).unwrap();
    assert_holds(&far, "2.2511e-63", 1.0);
}

/// Secants shorter than a unit of ε, and longer than e^709.
#[test]
fn tails_of_extreme_releases() {
    let slow = release(&[("1000003.1234567891", 3, 1), ("1000999.918273645546", 5, 1)]);
    let at = Epsilon::parse("1e6").unwrap();
    assert!(slow.p_tail(&at).unwrap().upper() <= slow.q_tail(&at).unwrap().upper());
    let fast = release(&[("3.1234567891", 30_000_000_000, 1), ("2.918273645546", 50_000_000, 1)]);
    let fast = fast.with_tolerance(0.5).unwrap();
    // Nothing is known of it, and that is said.
    let error = fast.p_tail(&Epsilon::parse("4803000000").unwrap()).unwrap_err();
    assert!(error.is_tolerance() && error.to_string().contains("reach down to 0"), "{error}");
}

/// Variances so small that the second derivative of log Φ vanishes: Newton steps go anywhere.
#[test]
fn searches_on_flat_transforms_end() {
    for (sigma2, count, shift, delta) in [
        ("0.0038", 1, 100, "1e-2"),
        ("19/5000", 1, 1_000_000, "0.5"),
        ("0.001876", 1000, 5, "1e-26"),
        ("0.002981", 1_000_000, 1, "1e-39"),
    ] {
        let release = release(&[(sigma2, count, shift)]);
        let bounds = release.epsilon(&unspent::Delta::parse(delta).unwrap()).unwrap();
        assert!(bounds.upper() - bounds.lower() <= 1e-3 * bounds.upper(), "{sigma2}: {bounds:?}");
    }
    for (sigma2, count, shift) in [("0.002821274620133", 1, 5), ("0.001762", 5, 5), ("0.00273", 5, 5)] {
        let alpha = unspent::Alpha::parse("0.9999").unwrap();
        let power = release(&[(sigma2, count, shift)]).power(&alpha).unwrap().to_f64();
        assert!(0.9998 < power.lower() && power.upper() <= 1.0, "{power:?}");
    }
}

/// Continuous noise: N(0, 1) moved by 1, P[L > 0] = 1 − Φ(1/2) and Q[L > 0] = Φ(1/2).
#[test]
fn continuous_tails_are_as_good_as_delta() {
    let one = unspent::Gaussian::new(number("1"), number("1")).unwrap();
    let release = Composition::new([(one, 1)]).unwrap();
    let at = Epsilon::parse("0").unwrap();
    assert_holds(&release.p_tail(&at).unwrap(), "0.30853753872598689", 1e-10);
    assert_holds(&release.q_tail(&at).unwrap(), "0.69146246127401310", 1e-10);
    // Smoothed: at least a few digits, also at zero.
    let three = [("3000.123456789123", 40, 1), ("2200.234567891234", 50, 1), ("7000.123498761234", 30, 1)];
    let p = self::release(&three).p_tail(&at).unwrap();
    assert!(p.relative_width() < 0.01, "{p:?}");
}
