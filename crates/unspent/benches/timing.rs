//! Does the time of a draw depend on what is drawn? `cargo bench -p unspent --bench timing`, on a machine
//! that has nothing else to do.
//!
//! For each path and law, calls that make 1,024 draws are timed one by one, and their times are correlated
//! (by ranks, so that interruptions count little) with what an onlooker would like to know: how many draws
//! are negative, how many are zero, how large they are together, and the largest. Were they independent, the
//! correlation of N calls would be beyond 4.9/√N once in a million. One that exists is found with
//! probability 0.99 from 7.2/√N on; `found from` says how much of the time of a call that is.
//!
//! Nothing is asserted: a bench is no test. `seen` marks what is beyond the bound.

use std::hint::black_box;
use std::time::Instant;

use unspent::sampler::{Key, Path, Sampler};

const DRAWS: usize = 1_024;
/// Of a normal law: 1 in 10⁶ on both sides; and 1 in 100 on one side, beyond it.
const ALARM: f64 = 4.9;
const POWER: f64 = 2.33;

type Statistic = (&'static str, fn(&[i64]) -> f64);

const STATISTICS: [Statistic; 4] = [
    ("negative", |x| x.iter().filter(|x| **x < 0).count() as f64),
    ("zero", |x| x.iter().filter(|x| **x == 0).count() as f64),
    ("sum |x|", |x| x.iter().map(|x| x.unsigned_abs() as f64).sum()),
    ("largest |x|", |x| x.iter().map(|x| x.unsigned_abs()).max().unwrap_or(0) as f64),
];

/// Ranks from 0 on; equal ones share theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let equal = order[start..].iter().take_while(|i| values[**i] == values[order[start]]).count();
        for i in &order[start..start + equal] {
            ranks[*i] = start as f64 + (equal as f64 - 1.0) / 2.0;
        }
        start += equal;
    }
    ranks
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let [ma, mb] = [a, b].map(|x| x.iter().sum::<f64>() / n);
    let sum = |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(x, y)| f(x - ma, y - mb)).sum::<f64>();
    let spread = (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
    if spread == 0.0 { 0.0 } else { sum(&|x, y| x * y) / spread }
}

fn main() {
    // `cargo test --benches` runs this once.
    let calls = if std::env::args().any(|argument| argument == "--bench") { 100_000 } else { 1_000 };
    let (alarm, found) = (ALARM / (calls as f64).sqrt(), (ALARM + POWER) / (calls as f64).sqrt());
    println!("{calls} calls of {DRAWS} draws; |r| beyond {alarm:.4} once in a million if independent");
    println!(
        "{:8} {:8} {:>9} {:>9}  {:>9} {:>9} {:>9} {:>11}",
        "path", "law", "ns a call", "found from", "negative", "zero", "sum |x|", "largest |x|"
    );
    for path in Path::available() {
        for law in ["5", "1000", "1e6", "b=3", "b=250", "b=5000"] {
            let sampler = match law.strip_prefix("b=") {
                Some(scale) => Sampler::discrete_laplace(&scale.parse().expect("a number")),
                None => Sampler::new(&law.parse().expect("a number")),
            };
            let sampler = sampler.expect("a law that is drawn").on(path);
            let mut noise = Key::not_private(17).noise(&sampler);
            let mut draws = [0; DRAWS];
            let mut times = Vec::with_capacity(calls);
            let mut statistics = STATISTICS.map(|_| Vec::with_capacity(calls));
            for call in 0..calls + 1_000 {
                let began = Instant::now();
                noise.fill(black_box(&mut draws)).expect("the same process");
                let time = began.elapsed().as_nanos() as f64;
                // The first ones warm up.
                if call >= 1_000 {
                    times.push(time);
                    statistics.iter_mut().zip(STATISTICS).for_each(|(all, (_, of))| all.push(of(&draws)));
                }
            }
            let time_ranks = ranks(&times);
            times.sort_by(f64::total_cmp);
            let at = |q: f64| times[(q * calls as f64) as usize];
            // A deviation of the times, as far as they are not interruptions.
            let deviation = (at(0.84) - at(0.16)) / 2.0;
            let shown = statistics.map(|values| {
                let r = correlation(&ranks(&values), &time_ranks);
                format!("{r:+.4}{}", if r.abs() > alarm { " seen" } else { "" })
            });
            println!(
                "{:8} {law:8} {:9.0} {:8.3} %  {:>9} {:>9} {:>9} {:>11}",
                format!("{path:?}"),
                at(0.5),
                100.0 * found * deviation / at(0.5),
                shown[0],
                shown[1],
                shown[2],
                shown[3],
            );
        }
    }
}
