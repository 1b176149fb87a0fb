//! Each level by itself: its noise, and its ε at two δ.

use unspent::question::{CertificateQuestion, Product};
use unspent::{Ask, Delta, Magnitude, Rational, Result, Round, Scope};

use super::{ACCURACY, INTRODUCTION, LEVEL_DELTA, Study, Table, Verdict, down};
use crate::reproduce::published::{self, EPSILONS, LEVELS};

impl Study {
    /// Table 1, with the allocation it starts from.
    pub(super) fn noise(&mut self) -> Result<()> {
        let mut rows = vec![];
        for level in &LEVELS {
            let (before, after) =
                (Study::sigma2(&self.release, level.name)?, Study::sigma2(&self.by_level, level.name)?);
            let total = self.release.allocations()[0].rho();
            let share = &Study::level(&self.release, level.name)?.rho()? / &total;
            let reduction = 100.0 * (1.0 - (&after / &before).to_f64());
            let percent = (&share * &Rational::from(100)).to_f64();
            // What the study starts from, and so no claim; but it must be the same.
            debug_assert!(Verdict::of(level.share, percent) == Verdict::Agrees);
            let what = |quantity: &str| format!("{}: {quantity}", level.name);
            let place = "Table 1";
            let verdicts = [
                self.claim(what("σ²"), place, level.sigma2, before.to_f64(), ""),
                self.claim(what("σ² that would do"), place, level.reduced, after.to_f64(), ""),
                self.claim(what("reduction of σ², %"), place, level.reduction, reduction, ""),
            ];
            let all = verdicts.iter().all(|v| *v == Verdict::Agrees);
            rows.push(vec![
                level.name.into(),
                share.to_decimal_or_fraction(),
                level.sigma2.into(),
                before.to_decimal(9, Round::Up),
                level.reduced.into(),
                after.to_decimal(9, Round::Up),
                level.reduction.into(),
                down(reduction),
                if all { Verdict::Agrees } else { Verdict::Differs }.name().into(),
            ]);
        }
        self.tables.push(Table {
            id: "noise-by-level",
            title: "Noise by level, and the noise that would do (the paper’s Table 1)".into(),
            note: "σ² = n/(2aρ) with n = 10 queries, ρ = 3.65 and share a; add-remove neighbours. With the \
                   σ² that would do, ε at δ = 10⁻¹¹ is certified not to exceed what Bun and Steinke's \
                   conversion publishes for the level as it is; right below, certified to exceed it."
                .into(),
            heads: vec![
                "level",
                "share",
                "sigma2_published",
                "sigma2",
                "sigma2_enough_published",
                "sigma2_enough",
                "less_percent_published",
                "less_percent",
                "verdict",
            ],
            rows,
        });
        // The text calls 15.08 % the national figure.
        let us = Study::sigma2(&self.by_level, "US")? / Study::sigma2(&self.release, "US")?;
        let us_reduction = 100.0 * (1.0 - us.to_f64());
        self.claim("US: reduction of σ², %".into(), INTRODUCTION, "20.88", us_reduction, "");
        let state = Study::sigma2(&self.release, "State")?.to_f64();
        let cut = "The smallest variance is printed cut rather than rounded.";
        self.claim("smallest σ² of all levels".into(), "appendix", "4.99", state, cut);
        self.claim(
            "US: reduction of σ², as the text beside Table 1 has it, %".into(),
            ACCURACY,
            "15.08",
            100.0 * (1.0 - us.to_f64()),
            "A slip of the text: 15.08 % is State's, and the table is right.",
        );
        Ok(())
    }

    /// ε by level at two δ.
    pub(super) fn epsilons(&mut self) -> Result<()> {
        let mut rows = vec![];
        let mut reductions = vec![];
        for text in [LEVEL_DELTA, "1e-5"] {
            let question = CertificateQuestion {
                delta: Some(Delta::parse(text)?),
                ..CertificateQuestion::about(Product::all_of(&self.release))
            };
            let certificate = question.answer()?;
            for line in certificate.lines.iter().filter(|line| matches!(line.scope, Scope::Level(_))) {
                let up = |x: &Magnitude| x.to_decimal(9, Round::Up);
                let (bun_steinke, cks) = (line.bun_steinke.as_ref(), line.canonne_kamath_steinke.as_ref());
                // Gaussian noise has a budget.
                let (Some(bun_steinke), Some(cks)) = (bun_steinke, cks) else { continue };
                let bureau = bun_steinke.to_f64(Round::Up);
                let tight = line.tight.upper().to_f64();
                let reduction = 100.0 * (1.0 - tight / bureau);
                if text == LEVEL_DELTA {
                    reductions.push(reduction);
                }
                let printed = || EPSILONS.iter().filter(|e| e.level == line.label && e.delta == text);
                let mut verdicts = vec![];
                for at in printed() {
                    let what = |quantity: &str| format!("{} at δ = {text}: {quantity}", line.label);
                    let numbers = [
                        (at.bureau, "ε of the Bureau (Bun–Steinke)", bureau),
                        (at.tight, "ε, tight", tight),
                        (at.reduction, "reduction of ε, %", reduction),
                    ];
                    for (number, quantity, computed) in numbers {
                        let Some(number) = number else { continue };
                        verdicts.push(self.claim(what(quantity), at.place, number, computed, ""));
                    }
                }
                let show = |field: fn(&published::EpsilonAt) -> Option<&'static str>| {
                    printed().find_map(field).unwrap_or_default().to_string()
                };
                let verdict = match verdicts.iter().find(|v| **v != Verdict::Agrees) {
                    Some(worst) => worst.name(),
                    None if verdicts.is_empty() => "",
                    None => Verdict::Agrees.name(),
                };
                rows.push(vec![
                    line.label.clone(),
                    text.into(),
                    show(|p| p.bureau),
                    up(bun_steinke),
                    up(cks),
                    show(|p| p.tight),
                    line.tight.at_most(9),
                    line.tight.at_least(9),
                    show(|p| p.reduction),
                    down(reduction),
                    verdict.into(),
                ]);
            }
        }
        let least = reductions.iter().copied().fold(f64::INFINITY, f64::min);
        let most = reductions.iter().copied().fold(0.0, f64::max);
        let why = "The introduction gives the range as 8.49 to 13.21 %, the section on levels as 8.50 to \
                   13.76 % at δ = 10⁻¹¹; what is computed is the latter.";
        self.claim("least reduction of ε over the levels, %".into(), INTRODUCTION, "8.49", least, why);
        self.claim("greatest reduction of ε over the levels, %".into(), INTRODUCTION, "13.21", most, why);
        self.tables.push(Table {
            id: "epsilon-by-level",
            title: "ε by level at δ = 10⁻¹¹ and 10⁻⁵".into(),
            note: "The Bureau's accounting in the paper is Bun and Steinke's conversion; its signed \
                   certificates of the redistricting data used the tighter one of Canonne, Kamath and \
                   Steinke, so both are shown. Columns marked ≤ are valid upper bounds, rounded up. The \
                   exact ε lies between ε lower and ε upper."
                .into(),
            heads: vec![
                "level",
                "delta",
                "bureau_published",
                "bun_steinke",
                "canonne_kamath_steinke",
                "tight_published",
                "tight_upper",
                "tight_lower",
                "less_percent_published",
                "less_percent",
                "verdict",
            ],
            rows,
        });
        Ok(())
    }
}
