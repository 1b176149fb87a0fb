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
    /// What it spends: the least ρ of Gaussian noise; of Laplace noise one that its pure DP implies.
    pub rho: Rational,
    /// The kind of its noise, if it is not discrete Gaussian.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<&'static str>,
    /// The scale b of Laplace noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<Rational>,
    /// The parameter σ² of Gaussian noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sigma2: Option<Rational>,
    /// Its square root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sigma: Option<Number>,
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
            let (sigma2, scale) = (m.noise.sigma2(), m.noise.laplace_scale());
            Ok(NoiseLine {
                level: level.name.clone(),
                query: query.name.clone(),
                rho: m.rho.clone(),
                mechanism: scale.map(|_| m.noise.kind()),
                scale: scale.cloned(),
                sigma2: sigma2.cloned(),
                sigma: sigma2.map(|sigma2| sigma2.square_root().into()),
                margin_95: margins.at_95(&m.noise)?,
            })
        })
        .collect()
    }
}
