//! Scripts that drive a browser, where there is one.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Runs a script of this directory, set up by `with`; what it says, or `None` if there is no browser, which
/// is said.
///
/// Needs a Chromium, Node and playwright-core: `make browser` sees to that where it can.
pub fn run(script: &str, with: impl FnOnce(&mut Command)) -> Option<String> {
    let skip = |why: &str| {
        let _ = writeln!(std::io::stderr(), "SKIPPED: {script} in a browser: {why}");
        None
    };
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("browser");
    let chromium = env::var("CHROMIUM").unwrap_or("/usr/bin/chromium".into());
    if !Path::new(&chromium).exists() {
        return skip("there is no Chromium; `make browser` installs one");
    }
    if !target.join("node_modules/playwright-core").exists() {
        return skip("playwright-core is not installed; `make browser` installs it");
    }
    // Node looks for packages beside the script.
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser"), &target);
    let mut command = Command::new("node");
    command.env("CHROMIUM", chromium).arg(target.join(script));
    with(&mut command);
    let Ok(output) = command.output() else { return skip("there is no Node") };
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Some(said.into_owned())
}

/// Copies a directory of scripts.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target);
        } else {
            fs::copy(source, target).unwrap();
        }
    }
}
