//! The noise on a query, as a manifest has it: exactly.

use serde::{Deserialize, Serialize};
use unspent::mechanism::DiscreteLaplace;
use unspent::{DiscreteGaussian, Error, Mechanism, Rational, Result};

use crate::plan::QueryNoise;

/// The noise on a query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseEntry {
    /// Its kind, if it is not discrete Gaussian.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<String>,
    /// Its σ², exactly, if it is Gaussian.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "perhaps_exactly")]
    pub sigma2: Option<Rational>,
    /// Its scale b, exactly, if it is Laplace noise.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "perhaps_exactly")]
    pub scale: Option<Rational>,
    /// What the files have: the variance of the noise, rounded to a double.
    pub variance: f64,
    /// What it spends, exactly: of Laplace noise the ρ that its pure DP implies.
    #[serde(with = "exactly")]
    pub rho: Rational,
    /// What the files have: ρ, rounded to a double.
    pub plb: f64,
}

impl NoiseEntry {
    /// The noise, on a count.
    pub fn law(&self) -> Result<Mechanism> {
        match (self.mechanism.as_deref(), &self.sigma2, &self.scale) {
            (None, Some(sigma2), None) => Ok(DiscreteGaussian::new(sigma2.clone(), 1)?.into()),
            (Some("discrete_laplace"), None, Some(scale)) => {
                Ok(DiscreteLaplace::new(scale.clone(), 1)?.into())
            }
            _ => Err(Error::stated(
                "it is neither discrete Gaussian noise with a sigma2 nor discrete_laplace noise with a scale",
                "a manifest is not to be changed",
            )),
        }
    }
}

impl From<&QueryNoise> for NoiseEntry {
    fn from(noise: &QueryNoise) -> NoiseEntry {
        let QueryNoise { mechanism, rho, variance, plb } = noise.clone();
        let scale = mechanism.laplace_scale().cloned();
        NoiseEntry {
            mechanism: scale.as_ref().map(|_| mechanism.kind().into()),
            sigma2: mechanism.sigma2().cloned(),
            scale,
            variance,
            rho,
            plb,
        }
    }
}

/// An exact number as text.
mod exactly {
    use serde::{Deserialize, Deserializer, Serializer, de};
    use unspent::Rational;

    pub fn serialize<S: Serializer>(x: &Rational, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&x.to_decimal_or_fraction())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rational, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// The same, where there may be none.
mod perhaps_exactly {
    use serde::{Deserialize, Deserializer, Serializer, de};
    use unspent::Rational;

    pub fn serialize<S: Serializer>(x: &Option<Rational>, serializer: S) -> Result<S::Ok, S::Error> {
        match x {
            Some(x) => super::exactly::serialize(x, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rational>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(de::Error::custom)).transpose()
    }
}
