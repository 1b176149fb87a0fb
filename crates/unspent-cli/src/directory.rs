//! A directory that appears whole or not at all, is closed to others until then, and of which a run that fails,
//! panics or is interrupted leaves nothing.
//!
//! What is made is made in the directory that is open, whatever its name has come to mean, and never through a
//! link.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Failure;
use crate::output;

/// What is being written, to be removed if the run ends before it is finished.
///
/// It is locked while anything is made in it, so that nothing is made once it is being removed.
static UNFINISHED: Mutex<Option<Writing>> = Mutex::new(None);

struct Writing {
    path: PathBuf,
    /// The directory, or nothing for a file.
    folder: Option<Folder>,
    #[cfg(unix)]
    identity: (u64, u64),
}

fn unfinished() -> MutexGuard<'static, Option<Writing>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what is being written, before the process ends: whoever wants to make a file after this waits for that
/// end.
pub fn abandon() {
    let mut unfinished = unfinished();
    remove(unfinished.take());
    std::mem::forget(unfinished);
}

fn remove(writing: Option<Writing>) {
    let Some(writing) = writing else { return };
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

/// Makes the file `target` by writing it under another name first; `may_replace` is asked at the end.
pub fn write_file(
    target: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
    may_replace: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    on_interrupt();
    let path = temporary(target);
    let mut file = {
        let mut unfinished = unfinished();
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        *unfinished = Some(Writing::new(path.clone(), &file.metadata()?, None));
        file
    };
    let written = write(&mut file).and_then(|()| file.sync_all()).and_then(|()| may_replace());
    let mut unfinished = unfinished();
    match written.and_then(|()| fs::rename(&path, target)) {
        Ok(()) => {
            *unfinished = None;
            // It is written whatever comes of this.
            let _ = sync_parent(target);
            Ok(())
        }
        Err(error) => {
            remove(unfinished.take());
            Err(error)
        }
    }
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
    pub fn find(target: &Path) -> Option<Leftover> {
        let prefix = format!(".{}.", target.file_name()?.to_string_lossy());
        // Random digits, or a process id and an attempt: not what belongs to `name.other`.
        let middle = |name: &str| -> bool {
            let middle = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".tmp"));
            middle.is_some_and(|m| !m.is_empty() && m.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-'))
        };
        let entries = fs::read_dir(output::directory(target)).ok()?.flatten();
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
    pub fn create(target: &Path) -> Result<Unfinished, Failure> {
        on_interrupt();
        #[cfg(unix)]
        let mask = mask();
        let make = || {
            let path = temporary(target);
            // Nobody may remove it between its making and its being known.
            let mut unfinished = unfinished();
            let folder = Folder::create_at(&path)?;
            *unfinished = Some(Writing::new(path.clone(), &folder.metadata()?, Some(folder.share()?)));
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
        make().map_err(|error| failed(target, &error))
    }

    /// Where to write.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Puts it in its place, where nothing must be.
    pub fn finish(&self) -> Result<(), Failure> {
        let failed = |error: io::Error| failed(&self.target, &error);
        self.settle().map_err(failed)?;
        let mut unfinished = unfinished();
        self.checked(&unfinished)?;
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
        moved.map_err(|error| if is_there() { taken() } else { failed(error) })?;
        *unfinished = None;
        self.in_place()
    }

    /// Puts it in the place of what is there.
    pub fn replace(&self) -> Result<(), Failure> {
        if !self.target.exists() {
            return self.finish();
        }
        let failed = |error: io::Error| failed(&self.target, &error);
        self.settle().map_err(failed)?;
        let mut unfinished = unfinished();
        self.checked(&unfinished)?;
        let old = self.path.with_extension("old");
        fs::rename(&self.target, &old).map_err(failed)?;
        if let Err(error) = fs::rename(&self.path, &self.target) {
            let _ = fs::rename(&old, &self.target);
            return Err(failed(error));
        }
        *unfinished = None;
        self.in_place()?;
        fs::remove_dir_all(&old).map_err(|error| {
            Failure::other(
                format!("{}: what was there before could not be removed: {error}", old.display()),
                "the new one is in its place; remove the old one by hand",
            )
        })
    }

    /// Fails if somebody has put another directory in its place.
    fn checked(&self, unfinished: &Option<Writing>) -> Result<(), Failure> {
        if unfinished.as_ref().is_some_and(Writing::is_there) {
            return Ok(());
        }
        Err(Failure::other(
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
    fn in_place(&self) -> Result<(), Failure> {
        #[cfg(unix)]
        let opened = open_to_others(self.folder.file(), 0o777, self.mask);
        #[cfg(not(unix))]
        let opened = Ok(());
        opened.and_then(|()| sync_parent(&self.target)).map_err(|error| {
            let target = self.target.display();
            Failure::other(
                format!("{target}: is written, but may not outlast a loss of power: {error}"),
                "what is in it is released all the same: do not write it again",
            )
        })
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Nothing if it is finished.
        remove(unfinished().take());
    }
}

/// Why it could not be written.
pub fn failed(target: &Path, error: &io::Error) -> Failure {
    Failure::other(
        format!("{}: could not be written: {error}", target.display()),
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

#[cfg(unix)]
mod unix {
    use std::ffi::CString;
    use std::fs::{File, Metadata, Permissions};
    use std::io;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::Path;

    use nix::dir::Dir;
    use nix::errno::Errno;
    use nix::fcntl::{AT_FDCWD, OFlag, openat};
    use nix::sys::stat::{Mode, mkdirat, umask};
    use nix::unistd::{UnlinkatFlags, unlinkat};

    use super::Folder;

    impl Folder {
        const OPENED: OFlag =
            OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

        pub(super) fn create_at(path: &Path) -> io::Result<Folder> {
            mkdirat(AT_FDCWD, path, Mode::S_IRWXU)?;
            Folder::open_new(path).inspect_err(|_| {
                // Nothing is removed that anything is in.
                let _ = std::fs::remove_dir(path);
            })
        }

        fn open_new(path: &Path) -> io::Result<Folder> {
            let made = File::from(openat(AT_FDCWD, path, Folder::OPENED, Mode::empty())?);
            // Whoever owns the directory around it could have put another one in its place.
            let (found, empty) = (made.metadata()?, Folder(made.try_clone()?).names()?.is_empty());
            if found.uid() != nix::unistd::geteuid().as_raw() || found.mode() & 0o077 != 0 || !empty {
                return Err(io::Error::other("somebody has replaced it"));
            }
            Ok(Folder(made))
        }

        pub(super) fn new_file(&self, name: &str) -> io::Result<File> {
            let new = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            Ok(openat(&self.0, name, new, Mode::S_IRUSR | Mode::S_IWUSR)?.into())
        }

        pub(super) fn new_folder(&self, name: &str) -> io::Result<Folder> {
            mkdirat(&self.0, name, Mode::S_IRWXU)?;
            Ok(Folder(openat(&self.0, name, Folder::OPENED, Mode::empty())?.into()))
        }

        /// The same directory once more.
        pub(super) fn share(&self) -> io::Result<Folder> {
            self.0.try_clone().map(Folder)
        }

        pub(super) fn file(&self) -> &File {
            &self.0
        }

        pub(super) fn metadata(&self) -> io::Result<Metadata> {
            self.0.metadata()
        }

        fn names(&self) -> io::Result<Vec<CString>> {
            let mut entries = Dir::openat(&self.0, ".", Folder::OPENED, Mode::empty())?;
            let names = entries.iter().map(|entry| Ok(entry?.file_name().to_owned()));
            let names: io::Result<Vec<CString>> = names.collect();
            Ok(names?.into_iter().filter(|name| !matches!(name.to_bytes(), b"." | b"..")).collect())
        }

        /// Removes all that is in it.
        pub(super) fn empty(&self) -> io::Result<()> {
            for name in self.names()? {
                match unlinkat(&self.0, &*name, UnlinkatFlags::NoRemoveDir) {
                    Ok(()) | Err(Errno::ENOENT) => {}
                    // Linux says the first of a directory, others the second.
                    Err(Errno::EISDIR | Errno::EPERM) => {
                        Folder(openat(&self.0, &*name, Folder::OPENED, Mode::empty())?.into()).empty()?;
                        unlinkat(&self.0, &*name, UnlinkatFlags::RemoveDir)?;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        }

        /// Opens what is in it to others, as far as `mask` lets them, and sees that it is on the disk.
        pub(super) fn settle(&self, mask: u32) -> io::Result<()> {
            for name in self.names()? {
                let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
                let entry = File::from(openat(&self.0, &*name, flags, Mode::empty())?);
                if entry.metadata()?.is_dir() {
                    open_to_others(&entry, 0o777, mask)?;
                    Folder(entry).settle(mask)?;
                } else {
                    open_to_others(&entry, 0o666, mask)?;
                    entry.sync_all()?;
                }
            }
            self.0.sync_all()
        }
    }

    /// Gives the permissions that a new file or directory has; a group that directories hand down stays.
    pub(super) fn open_to_others(file: &File, all: u32, mask: u32) -> io::Result<()> {
        let handed_down = file.metadata()?.mode() & 0o7000;
        file.set_permissions(Permissions::from_mode(handed_down | all & !mask))
    }

    /// It can only be read by setting it: before there are threads.
    pub(super) fn mask() -> u32 {
        let mask = umask(Mode::S_IRWXG | Mode::S_IRWXO);
        umask(mask);
        #[allow(clippy::useless_conversion, reason = "it is of 16 bits elsewhere")]
        mask.bits().into()
    }

    /// The name is on the disk too.
    pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
        File::open(crate::output::directory(path))?.sync_all()
    }
}

#[cfg(unix)]
use unix::{mask, open_to_others, sync_parent};

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

/// An interrupted run leaves nothing behind.
fn on_interrupt() {
    // A second handler is refused: there is one already then.
    let _ = ctrlc::set_handler(|| {
        abandon();
        std::process::exit(130);
    });
}
