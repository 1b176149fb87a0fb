//! What was probably meant by a name that is not known.

use crate::mechanism::Stated;

/// The one among `known` that was probably meant, as advice; `otherwise` if none is near.
#[must_use]
pub fn did_you_mean<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: impl Into<String>,
) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let states_noise = Stated::ALL.iter().all(|stated| known.contains(&stated.name()));
    let similar = known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&written.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(similarity, _)| *similarity > 0.8)
        // The first of those that are equally near.
        .reduce(|best, next| if next.0 > best.0 { next } else { best });
    match similar {
        // One is the square of the other, so that the wrong guess is wrong noise.
        Some((_, name)) if states_noise && Stated::named(name).is_some() => {
            format!("did you mean `{name}`? {}", Stated::MEANING)
        }
        Some((_, name)) => format!("did you mean `{name}`?"),
        None => otherwise.into(),
    }
}
