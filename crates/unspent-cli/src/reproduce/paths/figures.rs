//! The figures of the second paper.

use unspent::question::{Product, TradeoffQuestion};
use unspent::report::curve::TradeoffPoint;
use unspent::{Alpha, Ask, Epsilon, Magnitude, Rational, Result, Rho, Round, Scope, Terms};
use unspent_explorer::grid;

use super::{DELTA, DELTAS, Paths, range};
use crate::plot::{Axis, Figure, Panel, Role, Series};
use crate::reproduce::figures::StudyFigure;

const NOTE: &str = "The 43 paths that occurred in the production file; bounded neighbours.";
const SEQUEL: &str = "sequel, arXiv 2606.29835";

impl Paths {
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
        let rho = Rho::new(self.main().composition.rho()?)?;
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
                "Where the curve leaves the panel, what was published lies between the certified bounds. The \
                 method promises an absolute error, which is multiplied by exp(ε) in one of the two terms of \
                 δ."
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
        // In fast mode bounds are wider by a part in 10⁵, which cannot be seen.
        let question =
            TradeoffQuestion { release: Product::all_of(&self.release), part: Scope::Total, rates };
        let curve = question.ask(&Terms::fast())?;
        let line = |pick: fn(&TradeoffPoint) -> Magnitude| {
            let at = |p: &TradeoffPoint| {
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
