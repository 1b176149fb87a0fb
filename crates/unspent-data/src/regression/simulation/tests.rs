use super::*;

/// Shares 0.1, 0.2, 0.3, 0.6 of a thousand and earnings 10, 30, 20, 60 thousand.
fn areas() -> Vec<Area> {
    [(100, 10_000.0), (200, 30_000.0), (300, 20_000.0), (600, 60_000.0)]
        .map(|(high, earnings)| Area { counts: [50, 50, 1_000 - 300 - high, 100, 100, high], earnings })
        .to_vec()
}

fn simulated(areas: Vec<Area>, before: &str, after: &str, threads: usize) -> Regression {
    let sample = Sample::new(areas).unwrap();
    let noise = [&before.parse().unwrap(), &after.parse().unwrap()];
    let threads = NonZeroUsize::new(threads).unwrap();
    Regression::simulate(&sample, noise, 2_000, &Key::not_private(7), threads).unwrap()
}

#[test]
fn the_slope_is_that_computed_by_hand() {
    // Means 0.3 and 30,000: Sxy = 4000 + 0 + 0 + 9000 = 13,000, Sxx = 0.04 + 0.01 + 0 + 0.09 = 0.14.
    let sample = Sample::new(areas()).unwrap();
    assert!((sample.slope() - 13_000.0 / 0.14 * 1e-4).abs() < 1e-12);
    assert!((sample.line.intercept() - (30_000.0 - 13_000.0 / 0.14 * 0.3)).abs() < 1e-9);
}

#[test]
fn without_noise_there_is_no_distortion() {
    // N_Z(0, 1/1000) is 0 but for one draw in 10²¹⁷.
    let found = simulated(areas(), "1/1000", "1/1000", 2);
    let (plain, aware) = (found.before.plain, found.before.aware.mae.unwrap());
    assert_eq!((plain.failed, found.before.emptied), (0, 0));
    assert!(plain.mae.unwrap().mean == 0.0 && plain.mae.unwrap().half_width == 0.0);
    assert!(aware.mean < 1e-12, "{aware:?}");
    assert!(found.plain.is_none(), "nothing to reduce");
}

#[test]
fn distortion_is_that_of_the_linear_approximation() {
    // Of large areas the slope's error is normal, Σ wᵢ eᵢ with wᵢ = (yᵢ − ȳ − 2β(xᵢ − x̄))/Sxx: its mean size is
    // √(2/π) √(Σ wᵢ² vᵢ).
    let mut areas = areas();
    areas.iter_mut().for_each(|area| area.counts.iter_mut().for_each(|count| *count *= 1_000));
    let found = simulated(areas, "400", "100", 2);
    let beta = 13_000.0 / 0.14;
    let variance: f64 = [(0.1, 10_000.0), (0.2, 30_000.0), (0.3, 20_000.0), (0.6, 60_000.0)]
        .iter()
        .map(|(x, y): &(f64, f64)| {
            let w = (y - 30_000.0 - 2.0 * beta * (x - 0.3)) / 0.14;
            w * w * 400.0 * ((1.0 - x) * (1.0 - x) + 5.0 * x * x) / 1e12
        })
        .sum();
    let expected = (2.0 / std::f64::consts::PI * variance).sqrt() * 1e-4;
    let mae = found.before.plain.mae.unwrap();
    assert!((mae.mean / expected - 1.0).abs() < 0.06, "{mae:?} and {expected}");
    // A quarter of the variance is half the distortion.
    let halved = found.plain.unwrap();
    assert!((halved.percent.mean - 50.0).abs() < 4.0 && halved.improves, "{halved:?}");
    let interval = halved.percent.half_width / 50.0;
    assert!((0.03..0.06).contains(&interval), "{interval}");
}

