//! A directory that appears whole or not at all, and nothing left behind by a run that is interrupted.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::Failure;
use crate::output;

/// What is being written, to be removed if the run is interrupted.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Says that a file or directory is being written, or that none is any more.
pub fn writing(path: Option<&Path>) {
    on_interrupt();
    *UNFINISHED.lock().expect("not poisoned") = path.map(Into::into);
}

/// Whether a directory of this name could be made: `Ok(true)` if there is one already.
pub fn check(flag: &str, target: &Path) -> Result<bool, Failure> {
    let shown = target.display();
    let refuse = |cause: String, hint: &str| Err(Failure::usage(format!("{flag}: {cause}"), hint));
    if target.file_name().is_none() {
        return refuse(format!("`{shown}` has no name of its own"), "name a new directory");
    }
    output::checked_directory(flag, target)?;
    match fs::symlink_metadata(target) {
        Ok(metadata) if metadata.is_symlink() => {
            refuse(format!("`{shown}` is a symbolic link"), "name the directory itself")
        }
        found => Ok(found.is_ok()),
    }
}

/// A directory under another name, beside the one it is to be; removed unless it is finished.
pub struct Unfinished {
    path: PathBuf,
    target: PathBuf,
}

impl Unfinished {
    /// Makes it, first of all, so that what cannot be written is not computed.
    pub fn create(target: &Path) -> Result<Unfinished, Failure> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let process = std::process::id();
        // A process that was killed may have left one of the same number.
        for attempt in 0..100 {
            let path = target.with_file_name(format!(".{name}.{process}-{attempt}.tmp"));
            writing(Some(&path));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Unfinished { path, target: target.into() }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(target, &error)),
            }
        }
        Err(failed(target, &io::ErrorKind::AlreadyExists.into()))
    }

    /// Where to write.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts it in its place, where nothing must be.
    pub fn finish(&self) -> Result<(), Failure> {
        sync(&self.path).map_err(|error| failed(&self.target, &error))?;
        let is_there = || fs::symlink_metadata(&self.target).is_ok();
        let taken = || {
            let cause = format!("{}: somebody else has made it in the meantime", self.target.display());
            Failure::other(cause, "nothing was changed; choose another name and run again")
        };
        if is_there() {
            return Err(taken());
        }
        // A directory that is not empty is never replaced, so that of two that come here at once one fails.
        let moved = fs::rename(&self.path, &self.target);
        moved.map_err(|error| if is_there() { taken() } else { failed(&self.target, &error) })
    }

    /// Puts it in the place of what is there.
    pub fn replace(&self) -> Result<(), Failure> {
        if !self.target.exists() {
            return self.finish();
        }
        sync(&self.path).map_err(|error| failed(&self.target, &error))?;
        let moved =
            |from: &Path, to: &Path| fs::rename(from, to).map_err(|error| failed(&self.target, &error));
        let old = self.path.with_extension("old");
        moved(&self.target, &old)?;
        if let Err(error) = moved(&self.path, &self.target) {
            let _ = fs::rename(&old, &self.target);
            return Err(error);
        }
        fs::remove_dir_all(&old).map_err(|error| {
            Failure::other(
                format!("{}: what was there before could not be removed: {error}", old.display()),
                "the new one is in its place; remove the old one by hand",
            )
        })
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Not there any more if it is finished.
        let _ = fs::remove_dir_all(&self.path);
        writing(None);
    }
}

/// Why it could not be written.
pub fn failed(target: &Path, error: &io::Error) -> Failure {
    Failure::other(
        format!("{}: could not be written: {error}", target.display()),
        "check that there is space and permission to write; nothing was changed",
    )
}

/// All that was written is on the disk, not only in memory.
fn sync(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() { sync(&path)? } else { File::open(&path)?.sync_all()? }
    }
    // Directories can be opened on unix only, and need it there.
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

/// An interrupted run leaves nothing behind.
fn on_interrupt() {
    // A second handler is refused: there is one already then.
    let _ = ctrlc::set_handler(|| {
        if let Some(unfinished) = UNFINISHED.lock().ok().and_then(|mut path| path.take()) {
            // Another thread may be adding to a directory: once more if something was left.
            let _ = fs::remove_file(&unfinished)
                .or_else(|_| fs::remove_dir_all(&unfinished))
                .or_else(|_| fs::remove_dir_all(&unfinished));
        }
        std::process::exit(130);
    });
}
