"""Many steps: the integral of the transform along two lines, in balls.

    delta(eps) = q_inf + 1/(2 pi i) int_{Re z = c} Phi(z) e^{-(z-1) eps} / (z (z-1)) dz,  c > 1,

by the trapezoidal rule. Every transform is a sum of weights times e^{z l} (atoms; a trapezoidal rule on a
line above or below the real one for samples of Gaussian noise; Gauss-Legendre panels for samples of Laplace
noise), or a closed form. Balls account for roundings. Aliases and what is cut off are kept below 1e-32 of
the answer by estimates in doubles, which prove nothing: what is claimed are the digits on which two lines
with other abscissae, spacings and nodes agree, less two."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
from flint import acb, acb_mat, arb

from .balls import ball, precision
from .laws import Gaussian, Laplace, Sampled, Unaffordable, law_of
from .sketch import Sketch, log_float

BITS = 420
# Nodes of one line times nodes of one transform.
MOST_WORK = 3_000_000
# ln of the fraction of the answer that estimates keep errors below, with room for what Chernoff overstates.
REST = 75.0
ROOM = 20.0
# Kinds with a density.
CONTINUOUS = ("laplace", "gaussian")


class Line:
    """One line: abscissa, period of the aliases, and a number that makes nodes differ."""

    def __init__(self, sketch, epsilon, c, stretch, offset):
        self.c, self.epsilon, self.offset, self.stretch = c, float(epsilon), offset, stretch
        markov = [(e, sketch(e) - (e - 1) * self.epsilon) for e in sketch.exponents()]
        markov.append((1.0, 0.0))
        self.peak = sketch(c) - (c - 1) * self.epsilon
        target = min(value for _, value in markov) - ROOM - REST
        above = [(value - target) / (e - c) for e, value in markov if e > c * (1 + 1e-9)]
        below = [(value - target) / (c - e) for e, value in markov if e < c * (1 - 1e-12)]
        if not above or not below:
            raise Unaffordable("no better exponent")
        self.cut = self.peak - target
        self.spacing = Fraction(2 * math.pi / (max(min(above), min(below)) * stretch)).limit_denominator(
            10**12
        )
        if not self.spacing:
            raise Unaffordable("spacing")


def sampled_nodes(law, line, count):
    """Abscissae x = offset + H j + i eta in units of the deviation: (x floats, H, eta)."""
    mu, e = math.sqrt(float(law.base.mu2)), line.c if law.direction == "remove" else 1 - line.c
    cut = line.cut + math.log(count) + 10
    best = (0.0, 0.0)
    for i in range(1, 60):
        eta = min(6.0, 3.1 / mu) * i / 60
        for j in range(1, 60):
            a = (3.1 / mu - eta) * j / 60
            a = min(a, 12.0)
            cosine = math.cos(min(1.55, mu * (eta + a) / 2))
            need = cut + (eta + a) ** 2 / 2 + max(0.0, -e) * -math.log(cosine)
            best = max(best, (min(2 * math.pi * eta / cut, 2 * math.pi * a / need), eta))
    step, eta = best[0] / line.stretch, best[1]
    # Where the tilted density is not negligible.
    q = float(law.q)
    x = np.linspace(-60 - abs(e) * mu, 60 + abs(e) * mu, 40_001)
    y = np.logaddexp(math.log1p(-q), mu * x - mu * mu / 2 + math.log(q))
    height = -x * x / 2 + e * y
    keep = x[height > height.max() - cut - eta * eta / 2 - 5]
    if (keep[-1] - keep[0]) / step > 5000:
        raise Unaffordable("nodes of a sample")
    first = math.floor(keep[0] / step)
    return np.arange(first, math.ceil(keep[-1] / step) + 1) + line.offset, step, eta


def sampled_sum(law, line, count):
    """[(weight, loss)] as complex balls, Phi(z) = sum weight e^{z loss}."""
    q = ball(law.q)
    if isinstance(law.base, Laplace):
        return sampled_laplace(law, line)
    places, step, eta = sampled_nodes(law, line, count)
    mu = ball(law.base.mu2).sqrt()
    width = ball(Fraction(step))
    shift = ball(Fraction(eta)) * (1 if law.direction == "remove" else -1)
    scale = width / (2 * arb.pi()).sqrt()
    out = []
    for place in places:
        x = acb(ball(Fraction(float(place))) * width, shift)
        y = 1 - q + q * (mu * x - mu * mu / 2).exp()
        # |arg y| < pi on these lines, so that the principal logarithm is the right one.
        weight, loss = scale * (-x * x / 2).exp(), y.log()
        out.append((weight, loss) if law.direction == "remove" else (weight * y, -loss))
    return out


@cache
def legendre(n, bits):
    with precision(bits):
        return [arb.legendre_p_root(n, k, weight=True) for k in range(n)]


def sampled_laplace(law, line):
    q, tau = ball(law.q), ball(law.base.tau)
    span = float(law.base.tau)
    panels = max(1, math.ceil(span / 1.5))
    nodes = (
        90
        + 10 * (line.stretch > 1.05)
        + int(0.8 * line.end * span / panels + 0.3 * abs(line.c) * span / panels)
    )
    if nodes > 1500:
        raise Unaffordable("panels")
    points = [(-tau, arb(1) / 2), (tau, (-tau).exp() / 2)]
    for panel in range(panels):
        centre, half = tau * (2 * panel + 1 - panels) / panels, tau / panels
        for x, w in legendre(nodes, BITS + 40):
            loss = centre + half * x
            points.append((loss, half * w * (-(loss + tau) / 2).exp() / 4))
    out = []
    for loss, weight in points:
        y = 1 - q + q * loss.exp()
        out.append((weight, y.log()) if law.direction == "remove" else (weight * y, -y.log()))
    return [(acb(w), acb(loss)) for w, loss in out]


def atoms_sum(part, direction, line, count):
    """Atoms that matter on this line."""
    bits = 150
    if "discrete_gaussian" in part["kind"] and part["kind"] != "truncated_discrete_gaussian":
        sigma2, shift = float(Fraction(part["sigma2"])), int(part.get("shift", 1))
        reach = (abs(line.c) + 1) * shift + math.sqrt(2 * sigma2 * (line.cut + math.log(count) + 20))
        bits = int(reach * reach / (2 * sigma2 * math.log(2))) + 40
    points = law_of(part, direction, bits).points()
    heights = [log_float(p) + line.c * float(x.mid()) for x, p, _ in points]
    top = max(heights) - line.cut - math.log(count) - 20
    return [(acb(p), acb(x)) for (x, p, _), height in zip(points, heights) if height > top]


def envelope(sums, line, closed):
    """ln of a bound of |Phi(c+it)/Phi(c)| that does not come back, in doubles.

    A transform of atoms returns to 1 however far the line is followed, so atoms count in full.
    """
    arrays = []
    for pairs, n, law in sums:
        if not isinstance(law, Sampled):
            continue
        losses = np.array([complex(float(loss.real.mid()), float(loss.imag.mid())) for _, loss in pairs])
        logs = [w.log() for w, _ in pairs]
        weights = np.array([complex(float(w.real.mid()), float(w.imag.mid())) for w in logs])
        tilted = weights + line.c * losses
        tilted -= tilted.real.max()
        # The first two terms of a sample of Laplace noise are its atoms.
        few = 2 if isinstance(law.base, Laplace) else 0
        atoms = np.exp(tilted[:few].real).sum()
        arrays.append((tilted[few:], losses[few:], atoms, n, math.log(abs(np.exp(tilted).sum()))))

    def log_modulus(t):
        total = closed(t)
        for tilted, losses, atoms, n, here in arrays:
            rest = abs(np.exp(tilted + 1j * t * losses).sum())
            total += n * min(0.0, math.log(atoms + (1.5 if atoms else 1.0) * rest + 1e-300) - here)
        return total

    return log_modulus


def last_node(line, log_modulus, deviation):
    """t from which on nothing matters."""
    t, quiet, last, tried = 1e-3 / deviation, 0, 0.0, 0
    limit = MOST_WORK / 20 * float(line.spacing)
    while quiet < 100:
        tried += 1
        size = log_modulus(t) - math.log1p(t * t / (line.c * (line.c - 1)))
        if size > -line.cut - 12:
            quiet, last = 0, t
        else:
            quiet += 1
        t = t * 1.04 if quiet > 40 else min(t * 1.04, t + 0.5 / deviation)
        if last > limit or tried > 3000:
            raise Unaffordable("the transform falls too slowly")
    # The second line is followed further: what the first left out would show.
    return last * (1.04 + 2 * (line.stretch - 1)) + float(line.spacing)


def powers(pairs, c, h, count):
    """sum_j w_j e^{(c + ikh) l_j} for k = 0 .. count: two matrices of powers, multiplied."""
    if len(pairs) * count > MOST_WORK:
        raise Unaffordable("nodes")
    small = math.isqrt(count) + 1
    large = -(-(count + 1) // small)
    weights = [w * (c * loss).exp() for w, loss in pairs]
    ratios = [(acb(0, h) * loss).exp() for _, loss in pairs]
    rows, row = [], [acb(1)] * len(pairs)
    for _ in range(small):
        rows.append(row)
        row = [a * b for a, b in zip(row, ratios)]
    columns, column = [], weights
    for _ in range(large):
        columns.append(column)
        column = [a * b for a, b in zip(column, row)]
    left = acb_mat(small, len(pairs), [x for r in rows for x in r])
    right = acb_mat(large, len(pairs), [x for r in columns for x in r]).transpose()
    product = left * right
    return [product[k % small, k // small] for k in range(count + 1)]


def laplace_phi(tau, z):
    w = z - arb(1) / 2
    return (-tau / 2).exp() * ((w * tau).cosh() + (w * tau).sinh() / (2 * w))


def integrate(composition, direction, line, deviation):
    """The finite part of delta."""
    laws = [(part, law_of(part, direction, 60), part["count"]) for part in composition]
    mu2 = sum((law.mu2 * n for _, law, n in laws if isinstance(law, Gaussian)), Fraction(0))
    laplaces = [(law.tau, n) for _, law, n in laws if isinstance(law, Laplace)]
    c = ball(Fraction(line.c).limit_denominator(10**9))
    line.c = float(c.mid())

    def closed(t):
        total = -float(mu2) * t * t / 2
        for tau, n in laplaces:
            # |cosh|, |sinh| <= cosh of the real part; divided by e^v.
            v = (line.c - 0.5) * float(tau)
            cosh, sinh = (1 + math.exp(-2 * v)) / 2, (1 - math.exp(-2 * v)) / 2
            most = cosh * (1 + 1 / (2 * max(t, 1e-300)))
            total += n * min(0.0, math.log(most / (cosh + float(tau) * sinh / (2 * v))))
        return total

    line.end = 0.0
    for _ in range(2):
        sums = []
        for part, law, n in laws:
            if isinstance(law, Sampled):
                sums.append((sampled_sum(law, line, n), n, law))
            elif not isinstance(law, (Gaussian, Laplace)):
                sums.append((atoms_sum(part, direction, line, n), n, law))
        # Panels need to know how far the line is followed.
        line.end = max(line.end, last_node(line, envelope(sums, line, closed), deviation))
        if not any(isinstance(law, Sampled) and isinstance(law.base, Laplace) for _, law, _ in laws):
            break
    count = math.ceil(line.end / float(line.spacing))
    h = ball(line.spacing)
    values = [acb(1)] * (count + 1)
    for pairs, n, _ in sums:
        values = [a * b**n for a, b in zip(values, powers(pairs, c, h, count))]
    epsilon, total = ball(Fraction(line.level)), arb(0)
    gauss, taus = ball(mu2) / 2, [(ball(tau), n) for tau, n in laplaces]
    for k, value in enumerate(values):
        z = acb(c, h * k)
        value = value * (gauss * z * (z - 1) - (z - 1) * epsilon).exp() / (z * (z - 1))
        for tau, n in taus:
            value *= laplace_phi(tau, z) ** n
        total += value.real / 2 if k == 0 else value.real
    return total * h / arb.pi()


def by_lines(composition, direction, epsilon, infinity):
    """(value, certain digits) of delta, q_inf given."""
    if not any(part["kind"].endswith(CONTINUOUS) and "discrete" not in part["kind"] for part in composition):
        raise Unaffordable("atoms only, and too many")
    sketch = Sketch(composition, direction)
    _, deviation = sketch.mean()
    c, _ = sketch.chernoff(float(epsilon))
    c = max(c, 1 + 0.5 / deviation)
    found = []
    with precision(BITS):
        for abscissa, stretch, offset in ((c, 1.0, 0.0), (1 + 0.87 * (c - 1), 1.19, 0.375)):
            line = Line(sketch, epsilon, abscissa, stretch, offset)
            line.level = epsilon
            found.append(integrate(composition, direction, line, deviation) + infinity)
        first, second = found
        if not first > 0:
            raise Unaffordable("too small for the precision of a line")
        apart = (abs(first - second) / first).upper()
        digits = 40 if apart.is_zero() else math.floor(-float(apart.log()) / math.log(10)) - 2
        return second, min(digits, 40)
