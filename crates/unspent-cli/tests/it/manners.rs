//! What terminals, shells and pipes get: tables of their width, completions, pages of the manual, silence.

use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

use crate::support::{Place, program, read, refuses_with, repository, stderr, succeeds};

/// A run that reads this.
fn reading(arguments: &[&str], text: &str) -> Output {
    let mut child = program()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn tables_fit_eighty_columns() {
    let certificate = ["certificate", "pl94-persons-us-2020"];
    for arguments in
        [&certificate[..], &["presets"], &["compare", "pl94-persons-us-2020", "paper-2022-08-25"]]
    {
        let run = |columns: Option<&str>| {
            let mut command = program();
            command.args(arguments).env_remove("COLUMNS");
            if let Some(columns) = columns {
                command.env("COLUMNS", columns);
            }
            succeeds(&command.output().unwrap())
        };
        let (narrow, wide) = (run(Some("80")), run(None));
        for line in narrow.lines() {
            assert!(line.chars().count() <= 80, "{arguments:?}: {line}");
        }
        // Nothing is lost by it.
        for word in wide.split_whitespace() {
            assert!(narrow.contains(word), "{arguments:?}: {word}");
        }
        assert_eq!(run(Some("200")), wide);
    }
}

#[test]
fn pipes_get_no_colours() {
    for arguments in [&["certificate", "pl94-persons-us-2020"][..], &["--help"], &["certificate", "nowhere"]]
    {
        let output = program().args(arguments).output().unwrap();
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{arguments:?}");
    }
}

#[test]
fn files_may_come_from_standard_input() {
    let text = read(&repository("examples/allocation.toml"));
    let from_file = succeeds(
        &program()
            .args(["certificate", "examples/allocation.toml", "--csv"])
            .current_dir(repository(""))
            .output()
            .unwrap(),
    );
    assert_eq!(succeeds(&reading(&["certificate", "-", "--csv"], &text)), from_file);
    let table = "level,query,rho\nState,total,0.5\n";
    let arguments = ["certificate", "-", "--neighbours", "bounded", "--delta", "1e-10", "--csv"];
    assert!(succeeds(&reading(&arguments, table)).contains("total"));
    let wrong = reading(&["certificate", "-"], "name = 5\n");
    assert!(stderr(&wrong).starts_with("error: stdin:1:8: "), "{}", stderr(&wrong));
    let twice = reading(&["compare", "-", "-"], &text);
    refuses_with(
        &twice,
        "stdin: cannot be read: the standard input was read already; give one of them as a file",
        "check that it is a file that can be read",
    );
}

#[test]
fn quiet_runs_say_nothing_of_what_they_write() {
    let place = Place::new("quiet");
    let sample = |file: &str, quiet: &[&str]| {
        let arguments = ["sample", "--sigma2", "5", "--count", "3", "--out", file];
        succeeds(&place.run(&[&arguments[..], quiet].concat()))
    };
    assert_eq!(sample("a.txt", &[]), "3 draws of N_Z(0, 5) written to a.txt.\n");
    assert_eq!((sample("b.txt", &["--quiet"]), sample("c.txt", &["-q"])), (String::new(), String::new()));
    assert_eq!(read(&place.path("b.txt")).lines().count(), 3);
    // What must be known is said all the same.
    let arguments = ["sample", "--sigma2", "5", "--count", "1", "--not-private-seed", "1", "-q"];
    assert!(stderr(&place.run(&arguments)).starts_with("warning: NOT PRIVATE"));
}

#[test]
fn shells_take_the_completions() {
    let place = Place::new("completions");
    let checks = [
        ("bash", "source unspent.bash && complete -p unspent"),
        ("zsh", "autoload -Uz compinit && compinit -u && source unspent.zsh && (( $+functions[_unspent] ))"),
        ("fish", "source unspent.fish; and complete -C 'unspent cert' | string match -q 'certificate*'"),
    ];
    for (shell, check) in checks {
        let script = succeeds(&program().args(["completions", shell]).output().unwrap());
        for word in ["certificate", "measure", "after-processing", "quiet"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        std::fs::write(place.path(format!("unspent.{shell}")), script).unwrap();
        let run =
            Command::new(shell).args(["-c", check]).current_dir(&place.0).env("HOME", &place.0).output();
        // Of the shells that there are; bash is everywhere.
        match run {
            Ok(output) => assert!(output.status.success(), "{shell}: {}", stderr(&output)),
            Err(error) => assert_ne!(shell, "bash", "{error}"),
        }
    }
}

#[test]
fn every_command_has_a_page_of_the_manual() {
    let page = succeeds(&program().arg("man").output().unwrap());
    assert!(page.contains(".TH unspent 1") && page.contains("unspent\\-certificate(1)"), "{page}");
    let page = succeeds(&program().args(["man", "certificate"]).output().unwrap());
    assert!(page.contains(".TH unspent-certificate 1") && page.contains("\\-\\-check"), "{page}");
    let refused = program().args(["man", "nothing"]).output().unwrap();
    refuses_with(&refused, "there is no command `nothing`", "`unspent --help` lists the commands");
}

#[test]
#[cfg(unix)]
fn ctrl_c_ends_every_run_with_one_exit_code() {
    let mut child = program()
        .args(["sample", "--sigma2", "5", "--count", "1000000000000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 100]).unwrap();
    crate::support::interrupt(child.id());
    let output = child.wait_with_output().unwrap();
    // Nobody looks: there is no line to end.
    assert_eq!((output.status.code(), stderr(&output)), (Some(130), ""));
}

#[test]
fn pictures_may_be_pdf() {
    let place = Place::new("pdf");
    let arguments = ["curve", "pl94-persons-us-2020", "--level", "US", "--points", "3", "--plot", "a.pdf"];
    assert_eq!(succeeds(&place.run(&arguments)), "");
    let file = std::fs::read(place.path("a.pdf")).unwrap();
    assert!(file.starts_with(b"%PDF-1.4\n") && file.ends_with(b"%%EOF\n") && file.len() > 5_000);
}
