//! Which files a dataset has.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use unspent::{Error, ErrorKind, Result};

use super::Part;

/// The files of a level.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub(super) name: String,
    /// Its folder.
    pub(super) path: PathBuf,
    /// Those of its noisy answers and of its constraints; none if there is no such folder.
    pub(super) files: [Option<Vec<PathBuf>>; 2],
}

/// Partitions in partitions: the published files have two.
const DEPTH: usize = 6;

/// The levels in a dataset's folder, or the one whose folder it is, by name.
pub(super) fn levels(path: &Path) -> Result<Vec<Level>> {
    let is_level = |path: &Path| Part::ALL.iter().any(|part| path.join(part.folder()).is_dir());
    if is_level(path) {
        return Ok(vec![level(path)?]);
    }
    let mut levels = vec![];
    for path in entries(path)? {
        if path.is_dir() && is_level(&path) {
            levels.push(level(&path)?);
        } else if path.extension().is_some_and(|e| e == "parquet") {
            return Err(Error::stated(
                format!("{}: has no folder DPQuery and no folder Constraint", path.display()),
                HINT,
            ));
        }
    }
    if levels.is_empty() {
        return Err(Error::stated(format!("{}: has no folder of a level", path.display()), HINT));
    }
    Ok(levels)
}

const HINT: &str = "noisy measurements have a manifest.json, or, if the Census Bureau published them, \
                    folders like State.parquet/DPQuery";

/// The name of a folder; a path like `.` has none of its own.
pub(super) fn name(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_default();
    let name = path.file_name().or(whole.file_name()).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn level(path: &Path) -> Result<Level> {
    let name = name(path);
    let name = name.strip_suffix(".parquet").unwrap_or(&name).into();
    let files = |part: &Part| {
        let folder = path.join(part.folder());
        if !folder.is_dir() {
            return Ok(None);
        }
        let mut files = vec![];
        collect(&folder, DEPTH, &mut files)?;
        if files.is_empty() {
            let hint = "a folder without answers is not there at all; check that the download is whole";
            return Err(Error::stated(format!("{}: has no file", folder.display()), hint));
        }
        Ok(Some(files))
    };
    let [noisy, constraints] = Part::ALL;
    Ok(Level { name, path: path.into(), files: [files(&noisy)?, files(&constraints)?] })
}

/// All files below a folder, by their paths. Other folders than those of partitions hold something else.
fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    for path in entries(folder)? {
        if !path.is_dir() {
            files.push(path);
        } else if depth > 0 && path.file_name().is_some_and(|name| name.to_string_lossy().contains('=')) {
            collect(&path, depth - 1, files)?;
        } else {
            return Err(Error::stated(
                format!("{}: is a folder that is no partition", path.display()),
                "folders of partitions are called like State=044 or County=04410001",
            ));
        }
    }
    Ok(())
}

/// What is in a folder, by name, without what other programs leave there: hidden files, `_SUCCESS`, `.crc`.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, error))?;
    let mut paths = vec![];
    for entry in entries {
        let entry = entry.map_err(|error| unreadable(folder, error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(['.', '_']) && !name.ends_with(".crc") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

fn unreadable(path: &Path, error: io::Error) -> Error {
    Error::io(format!("{}: cannot be read: {error}", path.display()), error, HINT)
        .with_kind(ErrorKind::Unreadable)
}
