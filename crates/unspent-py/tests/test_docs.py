"""What the documentation shows is what happens."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

import unspent
import unspent.opacus

pytest.importorskip("dp_accounting")
import unspent.dp_accounting  # noqa: E402

OPTIONS = doctest.ELLIPSIS


@pytest.mark.parametrize(
    "module",
    [unspent, unspent._native, unspent.events, unspent.dp_accounting, unspent.opacus],
    ids=lambda module: module.__name__,
)
def test_docstrings(module):
    failed, tried = doctest.testmod(module, optionflags=OPTIONS)
    assert tried > 0 and failed == 0


def test_everything_has_a_docstring():
    for name in unspent.__all__:
        thing = getattr(unspent, name)
        assert thing.__doc__, name
        if isinstance(thing, type) and thing.__module__ == "unspent":
            for member, value in vars(thing).items():
                assert member.startswith("_") or value.__doc__, f"{name}.{member}"


@pytest.mark.parametrize("page", ["docs/tutorial.md", "README.md"])
def test_pages(page: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """All `pycon` blocks of a page, one after the other, in one session."""
    for package in ("dp_accounting", "pandas"):
        pytest.importorskip(package)
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    text = (root / page).read_text(encoding="utf-8")
    session = "\n".join(re.findall(r"^```pycon\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    examples = doctest.DocTestParser().get_doctest(session, {}, page, page, 0)
    assert len(examples.examples) > 5
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(examples)
    assert result.failed == 0


def test_the_stub_says_what_is_there(root: Path, tmp_path: Path):
    """Names, arguments and defaults of the compiled module, against its stub."""
    pytest.importorskip("mypy")
    # Made by the module macro, and of no use to a reader of the stub.
    (tmp_path / "allowed").write_text("unspent._native.__all__\n")
    configuration = ["--mypy-config-file", root / "pyproject.toml"]
    run_quietly(
        "mypy.stubtest", "unspent._native", *configuration, "--allowlist", tmp_path / "allowed", cwd=tmp_path
    )


def test_types(root: Path, tmp_path: Path):
    pytest.importorskip("mypy")
    run_quietly("mypy", "--config-file", root / "pyproject.toml", "--package", "unspent", cwd=tmp_path)
    for wrong in [
        "unspent.DiscreteGaussian(sigma2=[5])",
        "unspent.DiscreteGaussian(5)",
        "float(release.delta(1))",
        "release.delta(1) + 1.0",
    ]:
        script = tmp_path / "wrong.py"
        script.write_text(
            f"import unspent\nrelease = unspent.Composition([unspent.DiscreteGaussian(sigma2=5)])\n{wrong}\n"
        )
        found = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", script], capture_output=True, cwd=tmp_path
        )
        assert found.returncode == 1 and b"wrong.py:3: error" in found.stdout, (wrong, found.stdout)


def run_quietly(module: str, *arguments, cwd: Path) -> None:
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
