//! Texts: numbers, allocations, schemas, drafts and needs. What is read is also written and read again.

use unspent::file::Draft;
use unspent::schema::Schema;
use unspent::{Allocation, Alpha, Delta, DiscreteGaussian, Epsilon, Neighbours, Rational, Rho};
use unspent_estimate::design::{Needs, PresetsOnly};

/// A text as files are read: what is none is refused before anything else.
fn text(bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes).ok()
}

/// Refused: in words, with a hint, and in no more of them than a screen holds.
pub(crate) fn refused(error: &unspent::Error) {
    assert!(!error.hint().is_empty() && !error.to_string().is_empty());
    if let Some(excerpt) = error.excerpt() {
        assert!(excerpt.to_string().chars().count() < 400);
    }
}

/// Whether there is something; otherwise it was refused as it should be.
pub(crate) fn found<T>(found: unspent::Result<T>) -> Option<T> {
    found.map_err(|error| refused(&error)).ok()
}

/// What is read can be written and read again.
fn read(read: unspent::Result<Allocation>) -> bool {
    let Some(allocation) = found(read) else { return false };
    if let Ok(text) = allocation.to_file() {
        assert_eq!(Allocation::parse("", &text).as_ref(), Ok(&allocation));
    }
    if let Ok(draft) = Draft::of(&allocation) {
        assert_eq!(draft.allocation().as_ref(), Ok(&allocation));
    }
    true
}

/// A rational.
pub(crate) fn number(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let Some(number) = found(Rational::parse("number", text)) else { return false };
    let again = Rational::parse("again", &number.to_string());
    assert_eq!(again.as_ref().unwrap_or(&number), &number);
    let bounds = number.to_bounds();
    assert!(bounds.lower() <= bounds.upper());
    let _ = (number.to_short(), number.to_f64());
    let _ = (Delta::parse(text).is_ok(), Epsilon::parse(text).is_ok(), Alpha::parse(text).is_ok());
    let _ = (Rho::parse(text).is_ok(), DiscreteGaussian::parse(text, text).is_ok());
    true
}

/// An allocation in TOML.
pub(crate) fn allocation(bytes: &[u8]) -> bool {
    text(bytes).is_some_and(|text| read(Allocation::parse("a.toml", text)))
}

/// An allocation as a table.
pub(crate) fn csv_allocation(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let [bounded, other] = [Neighbours::Bounded, Neighbours::AddRemove]
        .map(|neighbours| read(Allocation::parse_csv("a.csv", text, neighbours)));
    bounded || other
}

/// A schema in TOML.
pub(crate) fn schema(bytes: &[u8]) -> bool {
    text(bytes).is_some_and(|text| found(Schema::parse("a.toml", text)).is_some())
}

/// A draft in JSON.
pub(crate) fn draft(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Draft>(bytes).is_ok_and(|draft| read(draft.allocation()))
}

/// Needs in TOML. They are read, not designed for, which may rightly take long.
pub(crate) fn needs(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let unfinished = found(Needs::parse_unfinished("needs.toml", text, &mut PresetsOnly)).is_some();
    let finished = found(Needs::parse("needs.toml", text, &mut PresetsOnly)).is_some();
    assert!(unfinished || !finished, "what is finished can be read as unfinished");
    finished
}
