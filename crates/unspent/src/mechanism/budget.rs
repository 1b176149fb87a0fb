//! What zCDP and group privacy say of a mechanism.

use super::{ApproximateDp, Mechanism, Truth, ZeroConcentratedDp};
use crate::number::Rational;

impl Mechanism {
    /// A ρ such that `count` of them satisfy ρ-zCDP, if one is known; for Gaussian noise the smallest.
    ///
    /// ε-DP implies ε²/2-zCDP (Bun and Steinke, 2016, proposition 1.4), and a sample reveals no more than all
    /// records (`theory/mechanisms.md`, M10).
    #[must_use]
    pub fn zcdp(&self, count: u64) -> Option<Rational> {
        let half_square = |epsilon: &Rational| &(epsilon * epsilon) / &Rational::integer(2);
        let one = match self {
            Mechanism::ZeroConcentratedDp(event) => event.rho().clone(),
            Mechanism::ApproximateDp(event) if event.delta().is_zero() => half_square(event.epsilon()),
            Mechanism::Laplace(_) | Mechanism::DiscreteLaplace(_) => half_square(&self.pure_epsilon()?),
            Mechanism::RandomisedResponse(response) => match response.truth() {
                Truth::Epsilon(epsilon) => half_square(epsilon),
                Truth::Probability(_) => return None,
            },
            Mechanism::Subsampled(sampled) => Mechanism::from(sampled.base().clone()).zcdp(1)?,
            noise => noise.rho(1)?,
        };
        Some(&one * &Rational::from(count))
    }

    /// What is known of it if so many records change one after the other (`theory/neighbours.md`, N12).
    pub(crate) fn in_groups_of(&self, steps: u64) -> Option<Mechanism> {
        let times = Rational::from(steps);
        match self {
            _ if steps == 1 => Some(self.clone()),
            Mechanism::ZeroConcentratedDp(event) => {
                ZeroConcentratedDp::new(&(&times * &times) * event.rho()).ok().map(Into::into)
            }
            Mechanism::ApproximateDp(event) if event.delta().is_zero() => {
                ApproximateDp::new(&times * event.epsilon(), Rational::integer(0)).ok().map(Into::into)
            }
            _ => None,
        }
    }
}
