//! The published conversions from ρ-zCDP to (ε, δ), for comparison.
//!
//! A composition of (discrete) Gaussian mechanisms satisfies ρ-zCDP with ρ = Σ nΔ²/2σ². Two
//! conversions are in use: Bun and Steinke's (the Bureau's for the Demographic and Housing
//! Characteristics) and the tighter one of Canonne, Kamath and Steinke (the Bureau's for the signed
//! P.L. 94-171 certificates). Both are valid and neither is tight; results here are rounded up.

use crate::bounds::{Magnitude, Round};
use crate::composition::{Delta, Epsilon};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::float::{self, Dd};
use crate::parallel;
use crate::tradeoff::Alpha;
use crate::worst::WorstCase;

/// A published way from ρ to (ε, δ).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// `ε = ρ + 2√(ρ ln(1/δ))`.
    BunSteinke,
    /// The tighter one, an infimum over Rényi orders.
    CanonneKamathSteinke,
}

impl Conversion {
    /// Both.
    pub const ALL: [Conversion; 2] = [Conversion::CanonneKamathSteinke, Conversion::BunSteinke];

    /// `bun-steinke` or `canonne-kamath-steinke`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Conversion::BunSteinke => "bun-steinke",
            Conversion::CanonneKamathSteinke => "canonne-kamath-steinke",
        }
    }

    /// With capitals: `Bun–Steinke` or `Canonne–Kamath–Steinke`.
    #[must_use]
    pub fn authors(self) -> &'static str {
        match self {
            Conversion::BunSteinke => "Bun–Steinke",
            Conversion::CanonneKamathSteinke => "Canonne–Kamath–Steinke",
        }
    }

    /// δ at ε, rounded up, for ρ and ε known to within a few units of double-double.
    fn delta(self, rho: Dd, epsilon: Dd) -> Magnitude {
        match self {
            Conversion::BunSteinke => bun_steinke_delta(rho, epsilon),
            Conversion::CanonneKamathSteinke => canonne_kamath_steinke_delta(rho, epsilon),
        }
    }

    /// Reads `bun-steinke` or `canonne-kamath-steinke`.
    pub fn parse(text: &str) -> Result<Conversion> {
        Conversion::ALL.into_iter().find(|c| c.name() == text).ok_or_else(|| {
            Error::input(
                "conversion",
                text,
                "`bun-steinke` or `canonne-kamath-steinke`",
                "the conversion is how a published epsilon was computed from rho",
            )
        })
    }
}

/// A zCDP budget ρ > 0, exact.
///
/// ```
/// use unspent::{Delta, Rho};
/// // The signed certificate of the 2020 redistricting data prints ε = 17.14.
/// let rho = Rho::parse("293764/114921")?;
/// let delta = Delta::parse("1e-10")?;
/// assert_eq!(format!("{:.2}", rho.epsilon_canonne_kamath_steinke(&delta)), "17.14");
/// assert!(rho.epsilon_bun_steinke(&delta) > 17.8);
/// # Ok::<(), unspent::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rho(Rational);

impl Rho {
    /// ρ above 0 and at most 10¹⁸.
    pub fn new(rho: Rational) -> Result<Rho> {
        if rho.is_positive() && rho <= Rational::power_of_ten(18) {
            return Ok(Rho(rho));
        }
        Err(Error::input("rho", rho, "a number above 0 and at most 1e18", "rho is a zCDP budget, like 2.63"))
    }

    /// Reads ρ from text.
    pub fn parse(text: &str) -> Result<Rho> {
        Rho::new(Rational::parse("rho", text)?).map_err(|e| e.quoting(text))
    }

    /// The exact value.
    #[must_use]
    pub fn value(&self) -> &Rational {
        &self.0
    }

    fn upper(&self) -> f64 {
        self.0.to_f64_bounds().1
    }

    /// ε at δ by one of the conversions, rounded up.
    #[must_use]
    pub fn epsilon(&self, conversion: Conversion, delta: &Delta) -> f64 {
        match conversion {
            Conversion::BunSteinke => self.epsilon_bun_steinke(delta),
            Conversion::CanonneKamathSteinke => self.epsilon_canonne_kamath_steinke(delta),
        }
    }

    /// δ at ε by one of the conversions, rounded up.
    #[must_use]
    pub fn delta(&self, conversion: Conversion, epsilon: &Epsilon) -> Magnitude {
        conversion.delta(self.0.to_dd(), epsilon.value().to_dd())
    }

