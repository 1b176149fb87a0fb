//! A directory that appears whole or not at all, is closed to others until then, and of which a run that fails,
//! panics or is interrupted leaves nothing.
//!
//! What is made is made in the directory that is open, whatever its name has come to mean, and never through a
//! link.

#[cfg(unix)]
mod unix;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use unspent::{Error, ErrorKind, Result};

#[cfg(unix)]
use self::unix::{mask, open_to_others, sync_parent};

/// What is being written, to be removed if the run ends before it is finished.
///
/// It is locked while anything is made, so that nothing is made once it is being removed.
static UNFINISHED: Mutex<Vec<Writing>> = Mutex::new(vec![]);

struct Writing {
    /// Under a name that nobody else has.
    path: PathBuf,
    /// The directory, or nothing for a file.
    folder: Option<Folder>,
    #[cfg(unix)]
    identity: (u64, u64),
}

fn unfinished() -> MutexGuard<'static, Vec<Writing>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes what is being written under that name from the list, if it is still there.
fn take(unfinished: &mut Vec<Writing>, path: &Path) -> Option<Writing> {
    let at = unfinished.iter().position(|writing| writing.path == path)?;
    Some(unfinished.swap_remove(at))
}

/// Removes all that is being written, before the process ends: whoever wants to make a file after this waits for
/// that end. A panic hook and a handler of Ctrl-C call it, where no destructor runs.
pub fn abandon() {
    let mut unfinished = unfinished();
    unfinished.drain(..).for_each(remove);
    std::mem::forget(unfinished);
}

/// Says on stderr what could not be removed: it is a release, and nobody else is there to hear of it.
fn remove(writing: Writing) {
    if let Err(error) = writing.remove() {
        let path = writing.path.display();
        let _ = writeln!(io::stderr(), "warning: {path}: could not be removed: {error}; {}", Leftover::WHAT);
    }
}

impl Writing {
    fn new(path: PathBuf, made: &fs::Metadata, folder: Option<Folder>) -> Writing {
        #[cfg(not(unix))]
        let _ = made;
        Writing {
            path,
            folder,
            #[cfg(unix)]
            identity: identity(made),
        }
    }

    /// Whether its name still means what was made.
    fn is_there(&self) -> bool {
        let found = fs::symlink_metadata(&self.path);
        #[cfg(unix)]
        let same = found.is_ok_and(|found| identity(&found) == self.identity);
        #[cfg(not(unix))]
        let same = found.is_ok();
        same
    }

    fn remove(&self) -> io::Result<()> {
        let emptied = self.folder.as_ref().map_or(Ok(()), Folder::empty);
        match (self.is_there(), &self.folder) {
            (false, _) => emptied,
            (true, None) => fs::remove_file(&self.path),
            (true, Some(_)) => emptied.and_then(|()| fs::remove_dir(&self.path)),
        }
    }
}

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// A name beside `target` that nobody else has, and nobody can foresee.
fn temporary(target: &Path) -> PathBuf {
    // The keys of a hash table come from the operating system; process ids repeat in every container.
    let random = RandomState::new().build_hasher().finish();
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{random:016x}.tmp"))
}

/// A file under another name, beside the one it is to be; removed unless it is finished.
struct UnfinishedFile(PathBuf);

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        // Nothing if it is finished.
        if let Some(left) = take(&mut unfinished(), &self.0) {
            remove(left);
        }
    }
}

/// Makes the file `target` by writing it under another name first; `may_replace` is asked at the end.
pub fn write_file(
    target: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
    may_replace: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let path = temporary(target);
    let (mut file, _unfinished) = {
        let mut unfinished = unfinished();
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        unfinished.push(Writing::new(path.clone(), &file.metadata()?, None));
        (file, UnfinishedFile(path.clone()))
    };
    write(&mut file).and_then(|()| file.sync_all()).and_then(|()| may_replace())?;
    {
        let mut unfinished = unfinished();
        fs::rename(&path, target)?;
        take(&mut unfinished, &path);
    }
    // It is written whatever comes of this.
    let _ = sync_parent(target);
    Ok(())
}

