"""The report in Markdown, from what was measured and from the truth: no figure in it is written by hand.

usage: report.py RESULTS.json          prints it
"""

import json
import math
import sys
from dataclasses import dataclass
from fractions import Fraction

import mechanisms
import truth
from peers import ACCOUNTANTS
from problems import DELTAS, PROBLEMS, USUAL_DELTA

OURS = "unspent"
OURS_TIGHTER = "unspent, tolerance 1e-12"
TITLES = {problem.name: problem.title for problem in PROBLEMS}
SMALL_DELTAS = ("1e-20", "1e-50")
# The problem and the accuracies at which speed is compared.
SPEED_PROBLEM = "census"
ACCURACIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9)
COMPARABLE = 1e-3
PEER_ROUNDING = Fraction(1, 10**14)
CLAIMS = {"bound": "upper bound", "interval": "interval", "estimate": "estimate"}


@dataclass(frozen=True)
class Answer:
    """One epsilon of one accountant, judged."""

    accountant: str
    claim: str
    problem: str
    delta: str
    error: float  # epsilon minus the truth; infinite without a finite answer
    broken: bool  # it claims to bound the truth and does not
    none: str = ""  # why there is no answer

    @property
    def is_ours(self):
        return self.accountant in (OURS, OURS_TIGHTER)

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
    # Only what is certainly on the wrong side of the truth's enclosure counts, and a peer that takes sigma
    # and delta as doubles is not blamed for their rounding.
    slack = 0 if accountant.name in (OURS, OURS_TIGHTER) else upper * PEER_ROUNDING
    claims = accountant.claim != "estimate"
    broken = claims and Fraction(epsilon) < lower - slack
    if claims and "lower" in found and math.isfinite(float(found["lower"])):
        broken = broken or Fraction(float(found["lower"])) > upper + slack
    error = float(Fraction(epsilon) - (lower + upper) / 2)
    return Answer(accountant.name, accountant.claim, problem, delta, error, broken)


def answers(results):
    """{(problem, accountant): {delta: Answer}}."""
    exact = truth.read()
    judged = {}
    for problem in (name for name in results["problems"] if name in TITLES):
        rows = results["problems"][problem]
        for accountant in ACCOUNTANTS:
            if accountant.name in rows:
                judged[problem, accountant.name] = {
                    delta: judge(accountant, problem, delta, found, exact[problem][delta])
                    for delta, found in rows[accountant.name]["answers"].items()
                }
    return judged


def judged_mixtures(results):
    """{(mixture, accountant): Answer}; the truth is the ε at which the reference has this δ."""
    judged = {}
    for mixture in mechanisms.MIXTURES:
        rows = results["problems"].get(mixture.name, {})
        # The reference's δ was rounded to a double, by which ε moves by less than this.
        slack = max(mixture.epsilon, 1) * PEER_ROUNDING
        exact = (mixture.epsilon - slack, mixture.epsilon + slack)
        for accountant in mechanisms.ACCOUNTANTS:
            found = rows.get(accountant.name, {}).get("answers", {}).get(mixture.delta)
            if found is not None:
                answer = judge(accountant, mixture.name, mixture.delta, found, exact)
                judged[mixture.name, accountant.name] = answer
    return judged


def duration(seconds):
    if seconds is None:
        return "–"
    units = (("s", 1), ("ms", 1e-3), ("µs", 1e-6))
    unit, scale = next((pair for pair in units if seconds >= pair[1]), units[-1])
    return f"{seconds / scale:.3g} {unit}"


def size(found):
    if "memory" not in found:
        return "–"
    megabytes = found["memory"] / 1e6
    return f"{megabytes:.0f} MB" if megabytes >= 1 else "< 1 MB"


def signed(error):
    if 0.05 < abs(error) < 1000:
        return f"{error:+.2f}".replace("-", "−")
    mantissa, _, exponent = f"{error:+.1e}".partition("e")
    return f"{mantissa}e{int(exponent)}".replace("-", "−") if error else "0"


