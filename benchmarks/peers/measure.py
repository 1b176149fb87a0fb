"""Asks every accountant every problem, each in a forked child with limits of its own, and writes the report.

Run by run.py inside the environment it sets up. Modules are imported before the fork, so that no time or
memory below is an import's. Children run one after the other.
"""

import argparse
import datetime
import importlib
import importlib.metadata
import json
import math
import os
import pathlib
import platform
import resource
import select
import signal
import statistics
import time
import traceback
import warnings

import mechanisms
import report
from peers import ACCOUNTANTS, Unsupported
from problems import PROBLEMS

MODULES = (
    "numpy",
    "scipy.stats",
    "scipy.signal",
    "dp_accounting.pld.privacy_loss_distribution",
    "dp_accounting.pld.pld_privacy_accountant",
    "dp_accounting.rdp.rdp_privacy_accountant",
    "prv_accountant",
    "opendp.prelude",
    "riskcal.accountants",
    "unspent",
)
PACKAGES = (
    "unspent",
    "dp-accounting",
    "prv-accountant",
    "opacus",
    "opendp",
    "riskcal",
    "numpy",
    "scipy",
)
MEMORY_LIMIT = 12 << 30


def reason(error):
    """Why there is no answer, in a few words."""
    if isinstance(error, MemoryError):
        return f"out of memory ({MEMORY_LIMIT >> 30} GB)"
    if isinstance(error, Unsupported):
        return str(error)
    text = (str(error).splitlines() or [""])[0].split(". ")[0]
    return f"{type(error).__name__}: {text}"[:90]


def repeat(action, seconds, most):
    """Durations of an action, until `seconds` have passed or there are `most`."""
    durations, end = [], time.perf_counter() + seconds
    while len(durations) < most and (not durations or time.perf_counter() < end):
        start = time.perf_counter()
        action(len(durations))
        durations.append(time.perf_counter() - start)
    return durations


def ask(accountant, problem, say, budget):
    """What the child does; `say` sends what is known so far, so that a limit leaves what came before it."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def answer(delta):
        try:
            lower, epsilon = epsilon_at(delta)
            found = {"epsilon": repr(float(epsilon))}
            if lower is not None:
                found["lower"] = repr(float(lower))
        except Exception as error:  # whatever a package raises is its answer
            found = {"none": reason(error)}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        say({"answers": {delta: found}, "memory": (peak - before) * 1024})
        return "none" not in found

    start = time.perf_counter()
    epsilon_at = accountant.prepare(problem)
    answered = answer(problem.usual)
    say({"first": time.perf_counter() - start, "cold": True})
    for delta in problem.deltas:
        if delta != problem.usual:
            answer(delta)

    if not answered:
        return

    # Warm, and never the same delta twice, so that nobody can answer from memory.
    def other_delta(i):
        return repr(float(problem.usual) * (1 - (i + 1) / 10**4))

    durations = repeat(lambda i: epsilon_at(other_delta(i)), budget, 2000)
    say({"further": statistics.median(durations)})
    durations = repeat(lambda i: accountant.prepare(problem)(other_delta(i)), budget, 2000)
    say({"first": statistics.median(durations), "cold": False, "repeats": len(durations)})


def child(accountant, problem, pipe, budget):
    """Never returns."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))

    def say(fact):
        os.write(pipe, (json.dumps(fact) + "\n").encode())

    try:
        ask(accountant, problem, say, budget)
    except Exception as error:
        say({"failed": reason(error)})
        if not isinstance(error, (MemoryError, Unsupported, ImportError)):
            traceback.print_exc()
    finally:
        os._exit(0)


def measure(accountant, problem, seconds, budget):
    """All that one accountant had to say about one problem."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reader)
        child(accountant, problem, writer, budget)
    os.close(writer)
    end, received, timely = time.monotonic() + seconds, b"", True
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            timely = False
            os.kill(process, signal.SIGKILL)
            break
        part = os.read(reader, 1 << 16)
        if not part:
            break
        received += part
    os.close(reader)
    _, status = os.waitpid(process, 0)

    found = {"answers": {}}
    for line in received.decode().splitlines():
        fact = json.loads(line)
        found["answers"].update(fact.pop("answers", {}))
        found.update(fact)
    if not timely and "failed" not in found:
        found["limit"] = seconds
    elif os.WIFSIGNALED(status):
        found["failed"] = f"killed by signal {os.WTERMSIG(status)}"
    return found


def surroundings(arguments):
    """Where, when and with what."""
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
            model = next(models, model)
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = None
    today = datetime.datetime.now(datetime.timezone.utc).date()
    return {
        "date": today.isoformat(),
        "processor": model,
        "cores": os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "python": platform.python_version(),
        "versions": versions,
        "seconds": arguments.seconds,
        "memory limit": MEMORY_LIMIT,
        "command": arguments.command,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--raw", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--only", action="append")
    parser.add_argument("--peer", action="append")
    parser.add_argument("--command", required=True)
    arguments = parser.parse_args()

    for module in MODULES:
        try:
            importlib.import_module(module)
        except ImportError as error:
            print(f"{module}: {error}")
    budget = min(3.0, arguments.seconds / 20)
    results = {"surroundings": surroundings(arguments), "problems": {}}
    questions = [(problem, ACCOUNTANTS) for problem in PROBLEMS]
    questions += [(mixture, mechanisms.ACCOUNTANTS) for mixture in mechanisms.MIXTURES]
    for problem, accountants in questions:
        if arguments.only and problem.name not in arguments.only:
            continue
        rows = results["problems"][problem.name] = {}
        for accountant in accountants:
            if arguments.peer and not any(name in accountant.name for name in arguments.peer):
                continue
            found = rows[accountant.name] = measure(accountant, problem, arguments.seconds, budget)
            told = found.get("failed") or found.get("first", math.nan)
            print(f"{problem.name}: {accountant.name}: {told}", flush=True)
            arguments.raw.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    arguments.out.write_text(report.markdown(results), encoding="utf-8")
    print(f"Written to {arguments.out}; every figure in {arguments.raw}.")


if __name__ == "__main__":
    main()
