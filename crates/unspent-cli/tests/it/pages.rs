//! Every command of the README and of the documentation's pages, run.
//!
//! A block of ```console must print what it says it prints; a line of `…` alone stands for lines that were
//! left out. The commands of a block of ```sh must succeed, if they are `unspent`; what installs or builds is
//! not run here. `BLESS=1` writes what is printed into blocks that leave nothing out.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Mutex;
use std::{env, fs, thread};

use crate::support::{Place, program, read, repository, stderr, stdout};

/// What is run; `head` shows the first lines of a file that was written.
const PROGRAMS: [&str; 2] = ["unspent", "head"];

/// What installs, builds or starts something, and is not run.
const NOT_RUN: [&str; 7] = ["cargo", "make", "pip", "python", "python3", "spark-submit", "sudo"];

/// Stands for lines that a page leaves out.
const LEFT_OUT: &str = "…";

/// A piece of a page.
enum Piece<'a> {
    /// The commands of a block, each with what it prints.
    Console(Vec<(String, String)>),
    /// Commands without their output.
    Shell(&'a str),
    /// Anything else.
    Words(&'a str),
}

/// A page cut into its pieces, which together are the page.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = vec![];
    let mut rest = text;
    loop {
        let starts = ["```console\n", "```sh\n"].map(|fence| rest.find(fence).map(|at| (at, fence)));
        let Some((at, fence)) = starts.into_iter().flatten().min() else { break };
        let (before, block) = rest.split_at(at + fence.len());
        let end = block.find("```").expect("a block has an end");
        found.push(Piece::Words(before));
        let block = &block[..end];
        found.push(if fence == "```sh\n" { Piece::Shell(block) } else { Piece::Console(commands(block)) });
        rest = &rest[at + fence.len() + end..];
    }
    found.push(Piece::Words(rest));
    found
}

/// The commands of a block, each with what it prints.
fn commands(block: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = vec![];
    let mut goes_on = false;
    for line in block.lines() {
        match found.last_mut() {
            Some((command, _)) if goes_on => *command += &format!("\n{line}"),
            _ if line.starts_with("$ ") => found.push((line[2..].into(), String::new())),
            Some((_, printed)) => *printed += &format!("{line}\n"),
            None => panic!("a block of ```console begins with a command, not with {line}"),
        }
        let (command, printed) = found.last().expect("just found");
        goes_on = printed.is_empty() && command.ends_with('\\');
    }
    assert!(!found.is_empty(), "a block of ```console shows a command:\n{block}");
    found
}

/// Runs a command line in a place where `unspent` is the program of these tests.
fn run(place: &Place, line: &str) -> Output {
    let program = PathBuf::from(program().get_program());
    let mut path = vec![program.parent().expect("a directory").to_path_buf()];
    path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-euc", line]).current_dir(&place.0).env("PATH", env::join_paths(path).unwrap());
    shell.env_remove("COLUMNS").stdin(std::process::Stdio::null()).output().unwrap()
}

/// The first words of the commands in a block of ```sh.
fn first_words(block: &str) -> Vec<&str> {
    let mut words = vec![];
    let mut goes_on = false;
    for line in block.lines() {
        let new = !goes_on && !line.is_empty() && !line.starts_with('#');
        words.extend(new.then(|| line.split_whitespace().next()).flatten());
        goes_on = line.ends_with('\\');
    }
    words
}

/// Whether what was printed is what a page shows, with lines left out at `…`.
fn agrees(shown: &str, printed: &str) -> bool {
    let shown: Vec<&str> = shown.trim_end().lines().collect();
    let mut rest: Vec<&str> = printed.trim_end().lines().collect();
    let mut parts = shown.split(|line| *line == LEFT_OUT);
    let first = parts.next().unwrap_or_default();
    if !rest.starts_with(first) {
        return false;
    }
    rest.drain(..first.len());
    let parts: Vec<&[&str]> = parts.collect();
    for (i, part) in parts.iter().enumerate() {
        let last = i + 1 == parts.len();
        let found = if last && !part.is_empty() {
            rest.ends_with(part).then(|| rest.len() - part.len())
        } else {
            (0..=rest.len() - part.len().min(rest.len())).find(|at| rest[*at..].starts_with(part))
        };
        let Some(at) = found else { return false };
        rest.drain(..at + part.len());
    }
    rest.is_empty() || parts.last().is_some_and(|last| last.is_empty())
}

