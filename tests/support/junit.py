"""distributions/junit, compiled, and JUnit's console, which runs test classes with it."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .deadline import JOB_DEADLINE_S
from .java_build import compile_java, java
from .maven import REPOSITORY_ROOT, class_path

API = "org.junit.jupiter:junit-jupiter-api:5.11.4"
RUNNING = (
    "org.junit.jupiter:junit-jupiter:5.11.4",
    "org.junit.platform:junit-platform-console:1.11.4",
    "org.apache.kafka:kafka-clients:3.9.1",
)
RUNNING_6 = (
    "org.junit.jupiter:junit-jupiter:6.0.3",
    "org.junit.platform:junit-platform-console:6.0.3",
    "org.apache.kafka:kafka-clients:3.9.1",
)
SOURCES = REPOSITORY_ROOT / "distributions" / "junit" / "src"


def extension() -> Path:
    """The package, compiled beside JUnit's API and nothing else."""
    return compile_java((str(SOURCES / "main"),), class_path(API))


def compile_tests(sources: Path, coordinates: Sequence[str] = RUNNING) -> tuple[Path, ...]:
    """The class path of the tests of a folder, itself first. `coordinates`: JUnit, its console, and what tests need."""
    jars = (extension(), *class_path(*coordinates))
    return compile_java((str(sources),), jars), *jars


def run_tests(classes: tuple[Path, ...], environment: Mapping[str, str]) -> str:
    """What JUnit printed of the tests of the first entry. Raises: AssertionError where one fails."""
    options = [
        "execute",
        f"--scan-classpath={classes[0]}",
        "--disable-banner",
        "--fail-if-no-tests",
        "--details=summary",
    ]
    command = java(classes, "org.junit.platform.console.ConsoleLauncher", *options)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=JOB_DEADLINE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
