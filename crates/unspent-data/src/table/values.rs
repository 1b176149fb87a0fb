//! Columns in memory, which may belong to somebody else: nothing is copied.
//!
//! A column has one chunk or several, laid out as Arrow does: numbers side by side; texts as bytes and the
//! places where they begin, or as views; or as places in a dictionary. A bitmap says which are missing.

use std::fmt::Display;
use std::sync::Arc;

use unspent::{Error, Result};

use super::batch::{Digits, Filled};
use super::count;
use super::places::not_a_text;

/// Memory that somebody owns, here or elsewhere, and that nobody changes.
pub type Shared<T> = Arc<dyn AsRef<[T]> + Send + Sync>;

/// A column in memory. Its values may be confidential, so that it cannot be shown.
#[derive(Clone)]
pub struct Values {
    chunks: Vec<Chunk>,
    rows: usize,
}

/// Some rows of a column.
#[derive(Clone)]
pub struct Chunk {
    content: Content,
    /// Bits, one for each row: zero where there is no value.
    present: Option<Shared<u8>>,
    /// The first row that counts.
    first: usize,
    rows: usize,
}

/// What a chunk has.
#[derive(Clone)]
pub enum Content {
    /// Counts, or codes and values that are numbers.
    Integers(Integers),
    /// Counts that were stored as doubles.
    Doubles(Shared<f64>),
    /// Counts that were stored as short floating-point numbers.
    Floats(Shared<f32>),
    /// Codes or values: where each begins in the bytes, and where the last ends.
    Texts(Integers, Shared<u8>),
    /// The same as Arrow's views: short texts themselves, and places in the memory of long ones.
    Views(Shared<[u8; 16]>, Vec<Shared<u8>>),
    /// Places in a chunk with texts.
    Dictionary(Integers, Arc<Chunk>),
}

/// Integers of any width.
#[derive(Clone)]
#[allow(missing_docs)] // Their names are their types'.
pub enum Integers {
    I8(Shared<i8>),
    I16(Shared<i16>),
    I32(Shared<i32>),
    I64(Shared<i64>),
    U8(Shared<u8>),
    U16(Shared<u16>),
    U32(Shared<u32>),
    U64(Shared<u64>),
}

/// Does the same with integers of any width.
macro_rules! with_integers {
    ($integers:expr, $slice:ident => $does:expr) => {
        match $integers {
            Integers::I8(shared) => with_integers!(@ shared, $slice => $does),
            Integers::I16(shared) => with_integers!(@ shared, $slice => $does),
            Integers::I32(shared) => with_integers!(@ shared, $slice => $does),
            Integers::I64(shared) => with_integers!(@ shared, $slice => $does),
            Integers::U8(shared) => with_integers!(@ shared, $slice => $does),
            Integers::U16(shared) => with_integers!(@ shared, $slice => $does),
            Integers::U32(shared) => with_integers!(@ shared, $slice => $does),
            Integers::U64(shared) => with_integers!(@ shared, $slice => $does),
        }
    };
    (@ $shared:ident, $slice:ident => $does:expr) => {{
        let $slice = (**$shared).as_ref();
        $does
    }};
}

impl Values {
    /// The chunks, one after the other.
    #[must_use]
    pub fn new(chunks: Vec<Chunk>) -> Values {
        let rows = chunks.iter().map(|chunk| chunk.rows).sum();
        Values { chunks: chunks.into_iter().filter(|chunk| chunk.rows > 0).collect(), rows }
    }

    /// The same, where bits say which are present: one bit for each row.
    fn with(mut self, present: Vec<u8>) -> Values {
        let present: Shared<u8> = Arc::new(present);
        self.chunks.iter_mut().for_each(|chunk| chunk.present = Some(present.clone()));
        self
    }

    pub(super) fn len(&self) -> usize {
        self.rows
    }

    pub(super) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }
}

impl From<Content> for Values {
    fn from(content: Content) -> Values {
        let rows = content.len();
        Values::new(vec![Chunk { content, present: None, first: 0, rows }])
    }
}

impl From<Vec<i64>> for Values {
    fn from(numbers: Vec<i64>) -> Values {
        Content::Integers(Integers::I64(Arc::new(numbers))).into()
    }
}

impl From<Vec<f64>> for Values {
    fn from(numbers: Vec<f64>) -> Values {
        Content::Doubles(Arc::new(numbers)).into()
    }
}

