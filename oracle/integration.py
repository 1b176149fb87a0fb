"""Method 4: integration, for many kinds without a usable lattice.

Add one fictitious continuous Gaussian mechanism of size s: L becomes L + S, S ~ N(-s^2/2, s^2) under P.
By Jensen (E e^S = 1) delta_s >= delta.  The excess for a fixed loss l is the time value of a call option:
with y = l - eps its vega at volatility v is e^eps e^{y/2} phi(y/v) e^{-v^2/8}, increasing factors bounded
by their values at s, so the excess is at most s e^eps e^{y/2} phi(y/s).  The density f_s of L + S at eps
is E[(1/s) phi((y - s^2/2)/s)] = e^{-s^2/8} E[(1/s) e^{y/2} phi(y/s)], hence with D_s = e^eps f_s(eps)

    delta_s - s^2 e^{s^2/8} D_s  <=  delta  <=  delta_s.

The line of integration is Re z = 1/2 whatever epsilon: there the transform of the loss is real (the pair
is symmetric), and min(e^L, e^eps) = e^L - (e^L - e^eps)_+ has an absolutely convergent transform:

    1 - delta_s(eps) = e^{eps/2} (1/2pi) int F(t) cos(t eps) / (1/4 + t^2) dt,
    D_s(eps)         = e^{eps/2} (1/2pi) int F(t) cos(t eps) dt,       F(t) = E[e^{(1/2 + it)(L + S)}].

The trapezoidal rule with step h returns these plus their values, times e^{-eps/2}, at eps + 2 pi m/h,
m != 0: nonnegative, and at most e^{-|x|/2} for the first, e^{-|x|/2} / (s sqrt(2 pi)) for the second
(1 - delta_s(x) <= min(1, e^x); a density smoothed by s is at most 1/(s sqrt(2 pi)), and the densities under
P and Q differ by the factor e^x).
"""

import math
from fractions import Fraction

import numpy
from flint import arb

from .balls import LN2, ball, precision, two_to, zero_to
from .fourier import Theta


class HalfLineFactor:
    """E[e^{(1/2 + it) loss}] of one mechanism, real:
        e^{-D^2/(8 sigma2)} sum_{y in Z + D/2} e^{-y^2/(2 sigma2)} cos(b y) / sum_x e^{-x^2/(2 sigma2)}
      = e^{-D^2/(8 sigma2)} sum_u (-1)^{uD} e^{-sigma2 (b - 2 pi u)^2/2} / sum_u e^{-2 pi^2 sigma2 u^2},
    with b = t D/sigma2.
    Its modulus decreases in the distance of b from 2 pi Z (Jacobi's products again)."""

    def __init__(self, sigma2, shift, bits):
        self.sigma2, self.shift, self.ratio = sigma2, shift, shift / sigma2
        self.dual = sigma2 >= Fraction(4, 25)
        self.nats = (bits + 20) * LN2
        theta = Theta(sigma2)
        with precision(bits + 64):
            theta.prepare(bits + 40)
            self.front = (-ball(Fraction(shift * shift) / (8 * sigma2))).exp() / theta.total
        s = float(sigma2)
        self.reach = (
            int(math.sqrt(self.nats / (2 * math.pi**2 * s))) + 1
            if self.dual
            else int(math.sqrt(2 * s * self.nats)) + 2
        )

    def at_angle(self, b, sign):
        """Value at the reduced angle b (a ball within about [-pi, pi]); sign = (-1)^(turns removed * D)."""
        total = arb(0)
        if self.dual:
            scale, turn = -ball(self.sigma2) / 2, 2 * arb.pi()
            for u in range(-self.reach, self.reach + 1):
                term = (scale * (b - turn * u) ** 2).exp()
                total += -term if (u * self.shift) % 2 else term
            # |b| <= 3.2: beyond the reach, the terms decay faster than a geometric series of ratio 1/2.
            rest = 4 * (scale * (turn * self.reach + arb("3.08")) ** 2).exp()
            if self.reach == 0:
                raise AssertionError
        else:
            half = Fraction(self.shift % 2, 2)
            scale = -1 / (2 * ball(self.sigma2))
            for x in range(-self.reach, self.reach + 1):
                y = ball(x + half)
                total += (scale * y * y).exp() * (b * y).cos()
            rest = 4 * (scale * self.reach**2).exp()
        value = self.front * (total + arb(0, rest.upper()))
        return -value if sign < 0 else value

    def value(self, t):
        """Value at the rational t."""
        b = self.ratio * t
        turns = round(float(b) / (2 * math.pi))
        sign = -1 if (turns * self.shift) % 2 else 1
        return self.at_angle(ball(b) - 2 * arb.pi() * turns, sign)


