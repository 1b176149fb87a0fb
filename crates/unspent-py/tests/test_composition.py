"""Compositions: structure, arrays, threads, forks, interrupts, pickles."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

import unspent
from unspent import Composition, DiscreteGaussian, Gaussian, UnspentError

TEN = Composition([DiscreteGaussian(sigma2=5, count=10)])
#: On no lattice, so that questions run on a thread of their own.
MIXED = Composition([DiscreteGaussian(sigma2=f"{5 + j}.{j}1", count=40) for j in range(9)])


def test_order_and_grouping_do_not_matter():
    parts = [
        DiscreteGaussian(sigma2=5, count=3),
        DiscreteGaussian(sigma2="104/7", count=2),
        Gaussian(sigma2=9),
    ]
    whole = Composition(parts)
    split = Composition([parts[2], DiscreteGaussian(sigma2=5), parts[1], DiscreteGaussian(sigma2=5, count=2)])
    assert whole == split == Composition(parts[:1]) + Composition(parts[1:])
    assert whole.delta([0, 1, 2.5]) == split.delta([0, 1, 2.5])
    assert whole.rho == Fraction(3, 10) + Fraction(14, 208) + Fraction(1, 18)
    assert whole != TEN and TEN == Composition(DiscreteGaussian(sigma2=5, count=10))
    assert (TEN.method, MIXED.method, Composition([Gaussian(sigma2=9)]).method) == (
        "lattice",
        "smoothing",
        "continuous",
    )


def test_known_values():
    assert 10.1248 < TEN.epsilon("1e-11").lower <= TEN.epsilon("1e-11").upper < 10.1249
    assert TEN.zcdp_epsilon("1e-11") == pytest.approx(10.520677, abs=1e-6)
    assert TEN.zcdp_epsilon("1e-11", "bun-steinke") == pytest.approx(11.065473, abs=1e-6)
    assert TEN.delta(10).upper < TEN.zcdp_delta(10) < TEN.zcdp_delta(10, "bun-steinke")
    assert TEN.total_variation() == TEN.delta(0)
    alpha, power = Fraction(1, 20), TEN.power("0.05")
    assert power.lower <= 1 - TEN.tradeoff(alpha).lower and 1 - TEN.tradeoff(alpha).upper <= power.upper
    with pytest.raises(UnspentError, match="^conversion: `cks` is not"):
        TEN.zcdp_epsilon("1e-11", "cks")


def test_one_gaussian_has_a_closed_form():
    from math import erfc, exp, sqrt

    sigma2 = 2
    for epsilon in (0.0, 0.5, 1.0, 3.0):
        mu = 1 / sqrt(sigma2)
        upper = 0.5 * erfc((epsilon / mu - mu / 2) / sqrt(2))
        lower = 0.5 * erfc((epsilon / mu + mu / 2) / sqrt(2))
        found = Composition([Gaussian(sigma2=sigma2)]).delta(epsilon)
        assert found.upper == pytest.approx(upper - exp(epsilon) * lower, rel=1e-12)


@pytest.mark.parametrize("composition", [TEN, MIXED], ids=["lattice", "smoothing"])
@pytest.mark.parametrize("question", ["delta", "p_tail", "q_tail", "epsilon", "tradeoff", "power"])
def test_arrays_say_what_scalars_say(composition, question):
    ask = getattr(composition, question)
    asked = [0.01, 0.25, 0.5]
    answers = ask(np.array(asked))
    assert [answers[i] for i in range(3)] == [ask(x) for x in asked]
    assert ask(tuple(asked)) == ask(asked) == answers
    assert (answers.lower <= answers.upper).all()


def test_kinds_of_arrays():
    grid = np.arange(12.0).reshape(3, 4)
    whole = TEN.delta(grid)
    assert TEN.delta(grid.T).upper.tolist() == whole.upper.T.tolist()
    assert TEN.delta(grid[::2, ::3]).upper.tolist() == whole.upper[::2, ::3].tolist()
    assert TEN.delta(grid.astype(int)) == TEN.delta(grid.astype(np.float32)) == whole
    assert TEN.delta(range(3)).upper.tolist() == whole.upper[0, :3].tolist()
    assert TEN.delta(["1", Fraction(3, 2), 2]).upper[0] == whole.upper[0, 1]
    empty = TEN.delta(np.empty((0, 3)))
    assert empty.shape == (0, 3) and empty.upper.shape == (0, 3) and len(empty) == 0
    assert TEN.delta([]).upper.tolist() == []


def test_series():
    pandas = pytest.importorskip("pandas")
    assert TEN.delta(pandas.Series([1.0, 2.0])) == TEN.delta([1, 2])


@pytest.mark.parametrize(
    "bad, error, said",
    [
        (np.array([1.0, np.nan]), UnspentError, "^item 1: epsilon: `NaN` is not a finite number"),
        (
            np.array([1.0, 2.0, -3.0]),
            UnspentError,
            "^item 2: epsilon: `-3` is not a number between 0 and 1e12",
        ),
        (np.array([np.inf]), UnspentError, "^item 0: epsilon: `inf`"),
        (["1", "two"], UnspentError, "^item 1: epsilon: `two` is not a number"),
        ([1, None], TypeError, "^item 1: epsilon: `None`"),
        ([[1, 2], [3]], TypeError, r"^item 0: epsilon: `\[1, 2\]` \(list\) is not a number"),
        ({"a": 1}, TypeError, "^epsilon: `{'a': 1}` \\(dict\\) is not a number"),
        (np.array(["2024-01-01"], dtype="datetime64[D]"), TypeError, "^epsilon:"),
        (np.array([True]), TypeError, "^epsilon:"),
        (np.array([2], dtype="m8[ns]"), TypeError, "^epsilon:"),
        (bytearray(b"5"), TypeError, "^epsilon:"),
        (memoryview(b"5"), TypeError, "^epsilon:"),
        (b"5", TypeError, "^epsilon:"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), TypeError, "^epsilon: .* is not an array without a mask"),
        (np.ma.masked, TypeError, "^epsilon: .* is not an array without a mask"),
    ],
)
def test_bad_arrays(bad, error, said):
    with pytest.raises(error, match=said):
        TEN.delta(bad)


def test_huge_arrays():
    """A million questions, and memory for no more than their answers."""
    census = unspent.preset("paper-2022-08-25").composition()
    grid = np.linspace(0, 40, 1_000_000)
    deltas = census.delta(grid)
    assert (np.diff(deltas.log10_upper) <= 1e-9).all()
    for i in (0, 123_456, 999_999):
        assert deltas[i] == census.delta(grid[i])


def test_bad_lists():
    with pytest.raises(UnspentError, match="^composition: there is no mechanism in it"):
        Composition([])
    with pytest.raises(TypeError, match="^item 1: mechanisms: `5` \\(int\\) is not a mechanism"):
        Composition([DiscreteGaussian(sigma2=5), 5])
    with pytest.raises(TypeError, match="^mechanisms: `5` \\(int\\) is not a mechanism"):
        Composition(5)
    with pytest.raises(TypeError):
        TEN + 1
    with pytest.raises(UnspentError, match="at most 1e18"):
        Composition([DiscreteGaussian(sigma2="0.001", count=2**63, shift=1000)])


def test_sums_and_multiples():
    five, nine = DiscreteGaussian(sigma2=5), Gaussian(sigma2=9)
    assert 10 * five == five * 10 == np.int64(10) * five == DiscreteGaussian(sigma2=5, count=10)
    assert Composition(10 * five) == TEN == 2 * Composition(5 * five) == Composition(five) * 10
    both = Composition([five, nine])
    assert five + nine == both == Composition(five) + nine == nine + Composition(five)
    assert (Composition(five, tolerance=1e-3) + nine).tolerance == (
        3 * Composition(five, tolerance=1e-3)
    ).tolerance
    for wrong in (0, -1, 2**63):
        with pytest.raises(UnspentError, match="^count: "):
            wrong * TEN
    for wrong in (1.5, "2", None, True):
        with pytest.raises(TypeError):
            wrong * five
        with pytest.raises(TypeError):
            TEN * wrong
    for wrong in (5, [five], "x"):
        with pytest.raises(TypeError):
            TEN + wrong
        with pytest.raises(TypeError):
            five + wrong


def test_the_least_noise_that_is_accounted_for():
    least = TEN.calibrate(epsilon=11, delta="1e-11")
    assert not least.at_floor and "floor" not in repr(least)
    nothing = TEN.calibrate(epsilon="1e9", delta="0.5")
    assert nothing.at_floor and nothing.failing is None and repr(nothing).endswith(", at_floor=True)")
    assert nothing.composition.mechanisms[0].sigma2 - Fraction(1, 1000) < Fraction(1, 10**12)


def test_calibration():
    least = TEN.calibrate(epsilon="11.07", delta="1e-11")
    assert least.failing < least.smallest < Fraction(85, 100)
    assert least.composition.delta("11.07").fractions()[1] <= Fraction("1e-11")
    failing = Composition([DiscreteGaussian(sigma2=5 * least.failing, count=10)])
    assert failing.delta("11.07").fractions()[0] > Fraction("1e-11")
    two = TEN + Composition([DiscreteGaussian(sigma2=9)])
    one = two.calibrate("11.07", "1e-11", mechanism=-1)
    assert one.composition.mechanisms == [
        DiscreteGaussian(sigma2=5, count=10),
        DiscreteGaussian(sigma2=one.smallest),
    ]
    assert one == one and one.shape in ("scanned", "not scanned") and one.islands == []
    with pytest.raises(UnspentError, match="^mechanism: `2` is not an index below 2"):
        two.calibrate("11.07", "1e-11", mechanism=2)
    with pytest.raises(UnspentError):
        two.calibrate("0.0000001", "1e-300", mechanism=0)


@pytest.mark.parametrize(
    "thing",
    [
        DiscreteGaussian(sigma2="100000/9563", count=7, shift=2),
        Gaussian(sigma2="0.1", shift="1/3"),
        TEN,
        Composition([DiscreteGaussian(sigma2=0.1)], tolerance=1e-3),
        TEN.delta(4),
        unspent.preset("pl94-persons-us-2020"),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_pickles(thing):
    again = pickle.loads(pickle.dumps(thing))
    assert again == thing and type(again) is type(thing) and repr(again) == repr(thing)


def test_reprs_can_be_read_back():
    release = Composition(
        [DiscreteGaussian(sigma2="1/3", count=2), Gaussian(sigma2="0.5", shift="0.25")], tolerance=1e-3
    )
    assert eval(repr(release)) == release


def test_threads_share_a_composition():
    fresh = Composition([DiscreteGaussian(sigma2=f"{7 + j}.{j}3", count=30) for j in range(6)])
    grid = np.linspace(0, 4, 40)
    expected = pickle.loads(pickle.dumps(fresh)).delta(grid)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: fresh.delta(grid), range(16)))
    assert all(answer == expected for answer in answers)


def test_others_run_meanwhile():
    """The GIL is not held: this thread counts while another one waits for its answers."""
    done = threading.Event()

    def work():
        MIXED.delta(np.linspace(0, 5, 20_000))
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    counted = 0
    while not done.is_set():
        counted += 1
    thread.join()
    assert counted > 1000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forks():
    """A copy of the process answers the same, draws other noise, and needs no thread of its parent's."""
    TEN.delta(np.linspace(0, 5, 1000))
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        answers = pool.map(in_a_copy, range(4))
    assert all(delta == MIXED.delta(3) for delta, _ in answers)
    drawn = [noise for _, noise in answers] + [unspent.sample(sigma2=1e6, size=20).tolist()]
    assert len({tuple(noise) for noise in drawn}) == 5


