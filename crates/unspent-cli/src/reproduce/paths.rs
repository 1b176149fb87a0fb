//! Every path through the geography: the second paper, point by point.
//!
//! Su, Su and Wang (arXiv 2606.29835) publish δ(ε) for every pair of the 43 paths that occurred in the production DHC
//! persons file. Here each point has certified bounds beside it. Their method promises an absolute error; δ gets
//! small, and the error in one of its two terms is multiplied by e^ε, so that relative errors grow with ε.

use unspent::allocation::{Bypass, Production};
use unspent::question::{Product, TradeoffQuestion};
use unspent::{
    Allocation, Alpha, Ask, Bounds, Composition, Conversion, Delta, Epsilon, Magnitude, Mechanism, Rational,
    Release, Result, Rho, Round, Scope, Terms, parallel,
};

use super::figures::StudyFigure;
use super::study::Table;
use crate::grid;
use crate::plot::{Axis, Figure, Panel, Role, Series};

/// The published points; `PROVENANCE.md` beside them says where they come from.
const CURVES: &str = include_str!("su-su-wang-2026/curves.csv");
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

/// Cells of a table, as they are written.
macro_rules! row {
    ($($cell:expr),* $(,)?) => { vec![$($cell.to_string()),*] };
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

    /// The least and the greatest published δ as a multiple of the true one, certainly: nearer to 1 than they are.
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
            "{} published points of δ for {} pairs of paths: {} agree with the certified bounds, {} are off by up to \
             1 %, {} by more; they are {least:.4} to {greatest:.2} times the truth.",
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

    /// All tables.
    pub fn tables(&self) -> Result<Vec<Table>> {
        Ok(vec![self.by_delta()?, self.by_epsilon(), self.by_pair(), self.attacks()?])
    }

    fn by_delta(&self) -> Result<Table> {
        let rho = Rho::new(self.main().composition.rho())?;
        let (up, down) = (
            |x: f64| Magnitude::from_f64(x).to_decimal(12, Round::Up),
            |x: f64| Magnitude::from_f64(x).to_decimal(12, Round::Down),
        );
        let mut rows = vec![];
        for (k, text) in DELTAS.iter().enumerate() {
            let delta = Delta::parse(text)?;
            let (main, worst) = (self.main(), self.worst(k));
            let mut uppers: Vec<f64> = self.pairs.iter().map(|pair| pair.epsilons[k].upper()).collect();
            uppers.sort_by(f64::total_cmp);
            let lower = self.pairs.iter().map(|pair| pair.epsilons[k].lower()).fold(0.0, f64::max);
            let rivals = uppers.iter().filter(|upper| **upper >= lower).count();
            let above = |pair: &&Pair| pair.epsilons[k].lower() > main.epsilons[k].upper();
            rows.push(row![
                text,
                up(rho.epsilon(Conversion::BunSteinke, &delta)),
                up(rho.epsilon(Conversion::CanonneKamathSteinke, &delta)),
                up(main.epsilons[k].upper()),
                up(uppers[0]),
                up(uppers[uppers.len() / 2]),
                up(worst.epsilons[k].upper()),
                down(lower),
                if rivals == 1 { format!("{}-{}", worst.from, worst.to) } else { "several".into() },
                self.pairs.iter().filter(above).count(),
            ]);
        }
        Ok(Table {
            id: "paths-epsilon",
            title: "ε over every pair of paths".into(),
            note: format!(
                "Preset {PRESET}; bounded neighbours. A guarantee is the largest over all {} pairs; what holds on the path \
                 that bypasses nothing ({}-{}) is none for others. The last column counts the pairs certainly above it. \
                 Paths are numbered as in the paper; where several pairs cannot be told from the worst, none is named.",
                self.pairs.len(),
                self.main + 1,
                self.main + 1
            ),
            heads: vec![
                "delta",
                "bun_steinke",
                "canonne_kamath_steinke",
                "main_path",
                "smallest",
                "median",
                "largest_upper",
                "largest_lower",
                "worst_pair",
                "pairs_above_main",
            ],
            rows,
        })
    }

    fn by_epsilon(&self) -> Table {
        let at = |k: usize| {
            let uppers = self.pairs.iter().map(|pair| pair.deltas[k].upper());
            let largest = uppers.reduce(|a, b| if a < b { b } else { a }).expect("there are pairs");
            let published = self.published.rows.iter().map(|row| &row[k]).max().expect("there are rows");
            let (least, greatest) = range((0..self.pairs.len()).map(|i| self.ratio(i, k)));
            let of = |verdict| self.pairs.iter().filter(|pair| pair.verdicts[k] == verdict).count();
            let mut row = row![
                self.published.epsilons[k],
                self.published.conversions[k],
                published.to_decimal(6, Round::Up),
                largest.to_decimal(9, Round::Up),
            ];
            row.extend(Verdict::ALL.map(|verdict| of(verdict).to_string()));
            row.extend([format!("{least:.6}"), format!("{greatest:.6}")]);
            row
        };
        Table {
            id: "paths-published",
            title: "Published δ beside certified ones, by ε".into(),
            note: format!(
                "{} The largest δ over all pairs is a guarantee, rounded up. A published δ agrees if it lies between the certified bounds; \
                 how far others are off is rounded towards the truth. The error that the authors’ method allows is absolute, \
                 and multiplied by exp(ε) in one of two terms.",
                self.sentence()
            ),
            heads: vec![
                "epsilon",
                "delta_by_bun_steinke",
                "largest_delta_published",
                "largest_delta",
                "agree",
                "within_1_%",
                "off_by_more",
                "least_ratio",
                "greatest_ratio",
            ],
            rows: (0..self.published.epsilons.len()).map(at).collect(),
        }
    }

    fn by_pair(&self) -> Table {
        let k = DELTAS.iter().position(|delta| *delta == DELTA).expect("it is listed");
        let row = |(i, pair): (usize, &Pair)| {
            let (least, greatest) = range((0..pair.deltas.len()).map(|k| self.ratio(i, k)));
            let mut row = row![
                pair.from,
                pair.to,
                Magnitude::from_f64(pair.epsilons[k].upper()).to_decimal(13, Round::Up),
                Magnitude::from_f64(pair.epsilons[k].lower()).to_decimal(13, Round::Down),
            ];
            row.extend(Verdict::ALL.map(|verdict| count(&pair.verdicts, verdict).to_string()));
            row.extend([format!("{least:.6}"), format!("{greatest:.6}")]);
            row
        };
        Table {
            id: "paths-pairs",
            title: format!("ε at δ = {DELTA} of every pair of paths, and verdicts on its published curve"),
            note: "One row for each pair of paths, numbered as in the paper. Counts are of published points."
                .into(),
            heads: vec![
                "from",
                "to",
                "epsilon_upper",
                "epsilon_lower",
                "agree",
                "within_1_%",
                "off_by_more",
                "least_ratio",
                "greatest_ratio",
            ],
            rows: self.pairs.iter().enumerate().map(row).collect(),
        }
    }

    fn attacks(&self) -> Result<Table> {
        let worst = self.release.worst_case(&Scope::Total)?;
        let main = &self.main().composition;
        let mut rows = vec![];
        for text in ["1e-10", "1e-6", "1e-4", "1e-3", "0.01", "0.05", "0.1", "0.25", "0.5"] {
            let alpha = Alpha::parse(text)?;
            let (every, main) = (worst.tradeoff(&alpha)?, main.tradeoff(&alpha)?);
            rows.push(row![
                text,
                every.lower().to_decimal(9, Round::Down),
                every.upper().to_decimal(9, Round::Up),
                main.lower().to_decimal(9, Round::Down),
                worst.power(&alpha)?.upper().to_decimal(9, Round::Up),
            ]);
        }
        Ok(Table {
            id: "paths-tradeoff",
            title: "The trade-off function over every pair of paths".into(),
            note: "How often the best attacker with that rate of false alarms misses: at least so often on every pair of paths, \
                   which is the guarantee; and how often he hits at most. The authors’ own trade-off functions are not compared: their \
                   points are not at hand."
                .into(),
            heads: vec!["false_alarms", "misses_at_least", "misses_at_most", "main_path_at_least", "hits_at_most"],
            rows,
        })
    }

    /// Every published point with its bounds and its verdict: too long for anything but a file.
    pub fn every_point(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let mut rows = Vec::with_capacity(self.points());
        for (i, pair) in self.pairs.iter().enumerate() {
            for (k, epsilon) in self.published.epsilons.iter().enumerate() {
                let bounds = &pair.deltas[k];
                rows.push(row![
                    pair.from,
                    pair.to,
                    epsilon,
                    self.published.rows[i][k].to_decimal(18, Round::Up),
                    bounds.lower().to_decimal(15, Round::Down),
                    bounds.upper().to_decimal(15, Round::Up),
                    format!("{:.9}", self.ratio(i, k)),
                    pair.verdicts[k].name(),
                ]);
            }
        }
        let heads =
            vec!["from", "to", "epsilon", "published", "delta_lower", "delta_upper", "ratio", "verdict"];
        (heads, rows)
    }

    /// All figures.
    pub fn figures(&self) -> Result<Vec<StudyFigure>> {
        Ok(vec![self.sensitivity(), self.curve()?, self.accuracy(), self.tradeoff()?])
    }

    /// How ε varies over the pairs.
    fn sensitivity(&self) -> StudyFigure {
        let panel = |text: &str, title: &str| {
            let k = DELTAS.iter().position(|delta| *delta == text).expect("it is listed");
            let main = self.main().epsilons[k].upper();
            let mut all: Vec<f64> = self.pairs.iter().map(|pair| pair.epsilons[k].upper() - main).collect();
            all.sort_by(f64::total_cmp);
            let ranks = all.iter().enumerate().map(|(i, gap)| (i as f64 + 1.0, *gap));
            let end = all.len() as f64;
            Panel {
                title: title.into(),
                x: Axis::linear("pairs of paths, from the least ε to the greatest").between(0.0, end),
                y: Axis::linear("ε less that of the main path"),
                series: vec![
                    Series::line("every pair of paths", Role::Guarantee, ranks.collect()),
                    Series::line("main path", Role::Reference, vec![(0.0, 0.0), (end, 0.0)]),
                ],
                ..Panel::default()
            }
        };
        let figure = Figure {
            title: "How much ε depends on the path".into(),
            subtitle: "persons of the 2020 DHC file; a guarantee is the right end of each curve".into(),
            notes: vec![NOTE.into()],
            columns: 3,
            panels: vec![panel("1e-5", "δ = 10⁻⁵"), panel(DELTA, "δ = 10⁻¹⁰"), panel("1e-15", "δ = 10⁻¹⁵")],
        };
        StudyFigure { id: "paths-sensitivity", number: SEQUEL, figure }
    }

    /// The largest δ over all pairs, certified, published, and by the conversion.
    fn curve(&self) -> Result<StudyFigure> {
        let epsilons: Vec<f64> =
            self.published.epsilons.iter().map(|text| text.parse().expect("a number")).collect();
        let line = |value: &dyn Fn(usize) -> f64| {
            epsilons.iter().enumerate().map(|(k, epsilon)| (*epsilon, value(k))).collect::<Vec<_>>()
        };
        let certified = |k: usize| {
            let logs = self.pairs.iter().map(|pair| pair.deltas[k].upper().log10(Round::Up));
            logs.fold(f64::NEG_INFINITY, f64::max)
        };
        let published = |k: usize| {
            let largest = self.published.rows.iter().map(|row| &row[k]).max().expect("there are rows");
            largest.to_bounds().upper().log10(Round::Up)
        };
        let rho = Rho::new(self.main().composition.rho())?;
        let parsed = self.published.epsilons.iter().map(|text| Epsilon::parse(text));
        let parsed = parsed.collect::<Result<Vec<_>>>()?;
        let bun_steinke = |k: usize| rho.delta_bun_steinke(&parsed[k]).log10(Round::Up);
        let figure = Figure {
            title: "δ over every pair of paths".into(),
            subtitle: "the largest over 946 pairs of paths, against ε; lower is more private".into(),
            notes: vec![NOTE.into()],
            columns: 1,
            panels: vec![Panel {
                x: Axis::linear("ε").between(8.0, 37.0),
                y: Axis::log10("δ").between(-24.0, 0.0),
                series: vec![
                    Series::line("tight, at most", Role::Guarantee, line(&certified)),
                    Series::line("Su, Su and Wang", Role::Baseline(0), line(&published)),
                    Series::line("Bun–Steinke, from ρ", Role::Baseline(1), line(&bun_steinke)),
                ],
                ..Panel::default()
            }],
        };
        Ok(StudyFigure { id: "paths-curve", number: SEQUEL, figure })
    }

    /// How far published δ are from the truth.
    fn accuracy(&self) -> StudyFigure {
        let largest = |(k, text): (usize, &&str)| {
            let (least, greatest) = range((0..self.pairs.len()).map(|i| self.ratio(i, k)));
            let gap = Magnitude::from_f64((greatest - 1.0).max(1.0 - least));
            (text.parse().expect("a number"), gap.log10(Round::Down))
        };
        let line = self.published.epsilons.iter().enumerate().map(largest).collect();
        let figure = Figure {
            title: "How far published δ are from the truth".into(),
            subtitle: "relative difference, certainly so large; the largest over 946 pairs of paths".into(),
            notes: vec![
                "Where the curve leaves the panel, what was published lies between the certified bounds. The method promises an absolute error, \
                 which is multiplied by exp(ε) in one of the two terms of δ."
                    .into(),
            ],
            columns: 1,
            panels: vec![Panel {
                x: Axis::linear("ε").between(8.0, 37.0),
                y: Axis::log10("relative difference"),
                series: vec![
                    Series::line("largest over the pairs", Role::Baseline(0), line),
                    Series::line("1 %", Role::Reference, vec![(8.0, -2.0), (37.0, -2.0)]),
                ],
                ..Panel::default()
            }],
        };
        StudyFigure { id: "paths-accuracy", number: SEQUEL, figure }
    }

    /// The trade-off function over all pairs: the smallest, certified from below.
    fn tradeoff(&self) -> Result<StudyFigure> {
        let rates = grid::logarithmic(&"1e-12".parse()?, &Rational::from(1), 121);
        let rates = rates.into_iter().map(Alpha::new).collect::<Result<Vec<_>>>()?;
        // What haste costs is a part in 10⁵, which cannot be seen.
        let question =
            TradeoffQuestion { release: Product::all_of(&self.release), part: Scope::Total, rates };
        let curve = question.ask(&Terms::fast())?;
        let line = |pick: fn(&unspent::report::curve::TradeoffPoint) -> Magnitude| {
            let at = |p: &unspent::report::curve::TradeoffPoint| {
                (p.alpha.to_bounds().lower().log10(Round::Down), pick(p).to_f64(Round::Down))
            };
            curve.points.iter().map(at).collect::<Vec<_>>()
        };
        let guessing = curve.points.iter().map(|p| {
            let alpha = p.alpha.to_bounds().lower();
            (alpha.log10(Round::Down), 1.0 - alpha.to_f64(Round::Down))
        });
        let figure = Figure {
            title: "The trade-off function over every pair of paths".into(),
            subtitle: "how often the best attacker misses, at least; higher is more private".into(),
            notes: vec![format!("{NOTE} Certified; the authors’ trade-off functions are not beside it.")],
            columns: 1,
            panels: vec![Panel {
                x: Axis::log10("α, rate of false alarms").between(-12.0, 0.0),
                y: Axis::linear("rate of misses, at least").between(0.0, 1.0),
                series: vec![
                    Series::line("tight, every pair", Role::Guarantee, line(|p| p.misses.bounds().lower())),
                    Series::line("Bun–Steinke, from ρ", Role::Baseline(1), line(|p| p.bun_steinke)),
                    Series::line("guessing", Role::Reference, guessing.collect()),
                ],
                ..Panel::default()
            }],
        };
        Ok(StudyFigure { id: "paths-tradeoff", number: SEQUEL, figure })
    }
}

