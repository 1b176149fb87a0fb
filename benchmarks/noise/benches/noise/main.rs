//! Draws per second on one core, next to what else there is; `cargo bench -p unspent-bench-noise`.
//!
//! All take turns, round by round, and of each its fastest round counts. Medians would flatter us: a busy
//! machine slows OpenDP down more than vector instructions. One that is busy all the time does so even here.

mod addressed;
mod textbook;

use std::hint::black_box;
use std::time::Instant;

use dashu::rational::RBig;
use opendp::traits::samplers::{sample_discrete_gaussian, sample_discrete_laplace};
use textbook::{Textbook, Words};
use unspent::Rational;
use unspent::mechanism::DiscreteLaplace;
use unspent::sampler::{Key, Path, Sampler};

/// What is drawn.
#[derive(Clone, Copy)]
enum Law {
    /// σ², as a fraction.
    Gaussian(u64, u64),
    /// b.
    Laplace(u64),
}

/// σ² = 5, 68.49, 456.62 and 10⁶, and Laplace noise that is about as wide.
const LAWS: [Law; 8] = [
    Law::Gaussian(5, 1),
    Law::Gaussian(6_849, 100),
    Law::Gaussian(45_662, 100),
    Law::Gaussian(1_000_000, 1),
    Law::Laplace(2),
    Law::Laplace(6),
    Law::Laplace(15),
    Law::Laplace(707),
];

impl Law {
    fn name(self) -> String {
        match self {
            Law::Gaussian(numerator, denominator) => {
                format!("σ² = {}", numerator as f64 / denominator as f64)
            }
            Law::Laplace(scale) => format!("b = {scale}"),
        }
    }

    fn variance(self) -> f64 {
        match self {
            Law::Gaussian(numerator, denominator) => numerator as f64 / denominator as f64,
            Law::Laplace(scale) => DiscreteLaplace::new(Rational::from(scale), 1).unwrap().variance(),
        }
    }

    /// How far squares spread: their variance over the square of their mean, at most.
    fn spread(self) -> f64 {
        match self {
            Law::Gaussian(..) => 2.0,
            Law::Laplace(_) => 6.0,
        }
    }
}

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
    println!("| noise | {} |", names.join(" | "));
    println!("|---:|{}", "---:|".repeat(names.len()));
    LAWS.into_iter().for_each(row);
    println!();
    addressed::table();
}

/// One line of the table.
fn row(law: Law) {
    let mut samplers = ours(law);
    let paths = samplers.len();
    samplers.push(textbook(law));
    samplers.push(opendp(law));
    samplers.iter_mut().for_each(|sampler| sampler.check(law));

    let mut contenders = vec![keystream()];
    contenders.extend(samplers);
    for _ in 0..ROUNDS {
        contenders.iter_mut().for_each(Contender::round);
    }
    let rates: Vec<f64> = contenders.iter().map(Contender::rate).collect();
    let best = rates[1..=paths].iter().copied().fold(0.0, f64::max);
    let (textbook, opendp) = (rates[paths + 1], rates[paths + 2]);
    let rates: Vec<_> = rates.iter().map(|rate| three_digits(rate / 1e6)).collect();
    let (name, rates) = (law.name(), rates.join(" | "));
    println!("| {name} | {rates} | {:.0} | {:.0} |", best / textbook, best / opendp);
}

/// With as many decimals as three digits leave.
fn three_digits(x: f64) -> String {
    let decimals = [100.0, 10.0, 1.0].into_iter().filter(|from| x < *from).count();
    format!("{x:.decimals$}")
}

/// Ours, a slice at a time, with each kind of instructions this machine has.
fn ours(law: Law) -> Vec<Contender> {
    let sampler = match law {
        Law::Gaussian(numerator, denominator) => {
            Sampler::new(&Rational::parse("sigma2", &format!("{numerator}/{denominator}")).unwrap())
        }
        Law::Laplace(scale) => Sampler::discrete_laplace(&Rational::from(scale)),
    };
    let sampler = sampler.unwrap();
    let key = Key::not_private(1);
    let paths = Path::available().into_iter().map(|path| {
        let mut noise = key.noise(&sampler.on(path));
        Contender::new(OURS, move |places| noise.fill(places).unwrap())
    });
    paths.collect()
}

/// The random words alone that a draw up to σ² = 1024 or b = 16 is made of.
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
fn textbook(law: Law) -> Contender {
    match law {
        Law::Gaussian(numerator, denominator) => {
            let mut sampler = Textbook::new(numerator, denominator);
            Contender::new(TEXTBOOK, move |places| places.fill_with(|| sampler.sample()))
        }
        Law::Laplace(scale) => {
            let mut sampler = Textbook::laplace_of(scale);
            Contender::new(TEXTBOOK, move |places| places.fill_with(|| sampler.laplace()))
        }
    }
}

/// OpenDP's, which is the textbook's in bignums.
///
/// It takes σ where we take σ², so it gets σ to nine decimals. A fraction with a denominator of a few
/// thousand would make it up to a quarter faster; an f64 as it is, which is what OpenDP's own mechanisms pass
/// on, a tenth slower. Its random bytes are OpenSSL's, which is its default and as fit for the purpose as
/// ours; compiled without, it takes those of `rand::thread_rng` and is some 2.5 times faster.
fn opendp(law: Law) -> Contender {
    const UNIT: u64 = 1_000_000_000;
    let (width, sample): (u64, fn(RBig) -> _) = match law {
        Law::Gaussian(..) => ((law.variance().sqrt() * UNIT as f64).round() as u64, sample_discrete_gaussian),
        Law::Laplace(scale) => (scale * UNIT, sample_discrete_laplace),
    };
    let width = RBig::from_parts(width.into(), UNIT.into());
    Contender::new(OPENDP, move |places| {
        places.fill_with(|| sample(width.clone()).unwrap().try_into().unwrap());
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
    fn check(&mut self, law: Law) {
        let variance = law.variance();
        (self.fill)(&mut self.places);
        let count = self.places.len() as f64;
        let mean = self.places.iter().sum::<i64>() as f64 / count;
        let square = self.places.iter().map(|x| (x * x) as f64).sum::<f64>() / count;
        assert!(mean.abs() < 6.0 * (variance / count).sqrt(), "mean {mean} at variance {variance}");
        let off = square / variance - 1.0;
        assert!(off.abs() < 6.0 * (law.spread() / count).sqrt(), "variance {square} instead of {variance}");
    }
}