def error_cell(answer):
    if answer is None:
        return "–"
    if answer.none:
        return answer.none if answer.none == "∞" or answer.none.startswith("out of memory") else "refuses"
    return f"**{signed(answer.error)} NOT A BOUND**" if answer.broken else signed(answer.error)


def table(problem, rows, judged):
    lines = [
        "| accountant | claims | first ε | each further | memory | "
        + " | ".join(f"error at δ = {delta}" for delta in DELTAS)
        + " |",
        "|---|---|---:|---:|---:|" + "---:|" * len(DELTAS),
    ]
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
            once = " (once)" if found["cold"] else ""
            times = [duration(found["first"]) + once, duration(found.get("further"))]
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
            if of == problem and answer.none not in ("", "∞") and error_cell(answer) == "refuses":
                said.setdefault((name, answer.none), []).append(answer.delta)
    return [f"* {name} at δ = {', '.join(deltas)}: {why}" for (name, why), deltas in said.items()]


def error_claim(judged):
    """Are we nearer to the truth than every peer, at every delta of every problem?"""
    every = [answer for given in judged.values() for answer in given.values()]
    lines = []
    for name in (OURS, OURS_TIGHTER):
        own = [answer for answer in every if answer.accountant == name]
        nearer = [
            (answer, peer)
            for answer in own
            for peer in every
            if not peer.is_ours
            and (peer.problem, peer.delta) == (answer.problem, answer.delta)
            and abs(peer.error) < abs(answer.error)
        ]
        beaten = len({answer for answer, _ in nearer})
        verdict = "not measured"
        if own and all(answer.is_ours for answer in every):
            verdict = "no peer was measured"
        elif own:
            verdict = f"nearer to the truth than every peer in {len(own) - beaten} of {len(own)} questions"
        lines.append(f"* {name}: {verdict}{', but' if nearer else '.'}")
        for answer, peer in nearer:
            kind = "not a bound" if peer.broken else CLAIMS[peer.claim]
            lines.append(
                f"  * {TITLES[answer.problem]}, δ = {answer.delta}: {peer.accountant} ({kind}) is "
                f"off by {signed(peer.error)}, ours by {signed(answer.error)}"
            )
    return [
        "**Error.** A question is a problem and a δ; peers count whether theirs is a bound or not:",
        "",
        *lines,
    ]


def bound_claim(judged):
    every = [answer for given in judged.values() for answer in given.values()]
    own = [answer for answer in every if answer.is_ours]
    broken = [answer for answer in own if answer.broken]
    claimed = [
        answer
        for answer in every
        if not answer.is_ours and answer.claim != "estimate" and math.isfinite(answer.error)
    ]
    wrong = sorted((answer for answer in claimed if answer.broken), key=lambda answer: answer.error)
    text = (
        f"Ours does NOT enclose it in {len(broken)} of {len(own)} answers."
        if broken
        else f"Ours encloses it in all {len(own)} answers."
        if own
        else "Ours was not measured."
    )
    text += f" Of {len(claimed)} finite answers that peers claim to be bounds, {len(wrong)} are not"
    lines = [f"**Never below the truth.** {text}{':' if wrong else '.'}"]
    if wrong:
        lines += ["", "| problem | δ | accountant | error |", "|---|---:|---|---:|"]
        lines += [
            f"| {TITLES[answer.problem]} | {answer.delta} | {answer.accountant} | {signed(answer.error)} |"
            for answer in wrong
        ]
    return lines


