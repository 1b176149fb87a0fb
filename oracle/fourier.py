"""Method 2: discrete Fourier transform of the characteristic function."""

import math
from fractions import Fraction

from flint import acb, arb, ctx, fmpq

from .balls import LN2, WANTED_BITS, ball, precision, two_to, zero_to
from .composition import Unaffordable, radius_for, refine, summarize, tail_bound


class Theta:
    """Characteristic function of one discrete Gaussian at angle 2 pi rho, |rho| <= 1/2.

    direct:  sum_x e^{-x^2/(2 sigma2)} cos(2 pi rho x) / sum_x e^{-x^2/(2 sigma2)}
    dual:    e^{-2 pi^2 sigma2 rho^2} (1 + sum_{u>=1} e^{-2 pi^2 sigma2 u^2} (w^u + w^-u)),
             divided by the same at rho = 0, with w = e^{4 pi^2 sigma2 rho}         (Poisson summation)
    Both consist of positive terms or dominated ones, and need few terms on their side of 1/(2 pi)."""

    def __init__(self, sigma2):
        self.sigma2 = sigma2
        self.dual = sigma2 >= Fraction(4, 25)
        self.rate = 2 * math.pi**2 * float(sigma2)  # only used to choose how many terms to take
        self.prepared = 0

    def prepare(self, bits):
        """Tables good for `bits` bits; the current precision must be at least that."""
        self.prepared = bits
        nats = bits * LN2 + 5
        self.terms = []
        if self.dual:
            scale = -2 * arb.pi() ** 2 * ball(self.sigma2)
            u = 1
            while True:
                term = (scale * (u * u)).exp()
                # Left out after u terms: at most 4 e^{-2 pi^2 sigma2 u (u+1)} even at rho = 1/2.
                self.terms.append(term)
                if self.rate * u * (u + 1) > nats:
                    break
                u += 1
            self.rest = 4 * (scale * (u * (u + 1))).exp()
        else:
            scale = -1 / (2 * ball(self.sigma2))
            x = 1
            while True:
                self.terms.append((scale * (x * x)).exp())
                if (x + 1) ** 2 / (2 * float(self.sigma2)) > nats:
                    break
                x += 1
            # The ratio of neighbouring terms is below e^{-9}: twice the first one left out covers them all.
            self.rest = 4 * (scale * ((x + 1) ** 2)).exp()
        self.total = 1 + 2 * sum(self.terms, arb(0)) + zero_to(self.rest)

    def correction(self, rho):
        """Dual: the bracket 1 + sum (...), without its denominator.  Direct: the whole numerator.
        rho = (numerator, denominator), 0 <= rho <= 1/2."""
        numerator, denominator = rho
        if self.dual:
            w = (4 * arb.pi() ** 2 * ball(self.sigma2 * Fraction(numerator, denominator))).exp()
            inverse = 1 / w
            total, up, down = arb(1), arb(1), arb(1)
            for term in self.terms:
                up, down = up * w, down * inverse
                total += term * (up + down)
            return total + zero_to(self.rest)
        c = arb.cos_pi_fmpq(fmpq(2 * numerator, denominator))
        # Chebyshev recurrence for cos(2 pi rho x); the guard bits cover the growth of its balls.
        previous, current, total = arb(1), c, arb(1)
        for term in self.terms:
            total += 2 * term * current
            previous, current = current, 2 * c * current - previous
        return total + arb(0, self.rest.upper())

    def log_value(self, rho):
        """Ball for the logarithm of the characteristic function at rho (a Fraction in [0, 1/2])."""
        if self.prepared < 100:
            with precision(192):
                self.prepare(100)
        with precision(192):
            value = (self.correction((rho.numerator, rho.denominator)) / self.total).log()
            if self.dual:
                value -= 2 * arb.pi() ** 2 * ball(self.sigma2 * rho * rho)
            return value


