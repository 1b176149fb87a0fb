//! Two ways to one answer: they must overlap, and follow from each other where one bounds the other.
//!
//! ```text
//! efforts        fast, normal and thorough use different methods; all enclose the same number
//! a grain more   A with a mechanism T that moves next to nothing, on no lattice:
//!                δ_A(ε) ≤ δ_AT(ε), and δ_AT(ε) ≤ δ_A(ε − t) + δ_T(t)
//! a split        max(δ_A, δ_B) ≤ δ_AB, and δ_AB(ε) ≤ δ_A(ε − t) + δ_B(t)
//! tails          δ(ε) = Q[L > ε] − e^ε P[L > ε]
//! inversion      ε(δ(ε)) on both sides of ε
//! zCDP           δ ≤ Canonne, Kamath and Steinke's
//! trade-off      1 − δ − e^ε α ≤ f(α), f does not increase, and power is 1 − f
//! ```

#![expect(clippy::disallowed_methods, reason = "answers are compared with room for some units of rounding")]

use std::time::Duration;

use unspent::{
    Alpha, ApproximateDp, Bounds, Composition, Conversion, Delta, Direction, DiscreteGaussian,
    DiscreteLaplace, Effort, Epsilon, Gaussian, Laplace, Magnitude, Mechanism, RandomisedResponse, Rational,
    Rho, Round, Stop, TruncatedDiscreteGaussian,
};

use crate::bytes::Bytes;

/// Time for all questions of a case. Whether one of them takes too long is looked at elsewhere, with a clock
/// that means something; here a case that is late is given up.
const ENOUGH: Duration = Duration::from_secs(2);

fn in_time(judge: impl FnOnce() -> bool) -> bool {
    Stop::after(ENOUGH).run(|| Ok(judge())).unwrap_or(false)
}

type Groups = Vec<(Mechanism, u64)>;

/// Rounding of what is computed here, beside that of the bounds: some operations on doubles.
const SLACK: f64 = 1e-12;

fn rational(x: f64) -> Rational {
    Rational::from_f64("x", x).expect("a finite number")
}

/// A decimal of few digits, often a small whole number or an eleventh.
fn decimal(bytes: &mut Bytes<'_>, least: i32, most: i32) -> Rational {
    let text = match bytes.below(4) {
        0 => format!("{}", 1 + bytes.below(24)),
        1 => format!("{}/{}", 1 + bytes.below(200), 1 + bytes.below(24)),
        2 => format!("{}e{}", 1 + bytes.below(99), least + bytes.below((most - least) as u32) as i32),
        _ => {
            let power = least + bytes.below((most - least) as u32) as i32;
            format!("{}e{}", bytes.word().max(1), power - 9)
        }
    };
    Rational::parse("number", &text).expect("a number")
}

fn count(bytes: &mut Bytes<'_>) -> u64 {
    match bytes.below(4) {
        0 => 1,
        1 => 1 + u64::from(bytes.below(4)),
        2 => 1 + u64::from(bytes.below(60)),
        _ => 1 + u64::from(bytes.below(5_000)),
    }
}

fn shift(bytes: &mut Bytes<'_>) -> u64 {
    if bytes.below(2) == 0 { 1 } else { 1 + u64::from(bytes.below(60)) }
}

fn gaussians(bytes: &mut Bytes<'_>) -> Groups {
    let kinds = 1 + bytes.below(4);
    let made = (0..kinds).filter_map(|_| {
        let sigma2 = decimal(bytes, -3, 9);
        let noise = DiscreteGaussian::new(sigma2, shift(bytes)).ok()?;
        Some((noise.into(), count(bytes)))
    });
    made.collect()
}

fn mechanism(bytes: &mut Bytes<'_>) -> unspent::Result<Mechanism> {
    Ok(match bytes.below(7) {
        0 => DiscreteGaussian::new(decimal(bytes, -3, 9), shift(bytes))?.into(),
        1 => Gaussian::new(decimal(bytes, -3, 9), decimal(bytes, -2, 2))?.into(),
        2 => Laplace::new(decimal(bytes, -2, 5), decimal(bytes, -2, 2))?.into(),
        3 => DiscreteLaplace::new(decimal(bytes, -2, 5), shift(bytes))?.into(),
        4 => {
            let truth = unspent::mechanism::Truth::Epsilon(decimal(bytes, -3, 1));
            RandomisedResponse::new(2 + u64::from(bytes.below(20)), truth)?.into()
        }
        5 => {
            let delta = Rational::parse("delta", &format!("{}e-{}", bytes.below(9), 1 + bytes.below(20)))?;
            ApproximateDp::new(decimal(bytes, -3, 1), delta)?.into()
        }
        _ => {
            let sigma2 = decimal(bytes, -1, 3);
            TruncatedDiscreteGaussian::new(sigma2, shift(bytes), 2 + u64::from(bytes.below(60)))?.into()
        }
    })
}

