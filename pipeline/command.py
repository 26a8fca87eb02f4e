"""The command line of the jobs, which `process.py` starts.

A job is a module with `add_arguments(parser)` and `run(arguments)`; it is imported when it is asked for. Exit codes: 0
done, 1 failed, 2 bad usage; a failure is one line on stderr.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Protocol

from ..config.sources.command_parser import CommandParser
from .failures import EXIT_BAD_USAGE, EXIT_FAILED, failure_of

PROGRAM = "stepdown-pipeline"

JOBS: dict[str, tuple[str, str]] = {
    "census": (".census.job", "count what a log directory holds, and what old clients would cost"),
    "archive": (".archive.job", "keep a broker or a log directory in Parquet or Delta, each record once"),
    "compact": (".archive.compact_job", "join the small files of an archive to large ones"),
    "convert": (".convert.job", "write a log directory again in another magic"),
    "workload": (".workload.job", "write a seeded load to a broker or a log directory"),
}
"""Name of a job to its module here and its line in the help."""

_NEEDS_SPARK = "Spark is not installed: pip install '.[spark]' where stepdown's sources are, 0.9 GB on the disk"


class Job(Protocol):
    """What a job's module holds."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> None: ...


def main(words: Sequence[str]) -> int:
    """Run the job that the command line names; return the exit code. Raises: SystemExit for --help and bad usage."""
    prepared = parse_command_line(words, PROGRAM)
    return prepared if isinstance(prepared, int) else run(*prepared, PROGRAM)


def parse_command_line(words: Sequence[str], program: str) -> tuple[Job, argparse.Namespace] | int:
    """Import the job that the command line names and read its arguments; the exit code where a library is missing.

    `program` is what the help and failures call it. Raises: SystemExit for --help and bad usage.
    """
    name = words[0] if words else ""
    try:
        parser, job = _make_parser_and_job(program, name)
    except ImportError as missing:
        if (missing.name or "").partition(".")[0] not in {"pyspark", "py4j", "pandas", "pyarrow", "numpy"}:
            raise
        return _print_failure(program, _explain_missing(missing.name or ""), EXIT_BAD_USAGE)
    given = parser.parse_args(words)
    assert job is not None  # argparse ends without one
    return job, given


def list_next(program: str, words: Sequence[str], begin: str) -> Iterator[tuple[str, str]]:
    """Same as `CommandParser.list_next`. Raises: ImportError where a job's module needs what is not installed."""
    parser, _ = _make_parser_and_job(program, words[0] if words else "")
    return parser.list_next(words, begin)


def _explain_missing(module: str) -> str:
    """What to do about a module of Spark, or of what Spark needs, that cannot be imported or lacks a name."""
    if not module.startswith("pyspark."):
        return _NEEDS_SPARK
    import pyspark

    return f"Spark {pyspark.__version__} has no {module} as Spark 4.2 has it, which the pipeline needs"


def _make_parser_and_job(program: str, name: str) -> tuple[CommandParser, Job | None]:
    parser = CommandParser(program, "Read, count, convert and keep Kafka segments with Spark.")
    jobs = parser.add_subparsers(metavar="JOB", required=True)
    found: Job | None = None
    for job_name, (module, line) in JOBS.items():
        sub = jobs.add_parser(job_name, help=line, description=line)
        if job_name == name:
            found = import_module(module, __package__)
            found.add_arguments(sub)
            _add_common(sub)
    return parser, found


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--master", help="Spark's master; local[*] unless spark-submit gives another")
    parser.add_argument("--json", action="store_true", help="print results as JSON lines")


def run(job: Job, given: argparse.Namespace, program: str) -> int:
    """Run the job; return the exit code, after a failure was told."""
    try:
        job.run(given)
    except BrokenPipeError:
        send_output_to_null()  # the reader has gone, as `| head` does
        return EXIT_FAILED
    except Exception as error:
        failure = failure_of(error)
        if failure is None:
            raise
        return _print_failure(program, str(failure), failure.exit_code)
    return 0


def _print_failure(program: str, line: str, exit_code: int) -> int:
    print(f"{program}: {line}", file=sys.stderr)
    return exit_code


def send_output_to_null() -> None:
    """Have what standard output still holds go nowhere: Python would complain of it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
