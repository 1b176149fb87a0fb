"""Mutants of the library, all of them in one build, each behind a switch; and which the tests notice.

    python -m oracle.mutants build --seed 1 --count 500
    python -m oracle.mutants run --minutes 60 --slow 2
    python -m oracle.mutants run --minutes 60
    python -m oracle.mutants table

A mutant (`oracle.mutations`) changes one line of a copy of the sources. `UNSPENT_MUTANT=n` turns on the n-th
at run time, so that the libraries are compiled once and not once for each; what does not compile is taken out
first. Every test is run once by itself to see which mutants it reaches. A mutant is asked of the tests that
reach it, those of its own module first and the slow ones last, until one fails. Limits count the time of the
processor, so that a busy machine makes no mutant look slow. `run` goes on where it was stopped.
"""

import argparse
import concurrent.futures
import json
import os
import random
import re
import resource
import shutil
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

from oracle.mutations import BOUND, LOGIC, TIE, sites

UNSPENT, ESTIMATE = "unspent", "unspent-estimate"
# What is mutated, and the share of all mutants.
PLACES = {
    "profile": (UNSPENT, ["profile"], 0.28),
    "loss": (UNSPENT, ["loss"], 0.14),
    "tradeoff": (UNSPENT, ["tradeoff"], 0.07),
    "calibrate": (UNSPENT, ["calibrate", "calibrate.rs"], 0.07),
    "zcdp": (UNSPENT, ["zcdp.rs"], 0.04),
    "dominating": (UNSPENT, ["dominating.rs"], 0.04),
    "sampler": (UNSPENT, ["sampler"], 0.13),
    "release": (UNSPENT, ["release.rs"], 0.04),
    "estimate": (ESTIMATE, ["."], 0.19),
}
# Slow tests that can be given a part of what they ask: one that fails for a part of it fails for all of it.
SAMPLED = [
    (
        "profile::pairs::tests::every_answer_of_the_oracle_for_other_mechanisms_is_inside",
        "UNSPENT_ORACLE_MECHANISMS",
        ["mechanisms_closed.json", "mechanisms_random.json"],
        12,
    ),
    ("oracle::answers::every_fresh_answer_is_inside", "UNSPENT_ORACLE_ANSWERS", ["answers.json"], 5),
]
# How often a kind is chosen, beside the others.
WEIGHTS = {BOUND: 8, LOGIC: 4, TIE: 1}
# Modules that are only there in tests.
TEST_ONLY = {"tests", "tests.rs", "inclusion.rs", "cases.rs", "elementary.rs"}
# Slow tests are asked from this many seconds on.
SAMPLES = 5.0
MEMORY = 8 << 30
SWITCH = """
static MUTANT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(usize::MAX);

/// Whether this mutant is on.
#[inline]
pub(crate) fn mutant(n: usize) -> bool {
    let on = MUTANT.load(std::sync::atomic::Ordering::Relaxed);
    on == n || on >= usize::MAX - 1 && reached_mutant(n)
}

/// Reads which one is on; without one, notes which are reached.
#[cold]
fn reached_mutant(n: usize) -> bool {
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering};
    static SEEN: [AtomicBool; LENGTH] = [const { AtomicBool::new(false) }; LENGTH];
    if MUTANT.load(Ordering::Relaxed) == usize::MAX {
        let on = std::env::var("UNSPENT_MUTANT").ok().and_then(|n| n.parse().ok());
        MUTANT.store(on.unwrap_or(usize::MAX - 1), Ordering::Relaxed);
        if on.is_some() {
            return on == Some(n);
        }
    }
    if !SEEN[n].load(Ordering::Relaxed) && !SEEN[n].swap(true, Ordering::Relaxed) {
        let path = std::env::var("UNSPENT_REACHED").expect("a file");
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(format!("{n}\\n").as_bytes())).expect("a file");
    }
    false
}
"""


def source(crate):
    return Path("crates") / crate / "src"


def files_of(root, place):
    crate, names, _ = PLACES[place]
    for name in names:
        path = root / source(crate) / name
        for file in [path] if path.suffix else sorted(path.rglob("*.rs")):
            parts = file.relative_to(root / source(crate)).parts
            oracle = parts == ("sampler", "oracle.rs")
            if not TEST_ONLY.intersection(parts) and not oracle:
                yield file


