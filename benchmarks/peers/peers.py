"""The accountants, ours and others: each prepares a problem and then answers epsilon(delta).

An answer is (lower or None, epsilon); what `epsilon` claims to be is the accountant's `claim`:

* "bound": an upper bound of the truth;
* "interval": lower <= truth <= epsilon;
* "estimate": nothing is claimed for this noise.

Settings are what each documentation recommends, or more accurate; a claim is the author's for those settings.
Packages are imported where they are used, so that one that cannot be installed costs its rows only.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Accountant:
    name: str
    claim: str
    prepare: Callable  # problem -> (delta, as text) -> (lower or None, epsilon)


class Unsupported(Exception):
    """The accountant cannot be asked this problem; the message says why."""


def ours(tolerance=None):
    def prepare(problem):
        import unspent

        noises = [unspent.DiscreteGaussian(sigma2=sigma2, count=count) for sigma2, count in problem.groups]
        composition = unspent.Composition(noises, tolerance=tolerance)

        def epsilon(delta):
            bounds = composition.epsilon(delta)
            return bounds.lower, bounds.upper

        return epsilon

    return prepare


# dp-accounting -----------------------------------------------------------------------------------


def privacy_loss_distribution(problem, interval, connect_dots, tail=None):
    """`tail` is the mass that may be cut off at each step; by default the package's own: 1e-15, with noise
    cut where 1e-30 is left."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    options = {} if tail is None else {"tail_mass_truncation": tail}
    composed = None
    for sigma2, count in problem.groups:
        sigma = math.sqrt(sigma2)
        # P[|X| > x] <= 2 e^{-x^2 / (2 sigma2)}, for each of `count` noises.
        bound = None if tail is None else math.ceil(sigma * math.sqrt(2 * math.log(2 * problem.count / tail)))
        kind = pld.from_discrete_gaussian_mechanism(
            sigma,
            truncation_bound=bound,
            value_discretization_interval=interval,
            use_connect_dots=connect_dots,
        )
        kind = kind.self_compose(count, **options)
        composed = kind if composed is None else composed.compose(kind, **options)
    return composed


def dp_accounting(connect_dots, interval, tail=None):
    def prepare(problem):
        composed = privacy_loss_distribution(problem, interval, connect_dots, tail)
        return lambda delta: (None, composed.get_epsilon_for_delta(float(delta)))

    return prepare


def dp_accounting_on_lattice(problem):
    """What an expert would choose: a grid that holds every loss, so that only arithmetic rounds."""
    step = problem.half_lattice_step()
    if step is None:
        raise Unsupported("no lattice")
    return dp_accounting(True, float(step))(problem)


# prv-accountant ----------------------------------------------------------------------------------


def discrete_gaussian_prv(sigma2):
    """The loss of one discrete Gaussian, (X + 1/2) / sigma2, as prv-accountant wants it: by its cdf."""
    import numpy
    from prv_accountant.privacy_random_variables import PrivacyRandomVariable

    reach = math.ceil(40 * math.sqrt(sigma2)) + 2
    x = numpy.arange(-reach, reach + 1, dtype=numpy.longdouble)
    weights = numpy.exp(-x * x / (2 * numpy.longdouble(float(sigma2))))
    below = numpy.concatenate(([0], numpy.cumsum(weights))) / weights.sum()
    variance = float(sigma2)

    class DiscreteGaussian(PrivacyRandomVariable):
        def cdf(self, t):
            last = numpy.floor(numpy.asarray(t, dtype=numpy.longdouble) * variance - 0.5)
            return below[numpy.clip(last + reach + 1, 0, len(below) - 1).astype(int)]

        def rdp(self, alpha):
            return alpha / (2 * variance)

    return DiscreteGaussian()


