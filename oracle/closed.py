"""delta of atoms, Laplace noise and Gaussian noise together, in closed form.

Under M = sqrt(PQ) a Laplace loss has atoms e^(-tau/2)/2 at -tau and tau and the constant density e^(-tau/2)/4
between. So the n-fold law is a sum of C(n, m) A^(n-m) D^m with A = (X + 1/X)/2, D = (X - 1/X)/4 and X a shift
by tau: the coefficient of X^k is the weight of the m-fold integral of an atom at k*tau. With
delta = sqrt(pq) e^(eps/2) E_M[2 sinh((L - x0)/2)+] for an atom (p, q) and x0 = eps - ln(q/p), each gives

    h_m(d) = integral_0^d y^(m-1)/(m-1)! 2 sinh((d-y)/2) dy = sum_j 4^-j d^(m+1+2j)/(m+1+2j)!, d = k*tau-x0,

and h_(m-2) = h_m/4 + d^(m-1)/(m-1)!. Gaussian noise of mean square mu2 besides takes d^k/k! to
e_k = E[(d+g)+^k]/k!, g ~ N(0, mu2), for which k e_k = d e_(k-1) + mu2 e_(k-2).
"""

import bisect
import math

from flint import arb, arb_poly

from .balls import ball
from .laws import Unaffordable

# Atoms times closed forms: some seconds.
MOST_TERMS = 400_000


def positive(x):
    """max(x, 0); nothing is lost at a tie, where what is bought is continuous."""
    if x > 0:
        return x
    if x <= 0:
        return arb(0)
    return arb(0).union(x.upper())


def product(a, b):
    return [(x + y, p * r, q * s) for x, p, q in a for y, r, s in b]


def by_atoms(laws, epsilon):
    """Atoms of one or two lists: for each of the first, the tail of the second."""
    laws = sorted(laws, key=len)
    while len(laws) > 2:
        if len(laws[0]) * len(laws[1]) > 40_000:
            raise Unaffordable("product of atoms")
        laws = sorted([product(laws[0], laws[1]), *laws[2:]], key=len)
    first, second = laws if len(laws) == 2 else ([(arb(0), arb(1), arb(1))], laws[0])
    strike = epsilon.exp()
    second = sorted(((float(x.mid()), p, q) for x, p, q in second), key=lambda atom: atom[0])
    places = [x for x, _, _ in second]
    p_above, q_above = [arb(0)], [arb(0)]
    for _, p, q in reversed(second):
        p_above.append(p_above[-1] + p)
        q_above.append(q_above[-1] + q)
    p_above.reverse()
    q_above.reverse()
    level = float(epsilon.mid())
    total = arb(0)
    for x, p, q in first:
        wanted = level - float(x.mid())
        # Doubles decide only what is far from a tie.
        margin = 1e-9 * (1 + abs(level) + abs(wanted) + abs(places[0]) + abs(places[-1]))
        low, high = bisect.bisect_left(places, wanted - margin), bisect.bisect_right(places, wanted + margin)
        total += q * q_above[high] - strike * p * p_above[high]
        for _, r, s in second[low:high]:
            total += positive(q * s - strike * p * r)
    return total


def by_gaussian(laws, mu2, epsilon):
    """Gaussian noise and atoms: two complementary error functions an atom."""
    atoms = [(arb(0), arb(1), arb(1))]
    for law in laws:
        if len(atoms) * len(law) > MOST_TERMS // 20:
            raise Unaffordable("product of atoms")
        atoms = product(atoms, law)
    mu = ball(mu2).sqrt()
    strike, root = epsilon.exp(), arb(2).sqrt()
    total = arb(0)
    for x, p, q in atoms:
        u = (epsilon - x) / mu
        total += (q * ((u - mu / 2) / root).erfc() - strike * p * ((u + mu / 2) / root).erfc()) / 2
    return total


