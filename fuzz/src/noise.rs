//! Noise: the same draws with all instructions, in pieces of any size, and by address in any order.

use unspent::Rational;
use unspent::sampler::{Key, Path, ReleaseKey, Sampler};

use crate::bytes::Bytes;

/// Any law that can be drawn; often at the border of two ways to do it.
fn sampler(bytes: &mut Bytes<'_>) -> Option<Sampler> {
    const VARIANCES: [&str; 8] =
        ["1024", "1024.000001", "1e12", "1e-3", "5", "1e6", "1099511627776/3", "4096"];
    const SCALES: [&str; 8] = ["16", "16.000001", "512", "512.000001", "1e6", "1e-3", "5", "524288"];
    let kind = bytes.next();
    let laplace = kind >= 128;
    let text = if kind.is_multiple_of(2) {
        bytes.one_of(if laplace { &SCALES } else { &VARIANCES }).to_string()
    } else {
        format!("{}/{}", bytes.word(), bytes.word().max(1))
    };
    let number = Rational::parse("parameter", &text).ok()?;
    if laplace { Sampler::discrete_laplace(&number).ok() } else { Sampler::new(&number).ok() }
}

/// Draws of a stream, with all paths, whole and in pieces.
pub(crate) fn paths(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    let Some(sampler) = sampler(&mut bytes) else { return false };
    let seed = bytes.word().into();
    let count = 1 + bytes.below(2_500) as usize;
    let cut = bytes.below(2_500) as usize % (count + 1);
    let mut draws: Vec<Vec<i64>> = vec![];
    for path in Path::available() {
        let sampler = sampler.on(path);
        let mut whole = vec![0; count];
        Key::not_private(seed).noise(&sampler).fill(&mut whole).expect("the same process");
        let mut pieces = vec![0; count];
        let mut noise = Key::not_private(seed).noise(&sampler);
        noise.fill(&mut pieces[..cut]).expect("the same process");
        pieces[cut..].iter_mut().for_each(|place| *place = noise.sample().expect("the same process"));
        assert_eq!(whole, pieces, "{path:?} in two pieces");
        draws.push(whole);
    }
    assert!(draws.windows(2).all(|pair| pair[0] == pair[1]), "paths differ");
    true
}

/// Vectors by address, with all paths, in both orders.
pub(crate) fn addressed(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    let Some(sampler) = sampler(&mut bytes) else { return false };
    let key = ReleaseKey::not_private(bytes.word().into());
    let units = 1 + bytes.below(40) as usize;
    let longest = if bytes.next() % 8 == 0 { 2_500 } else { 40 };
    let length = 1 + bytes.below(longest) as usize;
    // Codes of up to 80 bytes: BLAKE3's blocks have 64.
    let codes: Vec<Vec<u8>> = (0..units)
        .map(|unit| {
            let mut code = vec![bytes.next(); bytes.below(80) as usize];
            code.extend(unit.to_be_bytes());
            code
        })
        .collect();
    let mut draws: Vec<Vec<i64>> = vec![];
    for path in Path::available() {
        let noise = key.noise("Block", "total", &sampler.on(path));
        let mut whole = vec![0; units * length];
        noise.fill(codes.iter().map(Vec::as_slice), length, &mut whole);
        let mut single = vec![0; units * length];
        for (code, places) in codes.iter().zip(single.chunks_mut(length)).rev() {
            noise.fill([code.as_slice()], length, places);
        }
        assert_eq!(whole, single, "{path:?}: together and one by one");
        draws.push(whole);
    }
    assert!(draws.windows(2).all(|pair| pair[0] == pair[1]), "paths differ");
    true
}