def prv_accountant(eps_error, continuous=False):
    def prepare(problem):
        from prv_accountant.privacy_random_variables import GaussianMechanism

        prvs = [
            GaussianMechanism(math.sqrt(sigma2)) if continuous else discrete_gaussian_prv(sigma2)
            for sigma2, _ in problem.groups
        ]
        return prv_epsilon(prvs, [count for _, count in problem.groups], eps_error)

    return prepare


def prv_epsilon(prvs, counts, eps_error):
    from prv_accountant import PRVAccountant

    def epsilon(delta):
        # Its grid depends on delta: delta_error = delta/1000 is what its documentation recommends.
        delta = float(delta)
        accountant = PRVAccountant(
            prvs=prvs, max_self_compositions=counts, eps_error=eps_error, delta_error=delta / 1000
        )
        lower, _, upper = accountant.compute_epsilon(delta=delta, num_self_compositions=counts)
        return lower, upper

    return epsilon


# opendp ------------------------------------------------------------------------------------------


def opendp(problem):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    parts = []
    for sigma2, count in problem.groups:
        parts += [dp.m.make_gaussian(*space, scale=math.sqrt(sigma2))] * count
    profile = dp.c.make_zCDP_to_approxDP(dp.c.make_composition(parts)).map(1)
    return lambda delta: (None, profile.epsilon(float(delta)))


# riskcal -----------------------------------------------------------------------------------------


def riskcal_accountant(grid_step):
    """Its accountant, which knows the continuous Gaussian only. (For other noise it turns dp-accounting's
    distributions into error rates of attacks, not into epsilon.)"""

    def prepare(problem):
        from riskcal.accountants import CTDAccountant

        accountant = CTDAccountant()
        # What `count` calls of step() would record, at once.
        history = [(math.sqrt(sigma2), 1.0, count) for sigma2, count in problem.groups]
        accountant.load_state_dict({"history": history, "mechanism": accountant.mechanism()})
        composed = accountant.get_pld(grid_step=grid_step)
        return lambda delta: (None, composed.get_epsilon_for_delta(float(delta)))

    return prepare


ACCOUNTANTS = tuple(
    Accountant(*row)
    for row in (
        ("unspent", "interval", ours()),
        ("unspent, tolerance 1e-12", "interval", ours(1e-12)),
        ("dp-accounting, privacy buckets, 1e-4", "bound", dp_accounting(False, 1e-4)),
        ("dp-accounting, privacy buckets, 1e-5", "bound", dp_accounting(False, 1e-5)),
        ("dp-accounting, connect-the-dots, 1e-4", "bound", dp_accounting(True, 1e-4)),
        ("dp-accounting, connect-the-dots, 1e-5", "bound", dp_accounting(True, 1e-5)),
        # Coarser than asked for, because faster.
        ("dp-accounting, connect-the-dots, 1e-3", "bound", dp_accounting(True, 1e-3)),
        ("dp-accounting, connect-the-dots, 1e-2", "bound", dp_accounting(True, 1e-2)),
        ("dp-accounting, connect-the-dots, on the lattice", "bound", dp_accounting_on_lattice),
        ("dp-accounting, privacy buckets, 1e-4, tails 1e-60", "bound", dp_accounting(False, 1e-4, 1e-60)),
        ("dp-accounting, connect-the-dots, 1e-4, tails 1e-60", "bound", dp_accounting(True, 1e-4, 1e-60)),
        ("prv-accountant, eps_error 1e-2", "interval", prv_accountant(1e-2)),
        ("prv-accountant, eps_error 1e-3", "interval", prv_accountant(1e-3)),
        ("prv-accountant, continuous Gaussian, 1e-3", "estimate", prv_accountant(1e-3, True)),
        ("opendp, zCDP", "bound", opendp),
        ("riskcal, CTDAccountant (continuous Gaussian), 1e-4", "estimate", riskcal_accountant(1e-4)),
        ("riskcal, CTDAccountant (continuous Gaussian), 1e-5", "estimate", riskcal_accountant(1e-5)),
    )
)
