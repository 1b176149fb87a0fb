"""The pages of the documentation: their links, their glossary, their lines.

`python crates/unspent-py/tests/pages.py` links every term of the glossary where a page first uses it, and
says what else is wrong; with `--check` it changes nothing. `--built DIR` is for links of the built site.
"""

import re
import sys
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"

#: Pages at the root, besides those of the site.
ROOT_PAGES = ["README.md", "COMPARE.md", "CONTRIBUTING.md", "DESIGN.md", "SECURITY.md", "CHANGELOG.md"]

#: Written by a program, or the glossary itself: their words are not linked.
NOT_LINKED = {"SUMMARY.md", "benchmarks.md", "glossary.md"}

WIDTH = 110

INCLUDE = re.compile(r"^\{\{#include ([^}:]+)(?::(\d+):(\d+))?\}\}$", re.MULTILINE)
FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`]+`")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
INLINE = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\]\([^)]*\))*)\]\(([^)]*)\)")
DEFINITION = re.compile(r"^\[([^\]]+)\]: (\S+)$", re.MULTILINE)
REFERENCE = re.compile(r"\[([^\[\]]+)\](?![(\[])")


def pages() -> list[Path]:
    return sorted(DOCS.rglob("*.md"))


def expanded(page: Path) -> str:
    """A page with what it includes."""

    def included(match: re.Match[str]) -> str:
        text = (page.parent / match[1]).read_text(encoding="utf-8")
        if match[2]:
            text = "\n".join(text.split("\n")[int(match[2]) - 1 : int(match[3])])
        return text.rstrip("\n")

    return INCLUDE.sub(included, page.read_text(encoding="utf-8"))


def blanked(text: str, *patterns: re.Pattern[str]) -> str:
    """With spaces where a pattern is, so that places stay what they are."""
    for pattern in patterns:
        text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return text


def slug(heading: str) -> str:
    """The anchor that mdBook and others make of a heading."""
    heading = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading).strip().lower()
    return "".join(c if c.isalnum() or c in "_-" else "-" if c == " " else "" for c in heading)


@lru_cache
def anchors(page: Path) -> set[str]:
    return {slug(heading) for heading in HEADING.findall(blanked(expanded(page), FENCE))}


def targets(text: str) -> Iterator[str]:
    """Where the links of a text go."""
    prose = blanked(text, FENCE)
    # A picture may be the text of a link.
    for match in re.finditer(r"\]\(([^)\s]*)\)", blanked(prose, CODE)):
        yield match[1]
    for _, target in DEFINITION.findall(prose):
        yield target


