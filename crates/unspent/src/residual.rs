//! How far `n` equal mechanisms are from a Gaussian, bounded.
//!
//! For `n` copies of N_ℤ(0, σ²) and `B² = nσ²`, the sum has
//!
//! ```text
//! P[ΣX = y] = φ(y/B)/B · (1 + η_y),
//! ```
//!
//! and the paper bounds the *absolute* difference from φ(y/B)/B uniformly in `y` (its table of
//! residuals). Far in the tail that says nothing: φ itself is smaller. Here is also a bound of the
//! *relative* error η, uniform in `y` too (`theory/residual.md`).

use crate::error::{Error, Result};
use crate::number::float::{self, Dd, PI};
use crate::number::{Magnitude, Rational, Round};
use crate::stop;

/// Relative slack put on every logarithm below, far above its roundings.
const SLACK: f64 = 1e-9;

fn check(sigma2: &Rational, n: u64) -> Result<f64> {
    if n == 0 {
        return Err(Error::input(
            "n",
            n,
            "a whole number of at least 1",
            "n is the number of equal mechanisms",
        ));
    }
    let range = Rational::parse("", "1/10").expect("a tenth")..=Rational::power_of_ten(12);
    let sigma2 = sigma2.clone().within("sigma2", &range, "a variance between 0.1 and 1e12")?;
    Ok(sigma2.to_f64())
}

/// `e^log`, rounded up with [`SLACK`].
fn exp_up(log: f64) -> Magnitude {
    Magnitude::exp(Dd::from(log + SLACK * (1.0 + log.abs())), 0.0, Round::Up)
}

/// `ln(e^x − 1)` for `x > 0`.
fn ln_expm1(x: f64) -> f64 {
    if x > 1.0 { x + float::ln1p(-float::exp(-x)) } else { float::ln(float::expm1(x)) }
}

/// A bound of `|η_y|`, uniform in `y`; `None` if it is not below 1 and says nothing.
///
/// # Guarantee
/// `|P[ΣX = y]·B/φ(y/B) − 1|` is at most this for every integer `y`: with `S = Σu` and `m = Σ|u_i|`
/// for the representative of `u ∈ ℤⁿ/(1,…,1)` with `|S| ≤ n/2`, the exponent `|u|² − S²/n` is at
/// least `m·max(1 − m/n, ½)`, and at most `C(2n+m−1, m)` vectors have that `m`.
pub fn relative_residual(sigma2: &Rational, n: u64) -> Result<Option<Magnitude>> {
    const SHELLS: u32 = 64;
    let s2 = check(sigma2, n)?;
    let (q, n) = (2.0 * PI * PI * s2, n as f64);
    let mut sum = Magnitude::ZERO;
    let mut log_count = 0.0;
    for m in (1..=SHELLS).map(f64::from) {
        log_count += float::ln((2.0 * n + m - 1.0) / m);
        let exponent = m * (1.0 - m / n).max(0.5);
        sum = sum.add(exp_up(log_count - q * exponent), Round::Up);
    }
    // Beyond the last shell Σ C(2n+m−1, m)x^m ≤ y^{−(M+1)}·(1 − xy)^{−2n}, x = e^{−q/2}, for any
    // y ≥ 1 with xy < 1; in logarithms, since x may be below every double.
    let shells = f64::from(SHELLS);
    let log_y = (float::ln(shells / (shells + 2.0 * n)) + 0.5 * q).max(0.0);
    let xy = float::exp(log_y - 0.5 * q);
    if xy >= 1.0 {
        return Ok(None);
    }
    sum = sum.add(exp_up(-(shells + 1.0) * log_y - 2.0 * n * float::ln1p(-xy)), Round::Up);
    // The normaliser: `P[X = x]` has θ₃(e^{−2π²σ²}) in the denominator, n times.
    let log_excess = if q > 700.0 {
        // Near the smallest doubles θ itself has no digits: θⁿ − 1 ≤ 2.01·n·e^{−q}.
        float::ln(2.01 * n) - q
    } else {
        let theta: f64 = (1..6).map(|u| 2.0 * float::exp(-q * f64::from(u * u))).sum();
        ln_expm1(n * float::ln1p(theta))
    };
    sum = sum.add(exp_up(log_excess), Round::Up);
    Ok((sum < Magnitude::ONE).then_some(sum))
}

