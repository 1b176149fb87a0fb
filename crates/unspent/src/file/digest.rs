//! Which file it was.

use std::fmt::Write;

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
    /// Of a file of that name with that text.
    #[must_use]
    pub fn of(name: &str, text: &str) -> FileDigest {
        let last = std::path::Path::new(name).file_name();
        let name = last.map_or_else(|| name.into(), |last| last.to_string_lossy().into_owned());
        let mut sha256 = String::new();
        for byte in Sha256::digest(text.as_bytes()) {
            let _ = write!(sha256, "{byte:02x}");
        }
        FileDigest { name, sha256 }
    }
}

#[cfg(test)]
mod tests {
    use super::FileDigest;

    /// FIPS 180-2, appendix B.1.
    #[test]
    fn digests_are_those_of_sha256sum() {
        let found = FileDigest::of("a/b.toml", "abc");
        assert_eq!(found.name, "b.toml");
        assert_eq!(found.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
