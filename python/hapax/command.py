"""The ``hapax`` program: ``pip install`` alone gives it."""

from __future__ import annotations

import signal
import sys

from ._hapax import run_command

__all__ = ["main"]


def main() -> int:
    """Runs the program with the words of the command line; gives its exit code."""
    # Python's own handler waits for Python code to run, and none will.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run_command(["hapax", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
