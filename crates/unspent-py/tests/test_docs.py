"""What the documentation shows is what happens."""

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pages
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


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", pages.expanded(page), re.DOTALL | re.MULTILINE)


def shown(language: str) -> list[str]:
    """The README and the pages of the site that have blocks of a language, from the root."""
    every = [pages.ROOT / "README.md", *pages.pages()]
    return [str(page.relative_to(pages.ROOT)) for page in every if blocks(page, language)]


@pytest.mark.parametrize("page", shown("pycon"))
def test_pages(page: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """All `pycon` blocks of a page, one after the other, in one session, beside the examples and the data."""
    for package in ("dp_accounting", "pandas"):
        pytest.importorskip(package)
    pytest.importorskip("matplotlib").use("Agg")
    for directory in ("examples", "data"):
        shutil.copytree(root / directory, tmp_path / directory)
    monkeypatch.chdir(tmp_path)
    session = "\n".join(blocks(root / page, "pycon"))
    examples = doctest.DocTestParser().get_doctest(session, {}, page, page, 0)
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(examples)
    assert result.attempted > 3 and result.failed == 0


def test_pages_of_all_doors_have_python():
    assert {"README.md", "docs/tutorials/python.md", "docs/tutorials/noisy-counts.md"} <= {*shown("pycon")}


@pytest.mark.parametrize("page", shown("python"))
def test_python_that_wants_a_cluster_can_be_read(page: str, root: Path):
    """What is no session is for Spark, Polars and DuckDB beside data that are not here."""
    assert page == "docs/spark.md"
    for block in blocks(root / page, "python"):
        compile(block, page, "exec")


@pytest.mark.parametrize("page", shown("toml"))
def test_toml_can_be_read(page: str, root: Path):
    tomllib = pytest.importorskip("tomllib")
    for block in blocks(root / page, "toml"):
        tomllib.loads(block)


@pytest.mark.parametrize("page", [*pages.pages(), *(pages.ROOT / name for name in pages.ROOT_PAGES)], ids=str)
def test_links_lead_somewhere(page: Path):
    assert pages.broken_links(page) == []


@pytest.mark.parametrize("page", pages.pages(), ids=str)
def test_terms_are_linked_where_they_are_first_used(page: Path):
    """`python crates/unspent-py/tests/pages.py` links them."""
    assert [use[0] for use in pages.unlinked(page)] == []


@pytest.mark.parametrize("page", [*pages.pages(), *(pages.ROOT / name for name in pages.ROOT_PAGES)], ids=str)
def test_lines_fit(page: Path):
    assert pages.wide_lines(page) == []


def test_the_contents_have_every_page():
    listed = {target.partition("#")[0] for target in pages.targets(pages.expanded(pages.DOCS / "SUMMARY.md"))}
    assert listed == {str(page.relative_to(pages.DOCS)) for page in pages.pages()} - {"SUMMARY.md"}


def test_the_reference_has_every_name():
    text = (pages.DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    missing = [name for name in unspent.__all__ if not re.search(rf"`[^`]*\b{name}\b[^`]*`", text)]
    assert missing == ["__version__"]


def test_the_readme_is_short(root: Path):
    assert len((root / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


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


def test_what_notebooks_show():
    """Everything that a notebook shows as HTML: its numbers are those of the text."""
    release = unspent.Composition([unspent.DiscreteGaussian(sigma2=5, count=10)])
    epsilon = release.epsilon("1e-10")
    assert epsilon._repr_html_() == "<p>[9.6005283, 9.6005284]: at most <b>9.6005284</b></p>"
    many = release.epsilon([f"1e-{n}" for n in range(1, 13)])._repr_html_()
    assert "<td>9.6005283</td><td>9.6005284</td>" in many and "shape (12)" in many and "…" in many
    calibration = release.calibrate(epsilon="9.7", delta="1e-10")._repr_html_()
    assert "keeps it, certified" in calibration and "does not, certified" in calibration
    census = unspent.preset("pl94-units-us-2020")
    certificate = census.certificate()
    shown = certificate._repr_html_()
    lower, upper = str(certificate.total.tight)[1:-1].split(", ")
    assert f"<td>{upper}</td><td>{lower}</td>" in shown and "<table>" in shown and "<style" not in shown
    assert "certified" in census.calibrate()._repr_html_()
    assert "calibrated" in str(census.calibrate())


def test_what_notebooks_show_of_estimates(root: Path, tmp_path: Path):
    allocation = unspent.Allocation.read(root / "examples" / "blocks.toml")
    table = root / "examples" / "blocks.csv"
    assert "<th>estimate sd</th>" in unspent.accuracy(allocation, units=table)._repr_html_()
    units = {"State": 1, "County": 5, "Tract": 250, "Block group": 792, "Block": 25181}
    needs = unspent.Needs(allocation, units=units, rest="drop").need("County", margin=50, name="<counties>")
    design = needs.design(prices=False)
    for report in [design, needs.check(allocation), allocation.explain(units=units)]:
        assert "<table>" in report._repr_html_() and "<counties>" not in report._repr_html_()
    unspent.measure(table, allocation, tmp_path / "noisy")
    estimates = unspent.estimate(tmp_path / "noisy", tables=True)
    assert "<td>State, County, Tract, Block group, Block</td>" in estimates._repr_html_()
    shown = estimates.table("Block")._repr_html_()
    assert shown.count("<tr>") == 11 and "10 of " in shown and "<th>geocode</th>" in shown
    whole = estimates.tables.table("State")
    assert all(note[:20] in whole._repr_html_() for note in whole.notes.values())
