//! What noise does to counts: expected errors, beside the paper's simulations of them.

use unspent::Result;
use unspent::expected::Law;

use super::{ACCURACY, Claim, Study, Table, Verdict};
use crate::reproduce::published::{self, SIMULATED};
use crate::reproduce::{data, processing};

impl Study {
    /// What the simulations are draws of.
    pub(super) fn simulations(&mut self) -> Result<()> {
        let mut rows = vec![];
        let drawn = "A Monte-Carlo value. What is computed is the ratio of the expected errors, which does \
                     not depend on the data; tracts are taken to have the noise of Tract Subset.";
        for simulated in &SIMULATED {
            let before = Study::sigma2(&self.release, simulated.level)?;
            let after = Study::sigma2(&self.by_level, simulated.level)?;
            let (before, after) = (Law::new(&before)?.plain(), Law::new(&after)?.plain());
            let (mse, mae) = (100.0 * (1.0 - after.mse / before.mse), 100.0 * (1.0 - after.mae / before.mae));
            let what = |quantity: &str| format!("{}: reduction of {quantity}, %", simulated.geography);
            let place = ACCURACY;
            for (quantity, published, computed) in [("MSE", simulated.mse, mse), ("MAE", simulated.mae, mae)]
            {
                self.claims.push(Claim {
                    what: what(quantity),
                    place,
                    published: published.into(),
                    computed: format!("{computed:.6}"),
                    verdict: Verdict::Simulated,
                    why: drawn.into(),
                });
            }
            let found = self.data.level(simulated.level).map(|level| &level.all.cut);
            let cut = [
                ("MSE", simulated.mse_cut, found.map(|pair| 100.0 * pair.mse_reduction())),
                ("MAE", simulated.mae_cut, found.map(|pair| 100.0 * pair.mae_reduction())),
            ];
            for (quantity, published, computed) in cut {
                let (verdict, why) = self.data.counts.verdict(computed);
                self.claims.push(Claim {
                    what: what(&format!("{quantity} with counts clamped at zero")),
                    place,
                    published: published.into(),
                    computed: computed
                        .filter(|_| verdict == Verdict::Simulated)
                        .map_or_else(String::new, |x| format!("{x:.6}")),
                    verdict,
                    why,
                });
            }
            rows.push(vec![
                simulated.geography.into(),
                simulated.level.into(),
                simulated.mse.into(),
                format!("{mse:.4}"),
                simulated.mae.into(),
                format!("{mae:.4}"),
                Verdict::Simulated.name().into(),
            ]);
        }
        let slope = self.data.slopes.iter().find(|(name, _)| name.starts_with("state"));
        let slope = slope.and_then(|(_, found)| found.plain.as_ref()).map(|reduction| reduction.percent.mean);
        let (verdict, why) = self.data.areas.verdict(slope);
        self.claims.push(Claim {
            what: "state: reduction of the distortion of the slope of earnings on education, %".into(),
            place: "Results, downstream",
            published: published::SLOPE.into(),
            computed: slope
                .filter(|_| verdict == Verdict::Simulated)
                .map_or_else(String::new, |x| format!("{x:.2}")),
            verdict,
            why: format!("The mean of three draws, which is little more than chance. {why}"),
        });
        self.tables.push(Table {
            id: "expected-error",
            title: "Expected error of raw noisy counts".into(),
            note: "The expectations of the squared and absolute error of a count fall with the noise alone, \
                   whatever the data. The published values were simulated on Pennsylvania."
                .into(),
            heads: vec![
                "geography",
                "noise_of_level",
                "mse_less_percent_published",
                "mse_less_percent",
                "mae_less_percent_published",
                "mae_less_percent",
                "verdict",
            ],
            rows,
        });
        self.tables.push(data::cut_table(&self.data));
        self.tables.push(data::estimate_table(&self.data));
        self.tables.push(processing::table(&self.data));
        self.tables.push(data::slope_table(&self.data));
        Ok(())
    }
}
