#!/usr/bin/env python3
"""Ours and other accountants on the same problems: sets up target/peers-venv and measures there.

usage: run.py [--quick] [--only PROBLEM] [--peer NAME] [--out FILE] [--reuse]
       run.py --truth
"""

import argparse
import os
import pathlib
import shlex
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = ROOT / "target"
ENVIRONMENT = TARGET / "peers-venv"
PYTHON = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin") / "python"


def install(*what):
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *what], check=True)


def set_up(truth):
    """UNSPENT_WHEEL may name a wheel to take instead of building the project; empty, it leaves ours out."""
    if not PYTHON.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    install("-r", HERE / "requirements.txt")
    # Its accountants need no PyTorch, which its metadata ask for.
    install("--no-deps", "opacus==1.6.0")
    if truth:
        install("-r", ROOT / "oracle" / "requirements.txt")
        return
    wheel = os.environ.get("UNSPENT_WHEEL", str(ROOT))
    if wheel:
        install("--force-reinstall", "--no-deps", wheel)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="30 seconds for each accountant and problem, not 100"
    )
    parser.add_argument(
        "--only", action="append", metavar="PROBLEM", help="one problem, by its name in problems.py"
    )
    parser.add_argument(
        "--peer", action="append", metavar="NAME", help="accountants whose name contains this"
    )
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        metavar="FILE",
        help="the report; docs/benchmarks.md, or target/benchmarks.md if less is measured",
    )
    parser.add_argument("--reuse", action="store_true", help="take the environment as it is")
    parser.add_argument("--truth", action="store_true", help="make truth.json anew, from the oracle")
    arguments = parser.parse_args()

    TARGET.mkdir(exist_ok=True)
    if not arguments.reuse:
        set_up(arguments.truth)
    if arguments.truth:
        sys.exit(subprocess.run([PYTHON, HERE / "truth.py"]).returncode)

    whole = not (arguments.quick or arguments.only or arguments.peer)
    out = arguments.out or (ROOT / "docs" if whole else TARGET) / "benchmarks.md"
    raw = TARGET / ("benchmarks.json" if whole else "benchmarks-part.json")
    command = [
        PYTHON,
        HERE / "measure.py",
        "--out",
        out,
        "--raw",
        raw,
        "--seconds",
        "30" if arguments.quick else "100",
        "--command",
        shlex.join(["python3", "benchmarks/peers/run.py", *sys.argv[1:]]),
    ]
    for option, values in (("--only", arguments.only), ("--peer", arguments.peer)):
        for value in values or []:
            command += [option, value]
    sys.exit(subprocess.run(command).returncode)


if __name__ == "__main__":
    main()
