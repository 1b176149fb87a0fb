//! What must hold whatever the numbers are: equal mechanisms in other words, other orders, and parameters
//! that nobody would choose.

use crate::mechanism::{
    ApproximateDp, Base, DiscreteGaussian, DiscreteLaplace, Finite, Gaussian, Laplace, Mechanism,
    RandomisedResponse, Subsampled, TruncatedDiscreteGaussian, Truth,
};
use crate::number::big::Draws;
use crate::number::{Bounds, Magnitude, Rational, Round, float};
use crate::profile::{Direction, Point};
use crate::{Composition, Result};

fn exact(text: &str) -> Rational {
    text.parse().unwrap()
}

fn gaussian(sigma2: &str) -> Mechanism {
    Gaussian::new(exact(sigma2), exact("1")).unwrap().into()
}

fn laplace(scale: &str) -> Mechanism {
    Laplace::new(exact(scale), exact("1")).unwrap().into()
}

fn geometric(scale: &str, shift: u64) -> Mechanism {
    DiscreteLaplace::new(exact(scale), shift).unwrap().into()
}

fn response(k: u64, epsilon: &str) -> Mechanism {
    RandomisedResponse::new(k, Truth::Epsilon(exact(epsilon))).unwrap().into()
}

fn event(epsilon: &str, delta: &str) -> Mechanism {
    ApproximateDp::new(exact(epsilon), exact(delta)).unwrap().into()
}

fn sampled(base: Base, q: &str) -> Mechanism {
    Mechanism::Subsampled(Subsampled::new(base, exact(q)).unwrap())
}

fn dp_sgd(sigma2: &str, q: &str) -> Mechanism {
    sampled(Base::Gaussian(Gaussian::new(exact(sigma2), exact("1")).unwrap()), q)
}

fn finite(p: &[&str], q: &[&str]) -> Mechanism {
    let list = |masses: &[&str]| masses.iter().map(|m| exact(m)).collect();
    Finite::new(list(p), list(q)).unwrap().into()
}

fn at(groups: &[(Mechanism, u64)], direction: Direction, epsilon: &str) -> Bounds<Magnitude> {
    let made = Composition::new(groups.to_vec()).unwrap().in_direction(direction).unwrap();
    made.accountant().delta(&Point::new(exact(epsilon)), 1e-6).delta
}

#[track_caller]
fn assert_same(a: &[(Mechanism, u64)], b: &[(Mechanism, u64)], epsilons: &[&str]) {
    for direction in Direction::ALL {
        for epsilon in epsilons {
            let (a, b) = (at(a, direction, epsilon), at(b, direction, epsilon));
            assert!(a.overlaps(&b), "{direction:?} {epsilon}: {a:?} {b:?}");
            assert!(a.relative_width().max(b.relative_width()) < 1e-5, "{epsilon}: {a:?} {b:?}");
        }
    }
}

#[test]
fn all_records_in_the_sample_is_no_sample() {
    let noise = Gaussian::new(exact("2"), exact("1")).unwrap();
    // Not through `From`, which says so at once.
    let whole = sampled(Base::Gaussian(noise.clone()), "1");
    assert_same(&[(whole, 7)], &[(noise.into(), 7)], &["0", "0.5", "3", "9"]);
    // And nearly all are nearly that, from below: δ grows with q.
    let near = dp_sgd("2", "0.999999999");
    for epsilon in ["0.5", "3"] {
        let (a, b) = (
            at(&[(near.clone(), 9)], Direction::Both, epsilon),
            at(&[(gaussian("2"), 9)], Direction::Both, epsilon),
        );
        assert!(a.lower() <= b.upper(), "{a:?} {b:?}");
        let (a, b) = (a.to_f64(), b.to_f64());
        assert!((a.upper() / b.lower() - 1.0).abs() < 1e-6, "{a:?} {b:?}");
    }
}

