//! Every path through the geography: the second paper, point by point.
//!
//! Su, Su and Wang (arXiv 2606.29835) publish δ(ε) for every pair of the 43 paths that occurred in the
//! production DHC persons file. Here each point has certified bounds beside it. Their method promises an
//! absolute error. δ gets small, and the error in one of its two terms is multiplied by e^ε: relative errors
//! grow with ε.

mod figures;
mod tables;
#[cfg(test)]
mod tests;

use unspent::allocation::{Bypass, Production};
use unspent::{
    Allocation, Bounds, Composition, Delta, Epsilon, Magnitude, Mechanism, Rational, Release, Result, Round,
    Scope, parallel,
};

/// The published points; `PROVENANCE.md` beside them says where they come from.
const CURVES: &str = include_str!("../su-su-wang-2026/curves.csv");
const PRESET: &str = "dhc-persons-us-2020";
/// The δ of the Bureau.
const DELTA: &str = "1e-10";
/// The δ at which ε is given for all pairs.
const DELTAS: [&str; 5] = ["1e-5", "1e-8", DELTA, "1e-12", "1e-15"];

/// What became of a published δ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It lies between the certified bounds.
    Agrees,
    /// Off by no more than 1 %.
    Percent,
    /// Off by more than 1 %.
    Off,
}

impl Verdict {
    const ALL: [Verdict; 3] = [Verdict::Agrees, Verdict::Percent, Verdict::Off];

    fn name(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Percent => "within 1 %",
            Verdict::Off => "off by more than 1 %",
        }
    }

    /// By the nearest value that the truth may have: what is said to be off is certainly off by so much.
    fn of(published: &Rational, lower: &Rational, upper: &Rational) -> Verdict {
        let within = |part: &str| {
            let part: Rational = part.parse().expect("a number");
            let one = Rational::from(1);
            lower * &(&one - &part) <= *published && *published <= upper * &(&one + &part)
        };
        match () {
            () if within("0") => Verdict::Agrees,
            () if within("1e-2") => Verdict::Percent,
            () => Verdict::Off,
        }
    }
}

/// The published points.
struct Published {
    epsilons: Vec<&'static str>,
    /// What Bun and Steinke's conversion says there, as printed.
    conversions: Vec<&'static str>,
    /// For each pair, δ at every ε.
    rows: Vec<Vec<Rational>>,
}

impl Published {
    fn read() -> Published {
        let mut lines = CURVES.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(','));
        let mut next = || lines.next().expect("a line").collect::<Vec<_>>();
        let (epsilons, conversions, places) = (next(), next(), next());
        let row = |digits: std::str::Split<'static, char>| {
            let number =
                |(digits, place): (&str, &&str)| format!("{digits}e{place}").parse().expect("a number");
            digits.zip(&places).map(number).collect()
        };
        Published { epsilons, conversions, rows: lines.map(row).collect() }
    }
}

/// Two of the 43 paths, numbered from 1 as the authors do.
pub struct Pair {
    from: usize,
    to: usize,
    composition: Composition,
    /// At every published ε.
    deltas: Vec<Bounds<Magnitude>>,
    verdicts: Vec<Verdict>,
    /// At each of `DELTAS`.
    epsilons: Vec<Bounds<f64>>,
}

/// All pairs, and what was published of them.
pub struct Paths {
    published: Published,
    pairs: Vec<Pair>,
    release: Release,
    /// The number of the path that bypasses nothing, less one.
    main: usize,
}

impl Paths {
    /// Computes everything.
    pub fn new() -> Result<Paths> {
        let allocation = Allocation::preset(PRESET)?;
        let published = Published::read();
        let paths = match &allocation.production().bypass {
            Some(Bypass::Paths(paths)) => paths.clone(),
            _ => unreachable!("the preset lists its paths"),
        };
        let epsilons =
            published.epsilons.iter().map(|text| Epsilon::parse(text)).collect::<Result<Vec<_>>>()?;
        let deltas = DELTAS.iter().map(|text| Delta::parse(text)).collect::<Result<Vec<_>>>()?;
        // A record leaves a cell of each measurement of one path and enters one of the other.
        let cells = paths.iter().map(|path| one_cell(&allocation, path)).collect::<Result<Vec<_>>>()?;
        let numbers: Vec<(usize, usize)> =
            (0..paths.len()).flat_map(|i| (i..paths.len()).map(move |j| (i, j))).collect();
        assert_eq!(numbers.len(), published.rows.len(), "a row for each pair");
        let indices: Vec<usize> = (0..numbers.len()).collect();
        let pair = |index: &usize| {
            let (from, to) = numbers[*index];
            let composition = Composition::new(cells[from].iter().chain(&cells[to]).cloned())?;
            let found = composition.delta_curve(&epsilons)?;
            let verdicts = found.iter().zip(&published.rows[*index]).map(|(truth, published)| {
                Verdict::of(published, &truth.lower().to_rational(), &truth.upper().to_rational())
            });
            Ok(Pair {
                from: from + 1,
                to: to + 1,
                verdicts: verdicts.collect(),
                epsilons: composition.epsilon_curve(&deltas)?,
                deltas: found,
                composition,
            })
        };
        let mut pairs = parallel::map(&indices, pair).into_iter().collect::<Result<Vec<Pair>>>()?;
        (0..deltas.len()).try_for_each(|k| refine(&mut pairs, k, &deltas[k]))?;
        let main =
            paths.iter().position(|path| path.len() == allocation.levels().len()).expect("the main path");
        Ok(Paths { published, pairs, release: allocation.into(), main })
    }
}

