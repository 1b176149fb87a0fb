//! Usage errors in the shape of all others: one line of cause, one line of hint.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use unspent::mechanism::Stated;

use crate::Failure;

/// What clap objects to, with the best suggestion it has.
pub fn failure(error: &clap::Error) -> Failure {
    let rendered = error.render().to_string();
    let cause = match error.kind() {
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "no command was given".into()
        }
        ErrorKind::MissingRequiredArgument => match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::Strings(missing)) => format!("missing: {}", missing.join(", ")),
            _ => "an argument is missing".into(),
        },
        ErrorKind::InvalidValue => not_allowed(error).unwrap_or_else(|| first_line(&rendered)),
        _ => first_line(&rendered),
    };
    let examples = "`unspent --help` lists the commands, and `unspent COMMAND --help` has examples";
    let hint = match suggestion(error) {
        // No other flag is like it.
        _ if unknown(error) == Some("force") => {
            "this command replaces nothing: it prints its answer, or writes a directory of a new name".into()
        }
        // One is the square of the other, so that the wrong guess is wrong noise.
        Some(similar) if Stated::named(similar.trim_start_matches('-')).is_some() => {
            format!("did you mean `{similar}`? {}", Stated::MEANING)
        }
        Some(similar) => format!("did you mean `{similar}`? {examples}"),
        // `account` is told of noise in another way.
        None if unknown(error).is_some_and(|name| Stated::named(name).is_some()) => {
            format!(
                "`unspent account` takes --mechanism sigma2=5 or --mechanism sigma=2.5: {}",
                Stated::MEANING
            )
        }
        None => examples.into(),
    };
    Failure::usage(cause, hint)
}

fn first_line(rendered: &str) -> String {
    rendered.lines().next().unwrap_or_default().trim_start_matches("error: ").to_string()
}

/// A value that is not one of a few: which, and what they are.
fn not_allowed(error: &clap::Error) -> Option<String> {
    match (
        error.get(ContextKind::InvalidArg)?,
        error.get(ContextKind::InvalidValue)?,
        error.get(ContextKind::ValidValue)?,
    ) {
        (ContextValue::String(flag), ContextValue::String(value), ContextValue::Strings(allowed))
            if !allowed.is_empty() =>
        {
            let flag = flag.split(' ').next().unwrap_or(flag);
            Some(format!("{flag}: `{value}` is not one of {}", allowed.join(", ")))
        }
        _ => None,
    }
}

/// The flag that is not known, without its dashes.
fn unknown(error: &clap::Error) -> Option<&str> {
    match (error.kind(), error.get(ContextKind::InvalidArg)?) {
        (ErrorKind::UnknownArgument, ContextValue::String(flag)) => Some(flag.trim_start_matches('-')),
        _ => None,
    }
}

fn suggestion(error: &clap::Error) -> Option<&str> {
    [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
        .into_iter()
        .find_map(|kind| match error.get(kind)? {
            ContextValue::String(similar) => Some(similar.as_str()),
            // The most similar one comes last.
            ContextValue::Strings(similar) => similar.last().map(String::as_str),
            _ => None,
        })
}