/// Whether a directory of this name could be made: `Ok(true)` if there is one already.
pub fn check(target: &Path) -> Result<bool> {
    let shown = target.display();
    let refuse = |cause: String, hint: &str| Err(Error::of_kind(ErrorKind::Output, cause, hint));
    if target.file_name().is_none() {
        return refuse(format!("`{shown}` has no name of its own"), "name a new directory");
    }
    check_parent(target)?;
    match fs::symlink_metadata(target) {
        Ok(metadata) if metadata.is_symlink() => {
            refuse(format!("`{shown}` is a symbolic link"), "name the directory itself")
        }
        found => Ok(found.is_ok()),
    }
}

/// Fails if the directory that a path is in does not exist.
pub fn check_parent(path: &Path) -> Result<()> {
    if parent(path).is_dir() {
        return Ok(());
    }
    Err(Error::of_kind(
        ErrorKind::Output,
        format!("the directory of `{}` does not exist", path.display()),
        "make it first, or check the path",
    ))
}

/// The directory that a path is in.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// An unfinished directory of another run into the same target.
pub struct Leftover {
    /// Where it is.
    pub path: PathBuf,
    /// Whether that run is still at work, if this can be told.
    pub at_work: Option<bool>,
}

impl Leftover {
    /// What it is.
    pub const WHAT: &str = "any noisy measurements in it are a release that no certificate accounts for";

    /// The first one there is.
    #[must_use]
    pub fn find(target: &Path) -> Option<Leftover> {
        let prefix = format!(".{}.", target.file_name()?.to_string_lossy());
        // Random digits, or a process id and an attempt: not what belongs to `name.other`.
        let middle = |name: &str| -> bool {
            let middle = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".tmp"));
            middle.is_some_and(|m| !m.is_empty() && m.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-'))
        };
        let entries = fs::read_dir(parent(target)).ok()?.flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| middle(name))
            .collect();
        names.sort();
        let path = target.with_file_name(names.first()?);
        // A run holds a lock on its directory as long as it lives.
        let at_work = File::open(&path).ok().and_then(|folder| match folder.try_lock() {
            Ok(()) => Some(false),
            Err(TryLockError::WouldBlock) => Some(true),
            Err(TryLockError::Error(_)) => None,
        });
        Some(Leftover { path, at_work })
    }
}

/// A directory under another name, beside the one it is to be; removed unless it is finished.
pub struct Unfinished {
    folder: Folder,
    path: PathBuf,
    target: PathBuf,
    /// What others may not, as the user has set it.
    #[cfg(unix)]
    mask: u32,
}

impl Unfinished {
    /// Makes it, first of all, so that what cannot be written is not computed.
    pub fn create(target: &Path) -> Result<Unfinished> {
        #[cfg(unix)]
        let mask = mask();
        let make = || {
            let path = temporary(target);
            // Nobody may remove it between its making and its being known.
            let mut unfinished = unfinished();
            let folder = Folder::create_at(&path)?;
            unfinished.push(Writing::new(path.clone(), &folder.metadata()?, Some(folder.share()?)));
            // Where there are no such locks, nobody can tell whether a run is still at work.
            #[cfg(unix)]
            let _ = folder.file().try_lock();
            Ok(Unfinished {
                folder,
                path,
                target: target.into(),
                #[cfg(unix)]
                mask,
            })
        };
        make().map_err(|error| failed(target, error))
    }

    /// Where to write.
    #[must_use]
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Puts it in its place, where nothing must be.
    pub fn finish(&self) -> Result<()> {
        let failed = |error: io::Error| failed(&self.target, error);
        self.settle().map_err(failed)?;
        let mut unfinished = unfinished();
        self.checked(&unfinished)?;
        let is_there = || fs::symlink_metadata(&self.target).is_ok();
        let taken = || {
            let cause = format!("{}: somebody else has made it in the meantime", self.target.display());
            Error::of_kind(ErrorKind::Io, cause, "nothing was changed; choose another name and run again")
        };
        if is_there() {
            return Err(taken());
        }
        // A directory that is not empty is never replaced, so that of two that come here at once one fails.
        let moved = fs::rename(&self.path, &self.target);
        moved.map_err(|error| if is_there() { taken() } else { failed(error) })?;
        take(&mut unfinished, &self.path);
        self.in_place()
    }

