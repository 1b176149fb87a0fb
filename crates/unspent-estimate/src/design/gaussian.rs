//! ε of continuous Gaussian noise by its ρ alone. It steers the search, and is printed as an indication; what
//! a design promises is certified for its own discrete noise.

use unspent::{Composition, Delta, Epsilon, Error, Gaussian, Rational, Result};

/// The ε of Gaussian noise that spends ρ, at δ.
pub(super) fn epsilon_of(rho: f64, delta: &Delta) -> Result<f64> {
    let noise = Gaussian::new(Rational::from_f64("sigma2", 0.5 / rho)?, Rational::integer(1))?;
    Ok(Composition::new([(noise, 1)])?.epsilon(delta)?.upper())
}

/// The ρ of Gaussian noise that has ε at δ.
pub(super) fn rho_of(epsilon: &Epsilon, delta: &Delta) -> Result<f64> {
    let wanted = epsilon.value().to_f64();
    let (mut low, mut high) = (1e-9f64, 450.0f64);
    if epsilon_of(high, delta)? < wanted || epsilon_of(low, delta)? > wanted {
        return Err(Error::input("epsilon", epsilon, "a value that some noise has", "try 1 or 10"));
    }
    // ε grows with ρ; 60 halvings of its logarithm are below the last bit.
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if epsilon_of(middle, delta)? > wanted {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(low)
}