/// k = 2 is pure DP, and so is the geometric mechanism of shift 1.
#[test]
fn two_values_are_pure_privacy() {
    let epsilons = ["0", "0.3", "1.1", "4", "7"];
    assert_same(&[(response(2, "0.7"), 11)], &[(event("0.7", "0"), 11)], &epsilons);
    assert_same(&[(geometric("10/7", 1), 11)], &[(event("0.7", "0"), 11)], &epsilons);
    let (p, q) = (["3/4", "1/4"], ["1/4", "3/4"]);
    let truth = RandomisedResponse::new(2, Truth::Probability(exact("3/4"))).unwrap();
    assert_same(&[(finite(&p, &q), 9)], &[(truth.into(), 9)], &epsilons);
}

/// Laplace noise of a whole shift Δ and geometric noise of the same scale: as the scale and the shift grow
/// together they are the same in the limit, at a distance of order 1/b.
#[test]
fn geometric_noise_approaches_laplace_noise() {
    let mut last = f64::INFINITY;
    for shift in [4u64, 16, 64] {
        let scale = (2 * shift).to_string();
        let line = Laplace::new(exact(&scale), Rational::from(shift)).unwrap();
        let (a, b) = (
            at(&[(geometric(&scale, shift), 6)], Direction::Both, "1.3"),
            at(&[(Mechanism::from(line), 6)], Direction::Both, "1.3"),
        );
        let off = (a.to_f64().lower() / b.to_f64().lower() - 1.0).abs();
        assert!(off < 0.5 * last && off < 1.0 / shift as f64, "{shift}: {off}");
        last = off;
    }
}

#[test]
fn splitting_and_order_change_nothing() {
    let parts = [
        (dp_sgd("1", "0.01"), 60),
        (laplace("2"), 3),
        (response(5, "0.4"), 2),
        (finite(&["0.6", "0.4"], &["0.5", "0.5"]), 4),
        (event("0.3", "1e-7"), 2),
    ];
    let mut split: Vec<(Mechanism, u64)> = parts.iter().rev().cloned().collect();
    split[4].1 = 25;
    split.push((dp_sgd("1", "0.01"), 35));
    split[3].1 = 1;
    split.insert(0, (laplace("2"), 2));
    assert_same(&parts, &split, &["0.1", "1", "2.5"]);
    let swapped: Vec<(Mechanism, u64)> = vec![parts[2].clone(), parts[0].clone()];
    assert_same(&[parts[0].clone(), parts[2].clone()], &swapped, &["0.5", "1"]);
}

#[test]
fn symmetric_mechanisms_have_one_direction() {
    let mut list = vec![laplace("3"), geometric("2", 3), response(4, "0.5"), event("0.2", "1e-4")];
    list.push(TruncatedDiscreteGaussian::new(exact("4"), 1, 9).unwrap().into());
    // The same laws as tables, whose directions are computed apart.
    list.push(finite(&["0.1", "0.3", "0.6", "0"], &["0", "0.6", "0.3", "0.1"]));
    for mechanism in list {
        let way = |direction| at(&[(mechanism.clone(), 3)], direction, "0.7");
        let (add, remove) = (way(Direction::Add), way(Direction::Remove));
        assert!(add.overlaps(&remove), "{mechanism:?}: {add:?} {remove:?}");
    }
    // And those that are not symmetric have two.
    let way = |direction| at(&[(dp_sgd("1", "0.1"), 20)], direction, "1");
    let (add, remove, both) = (way(Direction::Add), way(Direction::Remove), way(Direction::Both));
    assert!(add.upper() < remove.lower() && both.overlaps(&remove));
}

/// One step: the closed form (M11) against the integral of two steps of which one reveals nothing.
#[test]
fn one_step_is_the_closed_form() {
    let nothing = event("0", "0");
    for mechanism in [dp_sgd("1", "0.1"), dp_sgd("0.3", "1e-3"), laplace("2"), dp_sgd("4", "0.9")] {
        for epsilon in ["0", "0.05", "0.3"] {
            for direction in [Direction::Add, Direction::Remove] {
                let one = at(&[(mechanism.clone(), 1)], direction, epsilon);
                let two = at(&[(mechanism.clone(), 1), (nothing.clone(), 1)], direction, epsilon);
                assert!(one.overlaps(&two), "{mechanism:?} {epsilon}: {one:?} {two:?}");
                assert!(one.relative_width() < 1e-12, "{mechanism:?} {epsilon}: {one:?}");
            }
        }
    }
    // 1 − e^{(ε−τ)/2}.
    let found = at(&[(laplace("2"), 1)], Direction::Both, "0.1").to_f64();
    assert!((found.lower() - 0.181_269_246_922_018_14).abs() < 1e-15, "{found:?}");
}

