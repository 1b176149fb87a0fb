//! Noise by address beside draws of a stream, for vectors of several lengths.

use unspent::sampler::{Key, ReleaseKey, Sampler};

use super::{Contender, OURS, ROUNDS, three_digits};

/// Values of a vector.
const LENGTHS: [usize; 7] = [1, 8, 16, 27, 63, 252, 2_016];

pub fn table() {
    println!("Nanoseconds a vector of so many values, by address / from a stream:\n");
    let lengths: Vec<_> = LENGTHS.iter().map(usize::to_string).collect();
    println!("| noise | {} |", lengths.join(" | "));
    println!("|---:|{}", "---:|".repeat(lengths.len()));
    for (name, sampler) in [
        ("σ² = 32/3", Sampler::new(&"32/3".parse().unwrap())),
        ("σ² = 1000", Sampler::new(&"1000".parse().unwrap())),
        ("σ² = 5000", Sampler::new(&"5000".parse().unwrap())),
        ("b = 6", Sampler::discrete_laplace(&"6".parse().unwrap())),
    ] {
        let row: Vec<_> = LENGTHS.iter().map(|length| cell(sampler.as_ref().unwrap(), *length)).collect();
        println!("| {name} | {} |", row.join(" | "));
    }
    println!();
}

fn cell(sampler: &Sampler, length: usize) -> String {
    let units = OURS / length.max(8);
    let codes: Vec<String> = (0..units).map(|unit| format!("{:015}", 360_610_001_001_000 + unit)).collect();
    let noise = ReleaseKey::not_private(1).noise("Block", "sex * age", sampler);
    let mut stream = Key::not_private(1).noise(sampler);
    let mut both = [
        Contender::new(units * length, move |places| {
            noise.fill(codes.iter().map(String::as_bytes), length, places);
        }),
        Contender::new(units * length, move |places| stream.fill(places).unwrap()),
    ];
    for _ in 0..ROUNDS {
        both.iter_mut().for_each(Contender::round);
    }
    both.map(|contender| three_digits(length as f64 / contender.rate() * 1e9)).join(" / ")
}
