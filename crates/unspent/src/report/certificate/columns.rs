//! A certificate for programs.

use super::{Certificate, Line, Reduction};
use crate::number::{Rational, Round};
use crate::report::columns::{Column, Columns};
use crate::scope::Scope;

impl Certificate {
    /// One row for each line. Every ε but the lower ends is an upper bound, rounded up.
    #[must_use]
    pub fn columns(&self) -> Columns {
        let lines = || self.lines.iter();
        let reductions = || lines().map(|line| self.reduction(&line.scope));
        // What the variances are now, never more than it is.
        let sigma2 = |name, field: fn(&Reduction) -> &Rational| {
            Column::cut(name, reductions().map(|found| found.map(field)), Round::Down)
        };
        let rows = self.lines.len();
        let delta = self.delta.value().to_short();
        let against = self.against.as_ref().map(|promise| promise.name());
        let kept = |line: &Line| self.kept.filter(|_| line.scope == Scope::Total);
        Columns(vec![
            Column::text("scope", lines().map(|line| Some(line.scope.kind()))),
            Column::text("name", lines().map(|line| line.scope.name())),
            Column::text("label", lines().map(|line| Some(line.label.as_str()))),
            Column::repeated("neighbours", self.neighbours.name(), rows),
            Column::counts("moves", lines().map(|line| line.moves)),
            Column::repeated("delta", &delta, rows),
            Column::upper("rho", lines().map(|line| line.rho.as_ref())),
            Column::rounded("bun_steinke", lines().map(|line| line.bun_steinke.as_ref()), Round::Up),
            Column::rounded(
                "canonne_kamath_steinke",
                lines().map(|line| line.canonne_kamath_steinke.as_ref()),
                Round::Up,
            ),
            Column::upper("tight_upper", lines().map(|line| Some(&line.tight))),
            Column::lower("tight_lower", lines().map(|line| Some(&line.tight))),
            Column::flags("attained", lines().map(|line| Some(line.attained))),
            Column::counts("cases", lines().map(|line| line.cases as u64)),
            Column::upper("main_path_upper", lines().map(|line| line.main_path.as_ref())),
            Column::lower("main_path_lower", lines().map(|line| line.main_path.as_ref())),
            Column::flags("kept", lines().map(kept)),
            Column::text("method", lines().map(|line| Some(line.method.name()))),
            Column::text("against", reductions().map(|found| against.filter(|_| found.is_some()))),
            Column::rounded("promised_epsilon", reductions().map(|r| r.map(|r| &r.epsilon)), Round::Up),
            Column::exact("factor", reductions().map(|found| found.map(|r| r.factor.clone()))),
            sigma2("least_sigma2", |r| &r.least_sigma2),
            sigma2("greatest_sigma2", |r| &r.greatest_sigma2),
        ])
    }
}
