//! Allocation files as a user meets them: what is printed of a good one and of a bad one.
//!
//! The messages of all bad files are tested in the library; here is one of each kind, through the command.

use std::fs;
use std::io::ErrorKind;
use std::process::Command;

use crate::support::{Place, expect, refuses, stderr, succeeds};

const GOOD: &str = include_str!("../../../unspent/tests/it/good.toml");

fn with_good_file(name: &str) -> Place {
    let place = Place::new(name);
    place.write("budget.toml", GOOD);
    place
}

/// What is said of each of these, one after the other; nothing is printed of them.
fn refusals(place: &Place, arguments: &[&str]) -> String {
    let mut messages = String::new();
    for arguments in arguments {
        let output = place.say(&format!("certificate {arguments}"));
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments}");
        messages += &format!("$ unspent certificate {arguments}\n{}\n", stderr(&output));
    }
    messages
}

#[test]
fn the_good_file_is_good() {
    let place = with_good_file("good");
    let output = place.say("certificate budget.toml");
    expect("expected/certificate.txt", &succeeds(&output));
    // All but the day it was made on.
    let markdown = succeeds(&place.say("certificate budget.toml --markdown"));
    let (before, after) = markdown.split_once(" on 20").unwrap();
    expect("expected/certificate.md", &format!("{before} on DATE{}", &after[8..]));
    // Windows line ends and a comment in another script change nothing but the places.
    place.write("dos.toml", format!("# бюджет\r\n{}", GOOD.replace('\n', "\r\n")));
    assert_eq!(place.say("certificate dos.toml").stdout, output.stdout);
}

#[test]
fn bad_files_are_refused_with_the_line() {
    let place = with_good_file("bad");
    place.write("shares.toml", GOOD.replace("share = 0.75", "share = 0.7"));
    place.write("neighbours.toml", GOOD.replace("neighbours = \"bounded\"\n", ""));
    place.write("syntax.toml", GOOD.replace("rho = 2.5", "rho = 2,5"));
    place.write("table.csv", "level,query,rho\nA,x,1\n");
    place.write("columns.csv", "level,query,rh0\nA,x,1\n");
    place.write("control.csv", "level,query,rho\nA,\x1bx,1\n");
    let arguments = [
        "shares.toml",
        "neighbours.toml",
        "syntax.toml",
        "columns.csv --neighbours bounded",
        "control.csv --neighbours bounded",
        "table.csv",
        "table.csv --neighbours bounded",
        "budget.toml --neighbours bounded",
    ];
    expect("expected/bad-files.txt", &refusals(&place, &arguments));
}

#[test]
fn what_is_no_allocation_file_is_refused_politely() {
    let place = Place::new("nofile");
    place.write("binary.toml", b"\x7fELF\xff\x01");
    place.write("zero.toml", b"a\0b");
    place.write("huge.toml", vec![b'#'; 100 << 20]);
    fs::create_dir(place.path("directory")).unwrap();
    let arguments = ["binary.toml", "zero.toml", "huge.toml", "directory", "missing.toml", "missing"];
    expect("expected/no-files.txt", &refusals(&place, &arguments));
}

#[test]
#[cfg(unix)]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let place = Place::new("forbidden");
    let path = place.path("secret.toml");
    fs::write(&path, GOOD).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let mut program = place.program();
    if fs::read(&path).is_ok() {
        // The superuser may read everything. Nobody may not, but must be able to start the program.
        const NOBODY: u32 = 65_534;
        let copy = place.path("unspent");
        fs::copy(env!("CARGO_BIN_EXE_unspent"), &copy).unwrap();
        program = Command::new(copy);
        program.uid(NOBODY).current_dir(&place.0);
    }
    program.args(["certificate", "secret.toml"]);
    // A copy is busy while a process that another test has just begun still has it open for writing.
    let output = loop {
        match program.output() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            output => break output.unwrap(),
        }
    };
    let message = "error: secret.toml: cannot be read: permission denied\nhint: check that you may read it\n";
    refuses(&output, message);
}

#[test]
fn ten_thousand_queries() {
    let place = Place::new("large");
    let mut text = "name = \"large\"\nneighbours = \"bounded\"\ndelta = \"1e-10\"\nrho = 2\n".to_string();
    text += "[[levels]]\nname = \"only\"\nshare = 1\n[levels.shares]\n";
    for i in 1..=10_000 {
        text += &format!("query-{i} = \"{i}/50005000\"\n");
    }
    place.write("large.toml", text);
    let csv = succeeds(&place.run(&["certificate", "large.toml", "--csv"]));
    // The same ρ in so many small parts is nearly one continuous Gaussian.
    assert!(csv.contains("\ntotal,,total,bounded,2,1e-10,2,15.57"), "{csv}");
    assert!(csv.contains(",14.2740"), "{csv}");
}