def speed_claim(results, judged):
    rows = results["problems"].get(SPEED_PROBLEM, {})
    own = rows.get(OURS, {})
    if "first" not in own:
        return ["**Speed.** Ours was not measured on the 80-fold problem."]
    own_error = judged[SPEED_PROBLEM, OURS][USUAL_DELTA].error
    lines = [
        f"| error at δ = {USUAL_DELTA} at most | fastest peer with a bound that holds | first ε | "
        "ours faster by | each further | ours faster by |",
        "|---:|---|---:|---:|---:|---:|",
    ]
    ratios = {}
    for accuracy in ACCURACIES:
        fit = [
            (found["first"], name)
            for name, found in rows.items()
            if "first" in found
            and (answer := judged[SPEED_PROBLEM, name].get(USUAL_DELTA))
            and answer.is_bound
            and not answer.is_ours
            and answer.error <= accuracy
        ]
        if not fit:
            lines.append(f"| {accuracy:.0e} | none | – | – | – | – |")
            continue
        seconds, name = min(fit)
        further = rows[name].get("further")
        ratios[accuracy] = seconds / own["first"]
        more = [duration(further), f"{further / own['further']:,.0f} ×"] if further else ["–", "–"]
        lines.append(
            f"| {accuracy:.0e} | {name} | {duration(seconds)} | {ratios[accuracy]:,.0f} × | "
            + " | ".join(more)
            + " |"
        )
    ratio = ratios.get(COMPARABLE)
    verdict = (
        f"no peer has a bound within {COMPARABLE:.0e}"
        if ratio is None
        else f"{ratio:,.0f} times faster than the fastest peer with a bound within {COMPARABLE:.0e}"
        + ("" if ratio >= 1000 else ", which is LESS than the thousand times aimed for")
    )
    return [
        f"**Speed.** On the 80-fold problem ours takes {duration(own['first'])} from the list of noises "
        f"to ε, off by {signed(own_error)}: {verdict}.",
        "",
        *lines,
    ]


