//! Tables that others hold in Arrow's layout, borrowed through its C stream interface: pandas, polars,
//! pyarrow, DuckDB.
//!
//! ```text
//! __arrow_c_stream__ ─▶ Stream ─▶ Batch, Batch, … ─▶ Chunks of the columns that are read
//!                      (released at the end)        (a batch is released with its last chunk)
//! ```
//!
//! The interface tells how many rows there are and not how large memory is: whoever lends a table is believed
//! that it has what its rows need. Everything else is checked: pointers, numbers of buffers and of children,
//! types, and every place of a text.

#![expect(unsafe_code, reason = "structures, functions and memory of others")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use unspent::{Error, Result};
use unspent_data::table::{Chunk, Content, Integers, Shared};
use unspent_data::{Columns, Values};

use crate::error::OrRaise;
use crate::memory::borrowed;

/// What a table is told of that has columns of other types.
pub const TYPES: &str = "counts are columns of whole numbers; codes and values are texts or integers";

/// A type, as Arrow describes it.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

/// Rows of a column, or of all.
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

/// A table, some rows at a time.
#[repr(C)]
struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

/// Gives back what was lent: once, by whoever has it last.
macro_rules! released_when_dropped {
    ($($lent:ty),*) => {$(
        impl Drop for $lent {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: whoever filled it in said that this gives it back, and it is given back once.
                    unsafe { release(self) }
                }
            }
        }
    )*};
}
released_when_dropped!(Schema, Array, Stream);

// SAFETY: the interface lets any thread use a stream, one at a time.
unsafe impl Send for Stream {}
// SAFETY: as above, and what it points to belongs to it.
unsafe impl Send for Array {}
// SAFETY: it is only read, and given back by the last who has it.
unsafe impl Sync for Array {}

/// The columns of a stream that are read, and the names of the others.
pub fn columns(lent: &Bound<'_, PyCapsule>, is_read: impl Fn(&str) -> bool + Send) -> PyResult<Columns> {
    let py = lent.py();
    let pointer = lent.pointer_checked(Some(c"arrow_array_stream"))?.cast::<Stream>();
    // SAFETY: the capsule's name says that it has a stream. It is moved as the interface wants it: what
    // remains in the capsule has nothing to release any more.
    let stream = unsafe {
        let stream = pointer.read();
        (*pointer.as_ptr()).release = None;
        stream
    };
    py.detach(move || stream.columns(is_read)).or_raise(py)
}

/// What lends a table broke the rules of lending.
fn broken() -> Error {
    let hint = "write the table to a Parquet file and read that";
    Error::stated("table: its memory is not as Arrow's C interface wants it", hint)
}

/// A number of rows, buffers or children.
fn number(number: i64) -> Result<usize> {
    usize::try_from(number).map_err(|_| broken())
}

impl Stream {
    fn columns(mut self, is_read: impl Fn(&str) -> bool) -> Result<Columns> {
        if self.release.is_none() {
            let hint = "a stream is read once: make it again";
            return Err(Error::stated("table: its rows were read already", hint));
        }
        let schema = self.schema()?;
        if schema.format() != "+s" {
            return Err(Error::stated("table: it has no columns", "give a table, not a column of one"));
        }
        let (mut read, mut others) = (vec![], vec![]);
        for at in 0..number(schema.n_children)? {
            let child = schema.child(at).ok_or_else(broken)?;
            let name = child.name();
            if is_read(&name) {
                read.push((at, Layout::of(&name, child)?, name, vec![]));
            } else {
                others.push(name);
            }
        }
        if !read.is_empty() {
            while let Some(batch) = self.next()? {
                for (at, layout, _, chunks) in &mut read {
                    chunks.push(batch.chunk(*at, layout)?);
                }
            }
        }
        let read = read.into_iter().map(|(_, _, name, chunks)| (name, Values::new(chunks)));
        Ok(Columns::new(read.collect())?.beside(others))
    }

    fn schema(&mut self) -> Result<Schema> {
        let mut schema = Schema {
            format: null(),
            name: null(),
            metadata: null(),
            flags: 0,
            n_children: 0,
            children: null_mut(),
            dictionary: null_mut(),
            release: None,
            private_data: null_mut(),
        };
        let get = self.get_schema.ok_or_else(broken)?;
        // SAFETY: the stream was not released, and there is room for what it fills in.
        let code = unsafe { get(self, &mut schema) };
        self.succeeded(code)?;
        if schema.release.is_some() { Ok(schema) } else { Err(broken()) }
    }

