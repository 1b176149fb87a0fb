"""Where the data beside the project are. Tests that need them skip, by name, where they are absent."""

import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def root() -> Path:
    return ROOT


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each composition of the reference file."""
    if "reference_case" in metafunc.fixturenames:
        path = ROOT.parent / "shared" / "reference" / "profiles.json"
        if not path.exists():
            absent = pytest.param(None, marks=pytest.mark.skip(reason="../shared/reference is absent"))
            metafunc.parametrize("reference_case", [absent])
            return
        cases = json.loads(path.read_text())["cases"]
        metafunc.parametrize("reference_case", cases, ids=[case["name"] for case in cases])


@pytest.fixture
def command() -> Path:
    """The `unspent` command, where it was built."""
    path = Path(os.environ.get("UNSPENT_COMMAND", ROOT / "target" / "debug" / "unspent"))
    if not path.exists():
        pytest.skip("the unspent command was not built")
    return path
