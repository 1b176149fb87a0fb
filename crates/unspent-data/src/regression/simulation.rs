//! Earnings on education, and what noise on the counts does to the slope.
//!
//! An area has six counts c₁ … c₆ of people by education, the last of them those with a bachelor's degree or
//! higher, and its median earnings y. The share x is made of noisy counts alone, as Su, Su and Wang do:
//!
//! ```text
//! ĉₖ = max(cₖ + eₖ, 0),  eₖ ~ N_ℤ(0, σ²)     the noise, cut at zero
//! x = ĉ₆/n,  n = Σ ĉₖ                         (not the population, which would be free of noise)
//! β = Sxy/Sxx                                 least squares of y = α + βx, over m areas
//! distortion = E|β(noisy) − β(exact)|         a mean over trials, with an interval
//! ```
//!
//! # The noise-aware estimate
//! Who knows σ² can do better, from the same noisy counts. To first order x is off by (e₆ − x Σ eₖ)/n, which
//! has the variance v = s²((1 − x)² + 5x²)/n² with s² that of one eₖ. The errors are independent from area to
//! area and of y: so Sxy is right in the mean, Sxx is too large by (1 − 1/m) Σ v, and the slope is drawn
//! towards zero. Hence
//!
//! ```text
//! β = Sxy / (Sxx − (1 − 1/m) Σ v)             errors in variables, of known variance
//! ```
//!
//! with v at most ¼, the largest variance of anything between 0 and 1, where an area is too small for the
//! first order. This takes off the attenuation. It cannot take off the spread, which is all there is where
//! areas are large, nor what cutting at zero adds to small counts.
//!
//! # What this is not
//! All numbers are doubles, and all means are Monte-Carlo means with normal intervals. Nothing here is a
//! guarantee.

use std::num::NonZeroUsize;
use std::sync::{Mutex, OnceLock};
use std::thread;

use serde::Serialize;
use unspent::sampler::{Key, Noise, Sampler};
use unspent::{DiscreteGaussian, Error, Rational, Result};

use crate::utility::{NORMAL_95, SimulatedMean};

/// The categories of education.
pub const CATEGORIES: usize = 6;
/// Fewest trials for an interval by the normal approximation.
pub const MIN_TRIALS: u64 = 100;
/// Most trials of one run.
pub const MAX_TRIALS: u64 = 1_000_000;
/// Fewest areas for a line that could be anything but a perfect fit.
const MIN_AREAS: usize = 3;
/// Slopes are for this part of the share.
const UNIT: f64 = 1e-4;
/// Least part of Sxx that may be left without the noise: a slope divided by less is the noise's.
const LEAST_RELIABILITY: f64 = 0.1;
/// Draws that a thread makes at a time, about.
const BATCH: usize = 1 << 16;

/// One area.
#[derive(Clone, Debug, PartialEq)]
pub struct Area {
    /// People by education, from less than 9th grade to a bachelor's degree or higher.
    pub counts: [i64; CATEGORIES],
    /// Median earnings.
    pub earnings: f64,
}

/// Areas that have a slope.
#[derive(Clone, Debug)]
pub struct Sample {
    areas: Vec<Area>,
    line: Line,
}

impl Sample {
    /// At least three areas with people in them, not all of the same share or earnings.
    pub fn new(areas: Vec<Area>) -> Result<Sample> {
        let hint = "a line needs at least three areas with counts and earnings";
        match areas.len() {
            0 => return Err(Error::stated("there are no areas", hint)),
            1 => return Err(Error::stated("there is one area only", hint)),
            2 => return Err(Error::stated("there are two areas only", hint)),
            _ => {}
        }
        let points: Option<Vec<Point>> =
            areas.iter().map(|area| Point::new(&area.counts, area.earnings)).collect();
        let Some(points) = points else {
            return Err(Error::stated(
                "there is an area with nobody in it",
                "its share is 0/0: leave it out",
            ));
        };
        let all_equal = |f: &dyn Fn(&Point) -> f64| points.windows(2).all(|pair| f(&pair[0]) == f(&pair[1]));
        let equal = |what: &str, hint: &str| {
            Err(Error::stated(format!("all {} areas have the same {what}", points.len()), hint))
        };
        if all_equal(&|p| p.y) {
            return equal("earnings", "the slope is 0 whatever the noise: there is nothing to distort");
        }
        match Line::fit(&points) {
            Some(line) => Ok(Sample { areas, line }),
            None => equal("share with a bachelor's degree", "a slope needs shares that differ"),
        }
    }

