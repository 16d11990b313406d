"""Builds the wheel: the `hapax` program with cargo, everything else with maturin (PEP 517).

maturin builds an extension module or a program, not both. So the program is built first, with the same profile into the
same target folder, and put where maturin takes the wheel's scripts from (`data` in pyproject.toml).
"""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import subprocess
from typing import Any, Mapping, Optional

import maturin
from maturin import (  # noqa: F401
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

Settings = Optional[Mapping[str, Any]]

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = HERE / "wheel-data" / "scripts"
# maturin refuses to do anything without it.
SCRIPTS.mkdir(parents=True, exist_ok=True)


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    build_program(config_settings)
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    build_program(config_settings)
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def build_program(config_settings: Settings) -> None:
    """Builds the program as maturin is asked to build the module, and puts it among the scripts."""
    options = argparse.ArgumentParser(allow_abbrev=False)
    options.add_argument("--profile", default=maturin.get_config()["profile"])
    options.add_argument("--target")
    options.add_argument("--locked", action="store_true")
    options.add_argument("--config", action="append", default=[])
    asked, _ = options.parse_known_args(maturin.get_maturin_pep517_args(config_settings))
    command = ["cargo", "build", "--package", "hapax-cli", "--bin", "hapax", "--profile", asked.profile]
    command += ["--message-format", "json-render-diagnostics"]
    command += ["--locked"] if asked.locked else []
    command += ["--target", asked.target] if asked.target else []
    command += [word for setting in asked.config for word in ("--config", setting)]
    done = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, check=True)
    messages = map(json.loads, done.stdout.splitlines())
    programs = [path for message in messages if (path := message.get("executable"))]
    shutil.rmtree(SCRIPTS)
    SCRIPTS.mkdir()
    copy = shutil.copy2(programs[-1], SCRIPTS)
    # Profiles other than `dist` keep symbols, which are most of the file.
    if strip := shutil.which("strip"):
        subprocess.run([strip, copy], check=True)
