"""What may be wrong in a line of Rust: the mutants that `oracle.mutants` makes.

A site is one place in one line. The line is taken apart into what stands before an expression, the expression
and what stands after it, so that `if on { mutated } else { expression }` can stand for it.
"""

import re
from typing import NamedTuple

# Where a wrong bound would come from: directions of rounding, ends, signs and terms.
BOUND = "bound"
# Which branch is taken.
LOGIC = "logic"
# Strict or not: for doubles mostly without effect, and chosen less often.
TIE = "tie"

SWAPS = [
    (BOUND, "Round::Up", "Round::Down"),
    (BOUND, "Round::Down", "Round::Up"),
    (BOUND, ".upper()", ".lower()"),
    (BOUND, ".lower()", ".upper()"),
    (BOUND, ".next_up()", ".next_down()"),
    (BOUND, ".next_down()", ".next_up()"),
    (BOUND, "float::up(", "float::down("),
    (BOUND, "float::down(", "float::up("),
    (BOUND, ".max(", ".min("),
    (BOUND, ".min(", ".max("),
    (BOUND, ".ceil()", ".floor()"),
    (BOUND, ".floor()", ".ceil()"),
    (BOUND, " + ", " - "),
    (BOUND, " - ", " + "),
    (BOUND, " += ", " -= "),
    (BOUND, " -= ", " += "),
    (BOUND, " * ", " / "),
    (BOUND, " / ", " * "),
    (LOGIC, " && ", " || "),
    (LOGIC, " || ", " && "),
    (LOGIC, " < ", " > "),
    (LOGIC, " > ", " < "),
    (LOGIC, " <= ", " > "),
    (LOGIC, " >= ", " < "),
    (LOGIC, " == ", " != "),
    (LOGIC, " != ", " == "),
    (TIE, " < ", " <= "),
    (TIE, " <= ", " < "),
    (TIE, " > ", " >= "),
    (TIE, " >= ", " > "),
    (TIE, "0..=", "0.."),
]
# An expression begins after one of these and ends before the other.
SHAPES = [
    # let f = |x| …;   let x = …;   return …;   if … {   while … {   x = …;
    (r"\s*let \w+ = (?:move )?\|[^|]*\| ", r";"),
    (r"\s*let (?:mut )?[\w(), ]+(?:: [\w<>\[\]; &]+)? = ", r";"),
    (r"\s*return ", r";"),
    (r"\s*(?:\} else )?(?:if|while) (?!let )", r" \{"),
    (r"\s*(?!let )[\w.\[\]*(), ]+ = ", r";"),
    # Methods with a closure; arms, fields and arguments.
    (r"\s*\.\w+\((?:move )?\|[^|]*\| ", r"\)[;,?]{0,2}"),
    (r"\s*[^=;{}]+ => ", r","),
    (r"\s*\w+: ", r","),
    (r"\s+(?=[\w(&*\-])", r","),
]
SHAPES = [re.compile(f"^({before})(.+?)({after})$") for before, after in SHAPES]
# x += …;
CHANGE = re.compile(r"^(\s*)([\w.\[\]*]+ [+\-*/]= .+)(;)$")
# The last line of a function or of a block.
LAST = re.compile(r"^(\s+)((?:if |[\w(&*\-!]).*[\w)\]}?])()$")
IGNORED = (
    "//",
    "const ",
    "pub const ",
    "static ",
    "assert",
    "debug_assert",
    "#",
    "use ",
    "pub fn ",
    "fn ",
    "where",
)


class Site(NamedTuple):
    line: int
    before: str
    expression: str
    after: str
    mutated: str
    kind: str


def balanced(text):
    depth = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return False
    return depth == 0 and text.count('"') % 2 == 0


def replaced(expression, old, new):
    start = expression.find(old)
    while start >= 0:
        yield expression[:start] + new + expression[start + len(old) :]
        start = expression.find(old, start + 1)


def without_terms(expression):
    """The expression without one of its terms: `a + b` as `a`."""
    for found in re.finditer(r" [+-] ", expression):
        depth, end = 0, found.end()
        while end < len(expression):
            character = expression[end]
            depth += (character in "([{") - (character in ")]}")
            if (
                depth < 0
                or depth == 0
                and (character in ",;" or re.match(r" ([+-]|[<>=!]=?|&&|\|\||\{) ", expression[end:]))
            ):
                break
            end += 1
        yield expression[: found.start()] + expression[end:]
    for word in (".next_up()", ".next_down()"):
        yield from replaced(expression, word, "")


def mutated(expression):
    """(kind, expression) once each."""
    seen = {expression}
    for kind, old, new in SWAPS:
        for other in replaced(expression, old, new):
            if other not in seen:
                seen.add(other)
                yield kind, other
    for other in without_terms(expression):
        if other not in seen and balanced(other):
            seen.add(other)
            yield BOUND, other


def taken_apart(line, is_last):
    found = CHANGE.match(line)
    if found:
        return found.groups()
    for shape in SHAPES:
        found = shape.match(line)
        if found and balanced(found.group(2)):
            return found.groups()
    found = LAST.match(line) if is_last else None
    if found and balanced(found.group(2)) and " = " not in found.group(2):
        return found.groups()
    return None


def sites(text):
    """All sites of a file, but those that are only there in tests."""
    lines = text.split("\n")
    skipped = False
    for i, line in enumerate(lines):
        if line.strip() == "#[cfg(test)]":
            if re.match(r"\s*mod tests", lines[i + 1]):
                return
            skipped = True
        if skipped or line.lstrip().startswith(IGNORED):
            skipped = skipped and line.strip() != ""
            continue
        is_last = i + 1 < len(lines) and lines[i + 1].strip().startswith("}")
        apart = taken_apart(line, is_last)
        if apart:
            for kind, other in mutated(apart[1]):
                yield Site(i, *apart[:1], apart[1], apart[2], other, kind)