    /// The areas.
    #[must_use]
    pub fn areas(&self) -> &[Area] {
        &self.areas
    }

    /// Earnings for each 1/10,000 of share, without noise.
    #[must_use]
    pub fn slope(&self) -> f64 {
        self.line.slope() * UNIT
    }
}

/// A share and earnings.
#[derive(Clone, Copy, Debug)]
struct Point {
    x: f64,
    y: f64,
    /// How many people the share is of.
    n: f64,
}

impl Point {
    /// None if there is nobody, and so no share.
    fn new(counts: &[i64; CATEGORIES], y: f64) -> Option<Point> {
        let n: f64 = counts.iter().map(|c| *c as f64).sum();
        (n > 0.0).then(|| Point { x: counts[CATEGORIES - 1] as f64 / n, y, n })
    }
}

/// A line of least squares.
#[derive(Clone, Debug)]
struct Line {
    x: f64,
    y: f64,
    sxx: f64,
    sxy: f64,
}

impl Line {
    /// None for fewer than three points or a single share.
    fn fit(points: &[Point]) -> Option<Line> {
        let first = points.first()?.x;
        if points.len() < MIN_AREAS || points.iter().all(|p| p.x == first) {
            return None;
        }
        let m = points.len() as f64;
        let x = points.iter().map(|p| p.x).sum::<f64>() / m;
        let y = points.iter().map(|p| p.y).sum::<f64>() / m;
        let (mut sxx, mut sxy) = (0.0, 0.0);
        for p in points {
            sxx += (p.x - x) * (p.x - x);
            sxy += (p.x - x) * (p.y - y);
        }
        Some(Line { x, y, sxx, sxy })
    }

    fn slope(&self) -> f64 {
        self.sxy / self.sxx
    }

    fn intercept(&self) -> f64 {
        self.y - self.slope() * self.x
    }

    /// The noise-aware slope, for noise of that variance; none if too little is left without the noise.
    fn aware(&self, points: &[Point], variance: f64) -> Option<f64> {
        let others = (CATEGORIES - 1) as f64;
        let v =
            |p: &Point| (variance * ((1.0 - p.x) * (1.0 - p.x) + others * p.x * p.x) / (p.n * p.n)).min(0.25);
        let left = self.sxx - (1.0 - 1.0 / points.len() as f64) * points.iter().map(v).sum::<f64>();
        (left >= LEAST_RELIABILITY * self.sxx).then_some(self.sxy / left)
    }
}

/// What two kinds of noise do to a slope, by simulation.
#[derive(Clone, Debug, Serialize)]
pub struct Regression {
    /// What slopes and their errors are measured in.
    pub unit: &'static str,
    /// How many areas.
    pub areas: usize,
    /// Earnings for each 1/10,000 of share, without noise.
    pub slope: f64,
    /// Earnings where the share is 0, without noise.
    pub intercept: f64,
    /// How often each noise was added.
    pub trials: u64,
    /// The noise as it is.
    pub before: Distorted,
    /// The noise that would be enough.
    pub after: Distorted,
    /// By how much less the plain slope is off.
    pub plain: Option<Reduction>,
    /// By how much less the noise-aware slope is off.
    pub aware: Option<Reduction>,
}