    /// The next rows; nothing if there are no more.
    fn next(&mut self) -> Result<Option<Batch>> {
        let mut array = Array {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: null_mut(),
            children: null_mut(),
            dictionary: null_mut(),
            release: None,
            private_data: null_mut(),
        };
        let get = self.get_next.ok_or_else(broken)?;
        // SAFETY: the stream was not released, and there is room for what it fills in.
        let code = unsafe { get(self, &mut array) };
        self.succeeded(code)?;
        if array.release.is_none() {
            return Ok(None);
        }
        // Rows of a table have values or not; they are not missing as a whole.
        if array.null_count != 0 && array.buffer(0).is_some_and(|bits| !bits.is_null()) {
            return Err(Error::stated("table: a row is missing as a whole", "leave it out of the table"));
        }
        Ok(Some(Batch(Arc::new(array))))
    }

    /// Fails if the code is that of an error, whose words may be about values of the table.
    fn succeeded(&mut self, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let words = match self.get_last_error {
            // SAFETY: the stream was not released, and its last call failed.
            Some(get) => text(unsafe { get(self) }),
            None => String::new(),
        };
        let hint =
            "write the table to a Parquet file and read that; show_values=True shows the whole message";
        Err(Error::stated(format!("table: cannot be read: error {code}: {words}"), hint)
            .concealed_as(format!("table: cannot be read: error {code}")))
    }
}

/// A text of the interface; empty if there is none.
fn text(start: *const c_char) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: the interface's texts end with a zero, and stay while what they belong to is borrowed.
    unsafe { CStr::from_ptr(start) }.to_string_lossy().into_owned()
}

impl Schema {
    fn format(&self) -> String {
        text(self.format)
    }

    fn name(&self) -> String {
        text(self.name)
    }

    fn child(&self, at: usize) -> Option<&Schema> {
        let there = usize::try_from(self.n_children).is_ok_and(|n| at < n) && !self.children.is_null();
        // SAFETY: there are so many children, each null or one that lives as long as its parent.
        if there { unsafe { (*self.children.add(at)).as_ref() } } else { None }
    }
}

/// How a column lies in memory.
struct Layout {
    kind: Kind,
    /// That of the words, if rows are places in a dictionary.
    words: Option<Kind>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Floats,
    Doubles,
    Texts,
    LongTexts,
    Views,
}

impl Layout {
    /// Fails if the column is of another type.
    fn of(name: &str, schema: &Schema) -> Result<Layout> {
        let refuse = |format: &str| {
            let what = format!("table: column `{name}` is of {}, not of integers or texts", shown(format));
            Error::stated(what, TYPES)
        };
        let format = schema.format();
        let kind = Kind::of(&format).ok_or_else(|| refuse(&format))?;
        // SAFETY: null, or a schema that lives as long as the one it belongs to.
        let Some(words) = (unsafe { schema.dictionary.as_ref() }) else {
            return Ok(Layout { kind, words: None });
        };
        let format = words.format();
        match Kind::of(&format) {
            Some(words) if words.is_text() && !kind.is_text() => Ok(Layout { kind, words: Some(words) }),
            _ => Err(refuse(&format!("a dictionary of {}", shown(&format)))),
        }
    }
}

impl Kind {
    fn of(format: &str) -> Option<Kind> {
        Some(match format {
            "c" => Kind::I8,
            "s" => Kind::I16,
            "i" => Kind::I32,
            "l" => Kind::I64,
            "C" => Kind::U8,
            "S" => Kind::U16,
            "I" => Kind::U32,
            "L" => Kind::U64,
            "f" => Kind::Floats,
            "g" => Kind::Doubles,
            "u" => Kind::Texts,
            "U" => Kind::LongTexts,
            "vu" => Kind::Views,
            _ => return None,
        })
    }

    fn is_text(self) -> bool {
        matches!(self, Kind::Texts | Kind::LongTexts | Kind::Views)
    }
}

/// What a column is of, for messages.
fn shown(format: &str) -> String {
    match format.split(':').next().unwrap_or_default() {
        "b" => "booleans".into(),
        "n" => "nulls".into(),
        "c" | "s" | "i" | "l" | "C" | "S" | "I" | "L" => "integers".into(),
        "e" | "f" | "g" => "floating-point numbers".into(),
        "d" => "decimals".into(),
        "z" | "Z" | "vz" | "w" => "bytes".into(),
        "tdD" | "tdm" => "dates".into(),
        kind if kind.starts_with('t') => "times".into(),
        kind if kind.starts_with('+') => "lists or structures".into(),
        _ => format.into(),
    }
}

impl Array {
    fn buffer(&self, at: usize) -> Option<*const c_void> {
        let there = usize::try_from(self.n_buffers).is_ok_and(|n| at < n) && !self.buffers.is_null();
        // SAFETY: there are so many pointers.
        there.then(|| unsafe { *self.buffers.add(at) })
    }

    fn child(&self, at: usize) -> Option<&Array> {
        let there = usize::try_from(self.n_children).is_ok_and(|n| at < n) && !self.children.is_null();
        // SAFETY: there are so many children, each null or one that lives as long as its parent.
        if there { unsafe { (*self.children.add(at)).as_ref() } } else { None }
    }