/// q = 10⁻¹², σ = 0.1, a billion steps: an answer that is in order, and says something where δ is small.
#[test]
fn a_billion_rare_steps_get_an_answer() {
    let made = [(dp_sgd("0.01", "1e-12"), 1_000_000_000)];
    let (near, far) = (at(&made, Direction::Remove, "1"), at(&made, Direction::Remove, "2000"));
    assert!(near.upper() < Magnitude::from_f64(0.01) && far.upper() < Magnitude::from_f64(1e-200), "{far:?}");
    assert!(far.lower() <= near.upper());
}

/// A number of many sizes.
fn odd(draws: &mut Draws, low: f64, high: f64) -> Rational {
    let exponent = low + (high - low) * draws.unit();
    let digits = Rational::integer((1.0 + 9.0 * draws.unit() * 1e5) as u64);
    &digits * &Rational::power_of_ten(exponent.floor() as i32 - 5)
}

fn any(draws: &mut Draws) -> Result<Mechanism> {
    let kind = (draws.unit() * 10.0) as u64;
    let shift = 1 + (draws.unit() * draws.unit() * 30.0) as u64;
    let variance = odd(draws, -2.9, 4.0);
    let scale = odd(draws, -2.0, 4.0);
    let noise = |draws: &mut Draws| {
        Ok::<Base, crate::Error>(match (draws.unit() * 3.0) as u64 {
            0 => Base::Gaussian(Gaussian::new(variance.clone(), exact("1"))?),
            1 => Base::DiscreteGaussian(DiscreteGaussian::new(variance.clone(), shift)?),
            _ => Base::DiscreteLaplace(DiscreteLaplace::new(scale.clone(), shift)?),
        })
    };
    Ok(match kind {
        0 => Laplace::new(scale, exact("1"))?.into(),
        1 => DiscreteLaplace::new(scale, shift)?.into(),
        2 => RandomisedResponse::new(2 + shift, Truth::Epsilon(odd(draws, -6.0, 2.0)))?.into(),
        3 => ApproximateDp::new(odd(draws, -6.0, 2.0), odd(draws, -300.0, -2.0))?.into(),
        4 => {
            let (a, b) = (odd(draws, -60.0, -1.5), odd(draws, -60.0, -1.5));
            let rest = |x: &Rational| &Rational::integer(1) - x;
            Finite::new(vec![rest(&a), a], vec![rest(&b), b])?.into()
        }
        5 => TruncatedDiscreteGaussian::new(variance, shift, shift + 40)?.into(),
        _ => {
            let base = noise(draws)?;
            Subsampled::new(base, odd(draws, -12.0, -1.0))?.into()
        }
    })
}

/// Rare large losses: the tilted law changes suddenly between the bulk and the jumps, and at ε = 0 no tilt
/// that keeps away from the pole by as much as a Gaussian would is of use.
#[test]
fn rare_jumps_at_zero_are_narrow() {
    for (sigma2, q, count) in [("1.53166", "0.00453997", 598), ("0.64", "1e-4", 10_000), ("1", "0.02", 300)] {
        let found = at(&[(dp_sgd(sigma2, q), count)], Direction::Remove, "0");
        assert!(found.relative_width() < 1e-6, "{sigma2} {q} {count}: {found:?}");
        let other = at(&[(dp_sgd(sigma2, q), count)], Direction::Add, "0");
        // At ε = 0 both are the total variation.
        assert!(found.overlaps(&other), "{found:?} {other:?}");
    }
}

