//! What runs leave on the disk: those that fail, panic, are interrupted or killed, and those beside them.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::support::blocks::{left_behind, measure, parquet_table, table, with_blocks};
use crate::support::{EXAMPLE, Place, interrupt, parse_json, program, read, stderr, succeeds};

/// A whole run has a manifest whose files are all there, as long as it says.
fn is_whole(directory: &Path) -> bool {
    let manifest = parse_json(&read(&directory.join("manifest.json")));
    let levels = manifest["levels"].as_array().unwrap().iter();
    let files = levels.flat_map(|level| {
        let queries = level["queries"].as_array().unwrap().len() as i64;
        level["files"].as_array().unwrap().iter().map(move |entry| (queries, entry))
    });
    files.clone().count() >= 5
        && files.into_iter().all(|(queries, entry)| {
            let file = File::open(directory.join(entry["file"].as_str().unwrap())).unwrap();
            let reader = SerializedFileReader::new(file).unwrap();
            let rows = reader.metadata().file_metadata().num_rows();
            rows == entry["rows"] && rows == queries * entry["units"].as_i64().unwrap()
        })
}

#[test]
fn what_is_there_already_stays() {
    let place = with_blocks("exists", 10);
    fs::create_dir(place.path("noisy")).unwrap();
    let output = place.run(&measure("noisy", &[]));
    assert_eq!(
        stderr(&output),
        "error: --out: `noisy` exists already\n\
         hint: choose another name; what was released stays released, and measuring again spends the budget \
         again\n"
    );
    assert_eq!(fs::read_dir(place.path("noisy")).unwrap().count(), 0);
}

/// The unfinished directories that are there.
fn unfinished(place: &Place) -> Vec<String> {
    left_behind(place).into_iter().filter(|name| name.starts_with('.') && name.ends_with(".tmp")).collect()
}

