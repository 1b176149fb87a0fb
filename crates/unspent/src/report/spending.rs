//! What each query at each level spends, and the noise that it gets for it.

use serde::Serialize;

use crate::allocation::Allocation;
use crate::error::Result;
use crate::margin::Margins;
use crate::number::{Number, Rational};

/// What an allocation spends, and the noise that spends it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Spending {
    /// The total.
    pub rho: Number,
    /// Every query at every level.
    pub measurements: Vec<NoiseLine>,
}

/// A query at a level.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct NoiseLine {
    /// The level.
    pub level: String,
    /// The query.
    pub query: String,
    /// What it spends.
    pub rho: Rational,
    /// The parameter σ² of its noise.
    pub sigma2: Rational,
    /// Its square root.
    pub sigma: Number,
    /// The noise is at most this, either way, with a probability of at least 95 %: a confidence statement.
    pub margin_95: u64,
}

impl Spending {
    pub(crate) fn new(allocation: &Allocation) -> Result<Spending> {
        let rhos: Vec<Rational> = allocation.measurements().map(|(_, _, m)| m.rho.clone()).collect();
        let measurements = NoiseLine::all(std::slice::from_ref(allocation))?;
        Ok(Spending { rho: Number::sum(&rhos), measurements })
    }
}

impl NoiseLine {
    /// Every measurement of these allocations.
    pub(crate) fn all(allocations: &[Allocation]) -> Result<Vec<NoiseLine>> {
        let mut margins = Margins::default();
        let all = allocations.iter().flat_map(Allocation::measurements);
        all.map(|(level, query, m)| {
            let sigma2 = m.noise.sigma2();
            Ok(NoiseLine {
                level: level.name.clone(),
                query: query.name.clone(),
                rho: m.rho.clone(),
                sigma2: sigma2.clone(),
                sigma: sigma2.square_root().into(),
                margin_95: margins.at_95(sigma2)?,
            })
        })
        .collect()
    }
}
