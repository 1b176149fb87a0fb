"""What the tests share: the repository, the oracle's reference values, the command."""

import json
import os
import shutil
import warnings
from pathlib import Path

import clusters
import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def root() -> Path:
    return ROOT


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for every fifth composition of the oracle's reference file; the library's tests have all of
    them.
    """
    if "reference_case" in metafunc.fixturenames:
        cases = json.loads((ROOT / "oracle" / "reference.json").read_text())["cases"]
        metafunc.parametrize("reference_case", cases[::5], ids=[f"case {n}" for n in range(0, len(cases), 5)])


@pytest.fixture
def command() -> Path:
    """The `unspent` command, where it was built."""
    path = Path(os.environ.get("UNSPENT_COMMAND", ROOT / "target" / "debug" / "unspent"))
    if not path.exists():
        pytest.skip("the unspent command was not built")
    return path


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory):
    """A Spark cluster of two executors, if there are Java and PySpark."""
    clusters.needs_spark()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = clusters.session(tmp_path_factory.mktemp("cluster"))
        work = clusters.work_of(session)
        yield session
        session.stop()
    shutil.rmtree(work, ignore_errors=True)
