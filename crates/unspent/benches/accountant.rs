//! Speed of the accountant; `cargo bench -p unspent`. One thread, medians; next to our figures the
//! plain double-precision convolution that a peer would do, on the same machine in the same run.

use divan::{Bencher, black_box};
use unspent::mechanism::{
    ApproximateDp, Base, DiscreteLaplace, Gaussian, Laplace, Mechanism, RandomisedResponse, Subsampled, Truth,
};
use unspent::question::{Ask, CertificateQuestion};
use unspent::{Allocation, Composition, Delta, DiscreteGaussian, Epsilon, Rational};

fn main() {
    divan::main();
}

/// The eighty-fold composition of 2022-08-25 as the paper reads it: seven kinds.
fn census() -> Composition {
    let shares = [20, 274, 85, 131, 238, 118, 3].into_iter().zip([10, 10, 10, 20, 10, 10, 10]);
    Composition::new(shares.map(|(a, n)| (noise(&format!("100000/{}", 73 * a)), n))).unwrap()
}

fn noise(sigma2: &str) -> DiscreteGaussian {
    DiscreteGaussian::parse(sigma2, "1").unwrap()
}

/// `kinds` variances 5 + √2·j, √2 to forty digits: no common lattice.
fn incommensurate(kinds: u64) -> Vec<(DiscreteGaussian, u64)> {
    let root = Rational::parse("", "1.4142135623730950488016887242096980785697").unwrap();
    let sigma2 = |j: u64| &Rational::integer(5) + &(&root * &Rational::from(j % 1_000));
    let spread = |j: u64| &sigma2(j) + &Rational::from(j / 1_000);
    (0..kinds).map(|j| (DiscreteGaussian::new(spread(j), 1).unwrap(), 10)).collect()
}

fn epsilon(text: &str) -> Epsilon {
    Epsilon::parse(text).unwrap()
}

#[divan::bench]
fn census_delta(bencher: Bencher) {
    let (release, at) = (census(), epsilon("21.97"));
    bencher.bench(|| release.delta(black_box(&at)));
}

/// A whole certificate, on as many cores as there are: some twenty compositions, and the removable noise.
#[divan::bench(
    args = ["paper-2022-08-25", "pl94-persons-us-2020", "dhc-persons-us-2020", "dhc-persons-pr-2020"],
    sample_count = 10,
    sample_size = 1
)]
fn certificate(bencher: Bencher, preset: &str) {
    let question = CertificateQuestion::about([Allocation::preset(preset).unwrap()]);
    bencher.bench(|| black_box(&question).answer());
}

#[divan::bench]
fn census_delta_near_one(bencher: Bencher) {
    let (release, at) = (census(), epsilon("0.5"));
    bencher.bench(|| release.delta(black_box(&at)));
}

#[divan::bench]
fn census_epsilon(bencher: Bencher) {
    let (release, at) = (census(), Delta::parse("1e-10").unwrap());
    bencher.bench(|| release.epsilon(black_box(&at)));
}

#[divan::bench]
fn census_prepare_and_first_delta(bencher: Bencher) {
    let at = epsilon("21.97");
    bencher.bench(|| census().delta(black_box(&at)));
}

#[divan::bench(sample_count = 20)]
fn census_curve_of_1000(bencher: Bencher) {
    let release = census();
    let grid: Vec<Epsilon> = (0..1000).map(|i| epsilon(&format!("{}/25", i + 1))).collect();
    bencher.bench(|| release.delta_curve(black_box(&grid)));
}

/// A peer's way: convolve probability mass functions in double precision on the same lattice, cut
/// at six deviations, with no bound on any error.
#[divan::bench(sample_count = 2, sample_size = 1)]
fn census_delta_by_convolution_uncertified(bencher: Bencher) {
    bencher.bench(|| convolve(black_box(21.97)));
}

#[allow(clippy::disallowed_methods)] // a stand-in for others' code, which uses the platform's exp
fn convolve(epsilon: f64) -> f64 {
    let step = 73.0 / 100_000.0;
    let mut pmf = vec![1.0f64];
    let mut mu2 = 0.0;
    for (m, n) in [20usize, 274, 85, 131, 238, 118, 3].into_iter().zip([10, 10, 10, 20, 10, 10, 10]) {
        let a = step * m as f64;
        let reach = (6.0 / a.sqrt()).ceil() as i64;
        let one: Vec<f64> = (-reach..=reach).map(|x| (-0.5 * (x * x) as f64 * a).exp()).collect();
        let total: f64 = one.iter().sum();
        for _ in 0..n {
            mu2 += a;
            let mut next = vec![0.0; pmf.len() + m * (one.len() - 1)];
            for (x, weight) in one.iter().enumerate() {
                let weight = weight / total;
                for (slot, p) in next[x * m..].iter_mut().zip(&pmf) {
                    *slot += p * weight;
                }
            }
            pmf = next;
        }
    }
    let middle = (pmf.len() / 2) as f64;
    let loss = |k: usize| (k as f64 - middle) * step - 0.5 * mu2;
    pmf.iter().enumerate().map(|(k, p)| p * (loss(k).exp() - epsilon.exp()).max(0.0)).sum()
}

#[divan::bench(args = [1, 1_000, 1_000_000, 1_000_000_000_000])]
fn flat_in_the_count(bencher: Bencher, count: u64) {
    let release = Composition::new([(noise(&format!("{count}/1")), count)]).unwrap();
    let at = epsilon("6");
    bencher.bench(|| release.delta(black_box(&at)));
}

