//! The published conversions from ρ-zCDP to (ε, δ), for comparison.
//!
//! A composition of (discrete) Gaussian mechanisms satisfies ρ-zCDP with ρ = Σ nΔ²/2σ². Two
//! conversions are in use: Bun and Steinke's (the Bureau's for the Demographic and Housing
//! Characteristics) and the tighter one of Canonne, Kamath and Steinke (the Bureau's for the signed
//! P.L. 94-171 certificates). Both are valid and neither is tight; results here are rounded up.

use crate::envelope::Envelope;
use crate::error::{Error, Result};
use crate::named::named;
use crate::number::float::{self, Dd};
use crate::number::{Magnitude, Rational, Round, golden_section};
use crate::quantity::{Delta, Epsilon, Rho};

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
        text.parse()
    }

    /// The largest ρ, to 12 digits, with which it states no more than ε at δ: the way back.
    ///
    /// ```
    /// use unspent::{Conversion, Delta, Epsilon};
    /// let (epsilon, delta) = (Epsilon::parse("1")?, Delta::parse("1e-6")?);
    /// let rho = Conversion::BunSteinke.largest_rho(&epsilon, &delta)?;
    /// assert_eq!(*rho.value(), "0.0174689047691".parse()?);
    /// # Ok::<(), unspent::Error>(())
    /// ```
    pub fn largest_rho(self, epsilon: &Epsilon, delta: &Delta) -> Result<Rho> {
        const DIGITS: u32 = 12;
        // Both conversions grow with ρ; what is tried is what is returned.
        let rho_at = |log: f64| {
            let rho = Rational::from_f64("rho", float::exp(log))?.to_decimal(DIGITS, Round::Down);
            Rho::parse(&rho)
        };
        let meets = |rho: &Rho| -> Result<bool> {
            Ok(Rational::from_f64("epsilon", rho.epsilon(self, delta))? <= *epsilon.value())
        };
        let (mut low, mut high) = (-80.0f64, 80.0);
        let mut found = None;
        while high - low > 1e-13 * low.abs().max(1.0) {
            let middle = 0.5 * (low + high);
            let rho = rho_at(middle)?;
            if meets(&rho)? {
                (low, found) = (middle, Some(rho));
            } else {
                high = middle;
            }
        }
        found.ok_or_else(|| {
            let hint = "no budget of zCDP is so small: give a larger epsilon or a larger delta";
            Error::input("epsilon", epsilon.value(), "an epsilon that some rho above 1e-34 keeps", hint)
        })
    }

    /// What all its (ε, δ) together guarantee of the trade-off function.
    pub(crate) fn envelope(self, rho: &Rho, refined: bool) -> Envelope<'static> {
        const POINTS: usize = 256;
        // Up to where δ is 10⁻⁶⁰: for α beyond that the bound is all but 1 − α anyway.
        let tiny = Delta::new(Rational::power_of_ten(-60)).expect("a probability");
        let (dd, end) = (rho.value().to_dd(), rho.epsilon(self, &tiny));
        Envelope::new(POINTS, end, refined, move |epsilon| self.delta(dd, epsilon))
    }
}

named!(Conversion, "conversion", "the conversion is how a published epsilon was computed from rho");

