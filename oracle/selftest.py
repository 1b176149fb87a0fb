"""The methods against each other and against files of exact profiles; the estimates against a second way."""

import json
import math
import sys
from fractions import Fraction

from flint import arb

from .balls import ball, between, precision, two_to, zero_to
from .check_estimates import check_estimates
from .composition import Composition, Unaffordable
from .convolution import by_convolution, convolution_pmf
from .fourier import DftTails, by_dft, full_dft_pmf
from .integration import by_integration
from .methods import METHODS, assert_overlap


def published(text):
    """A ball for a decimal that is right to one unit in its last digit."""
    digits = text.partition("e")[0]
    places = len(digits.partition(".")[2])
    exponent = int(text.partition("e")[2] or 0)
    value = Fraction(text)
    unit = Fraction(10) ** (exponent - places)
    with precision(400):
        return between(ball(value - unit), ball(value + unit))


def check_file(path):
    """Every point of a profiles file, by every method that can reach it."""
    with open(path) as source:
        cases = json.load(source)["cases"]
    used = {}
    bad = 0
    for case in cases:
        composition = Composition([(g["sigma2"], g["count"], g["shift"]) for g in case["groups"]])
        if "lattice_step" in case and Fraction(case["lattice_step"]) != composition.step:
            print(f"{case['name']}: lattice step {composition.step}, file says {case['lattice_step']}")
            bad += 1
        epsilons = [Fraction(p["epsilon"]) for p in case["points"]]
        methods = dict(METHODS)
        if composition.count == 1 or composition.count > 3:
            del methods["enumeration"]
        seen = []
        for name, method in methods.items():
            limits = {"max_window": 9000} if name == "convolution" else {}
            try:
                answers = method(composition, epsilons, **limits)
            except Unaffordable:
                continue
            for point, answer in zip(case["points"], answers):
                if answer is None:
                    continue
                for key, field in (("d", "delta"), ("p", "p_tail"), ("q", "q_tail")):
                    if not answer[key].overlaps(published(point[field])):
                        place = f"{case['name']} eps={point['epsilon']} {field}"
                        print(f"{place}: {name} {answer[key]}, file {point[field]}")
                        bad += 1
                used[name] = used.get(name, 0) + 1
                seen.append(point["epsilon"])
        missed = [p["epsilon"] for p in case["points"] if p["epsilon"] not in seen]
        if missed:
            print(f"{case['name']}: no method reaches epsilon {missed}")
            bad += 1
    print(f"{path}: {len(cases)} cases, points checked by method: {used}, {bad} disagreements")
    return bad


def self_test(arguments):
    bad = 0
    # Figures known to 30 digits: ten mechanisms with sigma2 = 5.
    known = {
        "0": "0.519766947536754958676922999528",
        "6.57": "1.00473574693982460001524492089e-5",
        "10.13": "9.74225510845281498419102803455e-12",
        "40": "1.53755265568180573182073925122e-169",
    }
    ten = Composition([("5", 10, 1)])
    epsilons = [Fraction(e) for e in known]
    for name in ("convolution", "dft"):
        for (e, text), answer in zip(known.items(), METHODS[name](ten, epsilons)):
            if not answer["d"].overlaps(published(text)):
                print(f"ten-fold eps={e}: {name} {answer['d']}, known {text}")
                bad += 1

    # Arb's DFT over all nodes against the literal convolution and the tail sums.
    mixed = Composition([("1/2", 3, 1), ("2/3", 2, 1), ("3/20", 2, 2)])
    pmf, half = full_dft_pmf(mixed, 300)
    tails = DftTails(mixed, 300)
    with precision(364):
        literal, radius, lost = convolution_pmf(mixed, 300)
        running = arb(0)
        for k in range(min(half, radius), -min(half, radius) - 1, -1):
            running += pmf[k + half]
            good = (literal[k + radius] + zero_to(lost)).overlaps(pmf[k + half])
            good = good and (running + zero_to(two_to(-298))).overlaps(tails.tail(k))
            if not good:
                print(f"pmf and tails differ at {k}")
                bad += 1

    # Lattice methods and enumeration on compositions that all can do, with epsilon on and off the lattice.
    for groups in (
        [("7/2", 2, 1)],
        [("1/3", 1, 1), ("5/4", 1, 2)],
        [("12/5", 2, 1), ("3/10", 1, 1)],
        [("1/10", 3, 1)],
        [("9/50", 2, 3)],
        [("3/2", 1, 2), ("40", 2, 7)],
    ):
        composition = Composition(groups)
        on = [
            composition.step * (k - Fraction(composition.move, 2))
            for k in (math.ceil(Fraction(composition.move, 2)), composition.move + 1)
        ]
        epsilons = [Fraction(0), Fraction(1), Fraction("3.7"), Fraction(12)] + on
        by_name = {name: METHODS[name](composition, epsilons) for name in ("dft", "enumeration")}
        by_name["convolution"] = by_convolution(composition, epsilons, max_window=30_000)
        for name in ("dft", "enumeration"):
            assert_overlap(composition, epsilons, by_name["convolution"], by_name[name])

    # The smoothed bracket must contain what the lattice methods find.
    for groups in ([("5", 10, 1)], [("5", 3, 1), ("20/3", 4, 2), ("1/8", 1, 1)]):
        composition = Composition(groups)
        epsilons = [Fraction(0), Fraction(2), Fraction("6.57")]
        for e, (low, high), answer in zip(
            epsilons, by_integration(composition, epsilons, Fraction(1, 200)), by_dft(composition, epsilons)
        ):
            if not (low < answer["d"] and answer["d"] < high):
                print(f"{groups} eps={e}: bracket [{low}, {high}] misses {answer['d']}")
                bad += 1
    bad += check_estimates()
    print(f"internal checks: {bad} disagreements")
    for path in arguments.profiles or []:
        bad += check_file(path)
    sys.exit(1 if bad else 0)
