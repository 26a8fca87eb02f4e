"""Measures produce throughput, with batches stored as sent or recompressed.

A case is (data, batch size, codec, magic, acks, compression.type): 8 connections send batches of one partition each (or
of more), 5 requests in flight, over 12 partitions. Magic 0 and 1 are converted up. Where compression.type is not
"producer" and not the codec of the batch, the server opens every batch and compresses it again. Each turn writes a
topic of its own, which is deleted afterwards.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from time import sleep

from ...protocol.records.layout import Codec
from ..alternating_runs import AlternatingRun, ShowProgress, Terms, start_contenders
from ..failures import BenchFailure
from ..load.filled_topics import create_topic, delete_topic, largest_batch
from ..load.process import LoadProcess
from ..load.produce_and_fetch_requests import Filling, ProduceRequests
from ..load.values import ValueKind
from ..results.results import Journal, Result, Value
from ..servers.contenders import Contender
from ..servers.maven import MavenStore

PARTITIONS = 12
DELETE_DELAY_MS = 100
SETTLE_S = 0.5
SETTINGS = {"log.segment.delete.delay.ms": str(DELETE_DELAY_MS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceCase:
    """One row of the table."""

    batch_bytes: int
    record_bytes: int
    codec: Codec
    magic: int
    acks: int
    compression_type: str
    data: ValueKind

    def describe_case(self, writing: ProduceRequests) -> dict[str, Value]:
        return {
            "data": str(self.data),
            "batch_bytes": self.batch_bytes,
            "record_bytes": self.record_bytes,
            "codec": self.codec.name.lower(),
            "magic": self.magic,
            "acks": self.acks,
            "compression_type": self.compression_type,
            "connections": writing.connections,
            "in_flight": writing.in_flight,
            "request_partitions": writing.request_partitions,
        }

    @property
    def filling(self) -> Filling:
        return Filling(
            partitions=PARTITIONS,
            partition_bytes=self.batch_bytes,
            record_bytes=min(self.record_bytes, self.batch_bytes),
            batch_bytes=self.batch_bytes,
            codec=self.codec,
            magic=self.magic,
            data=self.data,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceGrid:
    """All combinations."""

    batch_bytes: Sequence[int] = (64_000, 1_800)
    record_bytes: int = 600
    codecs: Sequence[Codec] = (Codec.NONE,)
    magics: Sequence[int] = (2,)
    acks: Sequence[int] = (1,)
    compression_types: Sequence[str] = ("producer",)
    data: Sequence[ValueKind] = (ValueKind.LETTERS,)

    def cases(self) -> Iterator[ProduceCase]:
        for data, batch_bytes, codec, magic, acks, compression_type in product(
            self.data, self.batch_bytes, self.codecs, self.magics, self.acks, self.compression_types
        ):
            yield ProduceCase(
                batch_bytes=batch_bytes,
                record_bytes=self.record_bytes,
                codec=codec,
                magic=magic,
                acks=acks,
                compression_type=compression_type,
                data=data,
            )


def run_produce(
    grid: ProduceGrid,
    writing: ProduceRequests,
    folder: Path,
    maven: MavenStore,
    terms: Terms,
    heap: str,
    journal: Journal,
    show_progress: ShowProgress,
) -> list[Result]:
    """Medians and ratios of every case."""
    found: list[Result] = []
    numbers = count(1)
    with LoadProcess() as load, start_contenders(folder, maven, terms, SETTINGS, heap) as servers:
        for case in grid.cases():
            contest = AlternatingRun("produce", case.describe_case(writing), terms, journal, show_progress)

            def measure(
                server: Contender, seconds: float, case: ProduceCase = case, contest: AlternatingRun = contest
            ) -> dict[str, float]:
                return _write(contest, server, f"written-{next(numbers)}", case, writing, seconds, load)

            found += contest.play(servers, measure)
    return found


def _write(
    contest: AlternatingRun,
    server: Contender,
    topic: str,
    case: ProduceCase,
    writing: ProduceRequests,
    seconds: float,
    load: LoadProcess,
) -> dict[str, float]:
    filling = case.filling
    configs = {"compression.type": case.compression_type, "max.message.bytes": str(largest_batch(case.batch_bytes))}
    create_topic(server.address, topic, PARTITIONS, configs)
    plan = writing.plan(server.address, topic, filling, seconds)
    measured = contest.measure(server, [plan], [load])
    delete_topic(server.address, topic)
    sleep(SETTLE_S)
    if errors := measured.results[0].errors:
        raise BenchFailure(f"{errors} of {measured.results[0].responses} produce requests were refused")
    values = measured.values(of_sent=True)
    values["records_per_s"] = values["requests_per_s"] * filling.records_a_batch * writing.request_partitions
    return values