def laplace_terms(groups):
    """{shifts: weights by m} of the composition of (tau, n): the n-fold measures M, shifts as multiples."""
    terms = {(): [arb(1)]}
    for tau, n in groups:
        scale = (-n * ball(tau) / 2).exp()
        grown = {}
        for m in range(n + 1):
            poly = arb_poly([1, 0, 1]) ** (n - m) * arb_poly([-1, 0, 1]) ** m
            weight = scale * math.comb(n, m) / arb(2) ** (n + m)
            for i, coefficient in enumerate(poly.coeffs()):
                if coefficient.is_zero():
                    continue
                for shifts, weights in terms.items():
                    row = grown.setdefault((*shifts, i - n), {})
                    for less, w in enumerate(weights):
                        row[less + m] = row.get(less + m, arb(0)) + w * coefficient * weight
        terms = {s: [row.get(m, arb(0)) for m in range(max(row) + 1)] for s, row in grown.items()}
        if sum(len(row) for row in terms.values()) > MOST_TERMS // 4:
            raise Unaffordable("terms of Laplace noise")
    return terms


def moments(d, mu2, count):
    """e_0 .. e_count: d+^k/k! (e_0 is 1), or its mean with Gaussian noise."""
    if mu2 is None:
        out = [arb(1)]
        for k in range(1, count + 1):
            out.append(out[-1] * d / k)
        return out
    mu = mu2.sqrt()
    u = d / mu
    below = (-u * u / 2).exp() * mu / (2 * arb.pi()).sqrt()
    out = [(-u / arb(2).sqrt()).erfc() / 2]
    out.append(d * out[0] + below)
    for k in range(2, count + 1):
        out.append((d * out[-1] + mu2 * out[-2]) / k)
    return out


def primitives(d, mu2, most, bits):
    """h_0 .. h_most at d.

    With M_k = E[D+^k] and x^2 = M_(k+2)/M_k, M_(k+2) = d M_(k+1) + (k+1) mu2 M_k is at most
    (d+ x + (k+1) mu2) M_k, so x <= d+ + mu sqrt(k+1), and terms fall by x^2/(4(k+1)(k+2)): by 1/2 where that
    is checked.
    """
    size, mu = max(0.0, float(d.mid())), 0.0 if mu2 is None else math.sqrt(float(mu2.mid()))
    more = int(size + 10 + 2 * mu * mu) + bits // 6
    last = most + 2 * more
    assert (size + mu * math.sqrt(last) + 1e-6) ** 2 < 1.9 * last * last
    e = moments(d, mu2, most + 2 * more + 2)
    h = {}
    for m in (most, most - 1) if most else (0,):
        total, power = arb(0), arb(1)
        for j in range(more):
            total += e[m + 1 + 2 * j] * power
            power /= 4
        last = e[m + 1 + 2 * (more - 1)] * power * 4
        h[m] = total + arb(0).union(2 * abs(last).upper())
    for m in range(most, 1, -1):
        h[m - 2] = h[m] / 4 + e[m - 1]
    return h


def by_laplace(laws, groups, mu2, epsilon, bits):
    """Laplace noise, Gaussian noise if mu2 is not None, and atoms."""
    atoms = [(arb(0), arb(1), arb(1))]
    for law in laws:
        atoms = product(atoms, law)
        if len(atoms) > MOST_TERMS // 20:
            raise Unaffordable("product of atoms")
    terms = laplace_terms(groups)
    most = sum(n for _, n in groups)
    if len(atoms) * len(terms) * (most + 40) > MOST_TERMS * 4:
        raise Unaffordable("atoms times terms")
    places = {}
    for shifts in terms:
        places[shifts] = sum((ball(tau) * k for k, (tau, _) in zip(shifts, groups)), arb(0))
    variance = None if mu2 is None else ball(mu2)
    half = (epsilon / 2).exp()
    # E_M of the Gaussian itself.
    if variance is not None:
        half *= (-variance / 8).exp()
    total = arb(0)
    for x, p, q in atoms:
        x0 = epsilon - x
        part = arb(0)
        for shifts, weights in terms.items():
            d = places[shifts] - x0
            if variance is None:
                d = positive(d)
                if d.is_zero():
                    continue
            h = primitives(d, variance, len(weights) - 1, bits)
            for m, weight in enumerate(weights):
                if not weight.is_zero():
                    part += weight * h[m]
        total += (p * q).sqrt() * half * part
    return total
