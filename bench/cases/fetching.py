"""How fast are stored records served, converted down or as they are?

The table of KIP-283: one topic of 12 partitions, records of 1 kB, read again and again from offset 0, 1 MB a
partition. A case is (data, record size, batch size, codec, Fetch version, readers); v0 and v1 are answered in magic 0,
v2 and v3 in magic 1, v4 and later as stored. Data is read from the page cache: what is measured is the server.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from ...protocol.messages.fetch import FetchRequest
from ...protocol.records.layout import Codec
from ..alternating_runs import AlternatingRun, ShowProgress, Terms, start_contenders
from ..load.filled_topics import fill
from ..load.load_plan import Asking, ConnectionRequests, LoadPlan
from ..load.process import LoadProcess
from ..load.produce_and_fetch_requests import BATCH_BYTES, Filling, check_fetch, fetch_request
from ..load.values import ValueKind
from ..results.results import Journal, Result, Value
from ..servers.admin_connection import frame_of
from ..servers.contenders import Contender
from ..servers.maven import MavenStore
from ..servers.stepdown import Stepdown

PARTITION_FETCH_BYTES = 1 << 20
"""As consumers ask by default. One at the end of the log gets a batch or two of each partition: ask for less then."""
STORED_BYTES = 2 << 20
MOST_BYTES = 250 << 20
SETTINGS = {"fetch.max.bytes": str(MOST_BYTES)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchCase:
    """One row of the table."""

    record_bytes: int
    codec: Codec
    version: int
    readers: int
    data: ValueKind = ValueKind.LETTERS
    batch_bytes: int = BATCH_BYTES
    partition_fetch_bytes: int = PARTITION_FETCH_BYTES

    def describe_case(self) -> dict[str, Value]:
        return {
            "data": str(self.data),
            "batch_bytes": self.batch_bytes,
            "record_bytes": self.record_bytes,
            "codec": self.codec.name.lower(),
            "fetch_version": self.version,
            "readers": self.readers,
            "partition_fetch_bytes": self.partition_fetch_bytes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchGrid:
    """All combinations, data by data, so that each topic is written once."""

    record_bytes: Sequence[int] = (1000,)
    codecs: Sequence[Codec] = (Codec.NONE,)
    versions: Sequence[int] = (2, 0, 4)
    readers: Sequence[int] = (1,)
    partitions: int = 12
    data: Sequence[ValueKind] = (ValueKind.LETTERS,)
    batch_bytes: Sequence[int] = (BATCH_BYTES,)
    partition_fetch_bytes: int = PARTITION_FETCH_BYTES

    def fillings(self) -> Iterator[Filling]:
        for data, size, batch_bytes, codec in product(self.data, self.record_bytes, self.batch_bytes, self.codecs):
            yield Filling(
                partitions=self.partitions,
                partition_bytes=STORED_BYTES if codec is Codec.NONE else 2 * STORED_BYTES,
                record_bytes=size,
                codec=codec,
                data=data,
                batch_bytes=batch_bytes,
            )

    def cases(self, filling: Filling) -> Iterator[FetchCase]:
        for version, readers in product(self.versions, self.readers):
            yield FetchCase(
                record_bytes=filling.record_bytes,
                codec=filling.codec,
                version=version,
                readers=readers,
                data=filling.data,
                batch_bytes=filling.batch_bytes,
                partition_fetch_bytes=self.partition_fetch_bytes,
            )


def topic_of(filling: Filling) -> str:
    return f"{filling.data}-{filling.record_bytes}-{filling.batch_bytes}-{filling.codec.name.lower()}"


def run_fetches(
    bench: str,
    grids: Sequence[FetchGrid],
    folder: Path,
    maven: MavenStore,
    terms: Terms,
    heap: str,
    journal: Journal,
    show_progress: ShowProgress,
) -> list[Result]:
    """Medians and ratios of every case of all grids."""
    found: list[Result] = []
    with LoadProcess() as load, start_contenders(folder, maven, terms, SETTINGS, heap) as servers:
        data = [(each, filling) for each in grids for filling in each.fillings()]
        for grid, filling in data:
            for server in servers:
                show_progress(f"{bench}: writing {topic_of(filling)} to {server.name}")
                fill(server.address, topic_of(filling), filling, load)
            for case in grid.cases(filling):
                contest = AlternatingRun(bench, case.describe_case(), terms, journal, show_progress)
                found += play_case(contest, case, filling, servers, load)
    return found


def run_chunks(
    chunk_bytes: Sequence[int],
    folder: Path,
    maven: MavenStore,
    terms: Terms,
    heap: str,
    journal: Journal,
    show_progress: ShowProgress,
) -> list[Result]:
    """KIP-283's table: v2 by the bytes that stepdown converts at a time (Kafka: always 131072), then unconverted."""
    found: list[Result] = []
    filling = next(FetchGrid().fillings())
    with LoadProcess() as load, start_contenders(folder, maven, terms, SETTINGS, heap) as servers:
        for server in servers:
            fill(server.address, topic_of(filling), filling, load)
        for size in (*chunk_bytes, 0):
            if size:
                _restart_with_chunks(servers[0], size)
            case = FetchCase(
                record_bytes=filling.record_bytes, codec=filling.codec, version=2 if size else 4, readers=1
            )
            named = {"chunk_bytes": size or "unconverted"}
            found += play_case(
                AlternatingRun("chunks", named, terms, journal, show_progress), case, filling, servers, load
            )
    return found


def _restart_with_chunks(server: Contender, size: int) -> None:
    assert isinstance(server, Stepdown)
    server.stop()
    server.properties["stepdown.downconversion.chunk.bytes"] = str(size)
    server.start()


def play_case(
    contest: AlternatingRun, case: FetchCase, filling: Filling, servers: Sequence[Contender], load: LoadProcess
) -> list[Result]:
    """Medians and ratios of one case over a topic that is there."""
    request = request_for(case, filling)
    for server in servers:
        check_fetch(server.address, request, case.version)

    def measure(server: Contender, seconds: float) -> dict[str, float]:
        return contest.measure(server, [reading(server.address, case, filling, seconds)], [load]).values()

    return contest.play(servers, measure)


def request_for(case: FetchCase, filling: Filling) -> FetchRequest:
    """What every reader asks: a fetch of all partitions."""
    partitions = {topic_of(filling): filling.partitions}
    return fetch_request(partitions, partition_bytes=case.partition_fetch_bytes, most_bytes=MOST_BYTES)


def reading(address: str, case: FetchCase, filling: Filling, seconds: float) -> LoadPlan:
    """The plan of reading for `seconds`, by the readers of one case."""
    connection = ConnectionRequests(requests=(frame_of(request_for(case, filling), case.version),))
    asking = Asking(kind="fetch", client=f"fetch-v{case.version}", partitions=filling.partitions)
    return LoadPlan(address=address, connections=(connection,) * case.readers, asking=asking, seconds=seconds)