def chosen(root, seed, count):
    """Mutants by number: of each place its share, in turn from each of its files; and how many there are."""
    dice = random.Random(seed)
    found, by_place = Counter(), {}
    for place, (_, _, share) in PLACES.items():
        queues = []
        for file in files_of(root, place):
            every = list(sites(file.read_text()))
            found[place] += len(every)
            # The largest of u^(1/w) is a choice with weights w.
            every.sort(key=lambda site: dice.random() ** (1 / WEIGHTS[site.kind]))
            if every:
                queues.append((str(file.relative_to(root)), every))
        dice.shuffle(queues)
        taken, wanted = [], round(share * count)
        while queues and len(taken) < wanted:
            for file, every in queues:
                taken.append({"place": place, "file": file, **every.pop()._asdict()})
            queues = [queue for queue in queues if queue[1]]
        by_place[place] = taken[:wanted]
    # All places advance alike, so that a run that is stopped has asked about each.
    order = [
        (i / len(taken), place, mutant) for place, taken in by_place.items() for i, mutant in enumerate(taken)
    ]
    order.sort(key=lambda entry: entry[:2])
    return {n: mutant for n, (_, _, mutant) in enumerate(order, 1)}, found


class Copy:
    """The copy of the sources with its mutants."""

    def __init__(self, root, work, mutants):
        self.root, self.work, self.mutants = root, work, mutants
        shutil.rmtree(work, ignore_errors=True)
        listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True)
        for name in listed.stdout.split("\n"):
            if name and (root / name).is_file():
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(root / name, work / name)
        for crate in (UNSPENT, ESTIMATE):
            library = work / source(crate) / "lib.rs"
            library.write_text(library.read_text() + SWITCH.replace("LENGTH", str(len(mutants) + 1)))
        self.plain = {
            file: (root / file).read_text().split("\n") for file in {m["file"] for m in mutants.values()}
        }

    def write(self):
        by_line = {}
        for n, m in self.mutants.items():
            by_line.setdefault((m["file"], m["line"]), []).append((n, m))
        texts = {file: list(plain) for file, plain in self.plain.items()}
        for (file, line), those in by_line.items():
            m = those[0][1]
            text = f"{{ {m['expression']} }}"
            for n, m in those:
                text = f"if crate::mutant({n}) {{ {m['mutated']} }} else {text}"
            texts[file][line] = f"{m['before']}({text}){m['after']}"
        for file, lines in texts.items():
            (self.work / file).write_text("\n".join(lines))

    def cargo(self, command, crate):
        """Messages of cargo. A target directory of its own: the names of its files are the workspace's."""
        arguments = [*command, "--locked", "-p", crate, "--target-dir", str(self.root / "target/mutated")]
        environment = {**os.environ, "CARGO_INCREMENTAL": "0"}
        made = subprocess.run(
            ["cargo", *arguments, "--message-format=json"],
            cwd=self.work,
            env=environment,
            capture_output=True,
            text=True,
        )
        messages = [json.loads(line) for line in made.stdout.split("\n") if line.startswith("{")]
        return made, messages

    def drop_what_does_not_compile(self, crate):
        dropped = []
        while True:
            self.write()
            made, messages = self.cargo(["check", "--profile", "test", "--lib"], crate)
            if made.returncode == 0:
                return dropped
            bad = set()
            for message in messages:
                if message.get("message", {}).get("level") == "error":
                    for span in message["message"]["spans"]:
                        bad.add((span["file_name"], span["line_start"] - 1))
            wrong = [n for n, m in self.mutants.items() if (m["file"], m["line"]) in bad]
            if not wrong:
                raise SystemExit(made.stderr[-4000:])
            dropped += [self.mutants.pop(n) for n in wrong]
            print(f"{crate}: {len(wrong)} do not compile", flush=True)

    def compile(self, crate):
        """The test binaries."""
        targets = ["--lib"] if crate == UNSPENT else ["--lib", "--tests"]
        made, messages = self.cargo(["test", "--no-run", *targets], crate)
        if made.returncode != 0:
            raise SystemExit(made.stderr[-4000:])
        kept = self.work / "bin"
        kept.mkdir(exist_ok=True)
        # The next build would write over them.
        return [shutil.copy(m["executable"], kept) for m in messages if m.get("executable")]