    /// `ρ + 2√(ρ ln(1/δ))`.
    ///
    /// # Guarantee
    /// Not below the exact value of the formula, and above it by less than 10⁻¹⁴ of itself.
    #[must_use]
    pub fn epsilon_bun_steinke(&self, delta: &Delta) -> f64 {
        let rho = self.upper();
        let log = (-log_lower(delta)).max(0.0);
        // Four roundings, each up.
        float::up(rho + 2.0 * float::up(rho * log, 2.0).sqrt(), 8.0)
    }

    /// `inf_{α>1} ρα + ln(1/(αδ))/(α−1) + ln(1−1/α)`, and at least 0.
    ///
    /// # Guarantee
    /// Not below the infimum: any α is valid, so the search is loose and the formula is evaluated
    /// once, rounded up.
    #[must_use]
    pub fn epsilon_canonne_kamath_steinke(&self, delta: &Delta) -> f64 {
        canonne_kamath_steinke(self.upper(), delta)
    }

    /// `e^{−(ε−ρ)²/4ρ}` for ε > ρ, otherwise 1: Bun and Steinke's δ at ε.
    #[must_use]
    pub fn delta_bun_steinke(&self, epsilon: &Epsilon) -> Magnitude {
        self.delta(Conversion::BunSteinke, epsilon)
    }

    /// `inf_{α>1} e^{(α−1)(ρα−ε)}·(1−1/α)^α/(α−1)`, at most 1: Canonne, Kamath and Steinke's δ at ε.
    #[must_use]
    pub fn delta_canonne_kamath_steinke(&self, epsilon: &Epsilon) -> Magnitude {
        self.delta(Conversion::CanonneKamathSteinke, epsilon)
    }
}

/// What the (ε, δ) of one profile, all of them together, say of the trade-off function.
///
/// A release that is (ε, δ)-private has `f(α) ≥ max(0, 1 − δ − e^ε·α, e^{−ε}·(1 − δ − α))`, for every ε. Any ε
/// gives a valid bound: a grid of them says where to look, and the best one nearby is evaluated rounding down.
pub(crate) struct Tradeoff<'p> {
    /// δ at ε, rounded up.
    profile: Box<dyn Fn(Dd) -> Magnitude + Sync + 'p>,
    step: f64,
    grid: Vec<Promise>,
    /// Whether to look between the points of the grid.
    refined: bool,
}

/// (ε, δ) as `e^ε`, rounded up, its inverse, rounded down, and δ, rounded up.
#[derive(Clone, Copy)]
struct Promise {
    factor: Magnitude,
    inverse: Magnitude,
    delta: Magnitude,
}

impl<'p> Tradeoff<'p> {
    const GRID: usize = 256;
    const FINE_GRID: usize = 512;
    /// Points of a sketch times cases, and the fewest points of one.
    const SKETCHED: usize = 1 << 14;
    const FEWEST: usize = 96;

