"""`stepdown producer-perf`: writes records at a given rate, and reports the rate and latency reached.

Options are those of kafka-producer-perf-test.
Latency is measured from `send` to acknowledgement, so it includes the time in the batch and for retries.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ...config import ConfigError
from ..produce.topic_lookup import TopicLookup
from ..support.bootstrap_server import LOCAL, AsJson, Bootstrap, connect_client_by_properties
from ..support.client_properties import BOOTSTRAP_KEY, PREFIXES, CommandConfig, security_properties
from ..support.failures import EXIT_BAD_USAGE, CommandFailure
from ..support.name_value_options import parse_name_value_pairs
from .java_tool import JavaResult, run_java_tool

producer_perf = typer.Typer(add_completion=False, rich_markup_mode=None)

PERCENTILES = (50.0, 95.0, 99.0, 99.9)
REPORT_RECORDS = 1000
RECORDS_PER_TURN = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfOptions:
    """What to write: `throughput` is in records per second, negative for no limit."""

    bootstrap: str
    topic: str
    records: int
    record_bytes: int
    throughput: float
    settings: dict[str, str]
    command_config: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfReport:
    """The results of a run. Latencies are those of acknowledged records, in ms; MB are 1024 * 1024 bytes."""

    records: int
    failed: int
    first_error: str | None
    seconds: float
    cpu_seconds: float
    record_bytes: int
    latencies_ms: Sequence[float]
    metrics: dict[str, float]

    @property
    def acknowledged(self) -> int:
        """How many records were acknowledged."""
        return self.records - self.failed

    @property
    def per_second(self) -> float:
        return self.acknowledged / self.seconds if self.seconds else 0.0

    def latency_ms(self, percentile: float) -> float:
        """The latency that this percentage of the records did not exceed."""
        if not self.latencies_ms:
            return 0.0
        return self.latencies_ms[min(len(self.latencies_ms) - 1, int(len(self.latencies_ms) * percentile / 100))]

    def as_json(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "sent": self.acknowledged,
            "failed": self.failed,
            "first_error": self.first_error,
            "seconds": round(self.seconds, 3),
            "cpu_seconds": round(self.cpu_seconds, 3),
            "records_per_second": round(self.per_second, 1),
            "mb_per_second": round(self.per_second * self.record_bytes / 2**20, 3),
            "latency_ms": {f"p{p:g}": round(self.latency_ms(p), 2) for p in PERCENTILES}
            | {"max": round(self.latency_ms(100), 2)},
            "batch_size_avg": _round_or_none(self.metrics["batch-size-avg"]),
            "compression_rate_avg": _round_or_none(self.metrics["compression-rate-avg"]),
            "batch_splits": self.metrics["batch-split-total"],
            "record_retries": self.metrics["record-retry-total"],
        }


def _round_or_none(value: float) -> float | None:
    return None if value != value else round(value, 3)


@producer_perf.command()
def perf(
    topic: Annotated[str, typer.Option("--topic", "-t", help="Where to write.")],
    records: Annotated[int, typer.Option("--num-records", "-n", min=1, help="How many records.")] = 100_000,
    record_bytes: Annotated[int, typer.Option("--record-size", "-s", min=1, help="Bytes of each value.")] = 1000,
    throughput: Annotated[float, typer.Option("--throughput", help="Records per second; -1 for no limit.")] = -1,
    bootstrap: Bootstrap = LOCAL,
    props: Annotated[
        list[str] | None, typer.Option("--producer-props", "-p", metavar="KEY=VALUE", help="A setting; repeatable.")
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option("--compare", metavar="java", help="Run Kafka's own tool too, from the PATH or by Maven."),
    ] = None,
    as_json: AsJson = False,
    command_config: CommandConfig = None,
) -> None:
    """Write records to a topic and report throughput and latency."""
    if compare not in (None, "java"):
        raise CommandFailure(f"--compare knows java, not {compare}", exit_code=EXIT_BAD_USAGE)
    settings = {
        key.replace("_", "."): text.strip() for key, text in parse_name_value_pairs(props or [], "--producer-props")
    }
    run = PerfOptions(
        bootstrap=settings.pop(BOOTSTRAP_KEY, bootstrap),  # Kafka's own tool takes it from here
        topic=topic,
        records=records,
        record_bytes=record_bytes,
        throughput=throughput,
        settings=settings,
        command_config=command_config,
    )
    try:
        _check_topic_exists(run)
        report = asyncio.run(_send_records(run, quiet=as_json))
    except ConfigError as fault:
        raise CommandFailure(str(fault), exit_code=EXIT_BAD_USAGE) from fault
    java = run_java_tool(_java_arguments(run)) if compare else None
    _print_report(report, java, as_json)
    if report.failed:
        unsent = f", {records - report.records} were not sent" if report.records < records else ""
        raise CommandFailure(f"{report.failed} of {report.records} records failed{unsent}: {report.first_error}")


def _check_topic_exists(run: PerfOptions) -> None:
    """Returns when a broker answers and has the topic: a producer would wait a minute for each record.

    Raises: ConfigError for settings that no producer takes, CommandFailure.
    """
    from ...producer.settings import producer_settings

    settings = _settings_of(run)
    producer_settings({"bootstrap.servers": run.bootstrap, **settings})
    with connect_client_by_properties(
        run.bootstrap, {key: settings[key] for key in settings if key.startswith(PREFIXES)}
    ) as client:
        TopicLookup(client).check_exists(run.topic, None)


def _settings_of(run: PerfOptions) -> dict[str, str]:
    """Returns the producer's settings; the command line overrides the file."""
    return security_properties(run.command_config) | run.settings


