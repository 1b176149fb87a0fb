//! What folders must be like to be estimated.

use unspent::{Error, Result};
use unspent_estimate::Model;

use super::input::{Input, InputLevel};

/// The largest block that is inverted for every unit.
const MAX_DIMENSION: usize = 2048;

/// The same noise twice would be taken for twice as much information.
pub(super) fn check_different(inputs: &[Input]) -> Result<()> {
    for (at, input) in inputs.iter().enumerate() {
        let twice =
            |level: &&InputLevel| input.levels.iter().filter(|other| other.name == level.name).count() > 1;
        if let Some(level) = input.levels.iter().find(twice) {
            let cause = format!("{}: level `{}` is there twice", input.name, level.name);
            return Err(Error::stated(
                cause,
                "a manifest is written with the measurements, and is not to be changed",
            ));
        }
        let same = |other: &&Input| {
            (input.digest.is_some() && other.digest == input.digest)
                || (input.warning.is_some() && other.warning == input.warning)
        };
        if let Some(other) = inputs[..at].iter().find(same) {
            return Err(Error::stated(
                format!("{} and {} have the same noise", other.name, input.name),
                "a folder counts once, and so do folders whose noise was made from the same seed",
            ));
        }
    }
    Ok(())
}

/// By how much variances may differ: squared, it is far from what doubles can tell apart.
const MAX_RATIO: f64 = 1e7;

pub(super) fn check_variances(inputs: &[Input]) -> Result<()> {
    let all = || inputs.iter().flat_map(|input| &input.levels).flat_map(|level| &level.noises);
    let sigma2 = || all().flat_map(|noise| noise.sigma2.iter().copied());
    let (least, most) = (sigma2().fold(f64::INFINITY, f64::min), sigma2().fold(0.0, f64::max));
    if most <= least * MAX_RATIO {
        return Ok(());
    }
    Err(Error::stated(
        format!("the noise of queries has σ² from {least} to {most}: too different to be weighed in doubles"),
        format!("σ² may differ by a factor of {MAX_RATIO} at most"),
    ))
}

pub(super) fn check_blocks(model: &Model) -> Result<()> {
    match model.block_sizes().into_iter().map(|(dimension, _)| dimension).max() {
        Some(largest) if largest > MAX_DIMENSION => Err(Error::stated(
            format!("the recodes of these queries make a block of {largest} coordinates"),
            format!("at most {MAX_DIMENSION} can be: leave queries out with --queries"),
        )),
        _ => Ok(()),
    }
}
