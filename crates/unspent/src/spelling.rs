//! What was probably meant by a name that is not known.

use crate::mechanism::Stated;
use crate::named::nearest;

/// The one among `known` that was probably meant, as advice; `otherwise` if none is near.
#[must_use]
pub fn did_you_mean<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: impl Into<String>,
) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let states_noise = Stated::ALL.iter().all(|stated| known.contains(&stated.name()));
    match nearest(written, known) {
        // One is the square of the other, so that the wrong guess is wrong noise.
        Some(name) if states_noise && Stated::named(name).is_some() => {
            format!("did you mean `{name}`? {}", Stated::MEANING)
        }
        Some(name) => format!("did you mean `{name}`?"),
        None => otherwise.into(),
    }
}
