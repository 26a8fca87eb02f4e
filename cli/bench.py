"""`stepdown bench`: measures, beside Apache Kafka in the same run, what stepdown claims."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .failures import CommandFailed

if TYPE_CHECKING:
    from ..bench.contest import Told
    from ..bench.maven import JarStore
    from ..bench.results import Journal
    from ..protocol.records.layout import Codec

bench = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Measure speed and memory, beside Apache Kafka in the same run.",
)

Peer = Annotated[str, typer.Option(metavar="none|kafka:3.9.1|kafka:1.1.1", help="Who is measured in turn with us.")]
Rounds = Annotated[int, typer.Option(help="Turns of each server; medians are shown.", min=1)]
Seconds = Annotated[float, typer.Option(help="Length of a turn.", min=0.1)]
WarmUp = Annotated[float, typer.Option(help="Seconds a JVM runs each case before it counts.", min=0.0)]
Sizes = Annotated[str, typer.Option(metavar="BYTES,...", help="Sizes of records.")]
Codecs = Annotated[str, typer.Option(metavar="CODEC,...", help="none, gzip, snappy, lz4, zstd.")]
Versions = Annotated[str, typer.Option(metavar="VERSION,...", help="Fetch versions: 0, 1: magic 0; 2, 3: magic 1.")]
ReaderCounts = Annotated[str, typer.Option("--readers", metavar="COUNT,...", help="Connections that read at once.")]
Heap = Annotated[str, typer.Option(metavar="SIZE", help="Heap of the peer's JVM, as -Xmx takes it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print results as JSON lines (docs/benchmarks.md).")]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Append results as JSON lines to a file.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a report with plots.")]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Where the servers' logs go; a temporary folder by default."),
]


@bench.callback()
def bench_group() -> None:
    """Measure speed and memory, beside Apache Kafka in the same run."""


@bench.command()
def memory(
    peer: Peer = "none",
    readers: ReaderCounts = "1,20",
    versions: Versions = "2,3",
    partitions: Annotated[int, typer.Option(min=1)] = 250,
    records: Annotated[int, typer.Option(help="Records a partition.", min=1)] = 4000,
    record_bytes: Annotated[int, typer.Option(min=1)] = 1000,
    codec: Annotated[str, typer.Option(metavar="CODEC", help="none, gzip, snappy or lz4.")] = "none",
    fetch_bytes: Annotated[int, typer.Option(help="fetch.max.bytes of clients and servers.", min=1)] = 250 << 20,
    partition_fetch_bytes: Annotated[int, typer.Option(help="max.partition.fetch.bytes.", min=1)] = 1 << 20,
    giant: Annotated[bool, typer.Option("--giant", help="Begin with one batch that is 100 MB once opened.")] = False,
    broker: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="A stepdown that runs already; else one is started.")
    ] = "",
    metrics: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where that one answers /metrics.")] = "",
    heap: Heap = "200m",
    rounds: Rounds = 1,
    as_json: AsJson = False,
    out: Out = None,
    html: Html = None,
    data: Data = None,
) -> None:
    """Show the memory that converting takes: KIP-283's test. Of several readers three in four stall."""
    from ..bench.contest import Terms
    from ..bench.memory import MemoryTest, Readers, run_memory

    test = MemoryTest(
        partitions=partitions,
        records=records,
        record_bytes=record_bytes,
        codec=_codecs(codec)[0],
        partition_fetch_bytes=partition_fetch_bytes,
        fetch_bytes=fetch_bytes,
        giant=giant,
    )
    who = [Readers.some_stall(version, count) for version in _numbers(versions) for count in _numbers(readers)]
    if bool(broker) != bool(metrics):
        raise typer.BadParameter("--broker and --metrics go together")
    terms = Terms(peer=peer, rounds=rounds, broker=broker, metrics=metrics)
    with _desk(as_json, out, html, data) as desk:
        run_memory(test, who, desk.folder, desk.store, terms, heap, desk.journal, desk.tell)


