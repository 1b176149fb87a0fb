"""Confidence intervals: of one count, of arrays, and what is refused."""

import json
import subprocess
from fractions import Fraction

import numpy as np
import pytest

import unspent
from unspent import UnspentError


def test_one_count():
    found = unspent.interval(12, sigma2=5)
    assert (found.count, found.lower, found.upper, found.half_width) == (12, 8, 16, 4)
    assert (found.sigma2, found.confidence) == (5, Fraction(19, 20))
    assert str(found).startswith("8 to 16: 12 ± 4, clamped at zero.")
    assert repr(found) == "<Interval 8 to 16>"
    nothing = unspent.interval(np.int64(-9), sigma2=5)
    assert (nothing.lower, nothing.upper) == (None, None) and str(nothing).startswith(
        "None: -9 ± 4 has no count"
    )
    # σ = 2.5 is σ² = 6.25; more confidence is a wider interval.
    assert unspent.interval(12, sigma="2.5").sigma2 == Fraction(25, 4)
    widths = [
        unspent.interval(12, sigma2=5, confidence=c).half_width for c in ("0.5", 0.9, Fraction(999, 1000))
    ]
    assert widths == sorted(widths) and widths[0] < widths[2]


def test_arrays():
    counts = np.array([[12, -3], [-9, 400]])
    found = unspent.interval(counts, sigma2="456.62", confidence="0.9")
    assert found.lower.dtype == np.int64 and found.lower.shape == (2, 2)
    for index, count in np.ndenumerate(counts):
        one = unspent.interval(int(count), sigma2="456.62", confidence="0.9")
        assert found.half_width == one.half_width and found.empty[index] == (one.lower is None)
        if not found.empty[index]:
            assert (found.lower[index], found.upper[index]) == (one.lower, one.upper)
        else:
            assert found.lower[index] > found.upper[index]
    assert unspent.interval([1, 2, 3], sigma2=5).upper.tolist() == [5, 6, 7]
    assert unspent.interval(np.array([250], dtype=np.uint8), sigma2=5).upper.tolist() == [254]
    assert unspent.interval(np.zeros((0, 3), dtype=int), sigma2=5).empty.shape == (0, 3)


def test_it_covers_as_often_as_it_says():
    """With private noise: of 20,000 intervals at 90 % at least 88 % contain the truth, up to 1e-15."""
    noise = unspent.sample(sigma2=7, size=20_000)
    found = unspent.interval(50 + noise, sigma2=7, confidence="0.9")
    assert np.mean((found.lower <= 50) & (50 <= found.upper)) > 0.88


def test_the_command_says_the_same(command):
    written = subprocess.run(
        [command, "interval", "12", "--sigma2", "16/3", "--json"], capture_output=True, check=True
    )
    assert json.loads(written.stdout) == unspent.interval(12, sigma2="16/3").to_dict()


@pytest.mark.parametrize(
    "count, options, said",
    [
        (1.5, {"sigma2": 5}, "^count: `1.5` is not a whole number or an array of them"),
        ("12", {"sigma2": 5}, "^count: `'12'` is not"),
        (True, {"sigma2": 5}, "^count: `True` is not"),
        ([0.5], {"sigma2": 5}, "^count: `list of float64` is not"),
        (2**70, {"sigma2": 5}, "^count: `1180591620717411303424` is not"),
        (12, {"sigma2": 0}, "^sigma2: `0` is not a variance"),
        (12, {}, "^nothing says how wide the noise is"),
        (12, {"sigma": 2, "sigma2": 4}, "^the noise is given twice"),
        (12, {"sigma2": 5, "confidence": 95}, "^confidence: `95` is not a number above 0 and below 1"),
    ],
)
def test_nonsense(count, options, said):
    with pytest.raises(UnspentError, match=said):
        unspent.interval(count, **options)


def test_it_is_no_bound():
    found = unspent.interval(12, sigma2=5)
    assert not isinstance(found, unspent.Bounds) and not hasattr(found, "__float__")
    with pytest.raises(TypeError):
        unspent.interval(12, 5)
