"""Certified, tight privacy accounting for any composition of mechanisms.

Numbers go in exactly (int, str, Fraction, Decimal; a float as the double it is), and every answer is a pair
of bounds with the truth between them, rounding errors included: for an epsilon or a delta ``upper`` is the
guarantee.

>>> import unspent
>>> release = unspent.Composition([unspent.DiscreteGaussian(sigma2="5", count=10)])
>>> print(release.epsilon(delta="1e-11"))
[10.124830, 10.124831]

Mechanisms of any kind go together: noise (Gaussian, Laplace, and both on the integers), DP-SGD and other
noise on samples, randomised response, tables of masses, and what is known by its epsilon and delta only.

>>> model = unspent.Subsampled(unspent.Gaussian(sigma="1.1"), q="256/60000", count=14_000)
>>> print(unspent.Composition([model, unspent.Laplace(scale=10, count=5)]).epsilon(delta="1e-5"))
[2.5452569, 2.5452570]

Whole allocations of a budget, among them those of the 2020 US Census, are certified, and calibrated to what
was promised:

>>> census = unspent.preset("pl94-persons-us-2020")
>>> print(census.certificate().total.tight)
[16.467751, 16.467752]

Tables of counts get their noise with ``measure``; ``interval`` says where a true count is, and ``utility``
what noise does to a table. From noisy measurements ``estimate`` makes the best unbiased estimates, and whole
tables that add up; ``accuracy`` says beforehand how good estimates will be. The other way round ``design``
finds the allocation with the least epsilon from what must be known, which is said with ``Needs``.

``unspent.plot`` draws (with matplotlib), ``unspent.events`` speaks to dp-accounting. Accountants with the
interfaces of dp-accounting and opacus are in ``unspent.dp_accounting`` and ``unspent.opacus``.
"""

from unspent import events, plot
from unspent._estimates import EstimateTable, WholeTable
from unspent._native import (
    Accuracy,
    Allocation,
    ApproximateDp,
    Bounds,
    BoundsArray,
    CalibratedLine,
    Calibration,
    Certificate,
    Checked,
    Composition,
    Design,
    DiscreteGaussian,
    DiscreteLaplace,
    Estimates,
    Explained,
    Finite,
    Gaussian,
    GaussianDp,
    Interval,
    IntervalArray,
    Laplace,
    Line,
    Measured,
    Measurement,
    Measurements,
    Mechanism,
    Needs,
    NoisyMeasurement,
    NotPrivateWarning,
    Parameter,
    PureDp,
    RandomisedResponse,
    Recalibration,
    Reduction,
    RenyiDp,
    Subsampled,
    ToleranceError,
    TruncatedDiscreteGaussian,
    UnspentError,
    UtilityReport,
    WholeTables,
    WorstCase,
    ZeroConcentratedDp,
    __version__,
    accuracy,
    certificate,
    design,
    estimate,
    interval,
    largest_mu,
    largest_rho,
    measure,
    parameter,
    preset,
    presets,
    read_measurements,
    sample,
    utility,
)

__all__ = [
    "Accuracy",
    "Allocation",
    "ApproximateDp",
    "Bounds",
    "BoundsArray",
    "CalibratedLine",
    "Calibration",
    "Certificate",
    "Checked",
    "Composition",
    "Design",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "EstimateTable",
    "Estimates",
    "Explained",
    "Finite",
    "Gaussian",
    "GaussianDp",
    "Interval",
    "IntervalArray",
    "Laplace",
    "Line",
    "Measured",
    "Measurement",
    "Measurements",
    "Mechanism",
    "Needs",
    "NoisyMeasurement",
    "NotPrivateWarning",
    "Parameter",
    "PureDp",
    "RandomisedResponse",
    "Recalibration",
    "RenyiDp",
    "Reduction",
    "Subsampled",
    "ToleranceError",
    "TruncatedDiscreteGaussian",
    "UnspentError",
    "UtilityReport",
    "WholeTable",
    "WholeTables",
    "WorstCase",
    "ZeroConcentratedDp",
    "__version__",
    "accuracy",
    "certificate",
    "design",
    "estimate",
    "events",
    "interval",
    "largest_mu",
    "largest_rho",
    "measure",
    "parameter",
    "plot",
    "preset",
    "presets",
    "read_measurements",
    "sample",
    "utility",
]