fn start(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.program();
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Starts a run that waits for more of its table, once it has made its directory.
fn waiting(place: &Place, out: &str, rows: usize) -> (Child, ChildStdin, String) {
    let arguments = ["measure", "-", "--allocation", EXAMPLE, "--out", out, "--not-private-seed", "7"];
    let mut child = start(place, &arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(table(rows).as_bytes()).unwrap();
    while unfinished(place).is_empty() {
        thread::sleep(Duration::from_millis(5));
    }
    (child, stdin, unfinished(place).remove(0))
}

/// Twenty rounds, unless the environment asks for more: `make kills` does.
#[test]
#[cfg(unix)]
fn a_run_that_is_killed_or_panics_leaves_nothing_that_looks_finished() {
    let rounds: u32 = std::env::var("UNSPENT_KILLS").map_or(20, |n| n.parse().unwrap());
    let place = with_blocks("killed", 100_000);
    let started = Instant::now();
    succeeds(&place.run(&measure("whole", &[])));
    let whole = started.elapsed();
    let (mut killed, mut panicked, mut finished, mut left) = (0, 0, 0, 0);
    for round in 0..rounds {
        let out = format!("noisy-{round}");
        // Points all over a run, by the golden section.
        let after = whole.mul_f64(f64::from(round) * 0.618_034 % 1.0);
        // Panics can be asked for where they are compiled in.
        let panics = cfg!(debug_assertions) && round % 2 == 1;
        let mut run = start(&place, &measure(&out, &[]));
        if panics {
            run.env("UNSPENT_TEST_PANIC", after.as_micros().to_string());
        }
        let mut child = run.spawn().unwrap();
        if !panics {
            thread::sleep(after);
            let _ = child.kill();
        }
        let ended = child.wait_with_output().unwrap();
        let directory = place.path(&out);
        if directory.exists() {
            assert!(is_whole(&directory), "{out}");
            finished += 1;
            fs::remove_dir_all(&directory).unwrap();
        } else if panics {
            assert!(stderr(&ended).starts_with("error: a defect of unspent: panicked at"), "{ended:?}");
            assert_eq!(ended.status.code(), Some(1));
            panicked += 1;
        } else {
            assert_eq!(ended.status.code(), None);
            killed += 1;
        }
        // What a kill leaves has a hidden name, is closed to others, and is not passed over in silence.
        if let [name] = &unfinished(&place)[..] {
            use std::os::unix::fs::PermissionsExt;
            assert!(!panics, "a panic leaves nothing: {name}");
            let path = place.path(name);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
            let refused = place.run(&measure(&out, &[]));
            assert_eq!(refused.status.code(), Some(2));
            assert!(stderr(&refused).contains(name.as_str()), "{refused:?}");
            assert!(path.exists() && !directory.exists());
            left += 1;
            fs::remove_dir_all(path).unwrap();
        }
        assert_eq!(left_behind(&place), ["whole"]);
    }
    println!(
        "{rounds} rounds: {killed} killed ({left} left something), {panicked} panicked, {finished} finished"
    );
    assert!(killed > 0 && (panicked > 0 || !cfg!(debug_assertions)));
}

#[test]
fn a_panic_in_any_thread_leaves_nothing() {
    if !cfg!(debug_assertions) {
        println!("SKIPPED a_panic_in_any_thread_leaves_nothing: it is asked for in debug builds only");
        return;
    }
    let place = with_blocks("panics", 100_000);
    for threads in ["1", "2"] {
        // In the middle of the table, and at its end.
        for level in ["block", "state"] {
            let mut run = start(&place, &measure("noisy", &["--threads", threads]));
            let output = run.env("UNSPENT_TEST_PANIC", level).output().unwrap();
            assert!(stderr(&output).contains("injected\nhint: no answer is better"), "{output:?}");
            assert_eq!((output.status.code(), left_behind(&place)), (Some(1), vec![]));
        }
    }
}

#[test]
fn a_damaged_table_leaves_nothing() {
    let place = Place::new("damaged");
    let path = place.path("blocks.parquet");
    // The first row group is enough for a file of measurements.
    parquet_table(&path, &table(90_000), 80_000, false);
    let good = fs::read(&path).unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let group = reader.metadata().row_group(1);
    let (mut refused, mut panics) = (0, 0);
    // Codes as differences, and counts with a dictionary.
    for (column, step) in [(0, 3), (9, 13)] {
        let (start, length) = group.column(column).byte_range();
        for at in (0..40).step_by(step).map(|k| start + length * k / 40) {
            let mut bytes = good.clone();
            bytes[at as usize] ^= 0xff;
            fs::write(&path, bytes).unwrap();
            let run = ["measure", "blocks.parquet", "--allocation", EXAMPLE, "--out", "noisy"];
            let output = place.run(&run);
            panics += usize::from(stderr(&output).contains("defect"));
            if output.status.success() {
                // Another count, or a code that fits.
                fs::remove_dir_all(place.path("noisy")).unwrap();
            } else {
                assert!(stderr(&output).starts_with("error: blocks.parquet: "), "{output:?}");
                assert_eq!(output.status.code(), Some(2));
                refused += 1;
            }
            assert_eq!(left_behind(&place), ["blocks.parquet"]);
        }
    }
    assert!(refused > 9 && panics == 0, "{refused} were refused, {panics} panicked");
}

#[test]
#[cfg(unix)]
fn what_is_not_finished_is_closed_to_others() {
    use std::os::unix::fs::PermissionsExt;
    fn modes(directory: &Path) -> Vec<(String, u32)> {
        let mut found = vec![];
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            found.push((
                entry.file_name().to_string_lossy().into_owned(),
                entry.metadata().unwrap().permissions().mode() & 0o7777,
            ));
            if entry.file_type().unwrap().is_dir() {
                found.extend(modes(&entry.path()));
            }
        }
        found
    }
    let place = Place::new("modes");
    let program = env!("CARGO_BIN_EXE_unspent");
    let run = format!("umask 027; exec {program} measure - --allocation {EXAMPLE} --out noisy");
    let mut shell = Command::new("sh");
    shell.current_dir(&place.0).args(["-c", &run]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = shell.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Enough for a file.
    stdin.write_all(table(100_000).as_bytes()).unwrap();
    while !modes(&place.0).iter().any(|(name, _)| name.ends_with(".parquet")) {
        thread::sleep(Duration::from_millis(5));
    }
    for (name, mode) in modes(&place.0) {
        assert_eq!(mode, if name.ends_with(".parquet") { 0o600 } else { 0o700 }, "{name}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    let finished = modes(&place.0);
    assert!(finished.len() > 13, "{finished:?}");
    for (name, mode) in finished {
        assert_eq!(mode, if name.contains('.') { 0o640 } else { 0o750 }, "{name}");
    }
}

#[test]
#[cfg(unix)]
fn what_a_killed_run_has_left_is_named_and_stays() {
    let place = with_blocks("left", 10);
    let (mut child, stdin, name) = waiting(&place, "noisy", 10);
    let refused = place.run(&measure("noisy", &[]));
    assert_eq!(
        stderr(&refused),
        format!(
            "error: --out: another run is at work in `{name}`\n\
             hint: wait for it, or choose another name; each run is a release of its own\n"
        )
    );
    child.kill().unwrap();
    child.wait().unwrap();
    drop(stdin);
    for _ in 0..2 {
        let refused = place.run(&measure("noisy", &[]));
        assert_eq!(
            stderr(&refused),
            format!(
                "error: --out: `{name}` was left by a run that was killed: any noisy measurements in it are \
                 a release \
                 that no certificate accounts for\n\
                 hint: account for it as one more release of these records, or delete it if nobody has read \
                 it; then \
                 run again\n"
            )
        );
        assert_eq!(refused.status.code(), Some(2));
        assert_eq!(left_behind(&place), [name.as_str()]);
    }
    // It concerns that target alone.
    succeeds(&place.run(&measure("noisy.2", &[])));
    succeeds(&place.run(&measure("other", &[])));
    // What earlier versions have left is told by its name as well.
    fs::rename(place.path(&name), place.path(".noisy.4711-0.tmp")).unwrap();
    assert!(stderr(&place.run(&measure("noisy", &[]))).contains("`.noisy.4711-0.tmp` was left"));
    fs::remove_dir_all(place.path(".noisy.4711-0.tmp")).unwrap();
    succeeds(&place.run(&measure("noisy", &[])));
}

#[test]
#[cfg(unix)]
fn nothing_is_written_through_a_link() {
    use std::os::unix::fs::symlink;
    let files = ["allocation.toml", "certificate.md", "manifest.json", "NOT-PRIVATE.txt"];
    let place = Place::new("links");
    let victim = place.path("victim.csv");
    fs::write(&victim, "stays").unwrap();
    let plant = |directory: &Path, file: &str| symlink(&victim, directory.join(file)).unwrap();
    // Whoever may write in the directory itself.
    for file in files.into_iter().chain(["block/part-00000.parquet"]) {
        let (child, stdin, name) = waiting(&place, "noisy", 10);
        while !place.path(&name).join("block").exists() {
            thread::sleep(Duration::from_millis(5));
        }
        plant(&place.path(&name), file);
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert!(stderr(&output).contains("error: noisy: could not be written: "), "{output:?}");
        assert_eq!(output.status.code(), Some(1));
        assert_eq!((fs::read_to_string(&victim).unwrap().as_str(), left_behind(&place)), ("stays", vec![]));
    }
    // Whoever may write in the directory around it, and puts another one in its place.
    let (child, stdin, name) = waiting(&place, "noisy", 10);
    while !place.path(&name).join("block").exists() {
        thread::sleep(Duration::from_millis(5));
    }
    fs::rename(place.path(&name), place.path("taken")).unwrap();
    fs::create_dir(place.path(&name)).unwrap();
    files.iter().for_each(|file| plant(&place.path(&name), file));
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(stderr(&output).contains("is no longer the directory that was being written"), "{output:?}");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "stays");
    assert_eq!(left_behind(&place), [name.as_str(), "taken"]);
    // What was noisy is gone, wherever it was moved to; what was planted is not ours.
    assert_eq!(fs::read_dir(place.path("taken")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(place.path(&name)).unwrap().count(), files.len());
}

/// How often the key of a seed is in the memory of another process; nothing if this may not be looked at.
#[cfg(target_os = "linux")]
fn keys_in_memory(process: u32, seed: u64) -> Option<usize> {
    use std::io::{Read, Seek, SeekFrom};
    let mut key = *b"unspent: addressed, NOT PRIVATE ";
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    let mut memory = File::open(format!("/proc/{process}/mem")).ok()?;
    let mut found = 0;
    for line in maps.lines().filter(|line| line.split(' ').nth(1).unwrap().starts_with("rw")) {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [from, to] = [from, to].map(|at| u64::from_str_radix(at, 16).unwrap());
        let mut bytes = vec![0; usize::try_from(to - from).unwrap()];
        if memory.seek(SeekFrom::Start(from)).is_ok() && memory.read_exact(&mut bytes).is_ok() {
            found += bytes.windows(key.len()).filter(|window| *window == key).count();
        }
    }
    (!maps.is_empty()).then_some(found)
}

#[test]
#[cfg(target_os = "linux")]
fn a_key_is_in_memory_once_while_it_is_used_and_then_no_more() {
    let place = with_blocks("key", 100_000);
    let (mut child, stdin, _) = waiting(&place, "waits", 100_000);
    // Once the first file is there, its noise was drawn on another thread.
    while !fs::read_dir(place.path(unfinished(&place)[0].as_str()).join("block"))
        .is_ok_and(|mut files| files.next().is_some())
    {
        thread::sleep(Duration::from_millis(5));
    }
    let Some(used) = keys_in_memory(child.id(), 7) else {
        println!("SKIPPED a_key_is_in_memory_once…: another process's memory may not be read here");
        let _ = child.kill();
        return;
    };
    // Threads draw with the keys that are made of it.
    assert_eq!(used, 1);
    drop(stdin);
    assert!(child.wait().unwrap().success());

    // Its output goes to a pipe that is full: it has written all else, and waits.
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[0; 1 << 16]).unwrap();
    let mut run = program();
    run.current_dir(&place.0).args(measure("noisy", &["--not-private-seed", "7"])).stderr(Stdio::null());
    let mut child = run.stdout(writer).spawn().unwrap();
    while !place.path("noisy").exists() {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(keys_in_memory(child.id(), 7), Some(0));
    drop(reader);
    child.wait().unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_crash_writes_no_memory_to_the_disk() {
    let place = Place::new("core");
    let (mut child, stdin, name) = waiting(&place, "noisy", 10);
    // The key is made before the folders are.
    while !place.path(&name).join("block").exists() {
        thread::sleep(Duration::from_millis(5));
    }
    let limits = fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    let cores = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(cores.split_whitespace().collect::<Vec<_>>()[4..6], ["0", "0"], "{cores}");
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
#[cfg(unix)]
fn a_process_of_the_same_number_keeps_its_files() {
    // In every container there is a process 1; here, a shell that becomes the program.
    let place = with_blocks("numbers", 10);
    let program = env!("CARGO_BIN_EXE_unspent");
    let run =
        format!("echo mine > .noise.txt.$$.tmp; exec {program} sample --sigma2 5 --count 3 --out noise.txt");
    let output = Command::new("sh").current_dir(&place.0).args(["-c", &run]).output().unwrap();
    assert_eq!((stderr(&output), output.status.code()), ("", Some(0)));
    let left = left_behind(&place);
    assert_eq!((left.len(), left[1].as_str()), (2, "noise.txt"), "{left:?}");
    assert_eq!(fs::read_to_string(place.path(&left[0])).unwrap(), "mine\n");
}

#[test]
#[cfg(unix)]
fn an_interrupted_run_leaves_nothing() {
    let place = with_blocks("interrupted", 10);
    let mut child = place
        .program()
        .args(["measure", "-", "--allocation", EXAMPLE, "--out", "noisy"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // It waits for more of its table.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(table(10).as_bytes()).unwrap();
    while left_behind(&place).is_empty() {
        thread::sleep(Duration::from_millis(5));
    }
    interrupt(child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(left_behind(&place), [""; 0]);
}

#[test]
fn of_two_runs_into_one_directory_one_wins() {
    let place = with_blocks("two", 5_000);
    for round in 0..5 {
        let out = format!("noisy-{round}");
        let start = || {
            place
                .program()
                .args(measure(&out, &[]))
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let runs = [start(), start()].map(|run| run.wait_with_output().unwrap());
        let won = runs.iter().filter(|run| run.status.success()).count();
        assert_eq!(won, 1);
        let lost = runs.iter().find(|run| !run.status.success()).unwrap();
        let message = stderr(lost);
        assert!(
            ["exists already", "somebody else has made it", "another run is at work"]
                .iter()
                .any(|known| message.contains(known)),
            "{message}"
        );
        assert!(is_whole(&place.path(&out)));
    }
    assert_eq!(left_behind(&place).len(), 5, "nothing unfinished is left");
}

#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_is_full_leaves_nothing() {
    // A limit on the size of files, which the shell sets, fails in the same place as a full disk.
    let place = with_blocks("full", 20_000);
    for threads in ["1", "2"] {
        let command = format!(
            "trap '' XFSZ; ulimit -f 64; exec {} measure blocks.csv --allocation {EXAMPLE} --out noisy \
             --threads {threads}",
            env!("CARGO_BIN_EXE_unspent")
        );
        let output = Command::new("bash").current_dir(&place.0).args(["-c", &command]).output().unwrap();
        assert_eq!(
            stderr(&output),
            "error: noisy: could not be written: File too large (os error 27)\n\
             hint: check that there is space and permission to write; nothing was changed\n"
        );
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(left_behind(&place), [""; 0]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_directory_that_cannot_be_written_is_refused_at_once() {
    let place = with_blocks("read-only", 10);
    let output = place.run(&measure("/proc/noisy", &[]));
    let message = stderr(&output);
    assert!(message.starts_with("error: /proc/noisy: could not be written:"), "{message}");
    let output = place.run(&measure("nowhere/noisy", &[]));
    assert_eq!(
        stderr(&output),
        "error: --out: the directory of `nowhere/noisy` does not exist\n\
         hint: make it first, or check the path\n"
    );
}
