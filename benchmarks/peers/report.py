"""The report in Markdown, from what was measured and from the truth; nothing in it is written by hand but the words.

usage: report.py RESULTS.json          prints it
"""

import json
import math
import sys
from dataclasses import dataclass
from fractions import Fraction

import truth
from peers import ACCOUNTANTS
from problems import DELTAS, PROBLEMS, USUAL_DELTA

OURS = "unspent"
SMALL_DELTAS = ("1e-20", "1e-50")
# The problem and the accuracies at which speed is compared.
SPEED_PROBLEM = "census"
ACCURACIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9)
COMPARABLE = 1e-3
CLAIMS = {"bound": "upper bound", "interval": "interval", "estimate": "estimate"}


@dataclass(frozen=True)
class Answer:
    """One epsilon of one accountant, judged."""
    accountant: str
    claim: str
    problem: str
    delta: str
    error: float             # epsilon minus the truth; infinite without a finite answer
    broken: bool             # it claims to bound the truth and does not
    none: str = ""           # why there is no answer

    @property
    def is_bound(self):
        return self.claim != "estimate" and not self.broken and math.isfinite(self.error)


def judge(accountant, problem, delta, found, exact):
    lower, upper = exact
    if "none" in found:
        return Answer(accountant.name, accountant.claim, problem, delta, math.inf, False, found["none"])
    epsilon = float(found["epsilon"])
    if not math.isfinite(epsilon):
        return Answer(accountant.name, accountant.claim, problem, delta, math.inf, False, "∞")
    # Only what is certainly on the wrong side of the truth's enclosure counts.
    below = Fraction(epsilon) < lower
    above = "lower" in found and math.isfinite(float(found["lower"])) and Fraction(float(found["lower"])) > upper
    broken = accountant.claim != "estimate" and (below or above)
    return Answer(accountant.name, accountant.claim, problem, delta, float(Fraction(epsilon) - (lower + upper) / 2), broken)


def answers(results):
    """{(problem, accountant): {delta: Answer}}."""
    exact = truth.read()
    return {(problem, accountant.name): {delta: judge(accountant, problem, delta, found, exact[problem][delta])
                                         for delta, found in rows[accountant.name]["answers"].items()}
            for problem, rows in results["problems"].items()
            for accountant in ACCOUNTANTS if accountant.name in rows}


def duration(seconds):
    if seconds is None:
        return "–"
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            break
    return f"{seconds / scale:.3g} {unit}"


def size(found):
    if "memory" not in found:
        return "–"
    megabytes = found["memory"] / 1e6
    return f"{megabytes:.0f} MB" if megabytes >= 1 else "< 1 MB"


def signed(error):
    return f"{error:+.1e}".replace("-", "−").replace("+", "+") if error else "0"


def error_cell(answer):
    if answer is None:
        return "–"
    if answer.none:
        return "∞" if answer.none == "∞" else "refuses"
    return f"**{signed(answer.error)} NOT A BOUND**" if answer.broken else signed(answer.error)


def table(problem, rows, judged):
    lines = ["| accountant | claims | first ε | each further | memory | "
             + " | ".join(f"error at δ = {delta}" for delta in DELTAS) + " |",
             "|---|---|---:|---:|---:|" + "---:|" * len(DELTAS)]
    for accountant in ACCOUNTANTS:
        found = rows.get(accountant.name)
        if found is None:
            continue
        cells = [accountant.name, CLAIMS[accountant.claim]]
        given = judged[problem, accountant.name]
        if "first" not in found:
            why = found.get("failed") or f"over {found['limit']:.0f} s"
            cells += [f"no answer: {why}", "–", size(found)] + ["–"] * len(DELTAS)
        else:
            usual = given[USUAL_DELTA]
            times = [duration(found["first"]) + (" (once)" if found["cold"] else ""), duration(found.get("further"))]
            if usual.none:
                times = ["–", "–"]
            over = f"over {found['limit']:.0f} s" if "limit" in found else "–"
            cells += times + [size(found)]
            cells += [error_cell(given[delta]) if delta in given else over for delta in DELTAS]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def refusals(problem, judged):
    """What accountants said that would not answer, once each."""
    said = {}
    for (of, name), given in judged.items():
        for answer in given.values():
            if of == problem and answer.none not in ("", "∞"):
                said.setdefault((name, answer.none), []).append(answer.delta)
    return [f"* {name} at δ = {', '.join(deltas)}: {why}" for (name, why), deltas in said.items()]


