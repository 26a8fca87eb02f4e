"""Jars by Maven coordinates: class paths of Apache Kafka and its clients, and the rule for machines without Java.

A class path is resolved once by the `mvn` of the machine (into the local Maven repository) and then read from
`build/java/class-paths/`, so later runs need neither the network nor Maven's start-up time.
Where Java or Maven is missing the tests skip and say so; with `CI=true` in the environment that skip is a failure.
"""

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

REPOSITORY_ROOT = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY_ROOT / "build" / "java"

KAFKA_3_9 = "org.apache.kafka:kafka_2.13:3.9.1"
SILENT_LOG = "org.slf4j:slf4j-nop:1.7.36"
STDERR_LOG = "org.slf4j:slf4j-simple:1.7.36"

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"
_COORDINATES = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+")
_MAVEN_TIMEOUT_S = 600


def in_ci() -> bool:
    """True where a test that cannot run is a failure (CI sets `CI=true`)."""
    return os.environ.get("CI", "").lower() in ("1", "true", "yes")


def skip_or_fail(reason: str) -> None:
    """Skip the test with its reason; in CI fail it instead."""
    if in_ci():
        pytest.fail(f"{reason} (CI=true, so this is no skip)", pytrace=False)
    pytest.skip(reason)


def require_java() -> None:
    """Return when a JDK and Maven are installed; else skip, or fail in CI."""
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if missing:
        skip_or_fail(f"not installed: {', '.join(missing)}; Kafka's own jars are the oracle of this test")


@contextmanager
def build_lock(name: str) -> Iterator[None]:
    """Hold `build/java/<name>.lock`, so that test runs side by side do not build the same thing twice."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def class_path(*coordinates: str, log: str = SILENT_LOG) -> tuple[Path, ...]:
    """Return the jars of `group:artifact:version` coordinates and all they need, in class path order.

    `log` is the slf4j binding that is added. Versions that conflict are settled as Maven does: nearest, then first.
    """
    require_java()
    return _class_path((*coordinates, log))


@functools.cache
def _class_path(coordinates: tuple[str, ...]) -> tuple[Path, ...]:
    name = hashlib.sha256(" ".join(coordinates).encode()).hexdigest()[:16]
    kept = BUILD / "class-paths" / f"{name}.txt"
    with build_lock("maven"):
        if kept.exists():
            jars = _jars(kept)
            if all(jar.exists() for jar in jars):
                return jars
        kept.parent.mkdir(parents=True, exist_ok=True)
        _resolve(coordinates, kept)
    return _jars(kept)


def _jars(file: Path) -> tuple[Path, ...]:
    return tuple(Path(entry) for entry in file.read_text().strip().split(os.pathsep))


def _resolve(coordinates: Sequence[str], target: Path) -> None:
    pom = target.with_suffix(".pom.xml")
    pom.write_text(_pom(coordinates))
    output = target.with_suffix(".new")
    command = ["mvn", "-q", "-B", "-f", str(pom), _PLUGIN, f"-Dmdep.outputFile={output}", "-Dmdep.includeScope=test"]
    offline = _run([*command, "-o"])
    done = offline if offline.returncode == 0 else _run(command)
    if done.returncode != 0:
        skip_or_fail(f"Maven cannot resolve {' '.join(coordinates)}: {done.stdout.strip()[-600:]}")
    output.rename(target)


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=_MAVEN_TIMEOUT_S, check=False)


def _pom(coordinates: Sequence[str]) -> str:
    return f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>stepdown.tests</groupId><artifactId>class-path</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>
{"".join(_dependency(c) for c in coordinates)}</dependencies></project>
"""


def _dependency(coordinates: str) -> str:
    if not _COORDINATES.fullmatch(coordinates):
        raise ValueError(f"Maven coordinates are group:artifact:version, found {coordinates!r}")
    group, artifact, version = (escape(part) for part in coordinates.split(":"))
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>\n"
    )
