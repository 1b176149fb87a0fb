"""Exact noise into NumPy's arrays."""

import math
import threading
import warnings
from fractions import Fraction

import numpy as np
import pytest

import unspent
from unspent import NotPrivateWarning, UnspentError


def seeded(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return unspent.sample(**options)


def test_shapes():
    assert isinstance(unspent.sample(sigma2=5), int)
    for size, shape in [
        (7, (7,)),
        ((2, 3), (2, 3)),
        ([2, 3], (2, 3)),
        ((), ()),
        (0, (0,)),
        (np.int64(4), (4,)),
    ]:
        noise = unspent.sample(sigma2=5, size=size)
        assert noise.shape == shape and noise.dtype == np.int64


@pytest.mark.parametrize("sigma2", ["5", "5000/73", 1e6])
def test_moments(sigma2):
    """Within six standard errors: a false alarm in 10**8 runs for each seed, and the seed is fixed."""
    n = 1_000_000
    noise = seeded(sigma2=sigma2, size=n, not_private_seed=7).astype(float)
    variance = float(unspent.DiscreteGaussian(sigma2=sigma2).sigma2)
    assert abs(noise.mean()) < 6 * math.sqrt(variance / n)
    assert abs(noise.var() / variance - 1) < 6 * math.sqrt(2 / n)


@pytest.mark.parametrize("scale", ["7/3", 20, 5000])
def test_laplace_noise(scale):
    """Variance 2a/(1-a)**2 with a = exp(-1/scale); within six standard errors, with a fixed seed."""
    n = 1_000_000
    noise = seeded(mechanism="discrete-laplace", scale=scale, size=n, not_private_seed=7).astype(float)
    variance = 0.5 / math.sinh(0.5 / float(Fraction(scale))) ** 2
    assert abs(noise.mean()) < 6 * math.sqrt(variance / n)
    assert abs(noise.var() / variance - 1) < 6 * math.sqrt(6 / n)
    with pytest.raises(UnspentError, match="the width of discrete Laplace noise is its scale"):
        unspent.sample(mechanism="geometric", sigma=3)
    with pytest.raises(UnspentError, match="mechanism: `laplace` is not discrete_gaussian or"):
        unspent.sample(mechanism="laplace", scale=3)


def test_a_seed_repeats_and_says_so():
    with pytest.warns(
        NotPrivateWarning, match="^NOT PRIVATE: the noise was made from the fixed seed 1, and can be"
    ):
        first = unspent.sample(sigma2="68.49", size=100_000, not_private_seed=1)
    assert first[:3].tolist() == [-1, 7, -10]
    assert first[:3].dtype.metadata["unspent.warning"].startswith("NOT PRIVATE: the noise was made from the")
    assert first.dtype == np.int64 and unspent.sample(sigma2=5, size=3).dtype.metadata is None
    assert np.array_equal(first, seeded(sigma2="68.49", size=100_000, not_private_seed=1, threads=1))
    assert np.array_equal(first, seeded(sigma2="68.49", size=100_000, not_private_seed=1, threads=3))
    assert not np.array_equal(first, seeded(sigma2="68.49", size=100_000, not_private_seed=2))


def test_private_noise_does_not_repeat():
    drawn = {tuple(unspent.sample(sigma2=1e6, size=10).tolist()) for _ in range(50)}
    assert len(drawn) == 50
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(tuple(unspent.sample(sigma2=1e6, size=10))))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 8


@pytest.mark.parametrize(
    "sigma2, size, options, said",
    [
        (0, 5, {}, "^sigma2: `0` is not a variance"),
        ("1e-4", 5, {}, "^sigma2: `1/10000` is not a variance between 1e-3 and 1e12"),
        (5, -1, {}, "^size: `-1` is not a whole number or a tuple of whole numbers"),
        (5, 2.5, {}, "^size: `2.5` is not"),
        (5, "10", {}, "^size: `10` is not"),
        (5, (2, -3), {}, r"^size: `\(2, -3\)` is not"),
        (5, 3, {"threads": 0}, "^threads: `0` is not a whole number between 1 and 1024"),
        (5, 3, {"not_private_seed": -1}, "^not_private_seed: `-1` is not a whole number between 0 and"),
        (5, 3, {"not_private_seed": 2**64}, "^not_private_seed:"),
    ],
)
def test_nonsense(sigma2, size, options, said):
    with pytest.raises(UnspentError, match=said):
        unspent.sample(sigma2=sigma2, size=size, **options)


def test_more_than_there_is():
    with pytest.raises((MemoryError, ValueError)):
        unspent.sample(sigma2=5, size=(10**6, 10**6, 10**6))


def test_wrong_types():
    with pytest.raises(TypeError, match=r"^sigma2: `\[\]`"):
        unspent.sample(sigma2=[], size=5)


def test_the_noise_is_stated_once_and_by_name():
    for name in ("sigma", "scale"):
        wide = seeded(**{name: "2.5"}, size=1000, not_private_seed=1)
        assert np.array_equal(wide, seeded(sigma2="6.25", size=1000, not_private_seed=1))
    for positional in [(5,), (5, 3), (5, 3, 2)]:
        with pytest.raises(TypeError, match="takes keywords only, so that sigma is not taken for its square"):
            unspent.sample(*positional)
    with pytest.raises(UnspentError, match="^nothing says how wide the noise is"):
        unspent.sample(size=5)
    with pytest.raises(UnspentError, match="^the noise is given twice, as sigma and as scale"):
        unspent.sample(sigma=2, scale=2)
