//! The tables of the second paper: ε and δ over all pairs, verdicts, and the trade-off function.

use unspent::{Alpha, Conversion, Delta, Magnitude, Result, Rho, Round, Scope};

use super::{DELTA, DELTAS, PRESET, Pair, Paths, Verdict, count, range};
use crate::reproduce::study::Table;

/// Cells of a table, as they are written.
macro_rules! row {
    ($($cell:expr),* $(,)?) => { vec![$($cell.to_string()),*] };
}

impl Paths {
    /// All tables.
    pub fn tables(&self) -> Result<Vec<Table>> {
        Ok(vec![self.by_delta()?, self.by_epsilon(), self.by_pair(), self.attacks()?])
    }

    fn by_delta(&self) -> Result<Table> {
        let rho = Rho::new(self.main().composition.rho()?)?;
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
                "Preset {PRESET}; bounded neighbours. A guarantee is the largest over all {} pairs; what \
                 holds on the path that bypasses nothing ({}-{}) is none for others. The last column counts \
                 the pairs certainly above it. Paths are numbered as in the paper; where several pairs \
                 cannot be told from the worst, none is named.",
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
                "{} The largest δ over all pairs is a guarantee, rounded up. A published δ agrees if it lies \
                 between the certified bounds; how far others are off is rounded towards the truth. The \
                 error that the authors’ method allows is absolute, and multiplied by exp(ε) in one of two \
                 terms.",
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
            note: "How often the best attacker with that rate of false alarms misses: at least so often on \
                   every pair of paths, which is the guarantee; and how often he hits at most. The authors’ \
                   own trade-off functions are not compared: their points are not at hand."
                .into(),
            heads: vec![
                "false_alarms",
                "misses_at_least",
                "misses_at_most",
                "main_path_at_least",
                "hits_at_most",
            ],
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
}