def by_integration(composition, epsilons, smoothing=Fraction(1, 2500), bits=None, cells=256):
    """[(lower, upper)] balls for delta at each epsilon (their gap is of the order of smoothing^2)."""
    if bits is None:
        # Absolute accuracy well below the smallest delta asked for.
        mu = math.sqrt(composition.mu2)
        deep = max((max(0.0, float(e) / mu - mu / 2)) ** 2 / 2 / LN2 + float(e) / 2 / LN2 for e in epsilons)
        bits = int(deep) + 70
    s = smoothing
    largest = max(epsilons)
    # Step and cut; both only need to be good guesses, the bounds below are what counts.
    period = float(largest) + 2 * (bits + 20) * LN2
    h = Fraction(int(2 * math.pi / period * 2**20), 2**20)
    nodes = int(math.sqrt(2 * (bits + 20) * LN2) / float(s) / float(h)) + 1
    log_tau = -(bits + 10 + math.log2(nodes)) * LN2

    factors = [HalfLineFactor(sg, d, bits + 40) for sg, _, d in composition.groups]
    counts = [n for _, n, _ in composition.groups]
    with precision(bits + 80):
        # Step functions above count * ln |factor|, cell i standing for angles from 2 pi i/(2 cells) on.
        tables = []
        for factor, n in zip(factors, counts):
            steps = []
            for i in range(cells + 1):
                size = factor.at_angle(arb.pi() * i / cells, 1).abs_upper()
                size = float(n * size.log().upper()) if size > two_to(-bits - 60) else -n * (bits + 60) * LN2
                steps.append(min(0.0, size * (1 - 1e-9) if size < 0 else 0.0))
            turns = float(h) * float(factor.ratio) / (2 * math.pi)
            tables.append((turns, steps, -sum(steps)))
        tables.sort(key=lambda entry: -entry[2])
        tables = [(turns, numpy.array(steps)) for turns, steps, _ in tables]

        square = float(s) ** 2 / 2
        live = []
        for start in range(1, nodes + 1, 1 << 16):
            i = numpy.arange(start, min(start + (1 << 16), nodes + 1))
            total = -square * (i * float(h)) ** 2 * (1 - 1e-9)
            for turns, steps in tables:
                x = i * turns
                x -= numpy.floor(x)
                # Floating point puts the angle off by far less than the 1e-4 cells conceded here.
                cell = numpy.maximum((numpy.minimum(x, 1.0 - x) * 2 * cells - 1e-4).astype(int), 0)
                total += steps[cell]
                alive = total >= log_tau
                i, total = i[alive], total[alive]
            live.extend(i.tolist())

        def transform(t):
            value = (-ball(s * s * (t * t + Fraction(1, 4)) / 2)).exp()
            for factor, n in zip(factors, counts):
                value *= factor.value(t) ** n
            return value

        values = [(i * h, transform(i * h)) for i in live]
        at_zero = transform(Fraction(0))

        # Nodes left out below the cut (each below tau = 2^-(bits+10)/nodes, weight at most 4h/pi), and
        # nodes beyond the cut: |F| <= e^{-s^2 t^2/2}, compared with the integral of that.
        cut = ball(nodes * h)
        step = ball(h)
        ignored = 2 * step * two_to(-bits - 10)
        ignored += 4 / arb.pi() * (-ball(s * s) * cut * cut / 2).exp() / (ball(s * s) * cut)
        density_cap = 1 / (ball(s) * (2 * arb.pi()).sqrt())
        answers = []
        for epsilon in epsilons:
            price, density = 4 * at_zero, at_zero
            for t, value in values:
                wave = 2 * value * (ball(t * epsilon)).cos()
                density += wave
                price += wave / ball(t * t + Fraction(1, 4))
            alias = 2 * (-(2 * arb.pi() / step - ball(epsilon)) / 2).exp() / (1 - (-arb.pi() / step).exp())
            front = (ball(epsilon) / 2).exp()
            weight = step / (2 * arb.pi())
            noise = arb(0, ignored.upper())
            complement = front * (weight * price + noise - zero_to(alias))
            density = front * (weight * density + noise - zero_to(alias * density_cap))
            smooth = 1 - complement
            slack = ball(s * s) * ball(s * s / 8).exp() * density
            answers.append(((smooth - slack), smooth))
        return answers
