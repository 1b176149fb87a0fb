//! What the command advises where the library only knows the kind of an error.

use unspent::{Error, ErrorKind};

use crate::certificate;

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
        ErrorKind::NoUnits => {
            "give the list of all units of the smallest level, --units FILE; it is public and must not \
             depend on the records. If the table itself has a row for every unit: --units-of-table"
                .into()
        }
        ErrorKind::NoQuery => hint.replacen("name one", "name one with --query", 1),
        ErrorKind::NoLevel => "say whose noise to add: --level L".into(),
        ErrorKind::NoVariance => "name an allocation, --before, or give a level's noise before and after: \
                                  --sigma2 Block=456.62:343.27"
            .into(),
        ErrorKind::PromiseNotKept => {
            format!("{}; --break-promise measures all the same", certificate::NOT_KEPT)
        }
        ErrorKind::NoPreset => format!("{hint}; `unspent presets` lists them"),
        ErrorKind::NoAllocation => format!("{hint}; `unspent presets` lists what needs no file"),
        ErrorKind::OtherNeighbours => format!("{hint}: `unspent compare A B`"),
        ErrorKind::TooLarge => format!("{hint}; `unspent certificate FILE` has no such limit"),
        _ => hint.into(),
    }
}
