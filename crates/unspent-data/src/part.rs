//! One file of a folder: what it is called, and what a manifest says of it.

use std::fs::File;
use std::path::Path;

use unspent::Result;
use unspent::file::Hashed;

use crate::directory::{self, Folder};
use crate::manifest::FileEntry;
use crate::parquet_file::system_error;

/// Makes a file of a folder of that name, in a directory that will be `target`, and says what it has; `write`
/// returns the number of rows.
pub fn write_part(
    target: &Path,
    (folder, name): (&Folder, &str),
    part: usize,
    units: u64,
    write: impl FnOnce(&mut Hashed<File>) -> parquet::errors::Result<u64>,
) -> Result<FileEntry> {
    let file = format!("part-{part:05}.parquet");
    let made = folder.create(&file).map_err(|error| directory::failed(target, error))?;
    let mut made = Hashed::new(made);
    let rows = write(&mut made).map_err(|error| directory::failed(target, system_error(error)))?;
    Ok(FileEntry { file: format!("{name}/{file}"), rows, units, sha256: made.sha256() })
}
