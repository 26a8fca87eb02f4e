"""How much memory does converting take? The test of KIP-283, as the proposal has it, with more readers and codecs.

A topic of 250 partitions, 4,000 records of 1 kB each (1 GB); one fetch of v2 or v3 asks for 1 MB of every partition,
250 MB in all. Kafka 1.1 converts all of it before the first byte leaves, and dies of a 200 MB heap; Kafka 2.0 and later
convert 128 KiB at a time.

Idle is the RSS of a server started again over the written data, once a client has found the topic's leaders; peak is
what the kernel kept as the most (VmHWM) from then until every reader has its answer. Readers that stall take the
beginning of their answer and then nothing for seconds, so the server holds whatever it holds for them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import sleep

from ...protocol.records.layout import Codec
from ..alternating_runs import ShowProgress, Terms, case_with_security, start_contenders, through_tls
from ..failures import BenchFailure
from ..load.filled_topics import await_leaders, fill
from ..load.load_plan import Asking, ConnectionRequests, LoadPlan, Stall
from ..load.process import LoadProcess
from ..load.produce_and_fetch_requests import BATCH_BYTES, Filling, fetch_request
from ..load.values import ValueKind
from ..results.results import Journal, Result, Sample, Value, time_of
from ..servers.admin_connection import frame_of
from ..servers.contenders import Contender
from ..servers.maven import MavenStore
from ..servers.scrape import UsageSample, UsageWatch

SETTLE_S = 1.0
STALL = Stall(after_bytes=64 * 1024, seconds=3.0)
SETTINGS = {"log.cleaner.dedupe.buffer.size": str(4 << 20)}
"""Kafka would take 128 MB of its heap for a compaction that has nothing to do here."""
TOPIC, GIANT_TOPIC = "bench-memory", "bench-giant"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTest:
    """What is written and asked. The defaults are the proposal's.

    `giant_bytes`, where not 0: every answer begins with one compressed batch that is so large once opened.
    """

    partitions: int = 250
    records: int = 4000
    record_bytes: int = 1000
    batch_bytes: int = BATCH_BYTES
    codec: Codec = Codec.NONE
    partition_fetch_bytes: int = 1 << 20
    fetch_bytes: int = 250 << 20
    giant_bytes: int = 0

    @property
    def fillings(self) -> dict[str, Filling]:
        """What each topic holds, in the order in which topics are asked for."""
        plain = Filling(
            partitions=self.partitions,
            partition_bytes=self.records * self.record_bytes,
            record_bytes=self.record_bytes,
            batch_bytes=self.batch_bytes,
            codec=self.codec,
        )
        giant = replace(
            plain,
            partitions=1,
            partition_bytes=self.giant_bytes,
            batch_bytes=self.giant_bytes,
            codec=self.codec or Codec.GZIP,
            data=ValueKind.UNIFORM,
        )
        return {GIANT_TOPIC: giant, TOPIC: plain} if self.giant_bytes else {TOPIC: plain}

    def request_frame(self, version: int) -> bytes:
        partitions = {name: filling.partitions for name, filling in self.fillings.items()}
        request = fetch_request(partitions, partition_bytes=self.partition_fetch_bytes, most_bytes=self.fetch_bytes)
        return frame_of(request, version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """Who reads: `count` connections of which `stalling` stop for a while."""

    version: int
    count: int
    stalling: int

    @classmethod
    def of(cls, version: int, count: int, stalling_share: float) -> "Readers":
        """`stalling_share` of the readers stall, rounded down; a single reader never does."""
        return cls(version=version, count=count, stalling=int(count * stalling_share) if count > 1 else 0)


def run_memory(
    tests: Sequence[MemoryTest],
    readers: Sequence[Readers],
    folder: Path,
    maven: MavenStore,
    terms: Terms,
    heap: str,
    journal: Journal,
    show_progress: ShowProgress,
) -> list[Result]:
    """Idle and peak of each server for all `readers`, `terms.rounds` times; a server that dies is started again.

    Each test overwrites the data of the one before; all must have the same fetch limits.
    """
    settings = SETTINGS | {"fetch.max.bytes": str(max(test.fetch_bytes for test in tests))}
    with LoadProcess() as load, start_contenders(folder, maven, terms, settings, heap) as servers:
        for test in tests:
            for server in servers:
                for topic, filling in test.fillings.items():
                    show_progress(f"memory: writing {topic}, {filling.partitions} partitions, to {server.name}")
                    fill(server.address, topic, filling, load)
            for each in readers:
                _measure_in_rounds(
                    MemoryCase(test=test, readers=each, heap=heap, terms=terms),
                    servers,
                    terms,
                    load,
                    journal,
                    show_progress,
                )
    return journal.results


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCase:
    """What is written, who reads it on which terms, and the heap of a JVM that serves it."""

    test: MemoryTest
    readers: Readers
    heap: str
    terms: Terms

    def describe_case(self) -> Mapping[str, Value]:
        test, readers = self.test, self.readers
        values: dict[str, Value] = {
            "partitions": test.partitions,
            "records": test.records,
            "record_bytes": test.record_bytes,
            "batch_bytes": test.batch_bytes,
            "codec": test.codec.name.lower(),
            "partition_fetch_bytes": test.partition_fetch_bytes,
            "fetch_bytes": test.fetch_bytes,
            "giant_bytes": test.giant_bytes,
            "fetch_version": readers.version,
            "readers": readers.count,
            "stalling": readers.stalling,
            "heap": self.heap,
        }
        return case_with_security(values, self.terms)


def _measure_in_rounds(
    case: MemoryCase,
    servers: Sequence[Contender],
    terms: Terms,
    load: LoadProcess,
    journal: Journal,
    show_progress: ShowProgress,
) -> None:
    readers = case.readers
    for number in range(1, terms.rounds + 1):
        for server in servers:
            show_progress(
                f"memory: v{readers.version}, {readers.count} readers, {readers.stalling} stall, {server.name}"
            )
            _restart(server)
            _measure_once(case, number, server, terms, load, journal, show_progress)
    journal.conclude("memory", case.describe_case())


def _restart(server: Contender) -> None:
    if server.has_ended:
        server.kill()
    else:
        server.stop()
    server.start()


def _measure_once(
    case: MemoryCase,
    number: int,
    server: Contender,
    terms: Terms,
    load: LoadProcess,
    journal: Journal,
    show_progress: ShowProgress,
) -> None:
    for topic, filling in case.test.fillings.items():
        await_leaders(server.address, topic, filling.partitions)
    sleep(SETTLE_S)
    usage, logged_before = server.usage, len(server.log)
    idle = usage.rss_bytes()
    usage.forget_peak()
    with UsageWatch(usage, server.http) as watch:
        values = _run_readers(case, server, load, show_progress)
    sleep(SETTLE_S)
    values["out_of_memory"] = float("OutOfMemoryError" in server.log[logged_before:])
    peak = watch.most("rss_bytes") if server.has_ended else usage.peak_rss_bytes()
    values |= {"idle_rss_bytes": idle, "peak_rss_bytes": peak, "above_idle_bytes": peak - idle}
    values |= {name: watch.most(name) for name in ("budget_peak_bytes", "budget_waiters") if watch.most(name)}
    _note_samples(case, number, server, watch.sample(terms.samples_every_s), journal)
    journal.note(
        Result(
            kind="round",
            bench="memory",
            case=case.describe_case(),
            server=server.name,
            version=server.version,
            round=number,
            values=values,
        )
    )


def _note_samples(
    case: MemoryCase, number: int, server: Contender, moments: Iterable[UsageSample], journal: Journal
) -> None:
    for moment in moments:
        for metric, value in moment.values.items():
            journal.note_sample(
                Sample(
                    bench="memory",
                    case=case.describe_case(),
                    server=server.name,
                    version=server.version,
                    round=number,
                    t_s=round(moment.seconds, 3),
                    metric=metric,
                    value=value,
                    ts=time_of(moment.at),
                )
            )


def _run_readers(
    case: MemoryCase, server: Contender, load: LoadProcess, show_progress: ShowProgress
) -> dict[str, float]:
    """What the readers got; `readers_lost` is 1 when the server let them down."""
    version, fillings = case.readers.version, case.test.fillings.values()
    asking = Asking(
        kind="fetch", client=f"fetch-v{version}", partitions=sum(filling.partitions for filling in fillings)
    )
    connections = tuple(_connection_requests(case.test, case.readers))
    plan = LoadPlan(address=server.address, connections=connections, asking=asking, responses=1)
    load.prepare(through_tls(server, plan))
    load.start_load()
    try:
        result = load.result()
    except BenchFailure as failure:
        show_progress(f"memory: readers are lost: {failure}")
        return {"readers_lost": 1.0}
    return {"readers_lost": 0.0, "received_bytes": float(result.received_bytes), "seconds": result.seconds}


def _connection_requests(test: MemoryTest, readers: Readers) -> Iterator[ConnectionRequests]:
    requests = (test.request_frame(readers.version),)
    for index in range(readers.count):
        yield ConnectionRequests(requests=requests, stall=STALL if index < readers.stalling else None)
