"""`stepdown bench`: measures, beside Apache Kafka in the same run, what stepdown claims."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .shared_options import TURNS, Shared, with_shared_options
from .workplace import open_workplace

if TYPE_CHECKING:
    from ...bench.cases.fetching import FetchGrid
    from ...bench.load.values import ValueKind
    from ...protocol.records.layout import Codec

bench = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Measure speed and memory, beside Apache Kafka in the same run.",
)

Sizes = Annotated[str, typer.Option(metavar="BYTES,...", help="Sizes of records.")]
Codecs = Annotated[str, typer.Option(metavar="CODEC,...", help="none, gzip, snappy, lz4, zstd.")]
Versions = Annotated[str, typer.Option(metavar="VERSION,...", help="Fetch versions: 0, 1: magic 0; 2, 3: magic 1.")]
ReaderCounts = Annotated[str, typer.Option("--readers", metavar="COUNT,...", help="Connections that read at once.")]
DataNames = Annotated[
    str, typer.Option("--data", metavar="DATA,...", help="json, text, logs, letters, random: what values are made of.")
]
Batches = Annotated[str, typer.Option(metavar="BYTES,...", help="Sizes of batches, decompressed.")]
Count = Annotated[int, typer.Option(min=1)]


@bench.callback()
def bench_group() -> None:
    """Measure speed and memory, beside Apache Kafka in the same run."""


@bench.command()
@with_shared_options(rounds=1, heap="200m", without=TURNS)
def memory(
    readers: ReaderCounts = "1,20,100",
    stalling: Annotated[int, typer.Option(metavar="PERCENT", help="Share of readers that stall.", min=0, max=100)] = 75,
    versions: Versions = "2,3",
    partitions: Count = 250,
    records: Annotated[int, typer.Option(help="Records a partition.", min=1)] = 4000,
    record_bytes: Count = 1000,
    batch_bytes: Count = 16_000,
    codecs: Codecs = "none",
    fetch_bytes: Annotated[int, typer.Option(help="fetch.max.bytes of clients and servers.", min=1)] = 250 << 20,
    partition_fetch_bytes: Annotated[int, typer.Option(help="max.partition.fetch.bytes.", min=1)] = 1 << 20,
    giant: Annotated[bool, typer.Option("--giant", help="Begin with one batch of 100 MB, decompressed.")] = False,
    giant_bytes: Annotated[int, typer.Option(help="Size of that batch.", min=1)] = 100_000_000,
    broker: Annotated[str, typer.Option(metavar="HOST:PORT", help="Measure a stepdown that runs already.")] = "",
    metrics: Annotated[str, typer.Option(metavar="HOST:PORT", help="Address of its /metrics.")] = "",
    *,
    shared: Shared,
) -> None:
    """Measure the memory of down-conversion: KIP-283's test."""
    from ...bench.cases.downconversion_memory import MemoryTest, Readers, run_memory

    tests = [
        MemoryTest(
            partitions=partitions,
            records=records,
            record_bytes=record_bytes,
            batch_bytes=batch_bytes,
            codec=codec,
            partition_fetch_bytes=partition_fetch_bytes,
            fetch_bytes=fetch_bytes,
            giant_bytes=giant_bytes if giant else 0,
        )
        for codec in _parse_codecs(codecs)
    ]
    who = [
        Readers.of(version, count, stalling / 100)
        for version in _parse_numbers(versions)
        for count in _parse_numbers(readers)
    ]
    if bool(broker) != bool(metrics):
        raise typer.BadParameter("--broker and --metrics go together")
    if broker and shared.security != "PLAINTEXT":
        raise typer.BadParameter("--security is for a stepdown that is started")
    with open_workplace(shared) as desk:
        terms = desk.make_terms(broker=broker, metrics=metrics)
        run_memory(tests, who, desk.folder, desk.maven, terms, shared.heap, desk.journal, desk.show_progress)


@bench.command()
@with_shared_options()
def convert(
    sizes: Sizes = "1000",
    codecs: Codecs = "none",
    versions: Versions = "2,0,4",
    readers: ReaderCounts = "1",
    partitions: Count = 12,
    batch_bytes: Batches = "16000",
    data: DataNames = "letters",
    *,
    shared: Shared,
) -> None:
    """Compare throughput of Fetch 0 to 3, down-converted, and later."""
    _run_fetch_bench(
        "convert", _make_fetch_grid(sizes, codecs, versions, readers, partitions, batch_bytes, data), shared
    )


