"""A few steps on Poisson samples of Gaussian or Laplace noise.

Let H(g) = E_P[(dQ/dP - g)+] be the base's at any g > 0 (ln g may be negative). One step is a multiple of it:

    remove: (1-q)P + qQ against P at e^eps: q H((e^eps - 1 + q)/q)
    add:    P against (1-q)P + qQ: c H(e^eps q/c), c = 1 - e^eps (1-q), and 0 if c <= 0 (H is symmetric)

Two steps are an integral of it over the first: E_P[y H1(e^eps/y)], y = dQ'/dP' of the first step. Where
e^eps/y is below the least y of the second, H1(g) = 1 - g. Pieces on which the integrand is analytic are
given to Arb's adaptive quadrature, whose result is a proved enclosure."""

from flint import acb, arb

from .balls import ball
from .closed import by_gaussian, by_laplace, positive
from .laws import Gaussian, Unaffordable


def base_value(base, level, bits):
    if isinstance(base, Gaussian):
        return by_gaussian([], base.mu2, level)
    return by_laplace([], [(base.tau, 1)], None, level, bits)


def one_step(law, level, bits):
    """delta at ln of any level (a ball)."""
    q, strike = ball(law.q), level.exp()
    if law.direction == "remove":
        g = (strike - 1 + q) / q
        if g > 0:
            return q * base_value(law.base, g.log(), bits)
        return 1 - strike
    c = 1 - strike * (1 - q)
    if c <= 0:
        return arb(0)
    return positive(c) * base_value(law.base, (strike * q / c).log(), bits)


class Base:
    """H(k) of the base, analytic for k between `low` and 1/low.

    Beyond, 1 - k <= H(k) = 1 - k + k H(1/k) <= 1 - k + error, and H(k) <= error.
    """

    def __init__(self, law, bits):
        self.law = law
        if isinstance(law, Gaussian):
            self.mu = ball(law.mu2).sqrt()
            # H(1/low) is about e^(-(ln low)^2/2 mu2).
            self.low = (-self.mu * (arb(2 * bits + 20).sqrt() + self.mu)).exp()
            self.error = by_gaussian([], law.mu2, -self.low.log()).upper()
        else:
            self.low, self.error = (-ball(law.tau)).exp(), arb(0)

    def __call__(self, k, analytic):
        if not isinstance(self.law, Gaussian):
            return 1 - (-ball(self.law.tau) / 2).exp() * k.sqrt(analytic)
        u, half = k.log(analytic) / self.mu, self.mu / 2
        root = arb(2).sqrt()
        return (((u - half) / root).erfc() - k * ((u + half) / root).erfc()) / 2


class First:
    """The first step: atoms (e^Y, P-mass), and a density of x on [low, high] with Y = slope x + start."""

    def __init__(self, law, bits):
        if isinstance(law.base, Gaussian):
            self.slope = ball(law.base.mu2).sqrt()
            self.start = -self.slope * self.slope / 2
            reach = arb(2 * bits).sqrt() + 4
            self.low, self.high, self.atoms = -reach, reach + self.slope, []
            # Both laws beyond the range.
            self.lost = (reach / arb(2).sqrt()).erfc().upper()
        else:
            tau = ball(law.base.tau)
            self.slope, self.start = arb(1), arb(0)
            self.low, self.high = -tau, tau
            self.atoms = [((-tau).exp(), arb(1) / 2), (tau.exp(), (-tau).exp() / 2)]
            self.lost = arb(0)
        self.gaussian = isinstance(law.base, Gaussian)

    def density(self, x):
        if self.gaussian:
            return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()
        return (-(x + self.high) / 2).exp() / 4

    def masses(self, a, b):
        """Of P and of Q0 between a and b."""
        if self.gaussian:
            root = arb(2).sqrt()
            tail = lambda x: (x / root).erfc() / 2  # noqa: E731
            return tail(a) - tail(b), tail(a - self.slope) - tail(b - self.slope)
        at = lambda x, sign: (sign * x / 2).exp() * (-self.high / 2).exp() / 2  # noqa: E731
        return at(a, -1) - at(b, -1), at(b, 1) - at(a, 1)

    def place(self, growth):
        """x with e^Y = growth, within the range."""
        if not growth > 0:
            return self.low
        x = (growth.log() - self.start) / self.slope
        return x.max(self.low).min(self.high)


def two_steps(one, two, level, bits):
    """delta of two samples at a level: pieces by the place of the second step's argument."""
    if bits > 900:
        raise Unaffordable("precision of an integral")
    first, base = First(one, bits), Base(two.base, bits)
    q1, q2, strike = ball(one.q), ball(two.q), level.exp()
    remove = two.direction == "remove"
    if not remove and 1 / strike <= (1 - q1) * (1 - q2):
        return arb(0)

    def growth(k):
        """e^Y of the first step at which the argument of H is k."""
        y = strike / (1 - q2 + q2 * k) if remove else k / (q2 + k * (1 - q2)) / strike
        return (y - 1 + q1) / q1

    def bought(x, analytic):
        y = 1 - q1 + q1 * (first.slope * x + first.start).exp()
        if remove:
            return first.density(x) * y * q2 * base((strike / y - 1 + q2) / q2, analytic)
        g = strike * y
        c = 1 - g * (1 - q2)
        return first.density(x) * c * base(g * q2 / c, analytic)

    a, b = sorted(
        (first.place(growth(base.low)), first.place(growth(1 / base.low))), key=lambda x: float(x.mid())
    )
    middle = acb.integral(
        bought, acb(a), acb(b), rel_tol=arb(2) ** -(bits + 20), abs_tol=arb(2) ** -(bits + 20)
    )
    # Where the second step's argument is small it buys all: y - strike, or 1 - strike y.
    p, q = first.masses(b, first.high) if remove else first.masses(first.low, a)
    y = (1 - q1) * p + q1 * q
    total = middle.real + (y - strike * p if remove else p - strike * y)
    total += arb(0).union((2 * base.error + 2 * first.lost).upper())
    for k, mass in first.atoms:
        y = 1 - q1 + q1 * k
        total += (
            mass * y * one_step(two, level - y.log(), bits)
            if remove
            else mass * one_step(two, level + y.log(), bits)
        )
    return total


def by_integral(sampled, lists, level, bits):
    """One or two samples, and atoms."""
    atoms = [(arb(0), arb(1), arb(1))]
    for law in lists:
        atoms = [(x + y, p * r, q * s) for x, p, q in atoms for y, r, s in law]
        if len(atoms) > (20_000 if len(sampled) == 1 else 12):
            raise Unaffordable("atoms times steps")
    if len(sampled) == 1:
        return sum((q * one_step(sampled[0], level - x, bits) for x, _, q in atoms), arb(0))
    return sum((q * two_steps(*sampled, level - x, bits) for x, _, q in atoms), arb(0))