class DftTails:
    """Tail probabilities of K = sum m_j X_j from its characteristic function f at N equally spaced angles.

    With N = 2H + 1 odd, the N-periodised pmf is the DFT of f(2 pi l / N); f is real and even, so the sum of
    the periodised pmf over k..H is, with the sum over k done in closed form,

        (H - k + 1)/N  -  (1/N) sum_{l=1}^{H} f(2 pi l/N) sin((2k-1) pi l/N) / sin(pi l/N).

    It differs from P[K >= k] by what lies beyond H, folded back: at most 2 P[|K| > H].

    Most of the N nodes are irrelevant: f is below tau there, tau so small that all such nodes together stay
    below 2^-bits (the quotient of sines is at most N).  They are recognised with integers: at node l,
    group j is at angle 2 pi r/N with r = m_j l mod N, and its characteristic function decreases in |r|.
    For the group which is alive on the smallest share of angles, the nodes are listed by r,
    l = r / m_j mod N, so that the work does not grow with N itself."""

    CELLS = 128

    def __init__(self, composition, bits, max_candidates=1_500_000, max_work=400_000):
        self.composition, self.bits = composition, bits
        groups, multiples = composition.groups, composition.multiples
        half = radius_for(bits + 4, composition.variance)
        log_tau = -(bits + 8 + math.log2(half) + 1) * LN2
        thetas = [Theta(s) for s, _, _ in groups]

        # Share of angles (rho in [0, 1/2]) on which each group alone can still exceed tau.
        alive = [self.alive_share(t, n, log_tau) for t, (_, n, _) in zip(thetas, groups)]
        order = sorted(range(len(groups)), key=lambda j: alive[j])
        best = order[0]
        modulus = 2 * half + 1
        while math.gcd(modulus, multiples[best]) != 1:
            modulus += 2
        self.modulus, self.half = modulus, (modulus - 1) // 2
        limits = [math.floor(a * modulus) for a in alive]
        candidates = min(limits[best], self.half)
        if candidates > max_candidates:
            raise Unaffordable(f"{candidates} candidate nodes")

        nodes = self.live_nodes(thetas, order, limits, candidates, log_tau)
        if len(nodes) * len(groups) > max_work:
            raise Unaffordable(f"{len(nodes)} live nodes, {len(groups)} groups")
        self.evaluate_nodes(thetas, nodes)
        self.sines = None

    @staticmethod
    def alive_share(theta, count, log_tau):
        """Smallest multiple of 2^-40 (up to 1/2) from which on f^count is certainly below tau."""
        low, high = 0, 1 << 39

        def dead(i):
            return bool(count * theta.log_value(Fraction(i, 1 << 40)) < log_tau)

        if not dead(high):
            return Fraction(1, 2)
        while high - low > max(1, low >> 10):
            middle = (low + high) // 2
            if dead(middle):
                high = middle
            else:
                low = middle
        return Fraction(high, 1 << 40)

    def live_nodes(self, thetas, order, limits, candidates, log_tau):
        """All l in 1..H (up to sign mod N) where the bounds do not prove f <= tau."""
        composition, modulus = self.composition, self.modulus
        best = order[0]
        inverse = pow(composition.multiples[best], -1, modulus)
        # Cheap test: a group on its own is dead beyond its limit.
        tests = [
            (composition.multiples[j], limits[j], modulus - limits[j])
            for j in order[1:]
            if limits[j] < self.half
        ]
        # Step functions above count * ln f, for the product of all groups; only worth it for many nodes.
        tables = None
        if candidates > 2000 and len(thetas) > 1:
            tables = []
            for j in order[:12]:
                n = composition.groups[j][1]
                steps = [
                    float((n * thetas[j].log_value(Fraction(i, 2 * self.CELLS))).upper()) * (1 - 1e-9)
                    for i in range(self.CELLS + 1)
                ]
                tables.append((composition.multiples[j], [min(0.0, s) for s in steps]))
        scale = 2 * self.CELLS
        log_limit = log_tau * (1 + 1e-9)
        nodes, node = [], 0
        for _ in range(candidates):
            node += inverse
            if node >= modulus:
                node -= modulus
            for m, low, high in tests:
                if low < (m * node) % modulus < high:
                    break
            else:
                if tables:
                    total = 0.0
                    for m, steps in tables:
                        r = (m * node) % modulus
                        total += steps[min(r, modulus - r) * scale // modulus]
                        if total < log_limit:
                            break
                    else:
                        nodes.append(min(node, modulus - node))
                else:
                    nodes.append(min(node, modulus - node))
        return nodes

    def evaluate_nodes(self, thetas, nodes):
        """self.live = [(precision, l, f(2 pi l/N) / sin(pi l/N))], precise to 2^-bits absolutely."""
        composition, modulus, full = self.composition, self.modulus, self.bits + 64
        groups, multiples = composition.groups, composition.multiples
        extra = max(n for _, n, _ in groups).bit_length() + 16
        with precision(full + extra + 64):
            for theta in thetas:
                theta.prepare(full + extra)
            # Everything that does not depend on the node: the denominators of the thetas.
            denominator = arb(1)
            for theta, (_, n, _) in zip(thetas, groups):
                denominator *= theta.total**n
            constant = 1 / denominator
            # f = constant * exp(-2 pi^2/N^2 sum n sigma2 r^2) * product of corrections^n.
            common = math.lcm(*(s.denominator for s, _, _ in groups))
            parts = [
                (t, n, m, n * int(s * common) if t.dual else 0, 4 * math.pi**2 * float(s))
                for t, (s, n, _), m in zip(thetas, groups, multiples)
            ]
            exponent_scale = -2 * arb.pi() ** 2 / (modulus * modulus * common)
        rough_scale = 2 * math.pi**2 / LN2 / (float(modulus) ** 2 * float(common))
        self.live = []
        for node in nodes:
            residues = []
            exponent = 0
            for _, _, m, weight, _ in parts:
                r = (m * node) % modulus
                r = min(r, modulus - r)
                residues.append(r)
                exponent += weight * r * r
            # f is at most about 2^-size, so fewer relative bits give the same absolute accuracy. (Corrections
            # exceed 1 only by the factors the dual sums can have, which the balls account for anyway.)
            size = int(rough_scale * exponent)
            bits = max(64, full - size) + extra
            ctx.prec = bits
            nats = bits * LN2
            value = constant * (exponent_scale * exponent).exp()
            doubt = 0
            for (theta, n, _, _, rate), r in zip(parts, residues):
                # First correction of the dual sum: 2 e^{-2 pi^2 sigma2 (1 - 2 rho)} at most.
                if theta.dual and rate * (0.5 - r / modulus) * 0.999 > nats:
                    doubt += n
                else:
                    value *= theta.correction((r, modulus)) ** n
            if doubt:
                # Product of the skipped brackets lies in [1, (1 + 4 e^{-nats})^doubt], and doubt is
                # below 2^extra times the number of groups.
                value *= 1 + zero_to(16 * doubt * (-arb(nats * 0.999)).exp())
            self.live.append((bits, node, value / arb.sin_pi_fmpq(fmpq(node, modulus))))
        ctx.prec = 53

    def tail(self, k):
        """Ball for P[K >= k]."""
        composition, modulus, half = self.composition, self.modulus, self.half
        with precision(self.bits + 64):
            folded = 4 * tail_bound(half + 1, composition.variance)
            if k > half:
                return zero_to(tail_bound(k, composition.variance))
            if k <= -half:
                return 1 - zero_to(tail_bound(1 - k, composition.variance))
            ignored = two_to(-self.bits - 8)
            total, odd = arb(0), (2 * k - 1) % (2 * modulus)
            if self.sines:
                table = self.sines
                for _, node, value in self.live:
                    i = odd * node % (2 * modulus)
                    total += value * table[i] if i < modulus else -value * table[i - modulus]
            else:
                sine = arb.sin_pi_fmpq
                parts = []
                for bits, node, value in self.live:
                    ctx.prec = bits
                    parts.append(value * sine(fmpq(odd * node % (2 * modulus), modulus)))
                ctx.prec = self.bits + 64
                total = sum(parts, arb(0))
            exact = ball(Fraction(half - k + 1, modulus))
            return exact - total / modulus + arb(0, (folded + ignored).upper())

    def tabulate(self, thresholds):
        """Tabulate the sines when that is cheaper than computing them for each threshold."""
        if len(self.live) * thresholds > 2 * self.modulus:
            with precision(self.bits + 64):
                self.sines = [arb.sin_pi_fmpq(fmpq(i, self.modulus)) for i in range(self.modulus)]


def by_dft(composition, epsilons, **limits):
    """p = P[K >= k], q = P[K >= k - M] with k the first lattice point above epsilon."""

    def attempt(wanted, bits):
        tails = DftTails(composition, bits, **limits)
        tails.tabulate(2 * len(wanted))
        answers = []
        with precision(bits + 64):
            for epsilon in wanted:
                first = composition.first_above(epsilon)
                p = tails.tail(first)
                q = tails.tail(first - composition.move)
                answers.append(summarize(p, q, epsilon))
        return answers

    deepest = max(composition.depth(e) for e in epsilons)
    # The difference q - e^eps p cancels more the smaller the whole loss is.
    cancelled = max(0.0, -math.log2(min(1.0, float(composition.mu2))))
    start = int(deepest / LN2 + cancelled) + WANTED_BITS + 24
    return refine(composition, epsilons, attempt, start)


def full_dft_pmf(composition, bits):
    """pmf of K by Arb's own DFT over every node (a check of DftTails on small lattices)."""
    half = radius_for(bits + 4, composition.variance)
    modulus = 2 * half + 1
    with precision(bits + 64):
        values = [arb(1)] * modulus
        for (sigma2, n, _), m in zip(composition.groups, composition.multiples):
            theta = Theta(sigma2)
            theta.prepare(bits + 40)
            for node in range(modulus):
                r = m * node % modulus
                r = min(r, modulus - r)
                f = theta.correction((r, modulus)) / theta.total
                if theta.dual:
                    f *= (-2 * arb.pi() ** 2 * ball(sigma2 * Fraction(r, modulus) ** 2)).exp()
                values[node] *= f**n
        spectrum = acb.dft([acb(v) for v in values])
        alias = zero_to(2 * tail_bound(half + 1, composition.variance))
        pmf = [v.real / modulus - alias for v in spectrum]
        return pmf[half + 1 :] + pmf[: half + 1], half
