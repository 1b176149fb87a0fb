//! What the command advises where the library only knows the kind of an error.

use unspent::{Error, ErrorKind};

/// The hint of an error, in words of the command line.
pub fn of(error: &Error) -> String {
    let hint = error.hint();
    match error.kind() {
        ErrorKind::NoDelta => "add --delta 1e-10, or a line delta = \"1e-10\" to the file".into(),
        ErrorKind::NoPromise => {
            "add --epsilon E, --published bun-steinke or --published canonne-kamath-steinke".into()
        }
        ErrorKind::NoTable => {
            "add a [table] to the allocation file, or name a file that has one with --schema; \
                               examples/blocks.toml is an example"
                .into()
        }
        ErrorKind::NoPreset => format!("{hint}; `unspent presets` lists them"),
        ErrorKind::NoAllocation => format!("{hint}; `unspent presets` lists what needs no file"),
        ErrorKind::OtherNeighbours => format!("{hint}: `unspent compare A B`"),
        ErrorKind::TooLarge => format!("{hint}; `unspent certificate FILE` has no such limit"),
        _ => hint.into(),
    }
}