@bench.command()
@with_shared_options(rounds=3, jvm_warm_up=5.0)
def fetch(
    sizes: Sizes = "100,1000,10000,100000",
    codecs: Codecs = "none,gzip,snappy,lz4",
    versions: Versions = "0,2,11",
    readers: ReaderCounts = "1,8,64",
    partitions: Count = 12,
    batch_bytes: Batches = "16000",
    data: DataNames = "letters",
    partition_fetch_bytes: Annotated[int, typer.Option(help="max.partition.fetch.bytes.", min=1)] = 1 << 20,
    *,
    shared: Shared,
) -> None:
    """Compare fetches of many sizes, codecs, versions and readers. Takes hours with a peer."""
    grid = _make_fetch_grid(sizes, codecs, versions, readers, partitions, batch_bytes, data)
    _run_fetch_bench("fetch", replace(grid, partition_fetch_bytes=partition_fetch_bytes), shared)


@bench.command()
@with_shared_options()
def chunks(
    chunk_bytes: Annotated[
        str, typer.Option(metavar="BYTES,...", help="Bytes that stepdown converts at a time.")
    ] = "16384,32768,65536,131072,262144,524288,1048576",
    *,
    shared: Shared,
) -> None:
    """Compare chunk sizes of down-conversion. KIP-283 has such a table."""
    from ...bench.cases.fetching import run_chunks

    with open_workplace(shared) as desk:
        run_chunks(
            _parse_numbers(chunk_bytes),
            desk.folder,
            desk.maven,
            desk.make_terms(),
            shared.heap,
            desk.journal,
            desk.show_progress,
        )


@bench.command()
@with_shared_options()
def produce(
    batch_bytes: Batches = "64000,1800",
    record_bytes: Count = 600,
    codecs: Codecs = "none",
    magics: Annotated[
        str, typer.Option(metavar="MAGIC,...", help="Record formats to send; 0 and 1 are up-converted.")
    ] = "2",
    acks: Annotated[str, typer.Option(metavar="ACKS,...", help="1 or -1.")] = "1",
    compression_types: Annotated[
        str, typer.Option(metavar="TYPE,...", help="compression.type of the topic; another codec recompresses.")
    ] = "producer",
    connections: Count = 8,
    in_flight: Annotated[int, typer.Option(help="Requests in flight per connection.", min=1)] = 5,
    request_partitions: Annotated[int, typer.Option(help="Batches in a request.", min=1, max=12)] = 1,
    data: DataNames = "letters",
    *,
    shared: Shared,
) -> None:
    """Compare produce throughput, with and without recompression."""
    from ...bench.cases.producing import ProduceGrid, run_produce
    from ...bench.load.produce_and_fetch_requests import ProduceRequests

    grid = ProduceGrid(
        batch_bytes=_parse_numbers(batch_bytes),
        record_bytes=record_bytes,
        codecs=_parse_codecs(codecs),
        magics=_parse_numbers(magics),
        acks=_parse_numbers(acks),
        compression_types=tuple(compression_types.split(",")),
        data=_parse_value_kinds(data),
    )
    writing = ProduceRequests(connections=connections, in_flight=in_flight, request_partitions=request_partitions)
    with open_workplace(shared) as desk:
        run_produce(
            grid, writing, desk.folder, desk.maven, desk.make_terms(), shared.heap, desk.journal, desk.show_progress
        )


@bench.command()
@with_shared_options(seconds=3.0)
def mixed(
    old_readers: Annotated[
        str, typer.Option(metavar="COUNT,...", help="Consumers that need down-conversion.")
    ] = "0,1,8",
    *,
    shared: Shared,
) -> None:
    """Compare latencies of new clients while old consumers fetch. They fetch as fast as they can."""
    from ...bench.cases.old_and_new_consumers import run_old_and_new

    with open_workplace(shared) as desk:
        run_old_and_new(
            _parse_numbers(old_readers),
            desk.folder,
            desk.maven,
            desk.make_terms(),
            shared.heap,
            desk.journal,
            desk.show_progress,
        )


