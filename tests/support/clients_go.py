"""Sarama and franz-go: a Go program in `tests/support/go`, built when first needed and kept in `build/go`.

Where Go or a module cannot be had the test skips and says so; with `CI=true` that is a failure.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .deadline import JOB_DEADLINE_S
from .maven import REPOSITORY_ROOT, build_lock, skip_or_fail

SOURCES = Path(__file__).resolve().parent / "go"
PROGRAM = REPOSITORY_ROOT / "build" / "go" / "clients"
QUICK_BUILD = ("-gcflags=all=-N -l", "-ldflags=-s -w")
"""Where nothing was compiled before, Go's library is compiled, too: half of that is to optimize it, and cgo."""


def require_go() -> None:
    if shutil.which("go") is None:
        skip_or_fail("Go is not installed")


def go(arguments: Sequence[str], folder: Path, **environment: str) -> str:
    """What it printed, to stdout and stderr, however it ended."""
    done = subprocess.run(
        ["go", *arguments],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=JOB_DEADLINE_S,
        check=False,
    )
    return done.stdout


def go_clients() -> Path:
    """The program, as its sources are now: `main.go` says what it takes."""
    require_go()
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    with build_lock("go-clients"):
        newest = max(source.stat().st_mtime for source in SOURCES.iterdir())
        if not PROGRAM.exists() or PROGRAM.stat().st_mtime < newest:
            printed = go(["build", *QUICK_BUILD, "-o", str(PROGRAM), "."], SOURCES, CGO_ENABLED="0")
            if not PROGRAM.exists() or PROGRAM.stat().st_mtime < newest:
                skip_or_fail(f"Sarama and franz-go cannot be built: {printed[-500:]}")
    return PROGRAM
