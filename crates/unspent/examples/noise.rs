//! Exact discrete Gaussian noise, under a key that is used once.
//!
//! `cargo run --release --example noise -p unspent`

use unspent::sampler::{Key, Sampler};

fn main() -> unspent::Result<()> {
    let sampler = Sampler::new(&"5".parse()?)?;
    let key = Key::from_os()?;
    let mut noise = vec![0; 1_000_000];
    key.noise(&sampler).fill(&mut noise)?;
    let squares: f64 = noise.iter().map(|x| (*x as f64).powi(2)).sum();
    println!("a million draws; mean of their squares: {:.3}", squares / noise.len() as f64);
    Ok(())
}