def broken_links(page: Path) -> list[str]:
    """Links that lead nowhere; from a page of the site, also those that lead out of it."""
    wrong = []
    for target in targets(expanded(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (DOCS in page.parents and DOCS not in file.parents):
            wrong.append(target)
        elif anchor and (file.suffix != ".md" or anchor not in anchors(file)):
            wrong.append(target)
    return wrong


@lru_cache
def terms() -> dict[str, str]:
    """The forms of all terms, each with its anchor."""
    found = {}
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    for heading, body in re.findall(r"^## (.*?)\n\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE):
        also = re.match(r"Also: (.*)\n", body)
        others = re.split(r", (?![^(]*\))", also[1]) if also else []
        for form in [heading, *others]:
            found[form] = slug(heading)
    return found


@lru_cache
def forms() -> re.Pattern[str]:
    """Any form of any term, the longest first; short ones are names, and are what they are."""
    names = sorted(terms(), key=lambda form: (-len(form), form))
    parts = [re.escape(form) if len(form) < 5 or "-" in form else f"(?i:{re.escape(form)})" for form in names]
    return re.compile(
        r"(?<![\w\-])(?:" + "|".join(part.replace("\\ ", r"\s+") for part in parts) + r")(?![\w(])"
    )


def anchor_of(form: str) -> str:
    form = re.sub(r"\s+", " ", form)
    known = terms()
    return known.get(form) or {name.lower(): anchor for name, anchor in known.items()}[form.lower()]


def first_uses(page: Path) -> dict[str, re.Match[str]]:
    """Where a page uses each term first, outside of code, headings and links."""
    text = page.read_text(encoding="utf-8")
    prose = blanked(text, FENCE, CODE, HEADING, INLINE, DEFINITION, REFERENCE, INCLUDE)
    found: dict[str, re.Match[str]] = {}
    for match in forms().finditer(prose):
        found.setdefault(anchor_of(match[0]), match)
    return found


def first_links(page: Path) -> dict[str, int]:
    """Where a page links each term first."""
    text = page.read_text(encoding="utf-8")
    defined = {name.lower(): target for name, target in DEFINITION.findall(text)}
    prose = blanked(text, FENCE, CODE, DEFINITION)
    links = [(match.start(), match[2]) for match in INLINE.finditer(prose)]
    links += [
        (match.start(), defined.get(re.sub(r"\s+", " ", match[1]).lower(), ""))
        for match in REFERENCE.finditer(prose)
    ]
    found: dict[str, int] = {}
    for place, target in sorted(links):
        if "glossary.md#" in target:
            found.setdefault(target.partition("#")[2], place)
    return found


def unlinked(page: Path) -> list[re.Match[str]]:
    """First uses of terms that are not linked."""
    if page.name in NOT_LINKED:
        return []
    links = first_links(page)
    uses = first_uses(page).items()
    return [use for anchor, use in uses if links.get(anchor, use.start() + 1) > use.start()]


def wide_lines(page: Path) -> list[str]:
    """Lines of prose that are too wide; a table's row cannot be broken."""
    lines = blanked(page.read_text(encoding="utf-8"), FENCE).split("\n")
    return [line for line in lines if len(line.rstrip()) > WIDTH and not line.startswith("|")]


def rewrapped(text: str) -> str:
    """Paragraphs and items with a line that is too wide, wrapped anew."""
    out = []
    for block in re.split(r"(^ *```.*?^ *```$|\n\n)", text, flags=re.DOTALL | re.MULTILINE):
        fixed = block.startswith(("|", "#", " ", "```", "\n")) or DEFINITION.match(block)
        if fixed or all(len(line) <= WIDTH for line in block.split("\n")):
            out.append(block)
            continue
        items = re.split(r"\n(?=\d+\. )" if block.startswith("1. ") else r"\n(?=[-*] )", block)
        for i, item in enumerate(items):
            if any(len(line) > WIDTH for line in item.split("\n")):
                marker = re.match(r"[-*] |\d+\. ", item)
                indent = " " * len(marker[0]) if marker else ""
                items[i] = textwrap.fill(
                    re.sub(r"\n\s*", " ", item.rstrip("\n")),
                    WIDTH,
                    subsequent_indent=indent,
                    break_long_words=False,
                    break_on_hyphens=False,
                ) + ("\n" if item.endswith("\n") else "")
        out.append("\n".join(items))
    return "".join(out)


def link(page: Path) -> None:
    """Links the first use of every term, by references that are defined at the end of the page."""
    uses = sorted(unlinked(page), key=lambda use: -use.start())
    if not uses and not wide_lines(page):
        return
    text = page.read_text(encoding="utf-8")
    glossary = "../" * (len(page.relative_to(DOCS).parts) - 1) + "glossary.md"
    defined = dict(DEFINITION.findall(text))
    for use in uses:
        text = text[: use.start()] + f"[{use[0]}]" + text[use.end() :]
        defined[re.sub(r"\s+", " ", use[0])] = f"{glossary}#{anchor_of(use[0])}"
    text = rewrapped(DEFINITION.sub("", text).rstrip("\n")) + "\n"
    if defined:
        text += "\n" + "".join(f"[{name}]: {target}\n" for name, target in sorted(defined.items()))
    page.write_text(text, encoding="utf-8")


def broken_in(site: Path) -> list[str]:
    """Links of a built site that lead nowhere."""
    texts = {file.resolve(): file.read_text(encoding="utf-8") for file in sorted(site.rglob("*.html"))}
    names = {file: set(re.findall(r'\bid="([^"]*)"', text)) for file, text in texts.items()}
    wrong = []
    for file, text in texts.items():
        # The page for whatever is not found stands anywhere.
        for target in set(re.findall(r'\b(?:href|src)="([^"]*)"', text)) if file.name != "404.html" else ():
            path, _, anchor = unquote(target).partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            to = (file.parent / path).resolve() if path else file
            if not to.exists() or (anchor and to in names and anchor not in names[to]):
                wrong.append(f"{file.relative_to(site.resolve())}: {target} leads nowhere")
    return wrong


def objections() -> list[str]:
    """What is wrong with the pages as they are."""
    wrong = [
        f"{page.relative_to(ROOT)}: {use[0]} is not linked" for page in pages() for use in unlinked(page)
    ]
    for page in [*pages(), *(ROOT / name for name in ROOT_PAGES)]:
        name = page.relative_to(ROOT)
        wrong += [f"{name}: {target} leads nowhere" for target in broken_links(page)]
        wrong += [f"{name}: too wide: {line}" for line in wide_lines(page)]
    return wrong


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--built"]:
        wrong = broken_in(Path(arguments[1]))
    else:
        if arguments != ["--check"]:
            for page in pages():
                link(page)
        wrong = objections()
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
