"""The notebooks of the examples, executed; `BLESS=1` writes their outputs."""

import os
import shutil
from pathlib import Path

import notebooks
import pages
import pytest

NOTEBOOKS = sorted((pages.ROOT / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["audit", "budget", "districts"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks(notebook: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for package in ("dp_accounting", "pandas"):
        pytest.importorskip(package)
    pytest.importorskip("matplotlib").use("Agg")
    for directory in ("examples", "data"):
        shutil.copytree(root / directory, tmp_path / directory)
    monkeypatch.chdir(tmp_path / "examples" / "notebooks")
    content, wrong = notebooks.execute(notebook)
    if os.environ.get("BLESS") == "1":
        notebooks.write(notebook, content)
    else:
        assert wrong == [], "\n".join(wrong)