/// Parameters of many sizes: no panic, no NaN, an order of the two ends that holds, and δ that falls.
#[test]
fn odd_parameters_get_an_answer_or_a_refusal() {
    let mut draws = Draws::new(8);
    let (mut answered, mut narrow, mut slowest) = (0, 0, 0.0f64);
    for round in 0..ROUNDS {
        let kinds = 1 + (draws.unit() * 2.5) as usize;
        let groups: Result<Vec<(Mechanism, u64)>> =
            (0..kinds).map(|_| Ok((any(&mut draws)?, 1 + float::exp(draws.unit() * 14.0) as u64))).collect();
        let place = draws.unit();
        let Ok(groups) = groups else {
            continue;
        };
        let start = std::time::Instant::now();
        let name = format!("{groups:?}");
        let Ok(made) = Composition::new(groups) else {
            continue;
        };
        let Ok(made) = made.in_direction(Direction::Both) else {
            continue;
        };
        let accountant = made.accountant();
        let (mean, deviation) = accountant.scale();
        assert!(mean.is_finite() && deviation.is_finite(), "{name}");
        let epsilon = (mean + 12.0 * (place - 0.3) * deviation).max(0.0);
        let near = accountant.delta(&Point::from_f64(epsilon), 1e-6).delta;
        let far = accountant.delta(&Point::from_f64(2.0 * epsilon + 0.1 * deviation), 1e-6).delta;
        assert!(far.lower() <= near.upper(), "{round} {name}: {near:?} {far:?}");
        answered += 1;
        narrow += usize::from(near.relative_width() < 1e-3 || near.upper() < Magnitude::from_f64(1e-300));
        let seconds = start.elapsed().as_secs_f64();
        slowest = slowest.max(seconds);
        if seconds > 0.5 || near.relative_width() > 1e-3 {
            eprintln!("{round}: {seconds:.2} s, width {:.1e}: {name} at {epsilon:e}", near.relative_width());
        }
    }
    eprintln!("{answered} answered, {narrow} of them narrow; the slowest took {slowest:.2} s");
    assert!(answered > ROUNDS / 2);
}

const ROUNDS: usize = 8;

/// A law with one finite loss, however often; and one with none.
#[test]
fn laws_of_one_loss_and_of_none_are_counted() {
    // A loss is known to 2⁻⁸⁸, and that is multiplied by the count.
    let nothing = at(&[(event("0", "0"), 1 << 63)], Direction::Both, "0");
    assert!(nothing.upper() < Magnitude::from_f64(1e-5), "{nothing:?}");
    let everything = at(&[(finite(&["1", "0"], &["0", "1"]), 3)], Direction::Both, "5");
    assert!(everything.lower() >= Magnitude::from_f64(1.0 - 1e-12), "{everything:?}");
    // ln ½ under Q three times, or revealed: δ = 1 − 4⁻³ at any ε ≥ 0.
    let mixed = at(&[(finite(&["1/2", "1/2", "0"], &["1/4", "0", "3/4"]), 3)], Direction::Remove, "0");
    let truth = Magnitude::from_f64(63.0 / 64.0);
    assert!(mixed.lower() <= truth && truth <= mixed.upper() && mixed.relative_width() < 1e-12, "{mixed:?}");
}

/// Just below the largest loss δ is half of the distance to it, which may be no double.
#[test]
fn one_laplace_is_known_however_near_epsilon_is_to_its_largest_loss() {
    for power in [-15, -18, -310, -400] {
        let distance = Rational::power_of_ten(power);
        let epsilon = &Rational::integer(1) - &distance;
        let made = Composition::new([(laplace("1"), 1)]).unwrap();
        let found = made.accountant().delta(&Point::new(epsilon), 1e-6).delta;
        // 1 − e^{−d/2}, but for its square.
        let (low, high) = (&distance / &Rational::integer(2)).to_magnitude_bounds();
        let low = low.mul(Magnitude::from_f64(1.0 - 1e-15), Round::Down);
        assert!(found.lower() <= high && low <= found.upper(), "{power} {found:?}");
        assert!(found.relative_width() < 1e-14, "{power} {found:?}");
    }
}

/// Where the tilted law goes over to that of large losses within a small change of the tilt, the line is
/// found all the same.
#[test]
fn every_epsilon_has_its_line() {
    for (q, count, epsilons) in
        [("1/100", 10_000, ["27.1", "27.2", "27.3"]), ("1/50", 2000, ["26.1", "26.25", "26.55"])]
    {
        for epsilon in epsilons {
            let found = at(&[(dp_sgd("1", q), count)], Direction::Remove, epsilon);
            assert!(found.relative_width() < 1e-9, "{epsilon}: {found:?}");
        }
    }
}