/// The paper's bound of `sup_y |P[ΣX = y] − φ(y/B)/B|`, evaluated as it describes and rounded up.
pub fn absolute_residual(sigma2: &Rational, n: u64) -> Result<Magnitude> {
    let s2 = check(sigma2, n)?;
    let copies = n as f64;
    let b = (copies * s2).sqrt();
    let end = PI * b;
    let last = end.floor();
    let q = 2.0 * PI * PI * s2;
    // ln(|f(t)·e^{t²/2} − 1|), f the characteristic function of the normalised sum.
    let log_excess = |t: f64| {
        // θ(t)/θ(0) − 1 = Σ 4e^{−q k²} sinh²(kπσt/√n)/θ(0), in logarithms; θ(0) ≥ 1.
        let rate = PI * (s2 / copies).sqrt() * t;
        let logs = (1..8).map(|k| {
            let k = f64::from(k);
            // ln(4 sinh²x) = 2x + 2 ln(1 − e^{−2x}).
            -q * k * k + 2.0 * k * rate + 2.0 * float::ln(-float::expm1(-2.0 * k * rate))
        });
        let top = logs.clone().fold(f64::NEG_INFINITY, f64::max);
        let log_d = top + float::ln(logs.map(|l| float::exp(l - top)).sum::<f64>());
        // n·ln(1 + d), d possibly far below the doubles or far above.
        let log_x = if log_d < -30.0 {
            float::ln(copies) + log_d
        } else if log_d > 30.0 {
            float::ln(copies * log_d)
        } else {
            float::ln(copies * float::ln1p(float::exp(log_d)))
        };
        if log_x < -30.0 { log_x } else { ln_expm1(float::exp(log_x)) }
    };
    let mut sum = Magnitude::ZERO;
    let mut j = 1.0;
    // The terms fall like e^{−j²/2} once past their peak; a long tail is bounded by its count.
    while j <= last.min(1e6) {
        stop::check();
        sum = sum.add(exp_up(-0.5 * (j - 1.0) * (j - 1.0) + log_excess(j)), Round::Up);
        j += 1.0;
    }
    if last >= j {
        let log = -0.5 * (j - 1.0) * (j - 1.0) + log_excess(last);
        sum = sum.add(exp_up(log + float::ln(last)), Round::Up);
    }
    // The last, broken interval, and the Gaussian beyond.
    let edge = -0.5 * last * last;
    let at_last = if last > 0.0 { log_excess(last) } else { 0.0 };
    sum = sum.add(exp_up(edge + float::ln(2.0)), Round::Up).add(exp_up(edge + at_last), Round::Up);
    sum = sum.add(exp_up(-0.5 * end * end - float::ln(end)), Round::Up);
    Ok(sum.mul(exp_up(-float::ln(end)), Round::Up))
}

