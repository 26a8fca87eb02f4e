"""Jars for tests, by the store that benchmarks use, and the rule for machines without Java.

Class paths are kept in `build/java/class-paths/`. Where Java or Maven is missing the tests skip and say so; with
`CI=true` in the environment that skip is a failure.
"""

import os
import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NoReturn

import pytest
from stepdown.bench.servers.maven import SILENT_LOG, JarsMissing, MavenStore

REPOSITORY_ROOT = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY_ROOT / "build" / "java"


def in_ci() -> bool:
    """True where a test that cannot run is a failure (CI sets `CI=true`)."""
    return os.environ.get("CI", "").lower() in ("1", "true", "yes")


def skip_or_fail(reason: str) -> NoReturn:
    """Skip the test with its reason; in CI fail it instead."""
    if in_ci():
        pytest.fail(f"{reason} (CI=true, so this is no skip)", pytrace=False)
    pytest.skip(reason)


def require_java() -> None:
    """Return when a JDK and Maven are installed; else skip, or fail in CI."""
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if missing:
        skip_or_fail(f"not installed: {', '.join(missing)}; Kafka's own jars are the oracle of this test")


class TestJars(MavenStore):
    """Skips the test, or fails it in CI, where a jar cannot be had."""

    __test__ = False

    def class_path(self, *coordinates: str) -> tuple[Path, ...]:
        require_java()
        try:
            return super().class_path(*coordinates)
        except JarsMissing as missing:
            skip_or_fail(str(missing))


JARS = TestJars(BUILD)


def build_lock(name: str) -> AbstractContextManager[None]:
    """Hold `build/java/<name>.lock`, so that test runs side by side do not build the same thing twice."""
    return JARS.lock(name)


def class_path(*coordinates: str, log: str = SILENT_LOG) -> tuple[Path, ...]:
    """Return the jars of `group:artifact:version` coordinates and all they need, in class path order.

    `log` is the slf4j binding that is added. Versions that conflict are settled as Maven does: nearest, then first.
    """
    return JARS.class_path(*coordinates, log)