def error_claim(judged):
    """Are we nearer to the truth than every peer, at every delta of every problem?"""
    beaten, asked = [], 0
    for (problem, name), given in judged.items():
        if name != OURS:
            continue
        for delta, own in given.items():
            asked += 1
            for (of, peer), others in judged.items():
                other = others.get(delta)
                if of == problem and peer != OURS and other and abs(other.error) < abs(own.error):
                    kind = "an estimate" if other.claim == "estimate" else "broken" if other.broken else "a bound"
                    beaten.append(f"{problem}, δ = {delta}: {peer} ({kind}) is off by {signed(other.error)}, "
                                  f"ours by {signed(own.error)}")
    if not asked:
        return ["**Error.** Ours was not measured."]
    if not beaten:
        return [f"**Error.** Nearer to the truth than every peer in all {asked} of {asked} questions "
                "(problem and δ), whether the peer's answer is a bound or not."]
    return [f"**Error.** NOT nearer to the truth than every peer in all {asked} questions (problem and δ):", "",
            *(f"* {line}" for line in beaten)]


def bound_claim(judged):
    own = [answer for (_, name), given in judged.items() if name == OURS for answer in given.values()]
    broken = [answer for answer in own if answer.broken]
    wrong = [answer for (_, name), given in judged.items() if name != OURS for answer in given.values() if answer.broken]
    claimed = [answer for (_, name), given in judged.items() if name != OURS for answer in given.values()
               if answer.claim != "estimate" and math.isfinite(answer.error)]
    lines = ["**Never below the truth.** "]
    lines[0] += (f"Ours is BELOW THE TRUTH in {len(broken)} of {len(own)} answers." if broken
                 else f"Ours encloses it in all {len(own)} answers." if own else "Ours was not measured.")
    lines[0] += f" Of {len(claimed)} finite answers that peers claim to be bounds, {len(wrong)} are not."
    if wrong:
        worst = min(wrong, key=lambda answer: answer.error)
        lines[0] += (f" The worst is off by {signed(worst.error)}: {worst.accountant}, {worst.problem}, "
                     f"δ = {worst.delta}.")
    return lines


def speed_claim(results, judged):
    rows = results["problems"].get(SPEED_PROBLEM, {})
    own = rows.get(OURS, {})
    if "first" not in own:
        return ["**Speed.** Ours was not measured on the 80-fold problem."]
    own_error = judged[SPEED_PROBLEM, OURS][USUAL_DELTA].error
    lines = [f"| error at δ = {USUAL_DELTA} at most | fastest peer with a bound that holds | first ε | ours faster by | "
             "each further | ours faster by |", "|---:|---|---:|---:|---:|---:|"]
    ratios = {}
    for accuracy in ACCURACIES:
        fit = [(found["first"], name) for name, found in rows.items() if name != OURS and "first" in found
               and (answer := judged[SPEED_PROBLEM, name].get(USUAL_DELTA)) and answer.is_bound
               and abs(answer.error) <= accuracy]
        if not fit:
            lines.append(f"| {accuracy:.0e} | none | – | – | – | – |")
            continue
        seconds, name = min(fit)
        further = rows[name].get("further")
        ratios[accuracy] = seconds / own["first"]
        more = [duration(further), f"{further / own['further']:,.0f} ×"] if further else ["–", "–"]
        lines.append(f"| {accuracy:.0e} | {name} | {duration(seconds)} | {ratios[accuracy]:,.0f} × | "
                     + " | ".join(more) + " |")
    ratio = ratios.get(COMPARABLE)
    verdict = (f"no peer has a bound within {COMPARABLE:.0e}" if ratio is None else
               f"{ratio:,.0f} times faster than the fastest peer with a bound within {COMPARABLE:.0e}"
               + ("" if ratio >= 1000 else ", which is LESS than the thousand times aimed for"))
    return [f"**Speed.** On the 80-fold problem ours takes {duration(own['first'])} from the list of noises to ε, off by "
            f"{signed(own_error)}: {verdict}.", "", *lines]


