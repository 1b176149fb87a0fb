//! A directory to run the command in.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A directory of its own, gone at the end.
pub struct Place(pub PathBuf);

impl Place {
    /// Told apart from those of other tests by `name`.
    pub fn new(name: &str) -> Place {
        let program = env!("CARGO_CRATE_NAME");
        let path = std::env::temp_dir().join(format!("unspent-{program}-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    /// `unspent …`, in it.
    pub fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_unspent")).current_dir(&self.0).args(arguments).output().unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