@bench.command()
@with_shared_options(without=(*TURNS, "security"))
def start(
    partitions: Annotated[
        str, typer.Option(metavar="COUNT,...", help="Numbers of partitions, with one record each.")
    ] = "0,1000",
    topic_partitions: Annotated[int, typer.Option(help="Partitions a topic.", min=1)] = 1000,
    empty: Annotated[bool, typer.Option("--empty", help="Partitions without records.")] = False,
    *,
    shared: Shared,
) -> None:
    """Compare start-up time and idle memory."""
    from ...bench.cases.starting import StartDirectory, run_starts

    held = StartDirectory(partitions=_parse_numbers(partitions), topic_partitions=topic_partitions, is_empty=empty)
    with open_workplace(shared) as desk:
        run_starts(held, desk.folder, desk.maven, desk.make_terms(), shared.heap, desk.journal, desk.show_progress)


@bench.command()
@with_shared_options(rounds=1, seconds=5.0)
def cleaning(
    keys: Annotated[int, typer.Option(help="Keys of the compacted topic.", min=1)] = 1_000_000,
    updates: Annotated[int, typer.Option(help="Values of each key.", min=1, max=5)] = 5,
    value_bytes: Annotated[int, typer.Option(min=4)] = 100,
    map_bytes: Annotated[int, typer.Option(help="log.cleaner.dedupe.buffer.size.", min=1)] = 128 << 20,
    *,
    shared: Shared,
) -> None:
    """Compare produce latency with compaction and without. Checks what compaction keeps."""
    from ...bench.cases.cleaning import CleaningTest, run_cleaning

    test = CleaningTest(keys=keys, updates=updates, value_bytes=value_bytes, map_bytes=map_bytes)
    with open_workplace(shared) as desk:
        run_cleaning(test, desk.folder, desk.maven, desk.make_terms(), shared.heap, desk.journal, desk.show_progress)


@bench.command()
@with_shared_options(peer="kafka:3.9.1", without=("security",))
def reference(
    to: Annotated[Path, typer.Option(metavar="DIR", help="Where DATE.jsonl and DATE.md go.")] = Path("docs/results"),
    many: Annotated[int, typer.Option(metavar="COUNT", help="Partitions of the start-up test.", min=1)] = 10_000,
    memory_partitions: Annotated[int, typer.Option(help="Partitions of the memory test.", min=1)] = 250,
    giant_bytes: Annotated[int, typer.Option(help="Size of its giant batch, decompressed.", min=1)] = 100_000_000,
    *,
    shared: Shared,
) -> None:
    """Measure every target beside Kafka, and say which are met."""
    from ...bench.cases.downconversion_memory import MemoryTest
    from ...bench.reference.full_run import RunExtent, run_reference, summary

    to.mkdir(parents=True, exist_ok=True)
    kept = to / f"{date.today().isoformat()}.jsonl"
    kept.unlink(missing_ok=True)
    extent = RunExtent(memory=MemoryTest(partitions=memory_partitions), giant_bytes=giant_bytes, partitions=(0, many))
    with open_workplace(replace(shared, out=shared.out or kept)) as desk:
        run_reference(extent, desk.folder, desk.maven, desk.make_terms(), shared.heap, desk.journal, desk.show_progress)
        kept.with_suffix(".md").write_text(summary(desk.journal))


def _run_fetch_bench(name: str, grid: FetchGrid, shared: Shared) -> None:
    from ...bench.cases.fetching import run_fetches

    with open_workplace(shared) as desk:
        run_fetches(
            name, [grid], desk.folder, desk.maven, desk.make_terms(), shared.heap, desk.journal, desk.show_progress
        )


def _make_fetch_grid(
    sizes: str, codecs: str, versions: str, readers: str, partitions: int, batch_bytes: str, data: str
) -> FetchGrid:
    from ...bench.cases.fetching import FetchGrid

    return FetchGrid(
        record_bytes=_parse_numbers(sizes),
        codecs=_parse_codecs(codecs),
        versions=_parse_numbers(versions),
        readers=_parse_numbers(readers),
        partitions=partitions,
        batch_bytes=_parse_numbers(batch_bytes),
        data=_parse_value_kinds(data),
    )


def _parse_numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"expected whole numbers with commas between, found {text!r}") from None


def _parse_codecs(text: str) -> tuple[Codec, ...]:
    from ...protocol.records.layout import Codec

    try:
        return tuple(Codec[part.strip().upper()] for part in text.split(","))
    except KeyError:
        raise typer.BadParameter(f"expected {', '.join(c.name.lower() for c in Codec)}; found {text!r}") from None


def _parse_value_kinds(text: str) -> tuple[ValueKind, ...]:
    from ...bench.load.values import ValueKind

    try:
        return tuple(ValueKind(part.strip()) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"expected {', '.join(ValueKind)}; found {text!r}") from None
