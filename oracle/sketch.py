"""Cumulants of the loss in doubles. They choose epsilons, lines and spacings, and are part of no answer."""

import math

import numpy as np

from .laws import Gaussian, Laplace, Sampled, law_of


def logsumexp(a):
    top = a.max()
    return top + math.log(np.exp(a - top).sum())


def log_float(x):
    """ln of a positive ball whose value may be below the least double."""
    return float(x.mid().log().mid())


class Sketch:
    """ln Phi(c) of a composition in one direction."""

    def __init__(self, composition, direction, bits=300):
        self.parts = []
        for part in composition:
            law = law_of(part, direction, bits, 1)
            self.parts.append((self.one(law), part["count"]))

    @staticmethod
    def one(law):
        if isinstance(law, Gaussian):
            mu2 = float(law.mu2)
            return lambda c: mu2 * c * (c - 1) / 2
        if isinstance(law, Laplace):
            return laplace_cumulant(float(law.tau))
        if isinstance(law, Sampled):
            return sampled_cumulant(law)
        points = law.points()
        losses = np.array([float(x.mid()) for x, _, _ in points])
        masses = np.array([log_float(p) for _, p, _ in points])
        return lambda c: logsumexp(masses + c * losses)

    def __call__(self, c):
        return sum(n * one(c) for one, n in self.parts)

    def mean(self):
        """Of the loss under Q, and its deviation."""
        step = 1e-4
        low, here, high = self(1 - step), self(1.0), self(1 + step)
        variance = max((high - 2 * here + low) / step**2, 1e-18)
        return (high - low) / (2 * step), math.sqrt(variance)

    def exponents(self):
        _, deviation = self.mean()
        return 1 + np.geomspace(1e-3, 1e4, 120) * min(1 / deviation, 1e6)

    def chernoff(self, epsilon):
        """(c, bound of ln delta) with the least bound."""
        return min(((self(c) - (c - 1) * epsilon, c) for c in self.exponents()), key=lambda pair: pair[0])[
            ::-1
        ]

    def epsilon(self, log_delta):
        """About where delta is e^log_delta."""
        return min((self(c) - log_delta) / (c - 1) for c in self.exponents())


def laplace_cumulant(tau):
    def log_phi(c):
        w = abs(c - 0.5) * tau
        if w < 1e-9:
            return -tau / 2 + math.log1p(tau / 2)
        # cosh w + tau sinh w / 2w, with e^w taken out.
        small = math.exp(-2 * w)
        return -tau / 2 + w + math.log((1 + small) / 2 + tau * (1 - small) / (4 * w))

    return log_phi


def sampled_grid(law, reach=1e3):
    """(ln y, ln P-weight): the law of y = dQ/dP of the remove direction."""
    q = float(law.q)
    if isinstance(law.base, Gaussian):
        mu = math.sqrt(float(law.base.mu2))
        x = np.concatenate([np.arange(-40, 60, 0.02), np.arange(60, 60 + reach * mu, max(0.02, mu / 50))])
        x = x[:400_000]
        width = np.gradient(x)
        weights = -x * x / 2 - 0.5 * math.log(2 * math.pi) + np.log(width)
        losses = mu * x - mu * mu / 2
    else:
        tau = float(law.base.tau)
        x = np.linspace(-tau, tau, 4001)
        losses = np.concatenate([[-tau], (x[1:] + x[:-1]) / 2, [tau]])
        density = -(losses[1:-1] + tau) / 2 + math.log(2 * tau / 4000 / 4)
        weights = np.concatenate([[math.log(0.5)], density, [math.log(0.5) - tau]])
    return np.logaddexp(math.log1p(-q), losses + math.log(q)), weights


def sampled_cumulant(law):
    losses, weights = sampled_grid(law)
    if law.direction == "remove":
        return lambda c: logsumexp(weights + c * losses)
    return lambda c: logsumexp(weights + (1 - c) * losses)