/// log₁₀ of `sup_y |P[ΣX = y] − φ(y/B)/B|` itself, from the exact formula (E1): what the bounds are bounds
/// of.
///
/// Not certified: the classes with an entry beyond ±1 or more than a dozen non-zero ones are left out, which
/// changes less than a part in 10⁶ for `σ² ≥ 1`.
pub fn largest_difference(sigma2: &Rational, n: u64) -> Result<f64> {
    const MOST: u64 = 12;
    let s2 = check(sigma2, n)?;
    let (q, copies) = (2.0 * PI * PI * s2, n as f64);
    // Everything relative to the leading shell, e^{−q(1−1/n)}.
    let leading = q * (1.0 - 1.0 / copies);
    let theta = float::ln1p(2.0 * float::exp(-q));
    let norm = if q > 700.0 {
        2.0 * copies * float::exp(leading - q)
    } else {
        float::exp(leading) * float::expm1(copies * theta)
    };
    let mut classes = vec![];
    for plus in 0..=MOST.min(n) {
        for minus in 0..=(MOST - plus).min(n - plus) {
            let sum = plus.abs_diff(minus);
            if plus + minus == 0 || 2 * sum > n {
                continue;
            }
            let log_count: f64 = (0..plus).map(|i| float::ln((n - i) as f64 / (i + 1) as f64)).sum::<f64>()
                + (0..minus).map(|i| float::ln((n - plus - i) as f64 / (i + 1) as f64)).sum::<f64>();
            let exponent = (plus + minus) as f64 - (sum * sum) as f64 / copies;
            // A sum of n/2 and one of −n/2 are the same class, met twice.
            let share = if 2 * sum == n { 0.5 } else { 1.0 };
            classes.push((sum as f64, share * float::exp(log_count - q * exponent + leading)));
        }
    }
    let b2 = copies * s2;
    let largest = (0..=n.min(10_000)).map(|y| {
        let y = y as f64;
        let eta = classes.iter().map(|(sum, w)| w * float::sin_cos_pi(2.0 * y * sum / copies).1).sum::<f64>();
        float::exp(-y * y / (2.0 * b2)) * (eta - norm).abs()
    });
    let largest = largest.fold(0.0, f64::max);
    let log = float::ln(largest) - leading - copies * theta - 0.5 * float::ln(2.0 * PI * b2);
    Ok(log * std::f64::consts::LOG10_E)
}

