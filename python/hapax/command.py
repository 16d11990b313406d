"""The ``hapax`` program: ``python -m hapax.command`` runs the one that came with this package."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import sysconfig

__all__ = ["main", "program"]


def program() -> pathlib.Path:
    """Where the program is: with the scripts of this environment, of the user, or of ``pip install --target``."""
    name = "hapax.exe" if os.name == "nt" else "hapax"
    user = sysconfig.get_preferred_scheme("user") if sys.version_info >= (3, 10) else f"{os.name}_user"
    target = str(pathlib.Path(__file__).resolve().parent.parent / "bin")
    places = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", user), target]
    for place in places:
        path = pathlib.Path(place, name)
        if path.is_file():
            return path
    raise FileNotFoundError(f"the hapax program is in none of {', '.join(places)}; install the package again")


def main() -> int:
    """Runs the program with the words of the command line, in place of this process where that can be."""
    command = [str(program()), *sys.argv[1:]]
    if os.name == "nt":
        return subprocess.run(command).returncode
    os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(main())