    /// Of a conversion.
    pub fn new(rho: &Rho, conversion: Conversion, refined: bool) -> Tradeoff<'p> {
        // Up to where δ is 10⁻⁶⁰: for α beyond that the bound is all but 1 − α anyway.
        let tiny = Delta::new(Rational::power_of_ten(-60)).expect("a probability");
        let (dd, end) = (rho.0.to_dd(), rho.epsilon(conversion, &tiny));
        Tradeoff::over(Self::GRID, end, refined, move |epsilon| conversion.delta(dd, epsilon))
    }

    /// Of a composition's own profile, on a fine grid only: a little below its trade-off function, for rates that can be drawn.
    pub fn sketch(cases: &'p WorstCase) -> Result<Tradeoff<'p>> {
        let small = Delta::new(Rational::power_of_ten(-9)).expect("a probability");
        let end = cases.epsilon(&small)?.upper();
        // Any grid is valid. Each point is asked of every case: with many of them, fewer points. Between two of them,
        // h apart, f is missed by at most (e^h − 1)·Q[a loss between them]/4, which is below what can be seen.
        let points = (Self::SKETCHED / cases.count()).clamp(Self::FEWEST, Self::FINE_GRID);
        Ok(Tradeoff::over(points, end, false, cases.profile()?))
    }

    fn over(
        points: usize,
        end: f64,
        refined: bool,
        profile: impl Fn(Dd) -> Magnitude + Sync + 'p,
    ) -> Tradeoff<'p> {
        let mut tradeoff =
            Tradeoff { profile: Box::new(profile), step: end / points as f64, grid: vec![], refined };
        let places: Vec<usize> = (0..=points).collect();
        tradeoff.grid = parallel::map(&places, |i| tradeoff.promise(tradeoff.step * *i as f64));
        tradeoff
    }

    fn promise(&self, epsilon: f64) -> Promise {
        let at = Dd::from(epsilon);
        Promise {
            factor: Magnitude::exp(at, 0.0, Round::Up),
            inverse: Magnitude::exp(at.neg(), 0.0, Round::Down),
            delta: (self.profile)(at),
        }
    }

    /// Not above what the profile guarantees at α.
    pub fn at(&self, alpha: &Alpha) -> Magnitude {
        let most = alpha.value().to_magnitude_bounds().1;
        let rest = (&Rational::integer(1) - alpha.value()).to_magnitude_bounds().0;
        // 1 − δ − e^ε·α and e^{−ε}·(1 − α − δ), rounded down, and at least 0.
        let steep = |p: &Promise| {
            Magnitude::ONE.sub(p.delta.add(p.factor.mul(most, Round::Up), Round::Up), Round::Down)
        };
        let flat = |p: &Promise| p.inverse.mul(rest.sub(p.delta, Round::Down), Round::Down);
        let (steep, flat) = (self.best(steep), self.best(flat));
        if steep < flat { flat } else { steep }
    }

    /// The largest of a bound over ε: the best of the grid, or a better one next to it.
    fn best(&self, bound: impl Fn(&Promise) -> Magnitude) -> Magnitude {
        let among = |places: &mut dyn Iterator<Item = usize>| {
            places.fold((0, Magnitude::ZERO), |best, i| {
                let value = bound(&self.grid[i]);
                if best.1 < value { (i, value) } else { best }
            })
        };
        let n = self.grid.len();
        if !self.refined {
            // It rises and falls once: near the best of a few is the best of all, and any is valid.
            const STRIDE: usize = 8;
            let (i, _) = among(&mut (0..n).step_by(STRIDE));
            return among(&mut (i.saturating_sub(STRIDE)..n.min(i + STRIDE))).1;
        }
        let (i, value) = among(&mut (0..n));
        let end = |i: usize| self.step * i.min(n - 1) as f64;
        let at = |e: f64| bound(&self.promise(e));
        let cost = |e: f64| -at(e).ln(Round::Down).max(-1e300);
        let refined = at(golden(cost, end(i.saturating_sub(1)), end(i + 1), 12));
        if value < refined { refined } else { value }
    }
}

/// [`Rho::delta_bun_steinke`] for ρ and ε known to within a few units of double-double.
fn bun_steinke_delta(rho: Dd, epsilon: Dd) -> Magnitude {
    let gap = epsilon.sub(rho);
    if gap.hi <= 0.0 {
        return Magnitude::ONE;
    }
    let exponent = gap.mul(gap).div(rho.scale(4.0));
    // The gap is off by a few units of ε + ρ, the exponent by that times gap/2ρ, and by a few units of itself.
    let slack = float::DD_UNIT * (16.0 * exponent.hi + 16.0 * gap.hi * (epsilon.hi + rho.hi) / rho.hi);
    let delta = Magnitude::exp(exponent.neg(), slack, Round::Up);
    if delta < Magnitude::ONE { delta } else { Magnitude::ONE }
}

/// [`Rho::delta_canonne_kamath_steinke`] for ρ and ε known to within a few units of double-double.
pub(crate) fn canonne_kamath_steinke_delta(rho: Dd, epsilon: Dd) -> Magnitude {
    let at = |t: f64| {
        let excess = float::exp(t);
        // α = 1 + e^t exactly, as a double-double.
        let main = rho.mul(Dd::sum(1.0, excess)).sub(epsilon).scale(excess);
        let rest = -(1.0 + excess) * float::ln1p(1.0 / excess) - float::ln(excess);
        let size = excess * (rho.hi * (1.0 + excess) + epsilon.hi);
        let slack = 16.0 * float::UNIT * ((1.0 + excess) * float::ln1p(1.0 / excess) + t.abs())
            + 16.0 * float::DD_UNIT * size;
        (main.add(Dd::from(rest)), slack)
    };
    let (exponent, slack) = at(golden(|t| at(t).0.hi, -60.0, 60.0, 80));
    let delta = Magnitude::exp(exponent, slack, Round::Up);
    if delta < Magnitude::ONE { delta } else { Magnitude::ONE }
}