/// Narrows ε of the pairs that may have the largest.
fn refine(pairs: &mut [Pair], k: usize, delta: &Delta) -> Result<()> {
    // As narrow as twelve digits can show.
    const TOLERANCE: f64 = 1e-11;
    let largest = pairs.iter().map(|pair| pair.epsilons[k].lower()).fold(0.0, f64::max);
    let rivals: Vec<&mut Pair> = pairs
        .iter_mut()
        .filter(|pair| pair.epsilons[k].upper() > largest && !is_narrow(pair.epsilons[k]))
        .collect();
    let groups =
        |pair: &Pair| pair.composition.groups().iter().map(|g| (g.mechanism.clone(), g.count)).collect();
    let made: Vec<Vec<(Mechanism, u64)>> = rivals.iter().map(|pair| groups(pair)).collect();
    let narrow = |groups: &Vec<(Mechanism, u64)>| {
        Composition::new(groups.iter().cloned())?.with_tolerance(TOLERANCE)?.epsilon(delta)
    };
    for (pair, narrower) in rivals.into_iter().zip(parallel::map(&made, narrow)) {
        match narrower {
            // What cannot be known so well stays as it is.
            Err(error) if error.is_tolerance() => {}
            narrower => pair.epsilons[k] = narrower?,
        }
    }
    Ok(())
}

fn is_narrow(epsilon: Bounds<f64>) -> bool {
    epsilon.upper() - epsilon.lower() < 1e-10
}

/// One cell of every measurement of one path: half of what a record moves that stays on it.
fn one_cell(allocation: &Allocation, path: &[String]) -> Result<Vec<(Mechanism, u64)>> {
    let production =
        Production { bypass: Some(Bypass::Paths(vec![path.to_vec()])), ..allocation.production().clone() };
    let release = Release::from(allocation.clone().used_by(production)?);
    let worst = release.worst_case(&Scope::Total)?;
    let both = worst.only()?.expect("one path makes one composition");
    Ok(both.groups().iter().map(|group| (group.mechanism.clone(), group.count / 2)).collect())
}

impl Paths {
    /// How many published points there are.
    pub fn points(&self) -> usize {
        self.pairs.iter().map(|pair| pair.verdicts.len()).sum()
    }

    /// How many of them have that verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.pairs.iter().map(|pair| count(&pair.verdicts, verdict)).sum()
    }

    /// The least and the greatest published δ as a multiple of the true one, certainly: nearer to 1 than they
    /// are.
    pub fn extremes(&self) -> (f64, f64) {
        let all =
            self.pairs.iter().enumerate().flat_map(|(i, pair)| (0..pair.deltas.len()).map(move |k| (i, k)));
        range(all.map(|(i, k)| self.ratio(i, k)))
    }

    /// A published δ as a multiple of the nearest value that the truth may have; 1 if it may be the truth.
    fn ratio(&self, pair: usize, k: usize) -> f64 {
        let published = &self.published.rows[pair][k];
        let bounds = &self.pairs[pair].deltas[k];
        let (lower, upper) = (bounds.lower().to_rational(), bounds.upper().to_rational());
        let nearest = if *published < lower {
            lower
        } else if *published > upper {
            upper
        } else {
            return 1.0;
        };
        (published / &nearest).to_f64()
    }

    /// The pair with the greatest ε at one of `DELTAS`.
    fn worst(&self, k: usize) -> &Pair {
        let upper = |pair: &&Pair| pair.epsilons[k].upper();
        self.pairs.iter().max_by(|a, b| upper(a).total_cmp(&upper(b))).expect("there are pairs")
    }

    /// The pair of the main path with itself.
    fn main(&self) -> &Pair {
        let main = self.main + 1;
        self.pairs.iter().find(|pair| (pair.from, pair.to) == (main, main)).expect("it is among them")
    }

    /// One sentence for the terminal and the page.
    pub fn sentence(&self) -> String {
        let of = |verdict| self.count(verdict);
        let (least, greatest) = self.extremes();
        format!(
            "{} published points of δ for {} pairs of paths: {} agree with the certified bounds, {} are off \
             by up to 1 %, {} by more; they are {least:.4} to {greatest:.2} times the truth.",
            self.points(),
            self.pairs.len(),
            of(Verdict::Agrees),
            of(Verdict::Percent),
            of(Verdict::Off),
        )
    }

    /// What holds for everybody, beside what holds on the main path.
    pub fn guarantee(&self) -> String {
        let k = DELTAS.iter().position(|delta| *delta == DELTA).expect("it is listed");
        let up = |epsilon: Bounds<f64>| Magnitude::from_f64(epsilon.upper()).to_decimal(12, Round::Up);
        format!(
            "At δ = {DELTA}: ε ≤ {} on every pair of paths, {} on the main path.",
            up(self.worst(k).epsilons[k]),
            up(self.main().epsilons[k])
        )
    }
}

fn count(verdicts: &[Verdict], verdict: Verdict) -> usize {
    verdicts.iter().filter(|v| **v == verdict).count()
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((1.0, 1.0), |(least, greatest), x| (x.min(least), x.max(greatest)))
}
