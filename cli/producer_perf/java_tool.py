"""Kafka's own kafka-producer-perf-test, for `stepdown producer-perf --compare java`."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

from ..support.failures import CommandFailure

JAVA_TOOL = "kafka-producer-perf-test"
JAVA_MAIN = "org.apache.kafka.tools.ProducerPerformance"
JAVA_JARS = "org.apache.kafka:kafka-tools:3.9.1"
SILENT_LOG = "org.slf4j:slf4j-nop:1.7.36"


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaResult:
    """The last line of Kafka's own tool, and the CPU seconds of its whole run with the JVM's start."""

    summary: str
    cpu_seconds: float

    @property
    def per_second(self) -> float:
        """Records per second, 0 if the summary has none."""
        found = re.search(r"([\d.]+) records/sec", self.summary)
        return float(found[1]) if found else 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "summary": self.summary,
            "records_per_second": self.per_second,
            "cpu_seconds": round(self.cpu_seconds, 3),
        }


def run_java_tool(arguments: Sequence[str]) -> JavaResult:
    """Runs the tool and returns its result.

    Raises: CommandFailure if the tool cannot be found or got, or if it fails.
    """
    command = [*_find_java_tool(), *arguments]
    before = getrusage(RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = getrusage(RUSAGE_CHILDREN)
    lines = (done.stdout if done.returncode == 0 else done.stderr or done.stdout).strip().splitlines()
    if done.returncode != 0 or not lines:
        raise CommandFailure(f"java ended with {done.returncode}: {lines[-1] if lines else 'no output'}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return JavaResult(summary=lines[-1], cpu_seconds=cpu)


def _find_java_tool() -> list[str]:
    """Returns the command of the tool: from the PATH, or Java with jars from Maven. Raises: CommandFailure."""
    tool = next(filter(None, map(shutil.which, (f"{JAVA_TOOL}.sh", JAVA_TOOL))), None)
    if tool is not None:
        return [tool]
    from ...bench.failures import BenchFailure
    from ...bench.servers.kafka import java
    from ...bench.servers.maven import user_store

    try:
        jars = user_store().class_path(JAVA_JARS, SILENT_LOG)
    except BenchFailure as fault:
        raise CommandFailure(f"{JAVA_TOOL} is not on the PATH, and its jars cannot be had: {fault}") from fault
    return java(jars, JAVA_MAIN, heap="512m")
