//! The bytes of a file or a pipe, which may be packed by gzip.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;

/// What a file begins with that gzip has packed.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Packed bytes that are read at a time.
const BUFFER: usize = 1 << 17;

/// Bytes as they were before they were packed.
pub(super) struct Bytes {
    stream: Box<dyn Read>,
    /// How many were read of the file, as it is stored.
    read: Rc<Cell<u64>>,
    /// How long the file is, if that is known.
    all: Option<u64>,
}

/// Why bytes are of no use, although the system could read them.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) cause: String,
    pub(super) hint: &'static str,
}

impl Bytes {
    /// Looks at the first bytes.
    pub(super) fn new(stream: impl Read + 'static, all: Option<u64>) -> io::Result<Bytes> {
        let read = Rc::new(Cell::new(0));
        let mut stream = Counted { stream, read: read.clone() };
        let mut first = vec![];
        (&mut stream).take(GZIP.len() as u64).read_to_end(&mut first)?;
        let packed = first == GZIP;
        let stream = io::Cursor::new(first).chain(stream);
        let stream: Box<dyn Read> = if packed {
            Box::new(Unpacked(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, stream))))
        } else {
            Box::new(stream)
        };
        Ok(Bytes { stream, read, all })
    }

    /// The part of the file that was read, if that is known: a function, because the bytes move on.
    pub(super) fn part(&self) -> impl Fn() -> Option<f64> + use<> {
        let (read, all) = (self.read.clone(), self.all);
        move || all.map(|all| (read.get() as f64 / all.max(1) as f64).min(1.0))
    }
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

/// Counts what is read.
struct Counted<R> {
    stream: R,
    read: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.read.set(self.read.get() + read as u64);
        Ok(read)
    }
}

/// Unpacks, and says in our words what is wrong with the file.
struct Unpacked<R>(MultiGzDecoder<BufReader<R>>);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                Refused::io("the gzip file ends in the middle", "check that it was copied whole")
            }
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => Refused::io(
                "the gzip file is damaged",
                "unpack it with gzip -t to see where, or copy it again",
            ),
            _ => error,
        })
    }
}

impl Refused {
    pub(super) fn io(cause: impl Into<String>, hint: &'static str) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, Refused { cause: cause.into(), hint })
    }

    /// What was refused, if that is what went wrong.
    pub(super) fn of(error: &io::Error) -> Option<&Refused> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl Error for Refused {}