    /// How many rows there is memory for.
    fn all(&self) -> Result<usize> {
        number(self.offset)?.checked_add(number(self.length)?).ok_or_else(broken)
    }
}

/// Rows of a table, and all memory that they are in.
#[derive(Clone)]
struct Batch(Arc<Array>);

impl Batch {
    /// The rows of a column.
    fn chunk(&self, at: usize, layout: &Layout) -> Result<Chunk> {
        let column = self.0.child(at).ok_or_else(broken)?;
        let (before, rows) = (number(self.0.offset)?, number(self.0.length)?);
        if before.checked_add(rows).is_none_or(|end| number(column.length).is_ok_and(|all| end > all)) {
            return Err(broken());
        }
        let content = match layout.words {
            None => self.content(layout.kind, column)?,
            Some(kind) => {
                // SAFETY: null, or an array that lives as long as the one it belongs to.
                let words = unsafe { column.dictionary.as_ref() }.ok_or_else(broken)?;
                let content = self.content(kind, words)?;
                let present = self.present(words)?;
                let words = Chunk::new(content, present, number(words.offset)?, number(words.length)?)?;
                Content::Dictionary(self.integers(layout.kind, column)?, Arc::new(words))
            }
        };
        let first = number(column.offset)?.checked_add(before).ok_or_else(broken)?;
        Chunk::new(content, self.present(column)?, first, rows)
    }

    /// Bits that say which rows have values, if some have none.
    fn present(&self, column: &Array) -> Result<Option<Shared<u8>>> {
        match column.buffer(0) {
            Some(bits) if column.null_count != 0 && !bits.is_null() => {
                self.memory(column, 0, column.all()?.div_ceil(8)).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn content(&self, kind: Kind, column: &Array) -> Result<Content> {
        Ok(match kind {
            Kind::Floats => Content::Floats(self.memory(column, 1, column.all()?)?),
            Kind::Doubles => Content::Doubles(self.memory(column, 1, column.all()?)?),
            Kind::Texts => {
                let (places, bytes) = self.texts::<i32>(column)?;
                Content::Texts(Integers::I32(places), bytes)
            }
            Kind::LongTexts => {
                let (places, bytes) = self.texts::<i64>(column)?;
                Content::Texts(Integers::I64(places), bytes)
            }
            Kind::Views => {
                // Between the views and the last buffer, which has their lengths, are those with long texts.
                let buffers = number(column.n_buffers)?.checked_sub(3).ok_or_else(broken)?;
                let lengths = self.memory::<i64>(column, buffers + 2, buffers)?;
                let lengths = (*lengths).as_ref().iter().enumerate();
                let long = lengths.map(|(i, length)| self.memory(column, i + 2, number(*length)?));
                let long = long.collect::<Result<_>>()?;
                Content::Views(self.memory(column, 1, column.all()?)?, long)
            }
            _ => Content::Integers(self.integers(kind, column)?),
        })
    }

    fn integers(&self, kind: Kind, column: &Array) -> Result<Integers> {
        let all = column.all()?;
        Ok(match kind {
            Kind::I8 => Integers::I8(self.memory(column, 1, all)?),
            Kind::I16 => Integers::I16(self.memory(column, 1, all)?),
            Kind::I32 => Integers::I32(self.memory(column, 1, all)?),
            Kind::I64 => Integers::I64(self.memory(column, 1, all)?),
            Kind::U8 => Integers::U8(self.memory(column, 1, all)?),
            Kind::U16 => Integers::U16(self.memory(column, 1, all)?),
            Kind::U32 => Integers::U32(self.memory(column, 1, all)?),
            Kind::U64 => Integers::U64(self.memory(column, 1, all)?),
            _ => return Err(broken()),
        })
    }

    /// The places of texts and the bytes that they are in, which end where the last text does.
    fn texts<T>(&self, column: &Array) -> Result<(Shared<T>, Shared<u8>)>
    where
        T: Copy + Default + Into<i64> + Send + Sync + 'static,
    {
        let all = column.all()?;
        if all == 0 {
            // Without any row, there need not be a place.
            return Ok((Arc::new(vec![T::default()]), Arc::new(vec![])));
        }
        let places = self.memory::<T>(column, 1, all.checked_add(1).ok_or_else(broken)?)?;
        let end = number((*places).as_ref()[all].into())?;
        Ok((places, self.memory(column, 2, end)?))
    }

    fn memory<T: Copy + Send + Sync + 'static>(
        &self,
        column: &Array,
        buffer: usize,
        length: usize,
    ) -> Result<Shared<T>> {
        let start = column.buffer(buffer).ok_or_else(broken)?.cast::<T>();
        // SAFETY: a column of that type and length has so many values there, until its batch is given back.
        unsafe { borrowed(start, length, self.clone()) }.ok_or_else(broken)
    }
}
