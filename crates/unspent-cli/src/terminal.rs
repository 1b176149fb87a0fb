//! What is at the other end: whether it is a terminal, how wide, whether it shows colours; and how much it is
//! to be told.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

use unspent::report::{Document, Terminal};

/// Whether only answers, warnings and errors are wanted.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on nothing is said but answers, warnings and errors.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether nothing else is to be said.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// A document as standard output shows it.
pub fn shown(document: &Document) -> String {
    let stdout = io::stdout();
    document.terminal_like(Terminal { width: width(), styles: shows_styles(&stdout) })
}

/// The columns of the terminal, or of whatever says that it has so many.
fn width() -> Option<usize> {
    let said = || env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|width| *width > 0);
    let (terminal_size::Width(width), _) = match terminal_size::terminal_size_of(io::stdout()) {
        Some(size) => size,
        None => return said(),
    };
    Some(width.into())
}

/// Whether colours and bold letters are for this stream.
pub fn shows_styles(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && wants_styles(env::var_os("NO_COLOR"), env::var_os("TERM"))
}

/// As the environment says.
fn wants_styles(no_color: Option<OsString>, term: Option<OsString>) -> bool {
    no_color.is_none_or(|value| value.is_empty()) && term.is_none_or(|term| term != "dumb")
}

/// Help, with its heads in bold.
pub fn help(text: &str) -> String {
    if !shows_styles(&io::stdout()) {
        return text.into();
    }
    let bold = |line: &str| match line.split_once(':') {
        Some((head, rest)) if !head.starts_with(' ') && (rest.is_empty() || head == "Usage") => {
            format!("\x1b[1m{head}:\x1b[0m{rest}\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(bold).collect()
}

/// The word in front of a message, which a terminal shows in this colour.
pub fn label(word: &str, colour: Colour) -> String {
    match shows_styles(&io::stderr()) {
        true => format!("\x1b[1;{}m{word}:\x1b[0m", colour as u8),
        false => format!("{word}:"),
    }
}

/// Of labels.
#[derive(Clone, Copy)]
pub enum Colour {
    /// Of errors.
    Red = 31,
    /// Of warnings.
    Yellow = 33,
    /// Of hints.
    Cyan = 36,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_and_dumb_terminals_get_none() {
        let wants = |no_color: Option<&str>, term: Option<&str>| {
            wants_styles(no_color.map(Into::into), term.map(Into::into))
        };
        assert!(wants(None, None) && wants(Some(""), Some("xterm-256color")));
        assert!(
            !wants(Some("1"), None) && !wants(Some("false"), Some("xterm")) && !wants(None, Some("dumb"))
        );
    }
}