def in_a_copy(_):
    return MIXED.delta(3), unspent.sample(sigma2=1e6, size=20).tolist()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are otherwise there")
@pytest.mark.parametrize(
    "work",
    [
        "unspent.Composition([unspent.DiscreteGaussian(sigma2=f'{5 + j}.{j}1', count=40) for j in range(9)])"
        ".delta(np.tile(np.linspace(0, 5, 1000), 50_000))",
        "[unspent.sample(sigma2=1e6, size=1 << 24) for _ in range(1_000_000)]",
        "[unspent.preset('dhc-persons-us-2020').certificate() for _ in range(100_000)]",
        "unspent.Composition(unspent.DiscreteGaussian(sigma2=5) for _ in iter(int, 1))",
    ],
    ids=["array", "sample", "certificate", "generator"],
)
def test_ctrl_c(work):
    """What would take many minutes ends when it is told to."""
    script = (
        "import sys, numpy as np, unspent\n"
        "print('ready', flush=True)\n"
        f"try:\n    {work}\n    print('done')\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    try:
        child.wait(timeout=0.7)
    except subprocess.TimeoutExpired:
        pass
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=120)
    assert out == "interrupted\n" and child.returncode == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are listed in /proc")
def test_ctrl_c_ends_the_work_itself():
    """The thread that works ends too, soon after: it used to go on unseen."""
    script = (
        "import glob, signal, time, unspent\n"
        "def threads():\n"
        "    names = []\n"
        "    for path in glob.glob('/proc/self/task/*/comm'):\n"
        "        try:\n            names.append(open(path).read().strip())\n"
        "        except OSError:\n            pass\n"
        "    return names\n"
        # Fractions that have nothing in common: many times as long as it is let.
        "share = lambda i: '3' * 95 + str(10000 + i) + '/' + '7' * 94 + str(1001 + 2 * i)\n"
        "release = unspent.Composition([unspent.DiscreteGaussian(sigma2=share(i)) for i in range(3000)])\n"
        "signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
        "try:\n    release.calibrate(epsilon=30, delta='1e-10')\n    print('done')\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
        "for _ in range(100):\n"
        "    if 'unspent' not in threads():\n        break\n"
        "    time.sleep(0.1)\n"
        "print('unspent' in threads())\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, timeout=300
    ).stdout
    assert out == "interrupted\nFalse\n"
