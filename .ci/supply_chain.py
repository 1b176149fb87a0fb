"""What the workspace is built from: licences, sources, duplicates, and known defects of its dependencies.

`make supply-chain` runs this; it needs cargo and nothing else. All that Cargo.lock names is looked at, also
what only tests, benches and other systems need:

- every crate is from the registry and has a checksum;
- its licence is one of ALLOWED, or it offers a choice of which one is;
- what the command and the package contain has no two versions of a crate but those in TWICE;
- none of that needs a newer compiler than the oldest one that Cargo.toml states.

With the directory of a copy of the RustSec advisory database every crate is looked up there too. Advisories
that concern a crate are errors, unless they are in ARGUED.

usage: supply_chain.py [directory of the advisory database]
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"

# What a program under MIT or Apache-2.0 may contain.
ALLOWED = {
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "Unicode-3.0",
    "Zlib",
}

# Crates without a licence in their manifest, and what their licence files say.
UNSTATED = {"opendp": "MIT", "opendp_derive": "MIT", "opendp_tooling": "MIT"}

# What is shipped: the command and the Python package.
SHIPPED = ["unspent-cli", "unspent-py"]

# Two versions of a crate in what is shipped, and why.
TWICE = {
    "getrandom": "parquet's hash tables take a seed from older versions; noise takes its key from the newest",
    "miniz_oxide": "png and flate2 ask for different versions",
    "num-bigint": "num-rational is for 0.4, parquet for 0.5; exact numbers are 0.4's alone",
    "syn": "runs when the program is compiled, and is not in it",
}

# Advisories that do not concern this workspace, and why.
ARGUED = {
    "RUSTSEC-2021-0070": "nalgebra is OpenDP's, in a bench alone; nothing is deserialised there",
}


def is_allowed(expression):
    """Whether an SPDX expression leaves a choice that is allowed; `/` is an old way to write OR."""
    words = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def alternatives():
        found = conjunction()
        while words and words[0] == "OR":
            words.pop(0)
            # Both sides are read, whatever the first says.
            found = conjunction() | found
        return found

    def conjunction():
        found = one()
        while words and words[0] == "AND":
            words.pop(0)
            found = one() & found
        return found

    def one():
        word = words.pop(0)
        if word == "(":
            found = alternatives()
            assert words.pop(0) == ")", expression
            return found
        if words and words[0] == "WITH":
            words.pop(0)
            word = f"{word} WITH {words.pop(0)}"
        return word in ALLOWED

    found = alternatives()
    assert not words, f"{expression} is understood"
    return found


def metadata(*more):
    command = ["cargo", "metadata", "--locked", "--format-version", "1", *more]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)


def shipped():
    """All that the shipped programs contain on this system, by what they need to run."""
    host = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    found = metadata("--filter-platform", re.search(r"host: (\S+)", host).group(1))
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    open_ = [package["id"] for package in found["packages"] if package["name"] in SHIPPED]
    reached = set()
    while open_:
        at = open_.pop()
        if at in reached:
            continue
        reached.add(at)
        for dependency in nodes[at]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                open_.append(dependency["pkg"])
    return [package for package in found["packages"] if package["id"] in reached]


def version(text):
    """As far as it orders versions: numbers, and a pre-release below its release."""
    numbers, _, pre = text.split("+")[0].partition("-")
    parts = [int(part) for part in numbers.split(".")]
    return (*parts, *[0] * (3 - len(parts)), pre == "", pre)


def satisfies(found, requirement):
    """Whether a version is in one of Cargo's requirements, as advisories write them."""

    def one(part):
        sign, text = re.fullmatch(r"\s*(>=|<=|>|<|=|\^|~)?\s*(\S+)\s*", part).groups()
        wanted = version(text)
        match sign or "^":
            case ">=":
                return found >= wanted
            case ">":
                return found > wanted
            case "<":
                return found < wanted
            case "<=":
                return found <= wanted
            case "=":
                return found == wanted
            case "~":
                return (
                    found >= wanted and found[: max(1, text.count("."))] == wanted[: max(1, text.count("."))]
                )
            case _:
                # Up to the first number that is not zero, or the last that is given.
                given = 1 + text.split("-")[0].count(".")
                same = next((i for i in range(given) if wanted[i] != 0), given - 1) + 1
                return found >= wanted and found[:same] == wanted[:same]

    return all(one(part) for part in requirement.split(","))


def advisories(database, packages):
    """The advisories that concern these versions, each with its crate."""
    # From Python 3.11 on; the rest needs less.
    import tomllib

    for package in packages:
        for path in sorted((database / "crates" / package["name"]).glob("RUSTSEC-*.md")):
            text = path.read_text(encoding="utf-8")
            found = tomllib.loads(re.search(r"```toml\n(.*?)```", text, re.S).group(1))
            if "withdrawn" in found["advisory"]:
                continue
            ranges = found["versions"]
            safe = ranges.get("patched", []) + ranges.get("unaffected", [])
            if not any(satisfies(version(package["version"]), part) for part in safe):
                kind = found["advisory"].get("informational", "vulnerability")
                title = re.search(r"^# (.*)", text, re.M).group(1)
                yield found["advisory"]["id"], f"{package['name']} {package['version']}: {kind}: {title}"


def main():
    found = metadata()
    packages = [package for package in found["packages"] if package["source"]]
    lock = (ROOT / "Cargo.lock").read_text(encoding="utf-8").split("[[package]]")
    summed = {
        tuple(re.findall(r'^(?:name|version) = "(.*)"', part, re.M)) for part in lock if "checksum" in part
    }
    errors = []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if package["source"] != REGISTRY:
            errors.append(f"{name} is from {package['source']}")
        if (package["name"], package["version"]) not in summed:
            errors.append(f"{name} has no checksum")
        licence = package["license"] or UNSTATED.get(package["name"])
        if licence is None or not is_allowed(licence):
            errors.append(f"{name}: the licence {licence} is not allowed")
    versions = defaultdict(set)
    contained = shipped()
    for package in contained:
        versions[package["name"]].add(package["version"])
    twice = {name: sorted(of) for name, of in versions.items() if len(of) > 1}
    errors += [f"{name} is shipped twice: {', '.join(of)}" for name, of in twice.items() if name not in TWICE]
    errors += [f"{name} is no longer shipped twice: take it off TWICE" for name in TWICE if name not in twice]
    oldest = next(package["rust_version"] for package in contained if package["name"] == SHIPPED[0])
    for package in contained:
        needed = package["rust_version"]
        if needed and version(needed) > version(oldest):
            errors.append(f"{package['name']} {package['version']} needs Rust {needed}; {oldest} is stated")
    print(f"{len(packages)} crates, {len(contained)} in what is shipped, {len(twice)} of them twice")
    if len(sys.argv) > 1:
        database = Path(sys.argv[1])
        count = len(list(database.glob("crates/*/RUSTSEC-*.md")))
        assert count > 500, f"{database} is no advisory database"
        concerned = list(advisories(database, packages))
        errors += [f"{key} {words}" for key, words in concerned if key not in ARGUED]
        print(f"{count} advisories, {len(concerned)} concern these crates, {len(ARGUED)} of them argued away")
    else:
        print("advisories: not looked at (no database was given)")
    for error in errors:
        print(f"error: {error}")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
