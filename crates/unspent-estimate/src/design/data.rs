//! Designs for programs: JSON, in which exact numbers are text and bounds are pairs, and columns.

use serde::{Serialize, Serializer};
use unspent::report::columns::{Column, Columns};
use unspent::{Delta, Neighbours, Number, Rational, Scope};

use super::needs::{Law, Units};
use super::report::{Checked, Design, Explained, Guarded, Importance, NeedMet, PromiseKept, TableOfDesign};

impl Law {
    /// `normal` or `guaranteed`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Law::Normal => "normal",
            Law::Guaranteed => "guaranteed",
        }
    }
}

impl Serialize for Law {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// `{"tree": "regular", "per_level": [1, 5, 250]}`
impl Serialize for Units {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields {
            tree: &'static str,
            per_level: Vec<u64>,
        }
        let tree = match self {
            Units::PerLevel(_) => "regular",
            Units::Listed(_) => "listed",
        };
        Fields { tree, per_level: self.per_level() }.serialize(serializer)
    }
}

impl Serialize for PromiseKept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'a> {
            #[serde(flatten)]
            scope: &'a Scope,
            promised: &'a Rational,
            epsilon: Number,
        }
        let epsilon = Number::from(self.epsilon);
        Fields { scope: &self.scope, promised: &self.promised, epsilon }.serialize(serializer)
    }
}

impl Serialize for Design {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'a> {
            allocation: &'a str,
            neighbours: Neighbours,
            rho: &'a Rational,
            least_rho: Option<&'a Rational>,
            delta: &'a Delta,
            epsilon: Number,
            /// An indication, no bound.
            indicated_epsilon_of_least_rho: Option<f64>,
            factor: f64,
            law: Law,
            units: &'a Units,
            needs: &'a [NeedMet],
            rest_share: f64,
            guarded: Option<&'a Guarded>,
            tables: &'a [TableOfDesign],
            promises: &'a [PromiseKept],
            small_sigma2: Option<f64>,
            assumptions: &'a [String],
            /// The allocation, as a file.
            file: String,
        }
        Fields {
            allocation: self.allocation.name(),
            neighbours: self.allocation.neighbours(),
            rho: &self.rho,
            least_rho: self.least_rho.as_ref(),
            delta: &self.delta,
            epsilon: self.epsilon.into(),
            indicated_epsilon_of_least_rho: self.epsilon_of_least_rho,
            factor: self.factor,
            law: self.law,
            units: &self.units,
            needs: &self.needs,
            rest_share: self.rest_share,
            guarded: self.guarded.as_ref(),
            tables: &self.tables,
            promises: &self.promises,
            small_sigma2: self.small_sigma2,
            assumptions: &self.assumptions,
            file: self.allocation.to_toml(),
        }
        .serialize(serializer)
    }
}

impl Serialize for Checked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'a> {
            allocation: &'a str,
            rho: &'a Rational,
            delta: &'a Delta,
            epsilon: Number,
            law: Law,
            units: &'a Units,
            met: bool,
            needs: &'a [NeedMet],
        }
        Fields {
            allocation: &self.allocation,
            rho: &self.rho,
            delta: &self.delta,
            epsilon: self.epsilon.into(),
            law: self.law,
            units: &self.units,
            met: self.all_met(),
            needs: &self.needs,
        }
        .serialize(serializer)
    }
}

impl Serialize for Explained {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'a> {
            allocation: &'a str,
            rho: &'a Rational,
            least_rho: &'a Rational,
            units: &'a Units,
            tables: &'a [Importance],
        }
        Fields {
            allocation: &self.allocation,
            rho: &self.rho,
            least_rho: &self.least_rho,
            units: &self.units,
            tables: &self.tables,
        }
        .serialize(serializer)
    }
}

/// One row for each need.
fn needs(needs: &[NeedMet]) -> Columns {
    let double = |name, pick: fn(&NeedMet) -> Option<f64>| {
        Column::doubles(name, needs.iter().map(|need| pick(need).filter(|x| x.is_finite())))
    };
    let flags =
        |name, pick: fn(&NeedMet) -> bool| Column::flags(name, needs.iter().map(|need| Some(pick(need))));
    Columns(vec![
        Column::text("name", needs.iter().map(|need| Some(need.name.as_str()))),
        Column::text("level", needs.iter().map(|need| Some(need.level.as_str()))),
        Column::text("quantity", needs.iter().map(|need| Some(need.quantity.as_str()))),
        double("asked", |need| Some(need.asked)),
        double("predicted", |need| Some(need.predicted)),
        flags("is_share", |need| need.is_share),
        double("population", |need| need.population),
        double("confidence", |need| Some(need.confidence)),
        double("coverage", |need| Some(need.coverage)),
        double("budget", |need| Some(need.share)),
        double("tenth_wider_saves", |need| need.tenth_wider_saves),
        flags("met", |need| need.met),
    ])
}

impl Design {
    /// One row for each need.
    #[must_use]
    pub fn columns(&self) -> Columns {
        needs(&self.needs)
    }

    /// One row for each query at each level.
    #[must_use]
    pub fn table_columns(&self) -> Columns {
        let tables = || self.tables.iter();
        Columns(vec![
            Column::text("level", tables().map(|of| Some(of.level.as_str()))),
            Column::text("query", tables().map(|of| Some(of.query.as_str()))),
            Column::exact("rho", tables().map(|of| of.rho.clone())),
            Column::exact("sigma2", tables().map(|of| of.sigma2.clone())),
            Column::doubles("estimate_sd", tables().map(|of| of.deviation)),
        ])
    }
}

impl Checked {
    /// One row for each need.
    #[must_use]
    pub fn columns(&self) -> Columns {
        let unknown = ["budget", "tenth_wider_saves"];
        Columns(needs(&self.needs).0.into_iter().filter(|c| !unknown.contains(&c.name)).collect())
    }
}

impl Explained {
    /// One row for each query at each level, the most important first.
    #[must_use]
    pub fn columns(&self) -> Columns {
        let tables = || self.tables.iter();
        Columns(vec![
            Column::text("level", tables().map(|of| Some(of.level.as_str()))),
            Column::text("query", tables().map(|of| Some(of.query.as_str()))),
            Column::doubles("importance", tables().map(|of| Some(of.share))),
            Column::doubles("own_noise", tables().map(|of| Some(of.spent))),
            Column::doubles("estimate_sd", tables().map(|of| Some(of.deviation))),
        ])
    }
}
