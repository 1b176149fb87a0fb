"""Numbers go in exactly; what is no number, or no sensible one, is refused by name."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import unspent
from unspent import Composition, DiscreteGaussian, Gaussian, UnspentError

TENTH = 3602879701896397, 36028797018963968


class Nothing(Fraction):
    """A Fraction that says what no Fraction is."""

    denominator = 0


@pytest.mark.parametrize(
    "given, exactly",
    [
        (5, Fraction(5)),
        ("5", Fraction(5)),
        (" 100000/9563 ", Fraction(100000, 9563)),
        ("1e-1", Fraction(1, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Decimal("1E+2"), Fraction(100)),
        (0.1, Fraction(*TENTH)),
        (np.float64(0.1), Fraction(*TENTH)),
        (np.float32(0.1), Fraction(13421773, 134217728)),
        (np.float16(0.5), Fraction(1, 2)),
        (np.int64(7), Fraction(7)),
        (np.uint8(7), Fraction(7)),
        (10**12, Fraction(10**12)),
    ],
)
def test_a_number_is_what_it_says(given, exactly):
    assert DiscreteGaussian(sigma2=given).sigma2 == exactly
    assert DiscreteGaussian(sigma2=given) == DiscreteGaussian(sigma2=str(exactly))


@pytest.mark.parametrize("given", [True, [5], (5,), {5}, b"5", 5j, object(), np.longdouble(5), np.array([5])])
def test_what_is_no_number_is_a_type_error(given):
    with pytest.raises(TypeError, match=r"^sigma2: `.*is not a number; give an int, a str"):
        DiscreteGaussian(sigma2=given)


@pytest.mark.parametrize(
    "given, said",
    [
        (0, "sigma2: `0` is not a variance between 1e-3 and 1e12"),
        (-5, "sigma2: `-5` is not a variance"),
        ("five", "sigma2: `five` is not a number"),
        ("5,0", "sigma2: `5,0` is not a number"),
        ("", "sigma2: `` is not a number"),
        ("1/0", "sigma2: `1/0` is not a fraction with a denominator other than zero"),
        (float("nan"), "sigma2: `NaN` is not a finite number"),
        (float("inf"), "sigma2: `inf` is not a finite number"),
        (Decimal("NaN"), "sigma2: `NaN` is not a number"),
        (Decimal("1e999999"), "sigma2: `1E+999999` is not a number with a decimal exponent"),
        (10**13, "sigma2: `10000000000000` is not a variance"),
        (10**5000, "sigma2: `a number of 16610 bits` is not a number of at most 4096 characters"),
        (Fraction(1, 10**5000), "sigma2: `a number of 16610 bits` is not a number"),
        ("5\x00\x1b[31m", r"sigma2: `5\u{0}\u{1b}[31m` is not a number"),
        (
            "1e-9223372036854775808",
            "sigma2: `1e-9223372036854775808` is not a number with a decimal exponent",
        ),
        (Decimal("1e-999999999999999999"), "sigma2: `1E-999999999999999999` is not a number with a decimal"),
        (Nothing(1, 2), "sigma2: `1/0` is not a fraction with a denominator other than zero"),
    ],
    ids=range(17),
)
def test_what_makes_no_sense_is_an_error_of_ours(given, said):
    with pytest.raises(UnspentError) as caught:
        DiscreteGaussian(sigma2=given)
    assert str(caught.value).startswith(said)
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).endswith(f"\nhint: {caught.value.hint}")


@pytest.mark.parametrize("given", [0, -1, "1.5", 1.5, 2**63 + 1])
def test_counts_are_whole(given):
    with pytest.raises(UnspentError, match=r"^count: `.*` is not a whole number between 1 and 2\^63"):
        DiscreteGaussian(sigma2=5, count=given)


def test_shifts():
    assert DiscreteGaussian(sigma2=5, shift=3).shift == 3
    assert Gaussian(sigma2=5, shift="0.5").shift == Fraction(1, 2)
    with pytest.raises(UnspentError, match="^shift: `0.5` is not a whole number"):
        DiscreteGaussian(sigma2=5, shift="0.5")


def test_scales_and_budgets():
    for name in ("sigma", "scale"):
        assert DiscreteGaussian(**{name: "2.5"}).sigma2 == Fraction(25, 4)
        assert DiscreteGaussian(**{name: 0.1}).sigma2 == Fraction(*TENTH) ** 2
        assert Gaussian(**{name: 3}, shift=2).rho == Fraction(4, 18)
        with pytest.raises(
            UnspentError, match=f"^{name}: `-1` is not a positive standard deviation"
        ) as caught:
            DiscreteGaussian(**{name: -1})
        assert "sigma2 is its square" in caught.value.hint
    assert DiscreteGaussian.from_rho("1/10", count=4) == DiscreteGaussian(sigma2=5, count=4)
    assert DiscreteGaussian.from_rho("1/10", shift=2) == DiscreteGaussian(sigma2=20, shift=2)
    with pytest.raises(UnspentError, match="^rho: `0` is not"):
        DiscreteGaussian.from_rho(0)


@pytest.mark.parametrize("kind", [DiscreteGaussian, Gaussian])
def test_the_noise_is_stated_once_and_by_name(kind):
    for positional in [(2,), ("2.5", 10), (2, 3, 4)]:
        with pytest.raises(
            TypeError, match="takes keywords only.*sigma2=… .the variance. or sigma=… .the standard"
        ):
            kind(*positional)
    with pytest.raises(UnspentError, match="^nothing says how wide the noise is"):
        kind(count=3)
    with pytest.raises(UnspentError, match="^the noise is given twice, as sigma2 and as scale"):
        kind(scale=2, sigma2=4)
    with pytest.raises(TypeError, match="std"):
        kind(std=2)


def test_roots():
    for noise in [
        DiscreteGaussian(sigma="2.5"),
        Gaussian(sigma2=2),
        Gaussian(sigma2="1/1000"),
        Gaussian(sigma2=0.1),
    ]:
        lower, upper = noise.sigma.fractions()
        assert lower**2 <= noise.sigma2 <= upper**2 and upper / lower - 1 < Fraction(1, 10**15)
    assert DiscreteGaussian(sigma="2.5").sigma.fractions() == (Fraction(5, 2), Fraction(5, 2))
    # Noise is safe to be taken for less.
    assert (
        f"{DiscreteGaussian(sigma2=2).sigma:.3f}" == "1.414"
        and f"{DiscreteGaussian(sigma2=3).sigma:.3f}" == "1.732"
    )


def test_sensitivities():
    assert Gaussian(sigma=2, sensitivity="0.5") == Gaussian(sigma=2, shift="0.5")
    assert DiscreteGaussian(sigma=2, sensitivity=1, count=3) == DiscreteGaussian(sigma=2, count=3)
    with pytest.raises(TypeError, match="^shift and sensitivity are given"):
        Gaussian(sigma=2, shift=1, sensitivity=1)
    for given, hint in [
        (2, "one answer that moves by 2 is shift=2; 4 that move by 1 are count=4"),
        (2**0.5, "2 answers that move by 1 are count=2"),
        (10**0.5, "10 answers that move by 1 are count=10"),
        (1.2, "say how far one record moves each answer"),
        (0, "say how far one record moves each answer"),
        (-1, "say how far one record moves each answer"),
    ]:
        with pytest.raises(
            UnspentError, match="^sensitivity: `.*` is not 1, the only L2 sensitivity"
        ) as caught:
            DiscreteGaussian(sigma=2, sensitivity=given)
        assert caught.value.hint.startswith(hint)


def test_a_list_of_budgets():
    rhos = ["0.1", Fraction(1, 10), "0.3"]
    once = Composition.from_rhos(rhos, neighbours="add-remove")
    assert once == Composition([DiscreteGaussian(sigma2=5, count=2), DiscreteGaussian(sigma2="5/3")])
    twice = Composition.from_rhos(rhos, neighbours="bounded")
    assert twice == Composition(
        [DiscreteGaussian(sigma2=10, count=4), DiscreteGaussian(sigma2="10/3", count=2)]
    )
    assert once.rho == twice.rho == Fraction(1, 2)
    with pytest.raises(TypeError, match="neighbours"):
        Composition.from_rhos(rhos)
    with pytest.raises(UnspentError, match="^neighbours: `unbounded` is not `bounded` or `add-remove`"):
        Composition.from_rhos(rhos, neighbours="unbounded")
    with pytest.raises(UnspentError, match="^item 1: rho: `-1` is not"):
        Composition.from_rhos([1, -1], neighbours="bounded")


def test_numbers_of_questions():
    release = Composition([DiscreteGaussian(sigma2=5, count=10)])
    for same in (4, 4.0, "4", "8/2", Fraction(4), Decimal(4), np.float32(4), np.array(4.0)):
        assert release.delta(same) == release.delta(4)
    assert 200 < release.epsilon("1e-5000").upper < 220
    for bad, said in [
        (-1, "epsilon: `-1`"),
        (float("nan"), "epsilon: `NaN`"),
        (1e13, "epsilon: `10000000000000`"),
    ]:
        with pytest.raises(UnspentError, match=said):
            release.delta(bad)
    for bad in (0, 1, -1e-5, 2, float("nan")):
        with pytest.raises(UnspentError, match="^delta: "):
            release.epsilon(bad)
    for bad in (-0.1, 1.1, float("inf")):
        with pytest.raises(UnspentError, match="^alpha: "):
            release.tradeoff(bad)
    with pytest.raises(TypeError, match=r"is not one number; give one of its ends, \.upper or \.lower"):
        release.delta(release.epsilon("1e-5"))


def test_tolerances():
    ten = [DiscreteGaussian(sigma2=5, count=10)]
    assert Composition(ten, tolerance=1e-12).delta(3) == Composition(ten).delta(3)
    with pytest.raises(unspent.ToleranceError, match="wider than the tolerance 1.0e-15"):
        Composition(ten, tolerance=1e-15).delta(3)
    for bad in (0, 1, -1, float("nan")):
        with pytest.raises(UnspentError, match="^tolerance: "):
            Composition(ten, tolerance=bad)