impl Rho {
    fn upper(&self) -> f64 {
        self.value().to_f64_bounds().1
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
        conversion.delta(self.value().to_dd(), epsilon.value().to_dd())
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

/// [`Rho::delta_bun_steinke`] for ρ and ε known to within a few units of double-double.
fn bun_steinke_delta(rho: Dd, epsilon: Dd) -> Magnitude {
    let gap = epsilon.sub(rho);
    if gap.hi <= 0.0 {
        return Magnitude::ONE;
    }
    let exponent = gap.mul(gap).div(rho.scale(4.0));
    // The gap is off by a few units of ε + ρ, the exponent by that times gap/2ρ, and by a few units of
    // itself.
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
    let (exponent, slack) = at(golden_section(|t| at(t).0.hi, -60.0, 60.0, 80));
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
    let (value, slack) = at(golden_section(|t| at(t).0, -60.0, 60.0, 80));
    (value + slack).next_up().max(0.0)
}

/// A lower bound of ln δ, near 1 from the exact `1 − δ`.
fn log_lower(delta: &Delta) -> f64 {
    let rest = (&Rational::integer(1) - delta.value()).to_f64_bounds().1;
    if rest < 0.5 {
        return float::down(float::ln1p(-rest), 8.0);
    }
    delta.value().to_magnitude_bounds().0.ln(Round::Down)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::big::{big, of_rational};
    use crate::oracle::{self, text};

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

    /// What is found keeps the promise, and a part in 10¹¹ more does not.
    #[test]
    fn the_way_back_is_the_largest_rho() {
        for conversion in Conversion::ALL {
            for (epsilon, delta) in [("1", "1e-6"), ("17", "1e-10"), ("0.001", "1e-3"), ("400", "1e-300")] {
                let (target, delta) = (Epsilon::parse(epsilon).unwrap(), Delta::parse(delta).unwrap());
                let rho = conversion.largest_rho(&target, &delta).unwrap();
                let stated = |rho: &Rho| Rational::from_f64("", rho.epsilon(conversion, &delta)).unwrap();
                assert!(stated(&rho) <= *target.value(), "{conversion} {epsilon}");
                let more = Rho::new(rho.value() * &"1.00000000001".parse().unwrap()).unwrap();
                assert!(stated(&more) > *target.value(), "{conversion} {epsilon}");
            }
            let zero = Epsilon::parse("0").unwrap();
            let error = conversion.largest_rho(&zero, &Delta::parse("1e-6").unwrap());
            match conversion {
                Conversion::BunSteinke => assert!(error.unwrap_err().is_input()),
                // Here an ε of 0 is stated for small ρ, where δ is large.
                Conversion::CanonneKamathSteinke => assert!(error.is_ok()),
            }
        }
    }

    /// Where δ is all but 1, its logarithm has the digits of `1 − δ`. Exact values with 60 digits.
    #[test]
    fn near_a_delta_of_one_the_tighter_conversion_is_as_tight() {
        for (rho, delta, exact) in [
            ("100", "0.999999999999", 72.368_978_884_171_45),
            ("100", "0.9999999999999999", 63.158_638_512_095_28),
            ("1e6", "0.999999999999", 999_972.368_979_884_1),
        ] {
            let (_, cks) = at(rho, delta);
            assert!((0.0..1e-11).contains(&(cks / exact - 1.0 + 1e-15)), "{rho} {delta}: {cks}");
        }
    }

    const BOTH: [(Conversion, &str); 2] =
        [(Conversion::BunSteinke, "bun_steinke"), (Conversion::CanonneKamathSteinke, "cks")];

    /// ε of either conversion is not below what the oracle finds, and hardly above.
    #[test]
    fn epsilons_are_above_the_exact_ones() {
        let mut checked = 0;
        for entry in oracle::guarantees("conversions").iter().filter(|e| e.get("delta").is_some()) {
            let (rho, delta) = (Rho::parse(text(&entry["rho"])), Delta::parse(text(&entry["delta"])));
            let (rho, delta) = (rho.unwrap(), delta.unwrap());
            let small = *delta.value() <= "0.5".parse().unwrap();
            for (conversion, key) in BOTH {
                let exact = &entry[key];
                let (low, high) = oracle::enclosure(exact);
                let found = Rational::from_f64("", rho.epsilon(conversion, &delta)).unwrap();
                let is_zero = text(exact) == "0" && found == Rational::integer(0);
                assert!(is_zero || found >= low, "{entry}: {conversion} {}", found.to_f64());
                let (digits, size) = match conversion {
                    Conversion::BunSteinke => (14, high.clone()),
                    // A difference of such numbers where it is near 0.
                    Conversion::CanonneKamathSteinke => {
                        (if small { 13 } else { 11 }, &(&high + rho.value()) + &"1e-3".parse().unwrap())
                    }
                };
                assert!(found <= high + size * Rational::power_of_ten(-digits), "{entry}: {conversion}");
                checked += 1;
            }
        }
        assert_eq!(checked, 240);
    }

    /// δ of either conversion is not below what the oracle finds, and hardly above, down to e^{−10¹⁷}.
    #[test]
    fn deltas_are_above_the_exact_ones() {
        let mut checked = 0;
        for entry in oracle::guarantees("conversions").iter().filter(|e| e.get("epsilon").is_some()) {
            let (rho, epsilon) = (Rho::parse(text(&entry["rho"])), Epsilon::parse(text(&entry["epsilon"])));
            let (rho, epsilon) = (rho.unwrap(), epsilon.unwrap());
            for (conversion, key) in BOTH {
                let exact = &entry[key];
                let found = rho.delta(conversion, &epsilon);
                let (found_power, found_digits) = oracle::scientific(&found.to_decimal(30, Round::Up));
                let (power, digits) = oracle::scientific(text(exact));
                assert!((found_power, &found_digits) >= (power, &digits), "{entry}: {conversion} {found:?}");
                // Of very large exponents the search for the best order sees the first digits only.
                let near = if power < -10_000 {
                    (power + 100, digits)
                } else {
                    (power, digits + Rational::power_of_ten(-9))
                };
                assert!((found_power, found_digits) <= near, "{entry}: {conversion} {found:?}");
                checked += 1;
            }
        }
        assert_eq!(checked, 126);
    }

    /// The parts that a bound is put together from, each rounded the right way by itself.
    #[test]
    fn parts_of_the_bounds_are_rounded_outward() {
        for rho in ["1/3", "0.1", "293764/114921", "1e-12", "4.96"] {
            let rho = Rho::parse(rho).unwrap();
            let upper = Rational::from_f64("", rho.upper()).unwrap();
            assert!(upper > *rho.value() && upper < rho.value() * &"1.000000000000001".parse().unwrap());
        }
        assert_eq!(Rho::parse("0.5").unwrap().upper(), 0.5);
        for delta in ["1e-1000", "1e-10", "1/3", "0.5", "0.9", "0.999999", "0.999999999999"] {
            let delta = Delta::parse(delta).unwrap();
            let (lower, exact) = (big(log_lower(&delta)), of_rational(delta.value()).ln());
            assert!(lower < exact && exact.clone() - lower < big(1e-13) - exact * big(1e-13), "{delta}");
        }
    }

    /// Bounds as they have been printed: what rounds one part differently shows here, even if others make up
    /// for it.
    #[test]
    fn bounds_are_the_same_to_the_last_bit() {
        for (rho, delta, bun_steinke, cks) in PRINTED {
            assert_eq!(at(rho, delta), (bun_steinke, cks), "{rho} {delta}");
        }
    }

    /// ρ, δ, and ε of Bun and Steinke, and of Canonne, Kamath and Steinke.
    const PRINTED: [(&str, &str, f64, f64); 14] = [
        ("1/3", "1e-10", 5.874193787563713, 5.485425493670675),
        ("1/3", "1/3", 1.5436293239450605, 0.37685747936786296),
        ("1/3", "1e-100", 17.855072565856478, 17.691480591261758),
        ("293764/114921", "1e-10", 17.90018454509821, 17.143550743596034),
        ("293764/114921", "1/3", 5.907822714330204, 4.120258195435156),
        ("293764/114921", "1e-100", 51.07808423159712, 50.729616778084846),
        ("4.96", "1e-10", 26.333649254397834, 25.41246091346145),
        ("4.96", "1/3", 9.628668740355806, 7.595916035757554),
        ("4.96", "1e-100", 72.54941355345679, 72.11005668947188),
        ("0.1", "1e-10", 3.1348542587702997, 2.881828009174263),
        ("0.1", "1e-100", 9.697051824376183, 9.594983205469717),
        ("1e6", "1e-10", 1009597.0518243773, 1009590.709930585),
        ("1e6", "1/3", 1002096.2941479374, 1002088.4326544178),
        ("1e6", "1e-100", 1030348.542587704, 1030343.3468684669),
    ];

    /// An exponent of 2.5·10¹⁷ is off by more than a unit of its exponential: the error counts.
    #[test]
    fn a_large_exponent_is_rounded_up_as_before() {
        let rho = Rho::parse("1e-6").unwrap();
        let found = rho.delta_bun_steinke(&Epsilon::parse("1000000.3").unwrap());
        // The exact one is 1.9041295333463689…e-108573685619777867.
        assert_eq!(found.to_decimal(17, Round::Down), "1.9041295333554744e-108573685619777867");
        // Of the other, ε is a third of what its error is counted from.
        let found = rho.delta_canonne_kamath_steinke(&Epsilon::parse("1000000.3").unwrap());
        assert_eq!(found.to_decimal(17, Round::Down), "1.0069654213461071e-108573685619777872");
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
