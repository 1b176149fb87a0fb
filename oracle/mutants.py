"""Mutants of the library, all of them in one build, each behind a switch; and which of them the tests notice.

    python -m oracle.mutants --seed 1 --count 120 --minutes 20 --out target/mutants.jsonl

A mutant swaps one operator, comparison, end of a bound or direction of rounding in one line of a copy of the
sources. `UNSPENT_MUTANT=n` turns on the n-th at run time, so that the library is compiled once and not once
for each: what does not compile is taken out, and it is tried again. A mutant is killed if a test fails, or if
the tests take far longer than they do without it. Tests that take long are asked only about what the others
have left.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import time
from pathlib import Path

# Where a wrong bound would come from.
PLACES = ("profile", "loss", "tradeoff", "calibrate", "calibrate.rs", "zcdp.rs", "dominating.rs")
SWAPS = [
    (" + ", " - "),
    (" - ", " + "),
    (" * ", " / "),
    (" / ", " * "),
    (" < ", " <= "),
    (" <= ", " < "),
    (" > ", " >= "),
    (" >= ", " > "),
    (" < ", " > "),
    (" > ", " < "),
    (" && ", " || "),
    (" || ", " && "),
    ("Round::Up", "Round::Down"),
    ("Round::Down", "Round::Up"),
    (".upper()", ".lower()"),
    (".lower()", ".upper()"),
    (".max(", ".min("),
    (".min(", ".max("),
]
# Seconds of a test that is asked later.
SLOW = 2.0
SWITCH = """
/// Which mutant is on.
pub(crate) fn mutant(n: usize) -> bool {
    static ON: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *ON.get_or_init(|| std::env::var("UNSPENT_MUTANT").ok().and_then(|n| n.parse().ok()).unwrap_or(0)) == n
}
"""
SHAPES = [
    # let x = …;   x = …;   return …;   if … {
    re.compile(r"^(\s*let (?:mut )?[\w(), ]+ = )(.+)(;)$"),
    re.compile(r"^(\s*return )(.+)(;)$"),
    re.compile(r"^(\s*(?:\} else )?if )((?!let ).+)( \{)$"),
    re.compile(r"^(\s*\w+ = )(.+)(;)$"),
    # The last line of a function or of a block.
    re.compile(r"^(\s+)([\w(][^;{}=]*[\w)\]])()$"),
]


def balanced(text):
    depth = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return False
    return depth == 0 and text.count('"') % 2 == 0 and text.count("|") in (0, 2)


def sites(path):
    """(line, prefix, expression, suffix, mutated expression)."""
    lines = path.read_text().split("\n")
    for i, line in enumerate(lines):
        if line.startswith("#[cfg(test)]"):
            return
        if line.lstrip().startswith(("//", "const ", "static ", "assert", "debug_assert", "#")):
            continue
        ends_block = i + 1 < len(lines) and lines[i + 1].strip() in ("}", "};")
        for shape in SHAPES:
            found = shape.match(line)
            if not found or (shape is SHAPES[-1] and not ends_block):
                continue
            before, expression, after = found.groups()
            if not balanced(expression):
                continue
            for old, new in SWAPS:
                start = expression.find(old)
                while start >= 0:
                    mutated = expression[:start] + new + expression[start + len(old) :]
                    yield i, before, expression, after, mutated
                    start = expression.find(old, start + 1)
            break


class Build:
    """The copy of the sources with its mutants."""

    def __init__(self, root, work, seed, count):
        self.work = Path(work)
        if self.work.exists():
            shutil.rmtree(self.work)
        listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True)
        for name in listed.stdout.split("\n"):
            source = Path(root) / name
            if name and source.is_file():
                (self.work / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, self.work / name)
        source = self.work / "crates/unspent/src"
        files = []
        for place in PLACES:
            path = source / place
            files += [path] if path.suffix else sorted(path.rglob("*.rs"))
        files = [p for p in files if "tests" not in str(p.relative_to(source)) and p.name != "inclusion.rs"]
        every = [(path, site) for path in files for site in sites(path)]
        chosen = random.Random(seed).sample(every, min(count, len(every)))
        # One of a line, so that lines stay what they are otherwise.
        self.mutants, taken = {}, set()
        for path, site in chosen:
            if (path, site[0]) not in taken:
                taken.add((path, site[0]))
                self.mutants[len(self.mutants) + 1] = (path, *site)
        self.found = len(every)
        self.plain = {path: path.read_text().split("\n") for path, *_ in self.mutants.values()}
        library = source / "lib.rs"
        library.write_text(library.read_text().replace("\nmod loss;", SWITCH + "\nmod loss;", 1))

    def write(self):
        for path, plain in self.plain.items():
            lines = list(plain)
            for n, (at, i, before, expression, after, mutated) in self.mutants.items():
                if at == path:
                    switch = f"if crate::mutant({n}) {{ {mutated} }} else {{ {expression} }}"
                    lines[i] = f"{before}({switch}){after}"
            path.write_text("\n".join(lines))

    def compile(self):
        """The test binary; mutants that do not compile are dropped."""
        while True:
            self.write()
            command = ["cargo", "test", "--locked", "-p", "unspent", "--lib", "--no-run"]
            made = subprocess.run(
                [*command, "--message-format=json"], cwd=self.work, capture_output=True, text=True
            )
            messages = [json.loads(line) for line in made.stdout.split("\n") if line.startswith("{")]
            if made.returncode == 0:
                built = [m for m in messages if m.get("executable") and m["target"]["name"] == "unspent"]
                return built[-1]["executable"]
            bad = set()
            for message in messages:
                for span in message.get("message", {}).get("spans", []):
                    if message["message"]["level"] == "error":
                        bad.add((str(self.work / span["file_name"]), span["line_start"] - 1))
            dropped = [n for n, m in self.mutants.items() if (str(m[0]), m[1]) in bad]
            if not dropped:
                raise SystemExit(made.stderr[-4000:])
            for n in dropped:
                del self.mutants[n]
            print(f"{len(dropped)} do not compile", flush=True)


def run_tests(binary, mutant, arguments, seconds, root):
    environment = {**os.environ, "UNSPENT_MUTANT": str(mutant), "RUSTC_BOOTSTRAP": "1"}
    environment["CARGO_MANIFEST_DIR"] = str(root / "crates/unspent")
    start = time.monotonic()
    try:
        done = subprocess.run(
            [binary, "-Zunstable-options", "--fail-fast", "--report-time", *arguments],
            cwd=root / "crates/unspent",
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        failed = re.findall(r"^test (\S+)(?: - should panic)? \.\.\. FAILED", done.stdout, re.M)
        times = dict(re.findall(r"^test (\S+) \.\.\. ok <([\d.]+)s>", done.stdout, re.M))
        status = "survived" if done.returncode == 0 else "killed"
    except subprocess.TimeoutExpired:
        failed, status, times = [], "too long", {}
    return status, failed, time.monotonic() - start, times


def main():
    parser = argparse.ArgumentParser(prog="oracle.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--work", default="target/mutants")
    parser.add_argument("--out", default="target/mutants.jsonl")
    arguments = parser.parse_args()
    build = Build(Path.cwd(), Path(arguments.work).absolute(), arguments.seed, arguments.count)
    binary = build.compile()
    tests = [place.removesuffix(".rs") + "::" for place in PLACES if place != "calibrate"]
    tests += ["oracle::", "composition::", "envelope::"]
    status, failed, all_seconds, times = run_tests(binary, 0, tests, 600, build.work)
    assert status == "survived" and times, (status, failed)
    slow = [test for test, spent in times.items() if float(spent) > SLOW]
    quick = [*tests, *(word for test in slow for word in ("--skip", test))]
    _, _, seconds, _ = run_tests(binary, 0, quick, 600, build.work)
    print(
        f"{build.found} sites, {len(build.mutants)} mutants, {len(times)} tests in {all_seconds:.0f} s, "
        f"{len(times) - len(slow)} quick ones in {seconds:.0f} s",
        flush=True,
    )
    start = time.monotonic()
    with open(arguments.out, "w") as out:
        for n, (path, i, _, expression, _, mutated) in build.mutants.items():
            if time.monotonic() - start > arguments.minutes * 60:
                break
            status, failed, spent, _ = run_tests(binary, n, quick, 3 * seconds + 10, build.work)
            if status == "survived" and slow:
                status, failed, more, _ = run_tests(
                    binary, n, ["--exact", *slow], 3 * all_seconds + 20, build.work
                )
                spent += more
            where = f"{path.relative_to(build.work / 'crates/unspent/src')}:{i + 1}"
            row = {"n": n, "where": where, "from": expression, "to": mutated, "status": status}
            row |= {"by": failed[:2], "seconds": round(spent, 1)}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            out.flush()
            if status == "survived":
                print(json.dumps(row, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
