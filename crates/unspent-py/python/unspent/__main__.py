"""The ``unspent`` command: as the wheel's script, and as ``python -m unspent``."""

import sys

from unspent._native import command


def main() -> None:
    """Runs the command with this process's arguments, and ends the process with its exit code."""
    sys.exit(command(["unspent", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