impl From<Vec<&str>> for Values {
    fn from(texts: Vec<&str>) -> Values {
        let ends = texts.iter().scan(0, |end, text| {
            *end += text.len() as i64;
            Some(*end)
        });
        let places: Vec<i64> = [0].into_iter().chain(ends).collect();
        let bytes = texts.concat().into_bytes();
        Content::Texts(Integers::I64(Arc::new(places)), Arc::new(bytes)).into()
    }
}

/// Integers, of which some may be missing.
impl From<Vec<Option<i64>>> for Values {
    fn from(numbers: Vec<Option<i64>>) -> Values {
        let present = bits(&numbers);
        Values::from(numbers.into_iter().map(Option::unwrap_or_default).collect::<Vec<i64>>()).with(present)
    }
}

/// Texts, of which some may be missing.
impl From<Vec<Option<String>>> for Values {
    fn from(texts: Vec<Option<String>>) -> Values {
        let present = bits(&texts);
        Values::from(texts.iter().map(|text| text.as_deref().unwrap_or_default()).collect::<Vec<_>>())
            .with(present)
    }
}

impl From<Vec<String>> for Values {
    fn from(texts: Vec<String>) -> Values {
        texts.iter().map(String::as_str).collect::<Vec<&str>>().into()
    }
}

impl Chunk {
    /// The rows from `first` on, `rows` of them. Where a bit of `present`, if it is given, is zero, the row
    /// has no value.
    ///
    /// Fails if there is less memory than that.
    pub fn new(content: Content, present: Option<Shared<u8>>, first: usize, rows: usize) -> Result<Chunk> {
        let all = content.len().min(present.as_ref().map_or(usize::MAX, |bits| (**bits).as_ref().len() * 8));
        if first.checked_add(rows).is_none_or(|end| end > all) {
            return Err(Error::stated(
                format!("a column has {all} rows in memory, fewer than it says"),
                "write the table to a file and read that",
            ));
        }
        Ok(Chunk { content, present, first, rows })
    }

    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// What is wrong with it as a column of counts, or of codes or values.
    pub(super) fn unfit(&self, counts: bool) -> Option<&'static str> {
        match (&self.content, counts) {
            (Content::Integers(_), _) => None,
            (Content::Doubles(_) | Content::Floats(_), true) => None,
            (Content::Doubles(_) | Content::Floats(_), false) => {
                Some("of floating-point numbers, not of texts or integers")
            }
            (_, true) => Some("of texts, not of integers"),
            (_, false) => None,
        }
    }

    /// The first of so many rows, from `from` on, that has no value.
    pub(super) fn first_missing(&self, from: usize, rows: usize) -> Option<usize> {
        self.may_miss().then(|| (0..rows).find(|i| self.is_missing(from + i)))?
    }

    fn may_miss(&self) -> bool {
        let dictionary = match &self.content {
            Content::Dictionary(_, dictionary) => dictionary.may_miss(),
            _ => false,
        };
        self.present.is_some() || dictionary
    }

    fn is_missing(&self, row: usize) -> bool {
        let at = self.first + row;
        if let Some(present) = &self.present
            && (**present).as_ref()[at / 8] >> (at % 8) & 1 == 0
        {
            return true;
        }
        match &self.content {
            // What is missing there is missing here.
            Content::Dictionary(places, dictionary) => {
                places.place(at).is_some_and(|at| at < dictionary.rows && dictionary.is_missing(at))
            }
            _ => false,
        }
    }

    /// Reads counts from row `from` on, none of which is missing.
    pub(super) fn counts<'c>(
        &self,
        column: &str,
        from: usize,
        counts: impl Iterator<Item = &'c mut i64>,
    ) -> Filled {
        let rows = self.first + from..self.first + self.rows;
        let counts = counts.enumerate();
        match &self.content {
            Content::Integers(integers) => {
                with_integers!(integers, all => integer_counts(column, &all[rows], counts)?);
            }
            Content::Doubles(shared) => {
                for ((i, count), number) in counts.zip(&(**shared).as_ref()[rows]) {
                    *count = count::whole(column, *number).map_err(|error| (i, error))?;
                }
            }
            Content::Floats(shared) => {
                for ((i, count), number) in counts.zip(&(**shared).as_ref()[rows]) {
                    *count = count::whole(column, f64::from(*number)).map_err(|error| (i, error))?;
                }
            }
            _ => unreachable!("refused"),
        }
        Ok(())
    }

    /// Writes numbers in digits, so many from row `from` on, if that is what the chunk has.
    pub(super) fn digits(&self, from: usize, rows: usize, digits: &mut Digits) {
        digits.clear();
        if let Content::Integers(integers) = &self.content {
            let first = self.first + from;
            with_integers!(integers, all => all[first..first + rows].iter().for_each(|n| digits.push(*n)));
        }
    }

    /// Reads texts from row `from` on; missing ones stay as they are.
    pub(super) fn texts<'t, 'b>(
        &'t self,
        column: &str,
        from: usize,
        digits: &'t Digits,
        texts: impl Iterator<Item = &'b mut &'t str>,
    ) -> Filled
    where
        't: 'b,
    {
        if let Content::Integers(_) = self.content {
            for ((i, text), digits) in texts.enumerate().zip(digits.iter()) {
                if !self.is_missing(from + i) {
                    *text = digits;
                }
            }
            return Ok(());
        }
        for (i, text) in texts.enumerate() {
            if !self.is_missing(from + i) {
                *text = self.text(from + i).ok_or_else(|| (i, not_a_text(column)))?.trim();
            }
        }
        Ok(())
    }

    /// The text of a row that is not missing; nothing if it is none.
    fn text(&self, row: usize) -> Option<&str> {
        let row = self.first + row;
        match &self.content {
            Content::Texts(places, bytes) => {
                let place = |at| places.place(at);
                std::str::from_utf8((**bytes).as_ref().get(place(row)?..place(row + 1)?)?).ok()
            }
            Content::Views(views, buffers) => {
                std::str::from_utf8(viewed((**views).as_ref().get(row)?, buffers)?).ok()
            }
            Content::Dictionary(places, dictionary) => {
                let at = places.place(row).filter(|at| *at < dictionary.rows)?;
                dictionary.text(at)
            }
            _ => None,
        }
    }
}