const NOTE: &str = "The 43 paths that occurred in the production file; bounded neighbours.";
const SEQUEL: &str = "sequel, arXiv 2606.29835";

fn count(verdicts: &[Verdict], verdict: Verdict) -> usize {
    verdicts.iter().filter(|v| **v == verdict).count()
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((1.0, 1.0), |(least, greatest), x| (x.min(least), x.max(greatest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_published() {
        let kept = Published::read();
        assert_eq!((kept.epsilons.len(), kept.conversions.len(), kept.rows.len()), (42, 42, 946));
        assert!(kept.rows.iter().all(|row| row.len() == 42));
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../shared/data/allocations/dhc_persons_2020_published_curves.csv"
        );
        let Ok(text) = std::fs::read_to_string(path) else {
            eprintln!("skipped: what_is_kept_is_what_was_published has no published curves to compare with");
            return;
        };
        let mut points = text.lines().skip(1);
        let paths = (1..=43).flat_map(|from| (from..=43).map(move |to| (from, to)));
        for ((from, to), row) in paths.zip(&kept.rows) {
            for ((epsilon, conversion), delta) in kept.epsilons.iter().zip(&kept.conversions).zip(row) {
                let (start, printed) = points.next().unwrap().rsplit_once(',').unwrap();
                assert_eq!(start, format!("{from},{to},{conversion},{epsilon}"));
                assert_eq!(*delta, printed.parse().unwrap(), "{start}");
            }
        }
        assert_eq!(points.next(), None);
    }

    #[test]
    fn a_verdict_is_as_kind_as_the_bounds_allow() {
        let number = |text: &str| text.parse::<Rational>().unwrap();
        let of = |text: &str| Verdict::of(&number(text), &number("0.5"), &number("0.625"));
        assert_eq!(["0.5", "0.6", "0.625"].map(of), [Verdict::Agrees; 3]);
        assert_eq!(["0.495", "0.49999", "0.63125"].map(of), [Verdict::Percent; 3]);
        assert_eq!(["0.49499", "0.63126", "10"].map(of), [Verdict::Off; 3]);
    }
}