/// [`Rho::epsilon_canonne_kamath_steinke`] at an upper bound of ρ.
pub(crate) fn canonne_kamath_steinke(rho: f64, delta: &Delta) -> f64 {
    let log = log_lower(delta);
    let at = |t: f64| {
        // α − 1 = e^t.
        let excess = float::exp(t);
        let alpha = 1.0 + excess;
        let parts = [rho * alpha, (-log - float::ln1p(excess)) / excess, -float::ln1p(1.0 / excess)];
        // The value as computed, and what the roundings can have cost: at most 16u of each
        // part, and of the two logarithms inside the quotient.
        let inside = (log.abs() + float::ln1p(excess)) / excess;
        let size = parts.iter().map(|p| p.abs()).sum::<f64>() + inside;
        (parts.iter().sum::<f64>(), 32.0 * float::UNIT * size)
    };
    let (value, slack) = at(golden(|t| at(t).0, -60.0, 60.0, 80));
    (value + slack).next_up().max(0.0)
}

/// A lower bound of ln δ.
fn log_lower(delta: &Delta) -> f64 {
    delta.value().to_magnitude_bounds().0.ln(Round::Down)
}

/// About where `f` is least on `[low, high]`, if it falls and then rises.
pub(crate) fn golden(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64, steps: u32) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_894_9;
    let (mut a, mut b) = (high - RATIO * (high - low), low + RATIO * (high - low));
    let (mut fa, mut fb) = (f(a), f(b));
    for _ in 0..steps {
        if fa <= fb {
            (high, b, fb) = (b, a, fa);
            a = high - RATIO * (high - low);
            fa = f(a);
        } else {
            (low, a, fa) = (a, b, fb);
            b = low + RATIO * (high - low);
            fb = f(b);
        }
    }
    if fa <= fb { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rho: &str, delta: &str) -> (f64, f64) {
        let (rho, delta) = (Rho::parse(rho).unwrap(), Delta::parse(delta).unwrap());
        (rho.epsilon_bun_steinke(&delta), rho.epsilon_canonne_kamath_steinke(&delta))
    }

    /// The signed certificates of P.L. 94-171 print these to two decimals.
    #[test]
    fn published_figures_are_met() {
        let (_, persons) = at("293764/114921", "1e-10");
        assert!((persons - 17_849_145.0 / 1_041_158.0).abs() < 5e-4, "{persons}");
        // DHC persons, production: ρ = 4.96.
        let (bun_steinke, cks) = at("4.96", "1e-10");
        assert!((bun_steinke - 26.34).abs() < 0.01, "{bun_steinke}");
        assert!((cks - 25.42).abs() < 0.01, "{cks}");
        // The paper's State level: ρ = 3.65·0.274 at 10⁻¹¹ and 10⁻⁵.
        assert!((at("1.0001", "1e-11").0 - 11.07).abs() < 0.005);
        assert!((at("1.0001", "1e-5").0 - 7.79).abs() < 0.005);
    }

    #[test]
    fn the_tighter_conversion_is_tighter_and_both_work_at_the_edges() {
        for rho in ["1e-12", "1e-3", "1", "1000", "1e9"] {
            for delta in ["1e-1000", "1e-10", "0.5", "0.999999"] {
                let (bun_steinke, cks) = at(rho, delta);
                assert!(bun_steinke.is_finite() && cks.is_finite() && cks >= 0.0);
                assert!(cks <= bun_steinke, "{rho} {delta}: {cks} {bun_steinke}");
            }
        }
    }

    #[test]
    fn deltas_undo_epsilons() {
        let rho = Rho::parse("2.63").unwrap();
        for text in ["1e-3", "1e-10", "1e-50"] {
            let delta = Delta::parse(text).unwrap();
            let back = |epsilon: f64| Epsilon::new(Rational::from_f64("", epsilon).unwrap()).unwrap();
            let want: f64 = text.parse().unwrap();
            let a = rho.delta_bun_steinke(&back(rho.epsilon_bun_steinke(&delta))).to_f64(Round::Up);
            let b = rho
                .delta_canonne_kamath_steinke(&back(rho.epsilon_canonne_kamath_steinke(&delta)))
                .to_f64(Round::Up);
            assert!((a / want - 1.0).abs() < 1e-9 && (b / want - 1.0).abs() < 1e-9, "{a} {b} {want}");
        }
        assert_eq!(rho.delta_bun_steinke(&Epsilon::parse("1").unwrap()), Magnitude::ONE);
    }
}
