//! What of a draft is not discrete Gaussian noise: Laplace noise of its measurements, and other mechanisms
//! for the same record.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::allocation::{AllocationBuilder, Also, Budget, Measurement, check_length};
use crate::error::{Error, Result};
use crate::file::laplace::laplace_kind;
use crate::mechanism::Described;
use crate::number::Rational;

/// Laplace noise of a measurement: it has a scale, and no share of ρ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftLaplace {
    /// `laplace` or `discrete-laplace`.
    pub mechanism: String,
    /// The scale b.
    pub scale: String,
}

impl DraftLaplace {
    /// That of a measurement, if its noise is Laplace noise.
    pub(super) fn of(measurement: &Measurement) -> Option<DraftLaplace> {
        let scale = measurement.noise.laplace_scale()?.to_decimal_or_fraction();
        Some(DraftLaplace { mechanism: measurement.noise.kind().replace('_', "-"), scale })
    }

    /// The noise that it stands for.
    pub(super) fn budget(&self) -> Result<Budget> {
        let Some(kind) = laplace_kind(&self.mechanism)? else {
            let hint = "Gaussian noise has a share of rho";
            return Err(Error::input("mechanism", &self.mechanism, "`laplace` or `discrete-laplace`", hint));
        };
        check_length("scale", &self.scale)?;
        Ok(Budget::LaplaceScale(kind, Rational::parse("scale", &self.scale)?))
    }
}

/// Other mechanisms for the same record, with every parameter as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftAlso {
    /// What they are.
    pub kind: String,
    /// What one record can do in each.
    pub note: String,
    /// Their parameters by name, and their count; masses are separated by semicolons.
    #[serde(flatten)]
    pub parameters: BTreeMap<String, String>,
}

impl From<&Also> for DraftAlso {
    fn from(also: &Also) -> DraftAlso {
        let Described { mechanism, count } = &also.described;
        let parameters = mechanism.parameters().into_iter().chain([("count", count.to_string())]);
        DraftAlso {
            kind: mechanism.kind().into(),
            note: also.note.clone(),
            parameters: parameters.map(|(name, value)| (name.into(), value)).collect(),
        }
    }
}

impl DraftAlso {
    /// Adds them to an allocation.
    pub(super) fn add_to(&self, builder: &mut AllocationBuilder) -> Result<()> {
        for (name, value) in &self.parameters {
            value.split(';').try_for_each(|number| check_length(name, number))?;
        }
        let parameters: Vec<(&str, &str)> =
            self.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        builder.also(Described::read(&self.kind, &parameters)?, &self.note)
    }
}

/// Most of them in a draft.
pub(super) const MAX_ALSO: usize = 100;

pub(super) fn check_number_of(also: &[DraftAlso]) -> Result<()> {
    if also.len() <= MAX_ALSO {
        return Ok(());
    }
    let hint = "equal mechanisms are one entry with a count";
    Err(Error::input("also", also.len(), format!("a number of at most {MAX_ALSO}"), hint))
}

#[cfg(test)]
mod tests {
    use super::super::Draft;
    use crate::Allocation;

    const MIXED: &str = include_str!("../../../../../examples/survey.toml");

    fn refused(change: &dyn Fn(&mut Draft)) -> (String, String) {
        let mut draft = Draft::of(&Allocation::parse("", MIXED).unwrap()).unwrap();
        change(&mut draft);
        let error = draft.allocation().unwrap_err();
        (error.to_string(), error.field().unwrap_or_default().into())
    }

    #[test]
    fn laplace_noise_and_other_mechanisms_are_kept() {
        let allocation = Allocation::parse("", MIXED).unwrap();
        let mut draft = Draft::of(&allocation).unwrap();
        assert_eq!(draft.allocation().unwrap(), allocation);
        assert!(draft.levels.iter().flat_map(|level| &level.shares).any(|part| part.laplace.is_some()));
        let json = serde_json::to_string(&draft).unwrap();
        assert_eq!(serde_json::from_str::<Draft>(&json).unwrap(), draft);
        // What is written is read as it is written: 1.1 is 11/10, and its square is exact.
        let also = draft.also.last_mut().unwrap();
        also.kind = "gaussian".into();
        also.parameters = [("sigma", "1.1"), ("count", "3")].map(|(n, v)| (n.into(), v.into())).into();
        let changed = draft.allocation().unwrap();
        let described = changed.also().last().unwrap().described.to_string();
        assert_eq!(described, "gaussian:sigma2=121/100,shift=1,count=3");
        // Without Gaussian noise there is no budget to be divided.
        for part in draft.levels.iter_mut().flat_map(|level| &mut level.shares) {
            part.share = "0".into();
        }
        for level in &mut draft.levels {
            level.shares.retain(|part| part.laplace.is_some());
        }
        draft.rho = "0".into();
        let pure = draft.allocation().unwrap();
        assert_eq!(Draft::of(&pure).unwrap().rho, "0");
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_field() {
        let laplace = |d: &Draft| -> (usize, usize) {
            let mut all = d.levels.iter().enumerate();
            let found =
                all.find_map(|(i, level)| Some((i, level.shares.iter().position(|p| p.laplace.is_some())?)));
            found.unwrap()
        };
        for (scale, said) in [("0", "scale: `0` is not"), ("x", "scale: `x` is not a number")] {
            let (message, field) = refused(&|d| {
                let (i, j) = laplace(d);
                d.levels[i].shares[j].laplace.as_mut().unwrap().scale = scale.into();
            });
            assert!(message.contains(said) && field.ends_with("].laplace.scale"), "{message} {field}");
        }
        let (message, field) = refused(&|d| {
            let (i, j) = laplace(d);
            d.levels[i].shares[j].share = "1/2".into();
        });
        assert!(message.contains("`1/2` is not 0") && field.ends_with("].share"), "{message} {field}");
        let (message, _) = refused(&|d| d.rho = "0".into());
        assert!(message.starts_with("rho: `0` is not"), "{message}");
        for (name, value, said) in [
            ("scale", "-1", "also[0].laplace: scale: `-1` is not"),
            ("count", "0", "also[0].laplace: count: `0` is not"),
            ("sigma", "1", "also[0].laplace: parameter: `sigma` is not"),
        ] {
            let (message, _) = refused(&|d| {
                d.also[0].kind = "laplace".into();
                d.also[0].parameters = [("scale".into(), "2".into()), (name.into(), value.into())].into();
            });
            assert!(message.starts_with(said), "{message}");
        }
        let (message, field) = refused(&|d| d.also[0].note = " ".into());
        assert!(message.starts_with("also[0].note: ") && field == "also[0].note", "{message}");
        let (message, _) = refused(&|d| d.also = vec![d.also[0].clone(); 101]);
        assert!(message.starts_with("also: `101` is not a number of at most 100"), "{message}");
        let (message, _) = refused(&|d| d.also[0].kind = "cauchy".into());
        assert!(message.starts_with("also[0]."), "{message}");
    }
}
