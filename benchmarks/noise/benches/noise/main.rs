//! Draws per second on one core, next to what else there is; `cargo bench -p unspent-bench-noise`.
//!
//! All take turns, round by round, and of each its fastest round counts. Medians would flatter us: a busy
//! machine slows OpenDP down more than vector instructions. One that is busy all the time does so even here.

mod textbook;

use std::hint::black_box;
use std::time::Instant;

use dashu::rational::RBig;
use opendp::traits::samplers::sample_discrete_gaussian;
use textbook::{Textbook, Words};
use unspent::Rational;
use unspent::sampler::{Key, Path, Sampler};

/// σ², as fractions: 5, 68.49, 456.62 and 10⁶.
const VARIANCES: [(u64, u64); 4] = [(5, 1), (6_849, 100), (45_662, 100), (1_000_000, 1)];

const ROUNDS: usize = 41;

/// Some milliseconds of each: slow samplers get fewer draws a round.
const OURS: usize = 1 << 20;
const TEXTBOOK: usize = 1 << 16;
const OPENDP: usize = 1 << 11;

fn main() {
    let names = Path::available().into_iter().map(|path| format!("ours, {path:?}"));
    let names: Vec<_> = ["ChaCha20, 4 bytes".to_string()]
        .into_iter()
        .chain(names)
        .chain(["textbook", "OpenDP", "ours / textbook", "ours / OpenDP"].map(String::from))
        .collect();
    println!("Million draws a second on one core, the fastest of {ROUNDS} rounds:\n");
    println!("| σ² | {} |", names.join(" | "));
    println!("|---:|{}", "---:|".repeat(names.len()));
    for (numerator, denominator) in VARIANCES {
        row(numerator, denominator);
    }
    println!();
}

/// One line of the table.
fn row(numerator: u64, denominator: u64) {
    let sigma2 = numerator as f64 / denominator as f64;
    let mut samplers = ours(&Rational::parse("sigma2", &format!("{numerator}/{denominator}")).unwrap());
    let paths = samplers.len();
    samplers.push(textbook(numerator, denominator));
    samplers.push(opendp(sigma2));
    samplers.iter_mut().for_each(|sampler| sampler.check(sigma2));

    let mut contenders = vec![keystream()];
    contenders.extend(samplers);
    for _ in 0..ROUNDS {
        contenders.iter_mut().for_each(Contender::round);
    }
    let rates: Vec<f64> = contenders.iter().map(Contender::rate).collect();
    let best = rates[1..=paths].iter().copied().fold(0.0, f64::max);
    let (textbook, opendp) = (rates[paths + 1], rates[paths + 2]);
    let rates: Vec<_> = rates.iter().map(|rate| three_digits(rate / 1e6)).collect();
    println!("| {sigma2} | {} | {:.0} | {:.0} |", rates.join(" | "), best / textbook, best / opendp);
}

/// With as many decimals as three digits leave.
fn three_digits(x: f64) -> String {
    let decimals = [100.0, 10.0, 1.0].into_iter().filter(|from| x < *from).count();
    format!("{x:.decimals$}")
}

/// Ours, a slice at a time, with each kind of instructions this machine has.
fn ours(sigma2: &Rational) -> Vec<Contender> {
    let sampler = Sampler::new(sigma2).unwrap();
    let key = Key::not_private(1);
    let paths = Path::available().into_iter().map(|path| {
        let mut noise = key.noise(&sampler.on(path));
        Contender::new(OURS, move |places| noise.fill(places).unwrap())
    });
    paths.collect()
}

/// The random words alone that a draw up to σ² = 1024 is made of.
fn keystream() -> Contender {
    let mut words = Words::new();
    Contender::new(OURS, move |places| {
        let mut bytes = 0;
        while bytes < 4 * places.len() {
            bytes += size_of_val(black_box(words.refill()));
        }
    })
}

/// The textbook's, in machine integers.
fn textbook(numerator: u64, denominator: u64) -> Contender {
    let mut sampler = Textbook::new(numerator, denominator);
    Contender::new(TEXTBOOK, move |places| places.fill_with(|| sampler.sample()))
}

/// OpenDP's, which is the textbook's in bignums.
///
/// It takes σ where we take σ², so it gets σ to nine decimals. A fraction with a denominator of a few
/// thousand would make it up to a quarter faster; an f64 as it is, which is what OpenDP's own mechanisms pass
/// on, a tenth slower. Its random bytes are OpenSSL's, which is its default and as fit for the purpose as
/// ours; compiled without, it takes those of `rand::thread_rng` and is some 2.5 times faster.
fn opendp(sigma2: f64) -> Contender {
    const UNIT: u64 = 1_000_000_000;
    let sigma = (sigma2.sqrt() * UNIT as f64).round() as u64;
    let sigma = RBig::from_parts(sigma.into(), UNIT.into());
    Contender::new(OPENDP, move |places| {
        places.fill_with(|| sample_discrete_gaussian(sigma.clone()).unwrap().try_into().unwrap());
    })
}

type Fill = Box<dyn FnMut(&mut [i64])>;

/// One way to fill a slice, and how long it took in its fastest round.
struct Contender {
    places: Vec<i64>,
    fill: Fill,
    seconds: f64,
}

impl Contender {
    fn new(draws: usize, fill: impl FnMut(&mut [i64]) + 'static) -> Contender {
        Contender { places: vec![0; draws], fill: Box::new(fill), seconds: f64::INFINITY }
    }

    fn round(&mut self) {
        let start = Instant::now();
        (self.fill)(black_box(&mut self.places));
        self.seconds = self.seconds.min(start.elapsed().as_secs_f64());
    }

    /// Draws a second.
    fn rate(&self) -> f64 {
        self.places.len() as f64 / self.seconds
    }

    /// A mistake in the law would make the comparison worthless: mean and variance must be right within six
    /// standard errors. Serves to warm up, too.
    fn check(&mut self, sigma2: f64) {
        (self.fill)(&mut self.places);
        let count = self.places.len() as f64;
        let mean = self.places.iter().sum::<i64>() as f64 / count;
        let square = self.places.iter().map(|x| (x * x) as f64).sum::<f64>() / count;
        assert!(mean.abs() < 6.0 * (sigma2 / count).sqrt(), "mean {mean} at variance {sigma2}");
        let off = square / sigma2 - 1.0;
        assert!(off.abs() < 6.0 * (2.0 / count).sqrt(), "variance {square} instead of {sigma2}");
    }
}