/// What one noise does.
#[derive(Clone, Debug, Serialize)]
pub struct Distorted {
    /// σ², exactly.
    pub sigma2: Rational,
    /// How often, in all trials, an area had to be left out because no noisy count of it was above 0.
    pub emptied: u64,
    /// The slope of an analyst who takes noisy counts for counts.
    pub plain: Distortion,
    /// The noise-aware slope.
    pub aware: Distortion,
}

/// How far a slope is off, over trials.
#[derive(Clone, Debug, Serialize)]
pub struct Distortion {
    /// Trials without a slope, which are in neither mean: fewer than three areas were left, all shares were
    /// equal, or (noise-aware) nine tenths of the shares' variance were noise.
    pub failed: u64,
    /// The mean absolute error.
    pub mae: Option<SimulatedMean>,
    /// The mean error: below 0 if the slope comes out too small.
    pub bias: Option<SimulatedMean>,
}

/// How much smaller one distortion is than another.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Reduction {
    /// In percent.
    pub percent: SimulatedMean,
    /// Whether the interval excludes that there is no improvement.
    pub improves: bool,
}

impl Regression {
    /// Adds each noise to the counts `trials` times, from streams of its own, and fits the line every time.
    ///
    /// The same key gives the same result on any number of threads.
    pub fn simulate(
        sample: &Sample,
        [before, after]: [&Rational; 2],
        trials: u64,
        key: &Key,
        threads: NonZeroUsize,
    ) -> Result<Regression> {
        Regression::simulate_with(sample, [before, after], trials, key, threads, &mut |_| ())
    }

    /// The same, which says how many trials more were made of either noise.
    pub fn simulate_with(
        sample: &Sample,
        [before, after]: [&Rational; 2],
        trials: u64,
        key: &Key,
        threads: NonZeroUsize,
        made: &mut dyn FnMut(u64),
    ) -> Result<Regression> {
        if !(MIN_TRIALS..=MAX_TRIALS).contains(&trials) {
            let allowed = format!("a whole number between {MIN_TRIALS} and {MAX_TRIALS}");
            return Err(Error::input("trials", trials, allowed, "fewer say nothing: 10000 give two digits"));
        }
        let mut noisy = |sigma2| Distorted::simulate(sample, sigma2, trials, key, threads, made);
        let (before, after) = (noisy(before)?, noisy(after)?);
        Ok(Regression {
            unit: "earnings for each 1/10,000 of share",
            areas: sample.areas.len(),
            slope: sample.slope(),
            intercept: sample.line.intercept(),
            trials,
            plain: Reduction::new(&before.plain, &after.plain),
            aware: Reduction::new(&before.aware, &after.aware),
            before,
            after,
        })
    }
}

/// One trial: both slopes, where there are any.
struct Trial {
    plain: Option<f64>,
    aware: Option<f64>,
    emptied: u64,
}

impl Trial {
    /// Cuts the noisy counts and fits; `points` is room for them.
    fn new(areas: &[Area], noise: &[i64], variance: f64, points: &mut Vec<Point>) -> Trial {
        points.clear();
        for (area, noise) in areas.iter().zip(noise.chunks_exact(CATEGORIES)) {
            let mut counts = area.counts;
            for (count, noise) in counts.iter_mut().zip(noise) {
                *count = count.saturating_add(*noise).max(0);
            }
            points.extend(Point::new(&counts, area.earnings));
        }
        let line = Line::fit(points);
        Trial {
            plain: line.as_ref().map(|line| line.slope() * UNIT),
            aware: line.and_then(|line| line.aware(points, variance)).map(|slope| slope * UNIT),
            emptied: (areas.len() - points.len()) as u64,
        }
    }
}