/// Runs what a page shows; what is wrong with it.
fn objections(page: &Path) -> Vec<String> {
    let file = repository(page.to_str().expect("a name in Unicode"));
    let text = read(&file);
    let pieces = pieces(&text);
    if pieces.len() == 1 {
        return vec![];
    }
    // What the commands read, in a place where they may write.
    let place = Place::new(page.file_stem().expect("a name").to_str().unwrap());
    for directory in ["examples", "data"] {
        fs::create_dir(place.path(directory)).unwrap();
        for file in fs::read_dir(repository(directory)).unwrap().map(Result::unwrap) {
            if file.file_type().unwrap().is_file() {
                fs::copy(file.path(), place.path(directory).join(file.file_name())).unwrap();
            }
        }
    }
    let bless = env::var("BLESS").is_ok_and(|given| given == "1");
    let mut wrong = vec![];
    let mut blessed = String::new();
    for piece in &pieces {
        match piece {
            Piece::Words(words) => blessed += words,
            Piece::Shell(block) => {
                blessed += block;
                let words = first_words(block);
                if words.iter().all(|word| PROGRAMS.contains(word)) {
                    let output = run(&place, block);
                    if !output.status.success() {
                        wrong.push(format!("{}: {block}\n{}", page.display(), stderr(&output)));
                    }
                } else if words.iter().any(|word| PROGRAMS.contains(word)) || !NOT_RUN.contains(&words[0]) {
                    wrong.push(format!("{}: neither all run nor none: {block}", page.display()));
                }
            }
            Piece::Console(commands) => {
                for (command, shown) in commands {
                    let word = command.split_whitespace().next().unwrap_or_default();
                    assert!(PROGRAMS.contains(&word), "{command}: only {PROGRAMS:?} are run here");
                    let output = run(&place, command);
                    let printed = format!("{}{}", stdout(&output), stderr(&output));
                    let printed = printed.trim_end();
                    let blesses = bless && shown.lines().all(|line| line != LEFT_OUT);
                    if !blesses && !agrees(shown, printed) {
                        wrong.push(format!("{}: {command}\n{printed}", page.display()));
                    }
                    let now = if blesses { printed } else { shown.trim_end() };
                    blessed += &format!("$ {command}\n");
                    if !now.is_empty() {
                        blessed += &format!("{now}\n");
                    }
                }
            }
        }
    }
    if bless {
        fs::write(file, blessed).unwrap();
    }
    wrong
}

/// The README and the pages of the site, as paths from the repository's root.
fn pages() -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("README.md"), PathBuf::from("COMPARE.md")];
    let mut directories = VecDeque::from([PathBuf::from("docs")]);
    while let Some(directory) = directories.pop_front() {
        for entry in fs::read_dir(repository(directory.to_str().unwrap())).unwrap().map(Result::unwrap) {
            let path = directory.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                directories.push_back(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_readme_and_all_pages_tell_the_truth() {
    let pages = pages();
    assert!(pages.len() > 40, "{} pages", pages.len());
    let left = Mutex::new(VecDeque::from(pages));
    let wrong = Mutex::new(vec![]);
    let workers = thread::available_parallelism().map_or(2, |n| n.get().min(4));
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let Some(page) = left.lock().unwrap().pop_front() else { break };
                    let found = objections(&page);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} blocks differ; BLESS=1 writes them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn lines_can_be_left_out() {
    let printed = "a\nb\nc\nd\n";
    for shown in ["a\nb\nc\nd", "…\nd", "a\n…", "a\n…\nc\n…", "a\n…\nd", "…"] {
        assert!(agrees(shown, printed), "{shown}");
    }
    for shown in ["a", "b\n…", "a\n…\nc", "…\nc\n…\nb\n…", "a\nb\nc\nd\ne", "a\n…\nx\n…"] {
        assert!(!agrees(shown, printed), "{shown}");
    }
}

/// The page of the reference that includes the help of all commands, which other tests compare with what the
/// program prints.
#[test]
fn the_reference_has_every_command() {
    let included = |name: &str| {
        format!("```text\n{{{{#include ../../crates/unspent-cli/tests/it/expected/help/{name}.txt}}}}\n```\n")
    };
    let mut page = format!(
        "# Commands\n\nThe texts of `--help`, as the program prints them: tests compare each with the \
         program, and this page with\nthe list of commands.\n\n{}",
        included("unspent")
    );
    for command in super::help::commands() {
        page += &format!("\n## {command}\n\n{}", included(&command));
    }
    let file = repository("docs/reference/commands.md");
    if env::var("BLESS").is_ok_and(|given| given == "1") {
        fs::write(&file, &page).unwrap();
    }
    assert_eq!(read(&file), page, "BLESS=1 writes it");
}
