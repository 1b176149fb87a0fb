//! Names that somebody gave, among those that there are.

use unspent::{Error, Result, did_you_mean};

/// The place of a name among those that are known; `otherwise` is the advice if none is near.
pub(crate) fn one_of<'n>(
    field: &str,
    wanted: &str,
    known: impl IntoIterator<Item = &'n str>,
    otherwise: &str,
) -> Result<usize> {
    let known: Vec<&str> = known.into_iter().collect();
    known.iter().position(|name| *name == wanted).ok_or_else(|| {
        let allowed = format!("one of {}", known.join(", "));
        Error::input(field, wanted, allowed, did_you_mean(wanted, known, otherwise))
    })
}