impl Distorted {
    fn simulate(
        sample: &Sample,
        sigma2: &Rational,
        trials: u64,
        key: &Key,
        threads: NonZeroUsize,
        made: &mut dyn FnMut(u64),
    ) -> Result<Distorted> {
        let noise = key.noise(&Sampler::new(sigma2)?);
        let variance = DiscreteGaussian::new(sigma2.clone(), 1)?.variance();
        let trials = run(&sample.areas, noise, variance, trials as usize, threads, made)?;
        let errors = |slope: fn(&Trial) -> Option<f64>| {
            let errors: Vec<f64> =
                trials.iter().filter_map(slope).map(|slope| slope - sample.slope()).collect();
            let sizes: Vec<f64> = errors.iter().map(|e| e.abs()).collect();
            Distortion {
                failed: (trials.len() - errors.len()) as u64,
                mae: mean(&sizes),
                bias: mean(&errors),
            }
        };
        Ok(Distorted {
            sigma2: sigma2.clone(),
            emptied: trials.iter().map(|trial| trial.emptied).sum(),
            plain: errors(|trial| trial.plain),
            aware: errors(|trial| trial.aware),
        })
    }
}

/// All trials, in order. Which draws a batch gets depends on its number only.
fn run(
    areas: &[Area],
    noise: Noise,
    variance: f64,
    trials: usize,
    threads: NonZeroUsize,
    made: &mut dyn FnMut(u64),
) -> Result<Vec<Trial>> {
    let draws = CATEGORIES * areas.len();
    let size = (BATCH / draws).clamp(1, trials);
    let batches: Vec<OnceLock<Result<Vec<Trial>>>> =
        (0..trials.div_ceil(size)).map(|_| OnceLock::new()).collect();
    let next = Mutex::new((noise, 0));
    // What is told is how many trials were begun since, by whichever thread.
    let work = |mut told: Option<&mut dyn FnMut(u64)>| {
        let mut before = 0;
        let (mut places, mut points) = (vec![], Vec::with_capacity(areas.len()));
        loop {
            let (batch, taken) = {
                let (noise, batch) = &mut *next.lock().expect("not poisoned");
                if *batch == batches.len() {
                    return;
                }
                places.resize(draws * size.min(trials - *batch * size), 0);
                *batch += 1;
                (*batch - 1, noise.take(places.len() as u64))
            };
            if let Some(made) = &mut told {
                made(((batch - before) * size) as u64);
                before = batch;
            }
            batches[batch].get_or_init(|| {
                taken.fill(&mut places)?;
                let trial = |noise| Trial::new(areas, noise, variance, &mut points);
                Ok(places.chunks_exact(draws).map(trial).collect())
            });
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.get().min(batches.len()) {
            scope.spawn(|| work(None));
        }
        work(Some(made));
    });
    let mut all = Vec::with_capacity(trials);
    for batch in batches {
        all.extend(batch.into_inner().expect("every batch was taken")?);
    }
    Ok(all)
}

/// The mean of one value a trial, with its normal interval of 95 %; none for fewer than two.
fn mean(values: &[f64]) -> Option<SimulatedMean> {
    let k = values.len() as f64;
    if k < 2.0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / k;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    Some(SimulatedMean { mean, half_width: NORMAL_95 * (squares / (k - 1.0) / k).sqrt() })
}

impl Reduction {
    /// One minus the ratio of two independent means, with its first-order error; none if there is nothing to
    /// reduce.
    fn new(before: &Distortion, after: &Distortion) -> Option<Reduction> {
        let (before, after) = (before.mae?, after.mae?);
        if before.mean <= 0.0 || after.mean <= 0.0 {
            return None;
        }
        let ratio = after.mean / before.mean;
        let (b, a) = (before.half_width / before.mean, after.half_width / after.mean);
        let percent =
            SimulatedMean { mean: 100.0 * (1.0 - ratio), half_width: 100.0 * ratio * (b * b + a * a).sqrt() };
        Some(Reduction { percent, improves: percent.mean > percent.half_width })
    }
}

#[cfg(test)]
mod tests;