fn any(bytes: &mut Bytes<'_>) -> Groups {
    let kinds = 1 + bytes.below(3);
    (0..kinds).filter_map(|_| Some((mechanism(bytes).ok()?, count(bytes)))).collect()
}

/// An ε at which something happens: from below the mean loss to far above it.
fn epsilon(bytes: &mut Bytes<'_>, groups: &Groups) -> f64 {
    let rho = |mechanism: &Mechanism| match mechanism.mu_squared() {
        Some(square) => square.to_f64() / 2.0,
        None => 0.1,
    };
    let mean: f64 = groups.iter().map(|(m, n)| rho(m) * *n as f64).sum();
    let z = -3.0 + 15.0 * f64::from(bytes.next()) / 255.0;
    let epsilon = (mean + z * (2.0 * mean).sqrt()).clamp(0.0, 1e6);
    // Some bits, so that it is written shortly.
    (epsilon * 1024.0).round() / 1024.0
}

fn overlap(what: &str, a: &Bounds<Magnitude>, b: &Bounds<Magnitude>) {
    assert!(a.lower() <= b.upper() && b.lower() <= a.upper(), "{what}: {a:?} and {b:?}");
}

/// `a ≤ b`, where b was computed here from upper ends.
fn at_most(what: &str, a: Magnitude, b: f64) {
    let a = a.to_f64(Round::Down);
    assert!(a <= b * (1.0 + SLACK) + f64::MIN_POSITIVE, "{what}: {a:e} is above {b:e}");
}

fn delta(of: &Composition, epsilon: f64) -> Bounds<Magnitude> {
    of.delta(&Epsilon::new(rational(epsilon)).expect("not negative")).expect("no tolerance was demanded")
}

fn made(groups: &Groups, effort: Effort) -> Option<Composition> {
    Composition::with_effort(groups.iter().cloned(), effort).ok()
}

/// Discrete Gaussian noise of up to four kinds.
pub(crate) fn gaussian(bytes: &[u8]) -> bool {
    in_time(|| judge_gaussian(Bytes(bytes)))
}

fn judge_gaussian(mut bytes: Bytes<'_>) -> bool {
    let groups = gaussians(&mut bytes);
    let Some(composition) = made(&groups, Effort::Normal) else { return false };
    let at = epsilon(&mut bytes, &groups);
    let found = checked(&composition, &groups, at, &mut bytes);
    let rho = Rho::new(composition.rho().expect("all noise is Gaussian")).expect("positive");
    let epsilon = Epsilon::new(rational(at)).expect("not negative");
    let bound = rho.delta(Conversion::CanonneKamathSteinke, &epsilon);
    assert!(found.lower() <= bound, "above zCDP: {found:?}, {bound:?}");
    true
}

/// Any mechanisms but samples, of up to three kinds.
pub(crate) fn mixed(bytes: &[u8]) -> bool {
    in_time(|| judge_mixed(Bytes(bytes)))
}

fn judge_mixed(mut bytes: Bytes<'_>) -> bool {
    let groups = any(&mut bytes);
    let Some(composition) = made(&groups, Effort::Normal) else { return false };
    let at = epsilon(&mut bytes, &groups);
    let found = checked(&composition, &groups, at, &mut bytes);
    if !composition.is_symmetric() {
        let [add, remove] = [Direction::Add, Direction::Remove]
            .map(|direction| delta(&composition.in_direction(direction).expect("it was composed"), at));
        let lower = if add.lower() > remove.lower() { add.lower() } else { remove.lower() };
        let upper = if add.upper() > remove.upper() { add.upper() } else { remove.upper() };
        assert!(lower <= found.upper() && found.lower() <= upper, "{add:?}, {remove:?}, {found:?}");
    }
    true
}

/// δ, held against all other ways to it.
fn checked(composition: &Composition, groups: &Groups, at: f64, bytes: &mut Bytes<'_>) -> Bounds<Magnitude> {
    let found = delta(composition, at);
    for effort in [Effort::Fast, Effort::Thorough] {
        let other = made(groups, effort).expect("it was composed before");
        overlap(effort.name(), &found, &delta(&other, at));
    }
    // A grain of noise that nothing else has the lattice of.
    let grain: Mechanism = DiscreteGaussian::parse("314159265.358979", "1").expect("a variance").into();
    follows("a grain more", groups, &vec![(grain, 1)], at, at.min(1e-3), &found);
    if groups.len() > 1 {
        let (left, right) = groups.split_at(1 + bytes.below(groups.len() as u32 - 1) as usize);
        let share = f64::from(bytes.next()) / 255.0;
        let t = (at * share * 1024.0).round() / 1024.0;
        let (left, right) = (left.to_vec(), right.to_vec());
        let [a, b] = [&left, &right].map(|part| made(part, Effort::Normal).expect("a part of it"));
        for part in [&a, &b] {
            assert!(delta(part, at).lower() <= found.upper(), "a part is more than the whole");
        }
        let bound = delta(&a, at - t).upper().to_f64(Round::Up) + delta(&b, t).upper().to_f64(Round::Up);
        at_most("a split", found.lower(), bound);
    }
    tails(composition, at, &found);
    inverted(composition, at, &found);
    found
}

