"""A small allocation and a table for it, in memory."""

import ast
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import unspent

#: Two levels and two queries.
TOWNS = """
name = "Towns"
neighbours = "add-remove"
delta = "1e-10"
attributes = ["age"]
[queries]
total = []
age = ["age"]
[[levels]]
name = "County"
sigma2 = { total = "16/3", age = 20 }
[[levels]]
name = "Town"
sigma2 = { total = 5, age = 2000 }
[table]
code = "code"
cells = [{ age = "child", column = "children" }, { age = "adult", column = "adults" }]
[table.levels]
County = 2
Town = 4
[table.attributes]
age = ["child", "adult"]
"""


def towns():
    return unspent.Allocation.parse(TOWNS)


def columns(rows=30):
    return {
        "code": np.array([f"{1000 + 10 * i:04}" for i in range(rows)]),
        "children": np.arange(rows),
        "adults": 3 * np.arange(rows, dtype=np.int32),
    }


def seeded(*arguments, seed=11, **options):
    """Measured with noise that is the same every time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", unspent.NotPrivateWarning)
        return unspent.measure(*arguments, not_private_seed=seed, **options)


def interrupted(call: str, place: Path) -> list[str]:
    """What is in a place after a call in a process of its own was interrupted once it wrote there."""
    script = (
        "import os, unspent\n"
        "print('ready', flush=True)\n"
        "try:\n"
        f"    {call}\n"
        "except KeyboardInterrupt:\n"
        f"    print(sorted(os.listdir({str(place)!r})), flush=True)\n"
        "    os._exit(0)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    while not any(path.suffix == ".tmp" for path in place.iterdir()):
        assert child.poll() is None
        time.sleep(0.005)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    return ast.literal_eval(out)
