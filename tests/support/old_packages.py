"""Versions of packages that cannot be installed beside the ones tests import: each in a folder of its own.

They are kept in `build/python/` and `build/node/`. Where one cannot be had the test skips and says so; with `CI=true`
that is a failure.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .maven import REPOSITORY_ROOT, build_lock, skip_or_fail

BUILD = REPOSITORY_ROOT / "build"


def old_package(requirement: str) -> Path:
    """The folder to put first on Python's path for `name==version`, without what it depends on."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    return _install(BUILD / "python" / requirement.replace("==", "-"), requirement, [*pip, requirement, "--target"])


def require_node() -> None:
    """Returns when Node and npm are installed; else skips, or fails in CI."""
    if shutil.which("npm") is None:
        skip_or_fail("Node and npm are not installed")


def node_package(requirement: str) -> Path:
    """The folder to put on Node's path for `name@version`, with what it depends on."""
    require_node()
    npm = ["npm", "install", "--silent", "--no-save", "--ignore-scripts", "--omit=optional"]
    folder = _install(BUILD / "node" / requirement.replace("@", "-"), requirement, [*npm, requirement, "--prefix"])
    return folder / "node_modules"


def _install(folder: Path, requirement: str, command: Sequence[str]) -> Path:
    """The folder, in which the command, whose last argument it is, has installed the package."""
    with build_lock(folder.name):
        if not folder.exists():
            unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
            unfinished.mkdir(parents=True)
            done = subprocess.run([*command, str(unfinished)], capture_output=True, text=True, check=False)
            if done.returncode:
                shutil.rmtree(unfinished)
                skip_or_fail(f"{command[0]} cannot install {requirement}: {(done.stdout + done.stderr).strip()}")
            unfinished.rename(folder)
    return folder