/// δ with `more`, held against δ without.
fn follows(what: &str, groups: &Groups, more: &Groups, at: f64, t: f64, found: &Bounds<Magnitude>) {
    let both: Groups = groups.iter().chain(more).cloned().collect();
    let Some(both) = made(&both, Effort::Normal) else { return };
    let together = delta(&both, at);
    assert!(found.lower() <= together.upper(), "{what}: {found:?} falls to {together:?}");
    let [alone, more] = [groups, more].map(|part| made(part, Effort::Normal).expect("a part of it"));
    let bound = delta(&alone, at - t).upper().to_f64(Round::Up) + delta(&more, t).upper().to_f64(Round::Up);
    at_most(what, together.lower(), bound);
}

fn tails(composition: &Composition, at: f64, found: &Bounds<Magnitude>) {
    let epsilon = Epsilon::new(rational(at)).expect("not negative");
    let (Ok(p), Ok(q)) = (composition.p_tail(&epsilon), composition.q_tail(&epsilon)) else { return };
    // In logarithms, so that nothing overflows: P e^ε is at most Q.
    assert!(found.lower() <= q.upper(), "δ is above Q: {found:?}, {q:?}");
    let (p, q) = (p.to_f64(), q.to_f64());
    if at < 600.0 && q.lower() > 1e-250 {
        let factor = at.exp();
        let least = q.lower() - factor * p.upper() * (1.0 + SLACK);
        let most = q.upper() - factor * p.lower() * (1.0 - SLACK);
        let slack = 1e-11 * q.upper();
        assert!(found.upper().to_f64(Round::Up) >= least - slack, "tails say δ ≥ {least:e}: {found:?}");
        assert!(found.lower().to_f64(Round::Down) <= most + slack, "tails say δ ≤ {most:e}: {found:?}");
    }
}

fn inverted(composition: &Composition, at: f64, found: &Bounds<Magnitude>) {
    let [low, high] = [found.lower().to_f64(Round::Down), found.upper().to_f64(Round::Up)];
    let sound = |x: f64| x > 1e-300 && x < 1.0;
    if sound(high) {
        // δ(at) ≤ high, so the least ε for `high` is at most `at`.
        let Ok(epsilon) = composition.epsilon(&Delta::new(rational(high)).expect("below 1")) else { return };
        assert!(epsilon.lower() <= at, "ε({high:e}) = {epsilon:?} is above {at}");
    }
    if sound(low) && at > 0.0 {
        let Ok(epsilon) = composition.epsilon(&Delta::new(rational(low)).expect("below 1")) else { return };
        assert!(epsilon.upper() >= at, "ε({low:e}) = {epsilon:?} is below {at}");
    }
}

/// The trade-off function beside (ε, δ), at two rates.
pub(crate) fn tradeoff(bytes: &[u8]) -> bool {
    in_time(|| judge_tradeoff(Bytes(bytes)))
}

fn judge_tradeoff(mut bytes: Bytes<'_>) -> bool {
    let groups = if bytes.below(2) == 0 { gaussians(&mut bytes) } else { any(&mut bytes) };
    let Some(composition) = made(&groups, Effort::Normal) else { return false };
    let mut rates = [0, 1].map(|_| {
        let power = bytes.below(12);
        f64::from(1 + bytes.word() % 4_095) / 4_096.0 / f64::from(1 << (2 * power))
    });
    rates.sort_by(f64::total_cmp);
    let at = epsilon(&mut bytes, &groups);
    let upper = delta(&composition, at).upper().to_f64(Round::Up);
    let mut misses = vec![];
    for alpha in rates {
        let rate = Alpha::new(rational(alpha)).expect("between 0 and 1");
        let (Ok(f), Ok(power)) = (composition.tradeoff(&rate), composition.power(&rate)) else {
            return false;
        };
        let (f, power) = (f.to_f64(), power.to_f64());
        assert!(f.lower() <= f.upper() && power.lower() <= power.upper());
        let least = 1.0 - upper - at.min(700.0).exp() * alpha;
        assert!(f.upper() >= least - 1e-14, "f({alpha}) = {f:?}, and δ({at}) says ≥ {least}");
        let other = (1.0 - upper - alpha) * (-at).exp();
        assert!(f.upper() >= other - 1e-14, "f({alpha}) = {f:?}, and δ({at}) says ≥ {other}");
        assert!(f.upper() >= 1.0 - power.upper() - 1e-15 && f.lower() <= 1.0 - power.lower() + 1e-15);
        assert!(f.lower() <= 1.0 - alpha + 1e-15, "f({alpha}) = {f:?} is above blind guessing");
        misses.push(f);
    }
    assert!(misses[0].upper() >= misses[1].lower(), "f grows from {} to {}: {misses:?}", rates[0], rates[1]);
    true
}