def run_tests(crate, binary, tests, seconds, environment, work):
    """(status, tests that failed, seconds of the processor) of these tests, one after the other."""
    here = work / "crates" / crate

    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with subprocess.Popen(
        [binary, "-Zunstable-options", "--fail-fast", "--test-threads=1", "--exact", *tests],
        cwd=here,
        env={**os.environ, "RUSTC_BOOTSTRAP": "1", "CARGO_MANIFEST_DIR": str(here), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=limits,
    ) as child:
        # A mutant that waits for ever uses no processor.
        watch = threading.Timer(60 * seconds + 300, child.kill)
        watch.start()
        said = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        watch.cancel()
    spent = usage.ru_utime + usage.ru_stime
    failed = re.findall(r"^test (\S+)(?: - should panic)? \.\.\. FAILED", said, re.M)
    if child.returncode == 0:
        ran = int(re.search(r"result: ok\. (\d+) passed", said).group(1))
        assert ran == len(tests), (ran, tests)
        return "survived", [], spent
    if spent >= seconds or child.returncode == -9:
        return "too long", failed, spent
    return "killed", failed or tests[:1], spent


def reach(crate, binary, test, slow, work, given=None):
    """What one test takes, and which mutants it reaches; nothing of one that takes too long."""
    noted = work / "reached" / f"{Path(binary).name}-{test.replace(':', '_')}{'-part' if given else ''}"
    noted.parent.mkdir(exist_ok=True)
    noted.unlink(missing_ok=True)
    given = given or {}
    environment = {"UNSPENT_REACHED": str(noted), **given}
    # To note what is reached takes time, too.
    status, _, spent = run_tests(crate, binary, [test], 3 * min(slow, 1200) + 2, environment, work)
    if status == "too long":
        return None
    assert status == "survived", (test, status)
    reached = [int(n) for n in noted.read_text().split()] if noted.exists() else []
    known = {"crate": crate, "binary": binary, "test": test, "given": given}
    return {**known, "seconds": spent, "reached": reached}


def parts(binaries, work):
    """The slow tests with a part of what they ask."""
    binary = next(binary for crate, binary in binaries if crate == UNSPENT)
    for test, variable, files, every in SAMPLED:
        cases = []
        for file in files:
            cases += json.loads((work / "oracle" / file).read_text())["cases"][::every]
        path = work / f"part-of-{files[0]}"
        path.write_text(json.dumps({"cases": cases}))
        yield UNSPENT, binary, test, 1e9, work, {variable: str(path)}


def listed(binary):
    said = subprocess.run([binary, "--list"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^(\S+): test$", said, re.M)


def build(arguments, root, work):
    mutants, found = chosen(root, arguments.seed, arguments.count)
    if arguments.only:
        kept = {int(n) for n in arguments.only.split(",")}
        mutants_to_build = {n: m for n, m in mutants.items() if n in kept}
    else:
        mutants_to_build = mutants
    copy = Copy(root, work, mutants)
    copy.mutants = mutants_to_build
    crates = [UNSPENT, ESTIMATE]
    dropped = [m for crate in crates for m in copy.drop_what_does_not_compile(crate)]
    print(
        f"{sum(found.values())} sites, {len(copy.mutants)} mutants, {len(dropped)} do not compile", flush=True
    )
    binaries = [(crate, binary) for crate in crates for binary in copy.compile(crate)]
    state = {"found": found, "dropped": dropped, "mutants": copy.mutants, "binaries": binaries}
    (work / "mutants.json").write_text(json.dumps(state))


def tests_of(state, slow, jobs, work):
    """The tests that take no longer, and what they reach; asked once for a build."""
    path = work / "tests.json"
    tests = json.loads(path.read_text()) if path.exists() else []
    known = {(test["binary"], test["test"], bool(test["given"])) for test in tests}
    every = [(crate, binary, test) for crate, binary in state["binaries"] for test in listed(binary)]
    asked = [(*row, slow, work) for row in every if (*row[1:], False) not in known]
    asked += [
        row for row in parts(state["binaries"], work) if slow > SAMPLES and (*row[1:3], True) not in known
    ]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        tests += [found for found in pool.map(lambda row: reach(*row), asked) if found]
    path.write_text(json.dumps(tests))
    for test in tests:
        test["reached"] = set(test["reached"])
    reached = set().union(*(test["reached"] for test in tests))
    said = f"{len(tests)} of {len(every)} tests reach {len(reached)} of {len(state['mutants'])} mutants"
    print(said, flush=True)
    return tests


def module(file):
    parts = Path(file).with_suffix("").parts[3:]
    return "::".join(part for part in parts if part != "mod")


def stages(mutant, tests):
    """These tests in groups: near and quick ones first."""
    near = module(mutant["file"]).split("::")[0]
    tests = sorted(tests, key=lambda t: (t["seconds"] > 0.5, not t["test"].startswith(near), t["seconds"]))
    group, total = [], 0.0
    for test in tests:
        alike = group and group[0]["binary"] == test["binary"] and group[0]["given"] == test["given"]
        if group and (not alike or total + test["seconds"] > 1.0):
            yield group
            group, total = [], 0.0
        group.append(test)
        total += test["seconds"]
    if group:
        yield group


def ask(n, mutant, tests, work):
    """What these tests say of a mutant."""
    spent = 0.0
    for group in stages(mutant, tests):
        environment = {"UNSPENT_MUTANT": str(n), **group[0]["given"]}
        names, limit = [t["test"] for t in group], 3 * sum(t["seconds"] for t in group) + 3
        status, failed, more = run_tests(
            group[0]["crate"], group[0]["binary"], names, limit, environment, work
        )
        spent += more
        if status != "survived":
            return {"status": status, "by": failed[:2] or names[:1], "seconds": round(spent, 1)}
    return {"status": "survived", "by": [], "seconds": round(spent, 1)}


def rows(work):
    path = work / "asked.jsonl"
    lines = path.read_text().split("\n") if path.exists() else []
    return {row["n"]: row for row in (json.loads(line) for line in lines if line)}


def loaded(work):
    state = json.loads((work / "mutants.json").read_text())
    state["mutants"] = {int(n): m for n, m in state["mutants"].items()}
    return state


def run(arguments, root, work):
    state = loaded(work)
    tests = tests_of(state, arguments.slow, arguments.jobs, work)
    known, end = rows(work), time.monotonic() + 60 * arguments.minutes
    lock = threading.Lock()

    def one(n):
        before = known.get(n, {"asked": [], "status": "unreached"})
        if time.monotonic() > end or before["status"] not in ("survived", "unreached"):
            return
        # Tests are only ever added, so that a test's index is its name.
        asked = [i for i, test in enumerate(tests) if n in test["reached"] and i not in before["asked"]]
        asked = [i for i in asked if tests[i]["seconds"] <= arguments.slow]
        if n in known and not asked:
            return
        mutant = state["mutants"][n]
        found = ask(n, mutant, [tests[i] for i in asked], work)
        asked += before["asked"]
        row = {"n": n, "asked": asked, **found}
        if not asked:
            row["status"] = "unreached"
        with lock, open(work / "asked.jsonl", "a") as out:
            out.write(json.dumps(row) + "\n")
        if row["status"] in ("survived", "unreached"):
            where = f"{module(mutant['file'])}:{mutant['line'] + 1}"
            print(f"{n} {where} {row['status']}: {mutant['expression']} => {mutant['mutated']}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(one, sorted(state["mutants"])))


def table(arguments, root, work):
    state = loaded(work)
    known = rows(work)
    heads = ["place", "sites", "made", "not compiled", "asked", "killed", "too long", "survived", "unreached"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for place in PLACES:
        mine = [n for n, m in state["mutants"].items() if m["place"] == place]
        count = Counter(known[n]["status"] for n in mine if n in known)
        dropped = sum(m["place"] == place for m in state["dropped"])
        cells = [place, state["found"][place], len(mine) + dropped, dropped, sum(count.values())]
        cells += [count[status] for status in ("killed", "too long", "survived", "unreached")]
        print("| " + " | ".join(map(str, cells)) + " |")


def main():
    parser = argparse.ArgumentParser(prog="oracle.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["build", "run", "table"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--only", help="numbers of mutants, to build no others")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--slow", type=float, default=1e9, help="seconds of the slowest test that is asked")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--work", default="target/mutants")
    arguments = parser.parse_args()
    commands = {"build": build, "run": run, "table": table}
    commands[arguments.what](arguments, Path.cwd(), Path(arguments.work).absolute())


if __name__ == "__main__":
    main()
