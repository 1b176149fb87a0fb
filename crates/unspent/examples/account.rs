//! What a list of noisy answers promises, and how much less noise would do.
//!
//! `cargo run --example account -p unspent`

use unspent::{Alpha, Composition, Delta, DiscreteGaussian, Epsilon, Target};

fn main() -> unspent::Result<()> {
    // Ten answers with σ² = 5 and twenty with σ² = 104/7; one record moves each by 1.
    let release = Composition::new([
        (DiscreteGaussian::parse("5", "1")?, 10),
        (DiscreteGaussian::parse("104/7", "1")?, 20),
    ])?;

    let delta = Delta::parse("1e-10")?;
    let epsilon = release.epsilon(&delta)?;
    println!("epsilon is between {} and {} at delta = 1e-10", epsilon.lower(), epsilon.upper());

    let power = release.power(&Alpha::parse("0.05")?)?.to_f64().upper();
    println!("an attacker with 5 % false alarms notices a record at most {power} of the time");

    let target = Target { epsilon: Epsilon::parse("13.43")?, delta };
    let least = release.smallest_scale(&target)?;
    println!("(13.43, 1e-10) needs this part of the variances: {}", least.satisfying.to_f64());
    Ok(())
}