def small_delta_claim(judged):
    lines = ["**Small δ.** Who answers, and how near the nearest bound is:", "",
             "| problem | δ | ours | peers with a finite answer | of them bounds that hold | nearest of those |",
             "|---|---:|---:|---:|---:|---|"]
    for problem in PROBLEMS:
        for delta in SMALL_DELTAS:
            given = {name: found[delta] for (of, name), found in judged.items() if of == problem.name and delta in found}
            own = given.pop(OURS, None)
            finite = [answer for answer in given.values() if math.isfinite(answer.error)]
            holding = sorted((answer for answer in finite if answer.is_bound), key=lambda answer: answer.error)
            nearest = f"{holding[0].accountant}, {signed(holding[0].error)}" if holding else "–"
            if given or own:
                lines.append(f"| {problem.title} | {delta} | {error_cell(own)} | {len(finite)} | {len(holding)} | "
                             f"{nearest} |")
    return lines


def markdown(results):
    judged = answers(results)
    where = results["surroundings"]
    versions = ", ".join(f"{name} {version or '(not installed)'}" for name, version in where["versions"].items())
    lines = [
        "# Beside other accountants", "",
        f"Measured on {where['date']} (UTC) with `{where['command']}`, which sets up everything, measures and writes this page.",
        f"{where['processor']}, {where['cores']} cores, {where['memory'] / 2**30:.0f} GB; Python {where['python']}; {versions}.",
        "", "## What it says", ""]
    for part in (error_claim(judged), bound_claim(judged), speed_claim(results, judged), small_delta_claim(judged)):
        lines += [*part, ""]
    lines += [
        "## How to read it", "",
        "* *Error* is ε as reported minus the exact ε, for an interval its upper end. The exact one comes from the oracle, which shares "
        "nothing with ours (`benchmarks/peers/truth.json` says how, and how wide its enclosures are).",
        "* **NOT A BOUND**: the accountant's documentation calls the number an upper bound, or an interval around the truth, and it is "
        "certain that it is not one. An *estimate* promises nothing for this noise.",
        "* *∞*: it answers that no finite ε is known. *refuses*: it raises an error, quoted below the table.",
        f"* *First ε* is from the list of noises to ε at δ = {USUAL_DELTA}, *each further* another ε of the same composition: medians of "
        "repeated runs after a warm-up, imports not counted; *(once)* where there was no time to repeat.",
        f"* *Memory* is how much the peak grew over what imports take. Each line had a process of its own, {where['seconds']:.0f} s "
        f"and {where['memory limit'] / 2**30:.0f} GB.",
        "* *1e-4*, *1e-5* and so on are dp-accounting's grids for the loss. *On the lattice* is a grid that holds every loss "
        "exactly, which an expert can find where there is one. *Tails 1e-60* keeps what it otherwise cuts off at 1e-15.",
        "* prv-accountant has no discrete Gaussian; it was given one through its own interface. riskcal's accountant and one line "
        "of prv-accountant compute the continuous Gaussian's ε instead, which is another problem's answer.",
        ""]
    for problem in PROBLEMS:
        rows = results["problems"].get(problem.name)
        if not rows:
            continue
        exact = truth.read()[problem.name]
        lines += [f"## {problem.title}", "", f"{problem.count:,} noises, ρ ≈ {float(problem.rho):.6g}; exactly ε = "
                  + ", ".join(f"{float(sum(exact[delta]) / 2):.10f} at δ = {delta}" for delta in DELTAS) + ".", "",
                  *table(problem.name, rows, judged), ""]
        said = refusals(problem.name, judged)
        lines += [*said, ""] if said else []
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as source:
        print(markdown(json.load(source)), end="")
