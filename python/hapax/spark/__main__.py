"""``python -m hapax.spark``: the job as a program, for spark-submit."""

from __future__ import annotations

import argparse
import sys
from typing import Optional, Sequence

from .batch import OPTIONS, dedup
from .job import EDGES_ON_DRIVER
from ..errors import HapaxError


def arguments() -> argparse.ArgumentParser:
    """What the program takes."""
    parser = argparse.ArgumentParser(
        prog="python -m hapax.spark",
        description="Cleans a corpus on Spark: the job of hapax dedup, with the same options and the same answer.",
    )
    parser.add_argument("inputs", nargs="+", help="files, folders, globs; or URIs of an object store")
    parser.add_argument("--out", required=True, help="the output folder; snapshots are made below it")
    parser.add_argument("--snapshot", default="0", help="the name of the snapshot (0)")
    parser.add_argument("--recipe", default="web-2")
    parser.add_argument("--frequencies")
    parser.add_argument("--main-content", action="store_true")
    parser.add_argument("--partitions", type=int, help="into how many tasks rows are spread")
    parser.add_argument("--edges-on-driver", type=int, default=EDGES_ON_DRIVER, help="more edges than this stay on the executors")
    parser.add_argument("--no-documents", action="store_true", help="do not write the kept documents again")
    for name, standard in OPTIONS.items():
        flag = "--" + name.replace("_", "-")
        if name == "languages":
            parser.add_argument("--language", dest="languages", type=lambda text: text.split(","), default=[])
        elif standard is False:
            parser.add_argument(flag, action="store_true")
        else:
            parser.add_argument(flag, type={"within": int, "min_similarity": float}.get(name, str))
    return parser


def harmless(text: str) -> str:
    """Text from outside without what would steer a terminal or begin another line of a log."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


def main(given: Optional[Sequence[str]] = None) -> int:
    """Runs; the exit code."""
    asked = vars(arguments().parse_args(given))
    inputs, out = asked.pop("inputs"), asked.pop("out")
    keep_documents = not asked.pop("no_documents")
    try:
        done = dedup(inputs, out, keep_documents=keep_documents, **asked)
    except HapaxError as error:
        print(f"error: {harmless(str(error))}", file=sys.stderr)
        return 1
    print(done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
