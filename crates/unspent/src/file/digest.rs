//! Which file it was.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A file's name and the SHA-256 of its bytes, as `sha256sum` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    /// Its name, without the path.
    pub name: String,
    /// 64 hexadecimal digits.
    pub sha256: String,
}

impl FileDigest {
    /// Of a file of that name with these bytes.
    #[must_use]
    pub fn of(name: &str, bytes: impl AsRef<[u8]>) -> FileDigest {
        let last = std::path::Path::new(name).file_name();
        let name = last.map_or_else(|| name.into(), |last| last.to_string_lossy().into_owned());
        let mut hashed = Hashed::new(io::sink());
        hashed.hash.update(bytes);
        FileDigest { name, sha256: hashed.sha256() }
    }
}

/// Hashes what is written through it.
#[derive(Debug)]
pub struct Hashed<W> {
    to: W,
    hash: Sha256,
}

impl<W> Hashed<W> {
    /// Hands everything on to that writer.
    pub fn new(to: W) -> Hashed<W> {
        Hashed { to, hash: Sha256::new() }
    }

    /// The SHA-256 of all that was written: 64 hexadecimal digits, as `sha256sum` prints it.
    pub fn sha256(self) -> String {
        let mut digits = String::new();
        for byte in self.hash.finalize() {
            let _ = write!(digits, "{byte:02x}");
        }
        digits
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-2, appendix B.1.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn digests_are_those_of_sha256sum() {
        let found = FileDigest::of("a/b.toml", "abc");
        assert_eq!(found.name, "b.toml");
        assert_eq!(found.sha256, ABC);
    }

    /// What the writer behind it does not take is written again, and counts once.
    #[test]
    fn what_was_written_is_hashed() {
        struct OneByOne(Vec<u8>);
        impl Write for OneByOne {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.extend(&bytes[..1]);
                Ok(1)
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut hashed = Hashed::new(OneByOne(vec![]));
        hashed.write_all(b"abc").unwrap();
        assert_eq!(hashed.to.0, b"abc");
        assert_eq!(hashed.sha256(), ABC);
    }
}