async def _send_records(run: PerfOptions, *, quiet: bool) -> PerfReport:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from ...producer import Producer, ProducerError, RecordMetadata
    from ...producer.errors import Timeout

    latencies: list[float] = []
    errors: list[ProducerError] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=quiet) as progress:
        task = progress.add_task(run.topic, total=run.records)
        async with Producer(run.bootstrap, configs=_settings_of(run)) as producer:
            value = _make_value(run.record_bytes)
            started, cpu = time.perf_counter(), time.process_time()

            def take_result(sent: float, metadata: RecordMetadata, error: ProducerError | None) -> None:
                if error is None:
                    latencies.append((time.perf_counter() - sent) * 1000)
                else:
                    errors.append(error)
                ended = len(latencies) + len(errors)
                if ended % REPORT_RECORDS == 0:
                    progress.update(task, completed=ended)

            sending = 0
            for index in range(run.records):
                if errors and isinstance(errors[-1], Timeout):
                    break  # no broker accepts records any more, and each of the rest would wait as long
                sending = index + 1
                await _wait_for_throughput(run, index, started)
                sent = time.perf_counter()
                delivery = producer.send(run.topic, value, callback=partial(take_result, sent))
                if index % RECORDS_PER_TURN == 0:
                    await asyncio.sleep(0)
                await delivery.accepted()
            await producer.flush()
            seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
            metrics = producer.metrics()
        progress.update(task, completed=sending)
    return PerfReport(
        records=sending,
        failed=len(errors),
        first_error=str(errors[0]) if errors else None,
        seconds=seconds,
        cpu_seconds=cpu,
        record_bytes=run.record_bytes,
        latencies_ms=sorted(latencies),
        metrics=metrics,
    )


def _make_value(size: int) -> bytes:
    """Returns random letters, as Kafka's tool sends them."""
    return bytes(random.Random(0).choices(range(65, 91), k=size))


async def _wait_for_throughput(run: PerfOptions, index: int, started: float) -> None:
    if run.throughput > 0:
        ahead = index / run.throughput - (time.perf_counter() - started)
        if ahead > 0:
            await asyncio.sleep(ahead)


def _print_report(report: PerfReport, java: JavaResult | None, as_json: bool) -> None:
    shown = report.as_json()
    if as_json:
        typer.echo(json.dumps(shown | ({"java": java.as_json()} if java is not None else {})))
        return
    latency = ", ".join(f"{name} {value} ms" for name, value in shown["latency_ms"].items())
    failed = f", {shown['failed']} failed" if shown["failed"] else ""
    typer.echo(
        f"{shown['sent']} records sent{failed}, {shown['records_per_second']} records/s "
        f"({shown['mb_per_second']} MB/s), {shown['cpu_seconds']} s of CPU"
    )
    typer.echo(f"latency {latency}")
    typer.echo(
        f"batches of {shown['batch_size_avg']} bytes, compressed to {shown['compression_rate_avg']}, "
        f"{shown['batch_splits']:.0f} split, {shown['record_retries']:.0f} records sent again"
    )
    if java is not None:
        _print_java_result(java, report)


def _java_arguments(run: PerfOptions) -> list[str]:
    arguments = ["--topic", run.topic, "--num-records", str(run.records), "--record-size", str(run.record_bytes)]
    arguments += ["--throughput", f"{run.throughput:g}", "--producer-props", f"bootstrap.servers={run.bootstrap}"]
    arguments += [f"{key}={value}" for key, value in run.settings.items()]
    return arguments if run.command_config is None else [*arguments, "--producer.config", str(run.command_config)]


def _print_java_result(java: JavaResult, report: PerfReport) -> None:
    typer.echo(f"java: {java.summary}")
    if java.per_second:
        typer.echo(f"java: {java.cpu_seconds:.2f} s of CPU, the start of the JVM included")
        typer.echo(f"stepdown wrote {report.per_second / java.per_second:.2f} times as many records/s as java")
