//! The best attacker over all cases: the trade-off function and its power.

use super::WorstCase;
use crate::error::Result;
use crate::number::{Bounds, Magnitude, Rational};
use crate::parallel;
use crate::quantity::Alpha;
use crate::zcdp::Conversion;

impl WorstCase {
    /// The trade-off function at α: the smallest over the cases. The lower end is the guarantee.
    pub fn tradeoff(&self, alpha: &Alpha) -> Result<Bounds<Magnitude>> {
        Ok(self.attack(alpha)?.0)
    }

    /// The power of the best attacker at α: the largest over the cases.
    pub fn power(&self, alpha: &Alpha) -> Result<Bounds<Magnitude>> {
        Ok(self.attack(alpha)?.1)
    }

    /// f(α) and 1 − f(α).
    fn attack(&self, alpha: &Alpha) -> Result<(Bounds<Magnitude>, Bounds<Magnitude>)> {
        let one = Rational::integer(1);
        if self.cases.len() == 1 && self.attained.is_none()
            || alpha.value().is_zero()
            || *alpha.value() == one
        {
            let only = self.best_of(&self.cases[0])?;
            let (f, power, _) = only.best_test(alpha)?;
            let Some(rho) = &self.unlisted else { return Ok((f, power)) };
            // What the (ε, δ) of the conversion, all of them together, guarantee.
            let least = Conversion::CanonneKamathSteinke.envelope(rho, !self.is_fast()).at(alpha);
            let f = Bounds::new(if least < f.lower() { least } else { f.lower() }, f.upper());
            return Ok((f, f.complement()));
        }
        let cases = self.cases.iter().map(|case| case.glance()).collect::<Result<Vec<_>>>()?;
        let indices: Vec<usize> = (0..cases.len()).collect();
        let proved = |epsilon: f64| parallel::map(&indices, |i| cases[*i].proved_at(alpha, epsilon));
        // The one that is likely the worst: its best test is near the best of all.
        let guess = proved(cases[0].gaussian_threshold(alpha.value()));
        let stronger = |a: usize, b: usize| if guess[a].1.upper() < guess[b].1.upper() { b } else { a };
        let worst = indices.iter().copied().reduce(stronger).expect("at least one case");
        let (f, p, threshold) = self.best_of(&self.cases[worst])?.best_test(alpha)?;
        // One ε serves all other cases.
        let (mut misses, mut power) = (f.lower(), p.upper());
        for (i, (f, p)) in proved(threshold).into_iter().enumerate() {
            if i != worst {
                misses = if f.lower() < misses { f.lower() } else { misses };
                power = if power < p.upper() { p.upper() } else { power };
            }
        }
        // The other ends are those of a case that some neighbours come down to.
        let (known_f, known_p) = match &self.attained {
            None => (f, p),
            Some(cases) if cases.is_empty() => {
                let guessing = (&one - alpha.value()).to_bounds();
                (guessing, alpha.value().to_bounds())
            }
            Some(cases) => {
                let known = WorstCase { attained: None, cases: cases.clone(), ..self.clone() };
                known.attack(alpha)?
            }
        };
        let rest = (&one - alpha.value()).to_magnitude_bounds().1;
        let least = |a: Magnitude, b: Magnitude| if b < a { b } else { a };
        let upper = least(known_f.upper(), rest);
        let power = least(power, Magnitude::ONE);
        Ok((Bounds::new(least(misses, upper), upper), Bounds::new(least(known_p.lower(), power), power)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::effort::Effort;
    use crate::mechanism::{DiscreteGaussian, Mechanism};
    use crate::worst::Case;

    /// Sparse laws whose trade-off functions cross: whichever is taken for the worst, none of the others may
    /// be forgotten.
    #[test]
    fn no_case_is_forgotten_where_trade_off_functions_cross() {
        let groups: [&[(&str, u64)]; 4] =
            [&[("2", 10)], &[("0.2", 1)], &[("0.4", 2)], &[("1/3", 1), ("1", 2)]];
        let case = |groups: &&[(&str, u64)]| {
            let noise = |text: &str| Mechanism::from(DiscreteGaussian::parse(text, "1").unwrap());
            Arc::new(Case::new(vec![], groups.iter().map(|(text, count)| (noise(text), *count)).collect()))
        };
        let worst = WorstCase::new(groups.iter().map(case).collect(), None, Effort::Normal);
        for k in 1..60 {
            let alpha = Alpha::new(&Rational::integer(k) / &Rational::integer(60)).unwrap();
            let (misses, power) = (worst.tradeoff(&alpha).unwrap(), worst.power(&alpha).unwrap());
            for case in &worst.cases {
                let alone = case.composed(Effort::Normal).unwrap();
                assert!(misses.lower() <= alone.tradeoff(&alpha).unwrap().upper(), "{alpha}");
                assert!(alone.power(&alpha).unwrap().lower() <= power.upper(), "{alpha}");
            }
        }
    }
}
