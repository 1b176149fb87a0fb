"""Runs a notebook's cells as a notebook would, without one: what they print and show."""

import ast
import base64
import contextlib
import io
import json
import warnings
from pathlib import Path
from typing import Any

#: What is compared: pictures and HTML are there to be seen, and differ from version to version of others.
COMPARED = ("text/plain",)


def text_of(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)


def picture(value: Any) -> str | None:
    """A PNG of axes that matplotlib has drawn."""
    figure = getattr(value, "figure", None)
    if figure is None or not hasattr(figure, "savefig"):
        return None
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=80, metadata={"Software": None})
    return base64.b64encode(file.getvalue()).decode()


def shown(value: Any) -> dict[str, str]:
    """A value in the forms that a notebook shows."""
    found = {"text/plain": repr(value)}
    if hasattr(value, "_repr_html_"):
        found["text/html"] = value._repr_html_()
    if png := picture(value):
        found = {"text/plain": f"<{type(value).__name__}>", "image/png": png}
    return found


def run(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell prints, what it warns of, and the value of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    outputs: list[dict[str, Any]] = []
    value = None
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue()})
    for warning in warned:
        said = f"{warning.category.__name__}: {warning.message}\n"
        outputs.append({"output_type": "stream", "name": "stderr", "text": said})
    if value is not None:
        outputs.append(
            {"output_type": "execute_result", "data": shown(value), "metadata": {}, "execution_count": None}
        )
    return outputs


def comparable(outputs: list[dict[str, Any]]) -> list[tuple[str, str]]:
    found = []
    for output in outputs:
        if output["output_type"] == "stream":
            found.append((output["name"], text_of(output["text"])))
        else:
            found += [(kind, text_of(output["data"][kind])) for kind in COMPARED]
    return found


def execute(notebook: Path) -> tuple[dict[str, Any], list[str]]:
    """A notebook with its outputs made anew, and where they differ from those that it has."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    wrong = []
    for number, cell in enumerate(content["cells"]):
        if cell["cell_type"] != "code":
            continue
        outputs = run(text_of(cell["source"]), names)
        was, is_ = comparable(cell["outputs"]), comparable(outputs)
        if was != is_:
            wrong.append(f"cell {number}:\n{text_of(cell['source'])}\nhas\n{was}\nand gives\n{is_}")
        cell["outputs"] = outputs
    return content, wrong


def write(notebook: Path, content: dict[str, Any]) -> None:
    notebook.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