@bench.command()
def convert(
    peer: Peer = "none",
    sizes: Sizes = "1000",
    codecs: Codecs = "none",
    versions: Versions = "2,0,4",
    readers: ReaderCounts = "1",
    partitions: Annotated[int, typer.Option(min=1)] = 12,
    heap: Heap = "1g",
    rounds: Rounds = 5,
    seconds: Seconds = 2.0,
    jvm_warm_up: WarmUp = 10.0,
    as_json: AsJson = False,
    out: Out = None,
    html: Html = None,
    data: Data = None,
) -> None:
    """Compare what is sent a second, converted down (Fetch 0 to 3) and as it is stored (4 and later)."""
    from ..bench.contest import Terms
    from ..bench.fetching import FetchGrid, run_fetches

    grid = FetchGrid(
        record_bytes=_numbers(sizes),
        codecs=_codecs(codecs),
        versions=_numbers(versions),
        readers=_numbers(readers),
        partitions=partitions,
    )
    terms = Terms(peer=peer, rounds=rounds, seconds=seconds, jvm_warm_up_s=jvm_warm_up)
    with _desk(as_json, out, html, data) as desk:
        run_fetches("convert", grid, desk.folder, desk.store, terms, heap, desk.journal, desk.tell)


@bench.command()
def start(
    peer: Peer = "none",
    partitions: Annotated[str, typer.Option(metavar="COUNT,...", help="Partitions of one record each.")] = "0,1000",
    heap: Heap = "1g",
    rounds: Rounds = 5,
    as_json: AsJson = False,
    out: Out = None,
    html: Html = None,
    data: Data = None,
) -> None:
    """Compare the time until a broker is ready, and its memory when nothing happens."""
    from ..bench.contest import Terms
    from ..bench.starting import run_starts

    with _desk(as_json, out, html, data) as desk:
        terms = Terms(peer=peer, rounds=rounds)
        run_starts(_numbers(partitions), desk.folder, desk.store, terms, heap, desk.journal, desk.tell)


@bench.command()
def fetch(
    peer: Peer = "none",
    sizes: Sizes = "100,1000,10000,100000",
    codecs: Codecs = "none,gzip,snappy,lz4",
    versions: Versions = "0,2,11",
    readers: ReaderCounts = "1,8,64",
    heap: Heap = "1g",
    rounds: Rounds = 3,
    seconds: Seconds = 2.0,
    jvm_warm_up: WarmUp = 5.0,
    as_json: AsJson = False,
    out: Out = None,
    html: Html = None,
    data: Data = None,
) -> None:
    """Compare fetches over all sizes, codecs, versions and numbers of readers: some hours with a peer."""
    convert(
        peer=peer,
        sizes=sizes,
        codecs=codecs,
        versions=versions,
        readers=readers,
        heap=heap,
        rounds=rounds,
        seconds=seconds,
        jvm_warm_up=jvm_warm_up,
        as_json=as_json,
        out=out,
        html=html,
        data=data,
        partitions=12,
    )


@bench.command()
def chunks(
    peer: Peer = "none",
    chunk_bytes: Annotated[
        str, typer.Option(metavar="BYTES,...", help="What stepdown converts at a time.")
    ] = "16384,32768,65536,131072,262144,524288,1048576",
    heap: Heap = "1g",
    rounds: Rounds = 5,
    seconds: Seconds = 2.0,
    jvm_warm_up: WarmUp = 10.0,
    as_json: AsJson = False,
    out: Out = None,
    html: Html = None,
    data: Data = None,
) -> None:
    """Compare sizes of converted chunks, as KIP-283's table does, and no conversion."""
    from ..bench.contest import Terms
    from ..bench.fetching import run_chunks

    terms = Terms(peer=peer, rounds=rounds, seconds=seconds, jvm_warm_up_s=jvm_warm_up)
    with _desk(as_json, out, html, data) as desk:
        run_chunks(_numbers(chunk_bytes), desk.folder, desk.store, terms, heap, desk.journal, desk.tell)