impl Content {
    /// How many rows there is memory for.
    fn len(&self) -> usize {
        match self {
            Content::Integers(integers) | Content::Dictionary(integers, _) => integers.len(),
            Content::Doubles(shared) => (**shared).as_ref().len(),
            Content::Floats(shared) => (**shared).as_ref().len(),
            Content::Texts(places, _) => places.len().saturating_sub(1),
            Content::Views(views, _) => (**views).as_ref().len(),
        }
    }
}

impl Integers {
    fn len(&self) -> usize {
        with_integers!(self, all => all.len())
    }

    /// An integer that is a place in memory.
    fn place(&self, at: usize) -> Option<usize> {
        with_integers!(self, all => place_of(*all.get(at)?))
    }
}

/// One bit for each row: zero where there is no value.
fn bits<T>(rows: &[Option<T>]) -> Vec<u8> {
    let byte =
        |rows: &[Option<T>]| rows.iter().rev().fold(0, |byte, row| byte << 1 | u8::from(row.is_some()));
    rows.chunks(8).map(byte).collect()
}

/// Integers as counts.
fn integer_counts<'c, T: Copy + Display + TryInto<i64>>(
    column: &str,
    numbers: &[T],
    counts: impl Iterator<Item = (usize, &'c mut i64)>,
) -> Filled {
    for ((i, count), number) in counts.zip(numbers) {
        *count = match (*number).try_into() {
            Ok(found @ 0..) => found,
            _ => count::parse(column, &number.to_string()).map_err(|error| (i, error))?,
        };
    }
    Ok(())
}

/// An integer as a place in memory.
fn place_of(number: impl TryInto<usize>) -> Option<usize> {
    number.try_into().ok()
}

/// What a view shows: its length comes first, then the bytes themselves if they are few, otherwise four of
/// them, the memory that has all, and the place in it.
fn viewed<'t>(view: &'t [u8; 16], buffers: &'t [Shared<u8>]) -> Option<&'t [u8]> {
    let number = |at: usize| {
        let bytes = view[at..at + 4].try_into().expect("four bytes");
        usize::try_from(i32::from_ne_bytes(bytes)).ok()
    };
    let length = number(0)?;
    if length <= 12 {
        return Some(&view[4..4 + length]);
    }
    let start = number(12)?;
    (**buffers.get(number(8)?)?).as_ref().get(start..start.checked_add(length)?)
}
