//! A directory to run the command in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::{parse_json, program, read};

/// A directory of its own, gone at the end.
pub struct Place(pub PathBuf);

impl Place {
    /// Told apart from those of other tests by a number; the name is for whoever finds it.
    pub fn new(name: &str) -> Place {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("unspent-{name}-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    /// The program, to be run in it.
    pub fn program(&self) -> Command {
        let mut command = program();
        command.current_dir(&self.0);
        command
    }

    /// `unspent …`, in it.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.program().args(arguments).output().unwrap()
    }

    /// The same with arguments that are split at spaces.
    pub fn say(&self, arguments: &str) -> Output {
        self.run(&arguments.split_whitespace().collect::<Vec<_>>())
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    #[track_caller]
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        read(&self.path(name))
    }

    #[track_caller]
    pub fn json(&self, name: &str) -> Value {
        parse_json(&self.read(name))
    }

    /// The names of what is in it, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