@bench.command()
def produce(
    peer: Peer = "none",
    batch_bytes: Annotated[str, typer.Option(metavar="BYTES,...", help="Sizes of batches, opened.")] = "64000,1800",
    record_bytes: Annotated[int, typer.Option(min=1)] = 600,
    codecs: Codecs = "none",
    magics: Annotated[str, typer.Option(metavar="MAGIC,...", help="0 and 1 are converted up.")] = "2",
    acks: Annotated[str, typer.Option(metavar="ACKS,...", help="1 or -1.")] = "1",
    compression_types: Annotated[
        str, typer.Option(metavar="TYPE,...", help="compression.type of the topic; another codec recompresses.")
    ] = "producer",
    connections: Annotated[int, typer.Option(min=1)] = 8,
    in_flight: Annotated[int, typer.Option(help="Requests of a connection that wait for answers.", min=1)] = 5,
    heap: Heap = "1g",
    rounds: Rounds = 5,
    seconds: Seconds = 2.0,
    jvm_warm_up: WarmUp = 10.0,
    as_json: AsJson = False,
    out: Out = None,
    html: Html = None,
    data: Data = None,
) -> None:
    """Compare what is taken in a second, as it comes and compressed anew."""
    from ..bench.contest import Terms
    from ..bench.producing import ProduceGrid, run_produce
    from ..bench.topics import Writing

    grid = ProduceGrid(
        batch_bytes=_numbers(batch_bytes),
        record_bytes=record_bytes,
        codecs=_codecs(codecs),
        magics=_numbers(magics),
        acks=_numbers(acks),
        compression_types=tuple(compression_types.split(",")),
    )
    writing = Writing(connections=connections, in_flight=in_flight)
    terms = Terms(peer=peer, rounds=rounds, seconds=seconds, jvm_warm_up_s=jvm_warm_up)
    with _desk(as_json, out, html, data) as desk:
        run_produce(grid, writing, desk.folder, desk.store, terms, heap, desk.journal, desk.tell)


@bench.command()
def mixed(
    peer: Peer = "none",
    old_readers: Annotated[str, typer.Option(metavar="COUNT,...", help="Readers that are converted for.")] = "0,1,8",
    heap: Heap = "1g",
    rounds: Rounds = 5,
    seconds: Seconds = 3.0,
    jvm_warm_up: WarmUp = 10.0,
    as_json: AsJson = False,
    out: Out = None,
    html: Html = None,
    data: Data = None,
) -> None:
    """Compare what producers and modern readers wait while old readers convert as fast as they can."""
    from ..bench.contest import Terms
    from ..bench.mixed import run_mixed

    terms = Terms(peer=peer, rounds=rounds, seconds=seconds, jvm_warm_up_s=jvm_warm_up)
    with _desk(as_json, out, html, data) as desk:
        run_mixed(_numbers(old_readers), desk.folder, desk.store, terms, heap, desk.journal, desk.tell)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Desk:
    """Where a benchmark works: a folder for the servers, jars, a journal, and somebody to tell."""

    folder: Path
    store: JarStore
    journal: Journal
    tell: Told


@contextmanager
def _desk(as_json: bool, out: Path | None, html: Path | None, data: Path | None) -> Iterator[_Desk]:
    """A place to work; what was found is shown at the end. Raises: CommandFailed for BenchFailed."""
    from ..bench.failures import BenchFailed
    from ..bench.maven import user_store
    from ..bench.results import Journal
    from .bench_text import print_results, telling

    folder = Path(tempfile.mkdtemp(prefix="stepdown-bench-", dir=data))
    try:
        with ExitStack() as open_files:
            outputs = [sys.stdout] if as_json else []
            if out is not None:
                outputs.append(open_files.enter_context(out.open("a")))
            journal = Journal(*outputs)
            with telling() as tell:
                yield _Desk(folder=folder, store=user_store(), journal=journal, tell=tell)
    except BenchFailed as failure:
        raise CommandFailed(str(failure)) from failure
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not as_json:
        print_results(journal.results)
    if html is not None:
        from ..bench.report import write_report

        write_report(journal.results, html)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"expected whole numbers with commas between, found {text!r}") from None


def _codecs(text: str) -> tuple[Codec, ...]:
    from ..protocol.records.layout import Codec

    try:
        return tuple(Codec[part.strip().upper()] for part in text.split(","))
    except KeyError:
        raise typer.BadParameter(f"expected {', '.join(c.name.lower() for c in Codec)}; found {text!r}") from None
