"""The same thirty tests for each Kafka that tests use: lines, seconds of those that run here, and how many it can say.

    python -m support.thirty_tests [NAME…]      in tests/, after `make setup`

The sources are in tests/thirty. Testcontainers needs docker: without it its tests are compiled.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .clients_go import go
from .junit import RUNNING, compile_tests, run_tests
from .maven import REPOSITORY_ROOT

FOLDER = REPOSITORY_ROOT / "tests" / "thirty"
ALL = 30
SPRING = (
    "org.junit.jupiter:junit-jupiter:6.0.3",
    "org.junit.platform:junit-platform-console:6.0.3",
    "org.springframework.kafka:spring-kafka-test:4.1.1",
)
CONTAINERS = (*RUNNING, "org.testcontainers:kafka:1.21.4")
NO_TEST = re.compile(r"\s*($|//|/\*\*|\*|import |package )")
A_TEST = re.compile(r"^\s*@Test$|^func Test", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """`seconds`: of the tests, without the start of the program that runs them; None where they do not run here."""

    name: str
    files: Sequence[str]
    seconds: float | None

    @property
    def texts(self) -> list[str]:
        return [(FOLDER / file).read_text() for file in self.files]

    @property
    def tests(self) -> int:
        return sum(len(A_TEST.findall(text)) for text in self.texts)

    @property
    def lines(self) -> int:
        """Without imports, comments and blank lines."""
        return sum(not NO_TEST.match(line) for text in self.texts for line in text.splitlines())

    def __str__(self) -> str:
        seconds = "not run" if self.seconds is None else f"{self.seconds:.1f} s"
        return f"{self.name}: {self.tests} of {ALL} tests, {self.lines} lines, {seconds}"


def java(files: Sequence[str], coordinates: Sequence[str], *, runs: bool = True) -> float | None:
    """The seconds that JUnit tells."""
    sources = REPOSITORY_ROOT / "build" / "thirty" / "-".join(Path(file).stem for file in files)
    shutil.rmtree(sources, ignore_errors=True)
    sources.mkdir(parents=True)
    for file in (*files, "java/Clients.java"):
        shutil.copy(FOLDER / file, sources)
    classes = compile_tests(sources, coordinates)
    if not runs:
        return None
    printed = run_tests(classes, os.environ | {"PATH": PATH})
    (took_ms,) = re.findall(r"Test run finished after (\d+) ms", printed)
    return int(took_ms) / 1000


def in_go(file: str) -> float:
    """The seconds that Go tells. Raises: AssertionError where a test fails."""
    printed = go(["test", "-count=1", "clients_test.go", file], FOLDER / "go", PATH=PATH)
    took = re.search(r"^ok\s+\S+\s+([\d.]+)s", printed, re.M)
    assert took is not None, printed
    return float(took[1])


ANY, WAITING = "java/AnyKafka.java", "java/WaitingKafka.java"
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def stepdown() -> Result:
    files = (ANY, "java/StepdownThirtyTest.java")
    return Result(name="stepdown", files=files, seconds=java(files, RUNNING))


def embedded_kafka() -> Result:
    files = (ANY, WAITING, "java/EmbeddedKafkaThirtyTest.java")
    return Result(name="EmbeddedKafka", files=files, seconds=java(files, SPRING))


def testcontainers() -> Result:
    files = (ANY, WAITING, "java/TestcontainersThirtyTest.java")
    has_docker = subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0
    return Result(name="Testcontainers", files=files, seconds=java(files, CONTAINERS, runs=has_docker))


def stepdown_in_go() -> Result:
    file = "stepdown_thirty_test.go"
    return Result(name="stepdown in Go", files=(f"go/{file}",), seconds=in_go(file))


def kfake() -> Result:
    file = "kfake_thirty_test.go"
    return Result(name="kfake", files=(f"go/{file}",), seconds=in_go(file))


KAFKAS: dict[str, Callable[[], Result]] = {
    "stepdown": stepdown,
    "embedded-kafka": embedded_kafka,
    "testcontainers": testcontainers,
    "stepdown-in-go": stepdown_in_go,
    "kfake": kfake,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or KAFKAS:
        print(KAFKAS[name](), flush=True)