/// `(y, P[ΣX = y], φ(y/B)/B)` for `|y| ≤ reach`, in double precision: to be drawn.
pub fn against_gaussian(sigma2: &Rational, n: u64, reach: u64) -> Result<Vec<(i64, f64, f64)>> {
    let s2 = check(sigma2, n)?;
    let radius = ((80.0 * s2).sqrt() as i64).max(1) + 1;
    if n > 64 || radius > 10_000 || reach > 10_000 {
        return Err(Error::input(
            "n",
            n,
            "at most 64, with a variance and a reach that can be drawn",
            "the bounds in this module have no such limit",
        ));
    }
    let one: Vec<f64> = (-radius..=radius).map(|x| float::exp(-((x * x) as f64) / (2.0 * s2))).collect();
    let norm: f64 = one.iter().sum();
    let mut law = vec![1.0];
    for _ in 0..n {
        let mut next = vec![0.0; law.len() + one.len() - 1];
        for (i, a) in law.iter().enumerate() {
            for (j, b) in one.iter().enumerate() {
                next[i + j] += a * b / norm;
            }
        }
        law = next;
    }
    let (middle, b2) = ((law.len() / 2) as i64, n as f64 * s2);
    let reach = (reach as i64).min(middle);
    let gaussian = |y: i64| float::exp(-((y * y) as f64) / (2.0 * b2)) / (2.0 * PI * b2).sqrt();
    Ok((-reach..=reach).map(|y| (y, law[(middle + y) as usize], gaussian(y))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(t: &str) -> Rational {
        t.parse().unwrap()
    }

    /// The paper's table, to within its one printed digit and its coarser arithmetic.
    #[test]
    fn the_papers_table_comes_out() {
        let table = [
            (5, [5e-6, 3e-32, 2e-65]),
            (9, [5e-7, 1e-36, 4e-74]),
            (10, [4e-7, 3e-37, 3e-75]),
            (18, [2e-7, 2e-39, 2e-79]),
            (20, [9e-8, 8e-40, 4e-80]),
            (27, [7e-8, 2e-40, 2e-81]),
            (50, [4e-8, 2e-41, 3e-83]),
            (100, [2e-8, 6e-42, 3e-84]),
        ];
        for (n, row) in table {
            for (sigma2, published) in ["1", "5", "10"].iter().zip(row) {
                let ours = absolute_residual(&text(sigma2), n).unwrap().to_f64(Round::Up);
                let ratio = ours / published;
                assert!((0.3..3.0).contains(&ratio), "n = {n}, sigma2 = {sigma2}: {ours:e} {published:e}");
            }
            assert!(absolute_residual(&text("16"), n).unwrap() < Magnitude::from_f64(1e-100));
        }
    }

    /// Two copies, straight from the definition, where double precision can see the difference.
    #[test]
    fn relative_residual_bounds_what_it_says() {
        for sigma2 in ["0.4", "0.7", "1"] {
            let s2 = text(sigma2).to_f64();
            let weight = |x: i32| float::exp(-f64::from(x * x) / (2.0 * s2));
            let norm: f64 = (-40..=40).map(weight).sum();
            let Some(bound) = relative_residual(&text(sigma2), 2).unwrap() else {
                continue;
            };
            let bound = bound.to_f64(Round::Up);
            let mut worst = 0.0f64;
            for y in -6..=6 {
                let exact: f64 = (-30..=30).map(|x| weight(x) * weight(y - x)).sum::<f64>() / (norm * norm);
                let b2 = 2.0 * s2;
                let gauss = float::exp(-f64::from(y * y) / (2.0 * b2)) / (2.0 * PI * b2).sqrt();
                worst = worst.max((exact / gauss - 1.0).abs());
            }
            assert!(worst <= bound && bound < 20.0 * worst, "{sigma2}: {worst:e} {bound:e}");
        }
    }

    /// Where double precision can see it, the difference is what the convolution says; and the bound is above
    /// it.
    #[test]
    fn the_difference_itself() {
        for (sigma2, n) in [("1", 2), ("1", 5), ("1", 9), ("1", 10), ("1.2", 3)] {
            let law = against_gaussian(&text(sigma2), n, 12).unwrap();
            assert!((law.iter().map(|(_, p, _)| p).sum::<f64>() - 1.0).abs() < 1e-3);
            let seen = law.iter().map(|(_, p, g)| (p - g).abs()).fold(0.0, f64::max);
            let ours = largest_difference(&text(sigma2), n).unwrap();
            assert!(
                (ours * std::f64::consts::LN_10 - float::ln(seen)).abs() < 1e-5,
                "{sigma2} {n}: {seen:e}"
            );
            assert!(absolute_residual(&text(sigma2), n).unwrap().log10(Round::Up) > ours);
        }
        // Far below the doubles too, and always below the bound.
        for n in [5, 10, 100] {
            let ours = largest_difference(&text("100"), n).unwrap();
            assert!(ours < -600.0 && absolute_residual(&text("100"), n).unwrap().log10(Round::Up) > ours);
        }
    }

    #[test]
    fn stronger_than_the_paper_in_the_tail_and_flat_in_n() {
        let bound = |s: &str, n| relative_residual(&text(s), n).unwrap().unwrap().to_f64(Round::Up);
        assert!(bound("5", 10) < 1e-36);
        assert!(bound("5", 1_000_000_000) < 1e-33);
        // Across the range where e^{−2π²σ²} leaves the doubles, the bound keeps falling.
        let steps = ["30", "37", "37.3", "37.613", "38", "72", "73", "100", "1e6"];
        let bounds = steps.map(|s| relative_residual(&text(s), 1_000_000).unwrap().unwrap());
        assert!(bounds.windows(2).all(|w| w[1] < w[0]));
        // At n = 10⁶ and y = n/2 the leading shell is attained: the bound may not be below it.
        let log = |s: &str| (float::ln(2e6), 2.0 * PI * PI * text(s).to_f64() * (1.0 - 1e-6));
        for (s, bound) in steps.iter().zip(&bounds) {
            let (count, exponent) = log(s);
            assert!(bound.ln(Round::Up) >= count - exponent, "{s}");
        }
        assert!(relative_residual(&text("0.1"), 1000).unwrap().is_none());
        assert!(relative_residual(&text("5"), 0).is_err() && absolute_residual(&text("0.01"), 3).is_err());
    }
}
