"""The command that comes with the wheel."""

import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import unspent

SCRIPT = Path(sysconfig.get_path("scripts")) / ("unspent.exe" if os.name == "nt" else "unspent")
WAYS = [[str(SCRIPT)], [sys.executable, "-m", "unspent"]]


def run(*arguments: str, way: list[str] = WAYS[1], **options) -> subprocess.CompletedProcess[str]:
    # Tables are not broken for pipes, unless COLUMNS says so; readline sets it behind Python's back.
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return subprocess.run(
        [*way, *arguments], capture_output=True, text=True, timeout=120, env=environment, **options
    )


@pytest.mark.parametrize("way", WAYS, ids=["script", "module"])
def test_the_command_is_there(way: list[str]):
    found = run("--version", way=way)
    assert (found.stdout, found.stderr, found.returncode) == (f"unspent {unspent.__version__}\n", "", 0)


def test_it_answers_as_the_package_does():
    found = run("certificate", "pl94-persons-us-2020")
    expected = str(unspent.preset("pl94-persons-us-2020").certificate())
    assert (found.stdout.strip(), found.stderr, found.returncode) == (expected.strip(), "", 0)


def test_it_reads_and_fails_as_a_program_does(tmp_path: Path):
    text = unspent.preset("pl94-persons-us-2020").to_toml()
    found = run("certificate", "-", "--json", input=text)
    assert found.returncode == 0 and found.stdout.startswith("{"), found.stderr
    refused = run("certificate", "nowhere")
    assert refused.returncode == 2 and refused.stderr.startswith("error: "), refused
    kept = run("certificate", "pl94-persons-us-2020", "--epsilon", "1", "--check")
    assert kept.returncode == 3, kept


@pytest.mark.skipif(os.name == "nt", reason="signals are sent on Unix")
def test_ctrl_c_ends_it(tmp_path: Path):
    command = [*WAYS[0], "sample", "--sigma2", "5", "--count", "1000000000000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdout.close()
        assert process.wait(timeout=60) == 130
