"""The command line: `python -m oracle COMMAND`."""

import argparse
from fractions import Fraction

from . import __doc__ as about
from .balls import directed
from .composition import Composition, Unaffordable
from .integration import by_integration
from .methods import METHODS, evaluate
from .reference import run_fixed, run_random
from .selftest import self_test


def run_one(arguments):
    groups = [g.split(",") for g in arguments.group]
    composition = Composition([(g + ["1", "1"])[:3] if len(g) < 3 else g for g in groups])
    epsilons = [Fraction(e) for e in arguments.epsilon]
    method = arguments.method
    if method == "integration":
        answers = by_integration(composition, epsilons, Fraction(arguments.smoothing))
    elif method:
        answers = METHODS[method](composition, epsilons)
    else:
        try:
            method, answers = evaluate(composition, epsilons)
        except Unaffordable:
            method, answers = (
                "integration",
                by_integration(composition, epsilons, Fraction(arguments.smoothing)),
            )
    step = str(composition.step)
    step = step if len(step) < 60 else "useless"
    print(f"lattice step {step}, mu2 {float(composition.mu2):.9g}, method {method}")
    for text, answer in zip(arguments.epsilon, answers):
        if answer is None:
            print(f"epsilon {text}: out of reach")
        elif method == "integration":
            print(f"epsilon {text}: delta in [{directed(answer[0], False)}, {directed(answer[1], True)}]")
        else:
            print(f"epsilon {text}:")
            for key, name in (("d", "delta"), ("p", "P[L>eps]"), ("q", "Q[L>eps]"), ("c", "1-delta")):
                print(f"  {name:9} {answer[key].str(32)}")


def main():
    parser = argparse.ArgumentParser(prog="oracle", description=about.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    test = commands.add_parser("selftest", help="check the methods against each other and against files")
    test.add_argument("--profiles", action="append", metavar="PATH", help="file of exact profiles to check")
    test.set_defaults(run=self_test)
    one = commands.add_parser("one", help="one composition")
    one.add_argument("--group", action="append", required=True, metavar="SIGMA2,COUNT,SHIFT")
    one.add_argument("--epsilon", nargs="+", required=True, metavar="E")
    one.add_argument("--method", choices=[*METHODS, "integration"])
    one.add_argument("--smoothing", default="1/2500", help="size s of the fictitious mechanism (integration)")
    one.set_defaults(run=run_one)
    many = commands.add_parser("random", help="random compositions, written as a reference file")
    many.add_argument("--seed", type=int, required=True)
    many.add_argument("--pairs", type=int, required=True)
    many.add_argument("--out", required=True, metavar="FILE")
    many.set_defaults(run=run_random)
    fixed = commands.add_parser("fixed", help="write standard.json and guarantees.json")
    fixed.add_argument("directory", metavar="DIRECTORY")
    fixed.set_defaults(run=run_fixed)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
