//! Directories that are open, and files relative to them.

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

/// What the user has taken from the permissions of new files.
///
/// Where the system does not say it, it can only be read by setting it; files that other threads make in between
/// are closed to others.
pub(super) fn mask() -> u32 {
    if let Some(mask) = stated_mask() {
        return mask;
    }
    let mask = umask(Mode::S_IRWXG | Mode::S_IRWXO);
    umask(mask);
    #[allow(clippy::useless_conversion, reason = "it is of 16 bits elsewhere")]
    mask.bits().into()
}

/// As Linux says it.
fn stated_mask() -> Option<u32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let octal = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(octal.trim(), 8).ok()
}

/// The name is on the disk too.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    File::open(super::parent(path))?.sync_all()
}