def small_delta_claim(judged):
    lines = [
        "**Small δ.** Who answers, and how near the nearest bound is:",
        "",
        "| problem | δ | ours | peers with a finite answer | of them bounds that hold | nearest |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for problem in PROBLEMS:
        for delta in SMALL_DELTAS:
            given = {
                name: found[delta]
                for (of, name), found in judged.items()
                if of == problem.name and delta in found
            }
            own = given.get(OURS)
            finite = [
                answer for answer in given.values() if math.isfinite(answer.error) and not answer.is_ours
            ]
            holding = [answer for answer in finite if answer.is_bound]
            best = min(holding, key=lambda answer: answer.error, default=None)
            nearest = f"{best.accountant}, {signed(best.error)}" if best else "–"
            if given:
                counts = f"{len(finite)} | {len(holding)}"
                lines.append(f"| {problem.title} | {delta} | {error_cell(own)} | {counts} | {nearest} |")
    return lines


def mixture_cell(found, answer):
    if answer is None:
        over = f"over {found['limit']:.0f} s" if "limit" in found else "–"
        return found.get("failed", over)
    if answer.none and answer.none != "∞":
        return answer.none
    return f"{error_cell(answer)}, {duration(found.get('first'))}"


def mixtures(results):
    """DP-SGD, Laplace noise, events and mixtures: one table, and what it says."""
    asked = [mixture for mixture in mechanisms.MIXTURES if mixture.name in results["problems"]]
    if not asked:
        return []
    judged = judged_mixtures(results)
    names = [
        accountant.name
        for accountant in mechanisms.ACCOUNTANTS
        if any(accountant.name in results["problems"][mixture.name] for mixture in asked)
    ]
    own = [answer for answer in judged.values() if answer.is_ours]
    peers = [answer for answer in judged.values() if not answer.is_ours and math.isfinite(answer.error)]
    wrong = sorted((answer for answer in peers if answer.broken), key=lambda answer: answer.error)
    broken = sum(answer.broken for answer in own)
    lines = [
        "## DP-SGD, Laplace noise, events and mixtures",
        "",
        "The exact ε and δ are the oracle's (`oracle/mechanisms.json`). Each cell is the error of ε at that",
        "δ, and the time from the list of mechanisms to ε.",
        "",
        f"Ours encloses the truth in {len(own) - broken} of {len(own)} answers. Of {len(peers)} finite",
        f"answers of peers, all of which claim to be bounds, {len(wrong)} are not{':' if wrong else '.'}",
        "",
    ]
    if wrong:
        lines += ["| composition | δ | accountant | error |", "|---|---:|---|---:|"]
        titles = {mixture.name: mixture.title for mixture in asked}
        lines += [
            f"| {titles[answer.problem]} | {float(answer.delta):.3g} | {answer.accountant} "
            f"| {signed(answer.error)} |"
            for answer in wrong
        ]
        lines.append("")
    lines += [
        "| composition | δ | ε | " + " | ".join(names) + " |",
        "|---|---:|---:|" + "---:|" * len(names),
    ]
    for mixture in asked:
        rows = results["problems"][mixture.name]
        cells = [mixture.title, f"{float(mixture.delta):.3g}", f"{float(mixture.epsilon):g}"]
        cells += [mixture_cell(rows.get(name, {}), judged.get((mixture.name, name))) for name in names]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


HOW_TO_READ = """## How to read it

* *Error* is ε as reported minus the exact ε; for an interval, its upper end. The exact one comes from the
  oracle, which shares nothing with ours (`benchmarks/peers/truth.json` says how, and how wide it is).
* **NOT A BOUND**: the accountant's documentation calls the number an upper bound, or an interval around the
  truth, and it is certain that it is not one. An *estimate* promises nothing for this noise.
* *∞*: it answers that no finite ε is known. *refuses*: it raises an error, quoted below the table.
* *First ε* is from the list of noises to ε at δ = {usual}, *each further* another ε of the same composition:
  medians of repeated runs after a warm-up, imports not counted; *(once)* where there was no time to repeat.
* *Memory* is how much the peak grew over what imports take. Each line had a process of its own,
  {seconds:.0f} s and {gigabytes:.0f} GB.
* *Tolerance 1e-12* asks ours for that relative width of δ, which matters where losses have no lattice.
* *1e-4*, *1e-5* and so on are dp-accounting's grids for the loss. *On the lattice* is a grid that holds every
  loss exactly, which an expert can find where there is one. *Tails 1e-60* keeps what it otherwise cuts off
  at 1e-15.
* prv-accountant has no discrete Gaussian; it was given one through its own interface. riskcal's accountant
  and one line of prv-accountant compute the continuous Gaussian's ε instead, which answers another problem.
"""


def markdown(results):
    judged = answers(results)
    where = results["surroundings"]
    versions = ", ".join(f"{name} {version or '(absent)'}" for name, version in where["versions"].items())
    lines = [
        "# Beside other accountants",
        "",
        f"Measured on {where['date']} (UTC) with `{where['command']}`, which sets up everything, measures",
        f"and writes this page. {where['processor']}, {where['cores']} cores,",
        f"{where['memory'] / 2**30:.0f} GB; Python {where['python']}; {versions}.",
        "",
        "## What it says",
        "",
    ]
    claims = error_claim(judged), bound_claim(judged), speed_claim(results, judged), small_delta_claim(judged)
    for claim in claims:
        lines += [*claim, ""]
    lines.append(
        HOW_TO_READ.format(
            usual=USUAL_DELTA, seconds=where["seconds"], gigabytes=where["memory limit"] / 2**30
        )
    )
    exact = truth.read()
    for problem in PROBLEMS:
        rows = results["problems"].get(problem.name)
        if not rows:
            continue
        epsilons = ", ".join(
            f"{float(lower):.10f} at δ = {delta}" for delta, (lower, _) in exact[problem.name].items()
        )
        lines += [
            f"## {problem.title}",
            "",
            f"{problem.count:,} noises, ρ ≈ {float(problem.rho):.6g}; exactly ε = {epsilons}.",
            "",
            *table(problem.name, rows, judged),
            "",
        ]
        said = refusals(problem.name, judged)
        lines += [*said, ""] if said else []
    lines += mixtures(results)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as source:
        print(markdown(json.load(source)), end="")