#[divan::bench(args = [33, 100, 1_000, 10_000], sample_count = 5, sample_size = 1)]
fn incommensurate_prepare_and_first_delta(bencher: Bencher, kinds: u64) {
    let groups = incommensurate(kinds);
    let at = epsilon(&format!("{}", 10 + 2 * kinds / 10));
    bencher.bench(|| Composition::new(groups.clone()).unwrap().delta(black_box(&at)));
}

#[divan::bench(args = [33, 100, 1_000, 10_000])]
fn incommensurate_delta(bencher: Bencher, kinds: u64) {
    let release = Composition::new(incommensurate(kinds)).unwrap();
    let at = epsilon(&format!("{}", 10 + 2 * kinds / 10));
    let width = release.delta(&at).unwrap().relative_width();
    assert!(width <= 1e-6, "{width}");
    bencher.bench(|| release.delta(black_box(&at)));
}

fn exact(text: &str) -> Rational {
    text.parse().unwrap()
}

fn gaussian(sigma2: &str) -> Gaussian {
    Gaussian::new(exact(sigma2), exact("1")).unwrap()
}

fn dp_sgd(sigma2: &str, q: &str) -> Mechanism {
    Subsampled::new(Base::Gaussian(gaussian(sigma2)), exact(q)).unwrap().into()
}

fn laplace(scale: &str) -> Mechanism {
    Laplace::new(exact(scale), exact("1")).unwrap().into()
}

fn geometric(scale: &str, shift: &str) -> Mechanism {
    DiscreteLaplace::parse(scale, shift).unwrap().into()
}

fn response(k: u64, epsilon: &str) -> Mechanism {
    RandomisedResponse::new(k, Truth::Epsilon(exact(epsilon))).unwrap().into()
}

fn event(epsilon: &str, delta: &str) -> Mechanism {
    ApproximateDp::new(exact(epsilon), exact(delta)).unwrap().into()
}

/// A name, a composition, an ε, and how wide δ may be there.
type Case = (&'static str, Vec<(Mechanism, u64)>, &'static str, f64);

/// Other mechanisms than Gaussian noise; DP-SGD in the settings that are usual for comparing accountants.
fn others() -> Vec<Case> {
    let gauss = |sigma2| Mechanism::from(gaussian(sigma2));
    vec![
        ("pure DP", vec![(event("0.05", "0"), 1000)], "5", 1e-11),
        ("approximate DP", vec![(event("0.05", "1e-9"), 1000)], "5", 1e-11),
        ("randomised response", vec![(response(4, "0.05"), 1000)], "4", 1e-11),
        ("geometric", vec![(geometric("30", "2"), 1000)], "5", 1e-11),
        ("Laplace", vec![(laplace("5/2"), 50)], "7.3", 1e-6),
        ("Laplace, few", vec![(laplace("10"), 10)], "0.25", 1e-6),
        ("Laplace, on an atom", vec![(laplace("10"), 10)], "0.2", 1e-6),
        ("Laplace, one", vec![(laplace("2"), 1)], "0.1", 1e-12),
        ("A", vec![(dp_sgd("1", "0.01"), 10_000)], "6.188", 1e-9),
        ("A, far", vec![(dp_sgd("1", "0.01"), 10_000)], "9.316", 1e-9),
        ("B", vec![(dp_sgd("1.21", "256/60000"), 14_000)], "2.376", 1e-9),
        ("B, far", vec![(dp_sgd("1.21", "256/60000"), 14_000)], "3.727", 1e-9),
        ("C", vec![(dp_sgd("0.64", "1e-4"), 100_000)], "0.2", 1e-6),
        ("C, far", vec![(dp_sgd("0.64", "1e-4"), 100_000)], "0.5", 1e-6),
        ("C, 1e-10", vec![(dp_sgd("0.64", "1e-4"), 100_000)], "0.5469", 1e-6),
        ("D", vec![(dp_sgd("0.36", "1e-3"), 1_000_000)], "30", 1e-9),
        ("E", vec![(dp_sgd("25", "0.2"), 1000)], "9", 1e-9),
        ("H", vec![(dp_sgd("0.25", "1e-3"), 20_000)], "12", 1e-9),
        ("DP-SGD, one step", vec![(dp_sgd("1", "0.1"), 1)], "0.5", 1e-12),
        ("Gaussian and Laplace", vec![(gauss("4"), 3), (laplace("3"), 4)], "2", 1e-9),
        (
            "DP-SGD, Laplace and response",
            vec![(dp_sgd("1", "0.01"), 2000), (laplace("4"), 4), (response(3, "0.3"), 3)],
            "6",
            1e-9,
        ),
    ]
}

fn names() -> impl Iterator<Item = &'static str> {
    others().into_iter().map(|case| case.0)
}

/// δ of other mechanisms, after the first point.
#[divan::bench(args = names(), sample_count = 20)]
fn mechanism_delta(bencher: Bencher, name: &str) {
    let (_, groups, at, width) = others().into_iter().find(|case| case.0 == name).unwrap();
    let release = Composition::new(groups).unwrap();
    let at = epsilon(at);
    let found = release.delta(&at).unwrap().relative_width();
    assert!(found <= width, "{name}: {found:e}");
    eprintln!("{name}: relative width {found:.1e}");
    bencher.bench(|| release.delta(black_box(&at)));
}

/// ε of other mechanisms at δ = 10⁻⁸.
#[divan::bench(args = ["A", "B", "E", "pure DP", "Gaussian and Laplace"], sample_count = 20)]
fn mechanism_epsilon(bencher: Bencher, name: &str) {
    let (_, groups, _, _) = others().into_iter().find(|case| case.0 == name).unwrap();
    let release = Composition::new(groups).unwrap();
    let delta = Delta::parse("1e-8").unwrap();
    bencher.bench(|| release.epsilon(black_box(&delta)));
}
