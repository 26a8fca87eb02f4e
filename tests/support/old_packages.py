"""Versions of Python packages that cannot be installed beside the ones tests import: each in a folder of its own.

They are kept in `build/python/`. Where one cannot be had the test skips and says so; with `CI=true` that is a failure.
"""

import os
import subprocess
import sys
from pathlib import Path

from .maven import REPOSITORY_ROOT, build_lock, skip_or_fail

FOLDER = REPOSITORY_ROOT / "build" / "python"


def old_package(requirement: str) -> Path:
    """The folder to put first on the path for `name==version`, without what it depends on."""
    folder = FOLDER / requirement.replace("==", "-")
    with build_lock(folder.name):
        if not folder.exists():
            unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(unfinished)]
            done = subprocess.run([*command, requirement], capture_output=True, text=True, check=False)
            if done.returncode:
                skip_or_fail(f"pip cannot install {requirement}: {done.stderr.strip()}")
            unfinished.rename(folder)
    return folder