#[test]
fn the_noise_aware_slope_is_not_drawn_to_zero() {
    // Many small areas without counts near zero: attenuation is all of the bias.
    let areas: Vec<Area> = (0..200)
        .map(|i| Area { counts: [30, 30, 30, 30, 30, 40 + i % 20], earnings: 1_000.0 * (i % 20) as f64 })
        .collect();
    let found = simulated(areas, "25", "16", 2);
    let (plain, aware) = (found.before.plain.bias.unwrap(), found.before.aware.bias.unwrap());
    assert!(plain.mean + plain.half_width < -0.2 * found.slope, "{plain:?} of {}", found.slope);
    assert!(aware.mean.abs() < 0.1 * plain.mean.abs(), "{aware:?} and {plain:?}");
    let (plain, aware) = (found.before.plain.mae.unwrap(), found.before.aware.mae.unwrap());
    assert!(aware.mean + aware.half_width < plain.mean - plain.half_width, "{aware:?} and {plain:?}");
}

#[test]
fn equal_noise_shows_no_improvement() {
    let found = simulated(areas(), "25", "25", 2);
    let means = [&found.before, &found.after].map(|noisy| noisy.plain.mae.unwrap().mean);
    assert_ne!(means[0], means[1], "streams of their own");
    assert!(!found.plain.unwrap().improves && !found.aware.unwrap().improves, "{found:?}");
}

#[test]
fn threads_do_not_matter() {
    let many: Vec<Area> = (0..100).flat_map(|_| areas()).collect();
    assert!(2_000 > 10 * BATCH / (CATEGORIES * many.len()), "there are batches to share");
    let text = |threads| format!("{:?}", simulated(many.clone(), "68.49", "60", threads));
    assert_eq!(text(1), text(3));
}

#[test]
fn trials_without_a_slope_are_counted() {
    // Three areas of one person each, under noise of variance 10⁴: all six counts are cut with probability 2⁻⁶; all
    // three shares are there and not all 0 with probability (63/64)³ − (31/64)³ = 0.84.
    let one = |k: usize, earnings| {
        let mut counts = [0; CATEGORIES];
        counts[k] = 1;
        Area { counts, earnings }
    };
    let found = simulated(vec![one(5, 1.0), one(0, 2.0), one(1, 3.0)], "1e4", "1e4", 2).before;
    let emptied = found.emptied as f64 / 6_000.0;
    assert!((emptied * 64.0 - 1.0).abs() < 0.4, "{emptied}");
    let failed = found.plain.failed as f64 / 2_000.0;
    assert!((failed - 0.16).abs() < 0.03, "{failed}");
    assert!(found.aware.failed > found.plain.failed, "{found:?}");
    assert!(found.plain.mae.is_some());
}

#[test]
fn samples_without_a_slope_are_refused_by_name() {
    let refused = |areas: Vec<Area>| Sample::new(areas).unwrap_err().to_string();
    assert_eq!(refused(vec![]), "there are no areas");
    assert_eq!(refused(areas()[..1].to_vec()), "there is one area only");
    assert_eq!(refused(areas()[..2].to_vec()), "there are two areas only");
    let mut same = areas();
    same.iter_mut()
        .enumerate()
        .for_each(|(i, area)| area.counts = [0, 0, 2, 0, 0, 1].map(|c| c * (i as i64 + 1)));
    assert_eq!(refused(same), "all 4 areas have the same share with a bachelor's degree");
    let mut same = areas();
    same.iter_mut().for_each(|area| area.earnings = 0.1);
    assert_eq!(refused(same), "all 4 areas have the same earnings");
    let mut nobody = areas();
    nobody[2].counts = [0; CATEGORIES];
    assert_eq!(refused(nobody), "there is an area with nobody in it");
}

#[test]
fn three_trials_are_refused() {
    let sample = Sample::new(areas()).unwrap();
    let (noise, key) = ("5".parse().unwrap(), Key::not_private(7));
    let refused = Regression::simulate(&sample, [&noise, &noise], 3, &key, NonZeroUsize::MIN).unwrap_err();
    assert_eq!(refused.to_string(), "trials: `3` is not a whole number between 100 and 1000000");
}