    /// Puts it in the place of what is there.
    pub fn replace(&self) -> Result<()> {
        if !self.target.exists() {
            return self.finish();
        }
        let failed = |error: io::Error| failed(&self.target, error);
        self.settle().map_err(failed)?;
        let mut unfinished = unfinished();
        self.checked(&unfinished)?;
        let old = self.path.with_extension("old");
        fs::rename(&self.target, &old).map_err(failed)?;
        if let Err(error) = fs::rename(&self.path, &self.target) {
            let _ = fs::rename(&old, &self.target);
            return Err(failed(error));
        }
        take(&mut unfinished, &self.path);
        self.in_place()?;
        fs::remove_dir_all(&old).map_err(|error| {
            Error::io(
                format!("{}: what was there before could not be removed: {error}", old.display()),
                error,
                "the new one is in its place; remove the old one by hand",
            )
        })
    }

    /// Fails if somebody has put another directory in its place.
    fn checked(&self, unfinished: &[Writing]) -> Result<()> {
        if unfinished.iter().any(|writing| writing.path == self.path && writing.is_there()) {
            return Ok(());
        }
        Err(Error::of_kind(
            ErrorKind::Io,
            format!("{}: is no longer the directory that was being written", self.path.display()),
            "somebody has moved it: write where nobody else may",
        ))
    }

    /// All that was written is on the disk, not only in memory, with the permissions that the user gives to files.
    /// The directory itself stays closed.
    fn settle(&self) -> io::Result<()> {
        #[cfg(unix)]
        self.folder.settle(self.mask)?;
        Ok(())
    }

    /// What is left to do once it has its name.
    fn in_place(&self) -> Result<()> {
        #[cfg(unix)]
        let opened = open_to_others(self.folder.file(), 0o777, self.mask);
        #[cfg(not(unix))]
        let opened = Ok(());
        opened.and_then(|()| sync_parent(&self.target)).map_err(|error| {
            let target = self.target.display();
            Error::io(
                format!("{target}: is written, but may not outlast a loss of power: {error}"),
                error,
                "what is in it is released all the same: do not write it again",
            )
        })
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Nothing if it is finished.
        if let Some(left) = take(&mut unfinished(), &self.path) {
            remove(left);
        }
    }
}

/// Why it could not be written.
pub fn failed(target: &Path, error: io::Error) -> Error {
    Error::io(
        format!("{}: could not be written: {error}", target.display()),
        error,
        "check that there is space and permission to write; nothing was changed",
    )
}

/// A directory that is open.
pub struct Folder(#[cfg(unix)] File, #[cfg(not(unix))] PathBuf);

impl Folder {
    /// Makes and opens a file.
    pub fn create(&self, name: &str) -> io::Result<File> {
        let _held = unfinished();
        self.new_file(name)
    }

    /// Makes a file.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.create(name)?.write_all(bytes.as_ref())
    }

    /// Makes and opens a directory.
    pub fn create_folder(&self, name: &str) -> io::Result<Folder> {
        let _held = unfinished();
        self.new_folder(name)
    }
}

#[cfg(not(unix))]
impl Folder {
    fn create_at(path: &Path) -> io::Result<Folder> {
        fs::create_dir(path).map(|()| Folder(path.into()))
    }

    fn new_file(&self, name: &str) -> io::Result<File> {
        File::create_new(self.0.join(name))
    }

    fn new_folder(&self, name: &str) -> io::Result<Folder> {
        Folder::create_at(&self.0.join(name))
    }

    fn share(&self) -> io::Result<Folder> {
        Ok(Folder(self.0.clone()))
    }

    fn metadata(&self) -> io::Result<fs::Metadata> {
        fs::metadata(&self.0)
    }

    fn empty(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.0).and_then(|()| fs::create_dir(&self.0))
    }
}

/// Directories can be opened on unix only, and need it there.
#[cfg(not(unix))]
fn sync_parent(_: &Path) -> io::Result<()> {
    Ok(())
}
