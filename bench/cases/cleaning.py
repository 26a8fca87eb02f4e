"""Measures log compaction: its effect on producers, its memory use, and whether the right records remain.

One topic of one partition gets `updates` values of each of `keys` keys, in another order each time. Producers at a pace
write to another topic: quiet, then while the first topic, made compacted, is cleaned, then quiet again.

| value | what |
|---|---|
| quiet_p99_ms, cleaning_p99_ms, slowdown | from sending to the answer's last byte; the second over the first |
| cleaning_s | from setting `cleanup.policy` to the checkpoint that says clean |
| above_idle_bytes | the most memory while cleaning, above what there was before |
| log_bytes, left_bytes | the log before and after |
| left_records, wrong_records | what a reader gets afterwards; records that the model does not have, or has otherwise |
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from pathlib import Path
from struct import Struct
from time import monotonic, time_ns

from ...client.operations.topics import alter_topic_configs
from ...protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ...protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ...protocol.records.batches import iter_batches
from ...protocol.records.builder import build_batch
from ...protocol.records.record import Record
from ..alternating_runs import ShowProgress, Terms, quantile, start_contenders
from ..failures import BenchFailure
from ..load.filled_topics import create_topic, delete_topic
from ..load.process import LoadProcess
from ..load.produce_and_fetch_requests import Filling, ProduceRequests
from ..results.results import Journal, Result, Value
from ..servers.admin_connection import REQUEST_TIMEOUT_MS, Connection, check_error, run_on
from ..servers.contenders import Contender
from ..servers.kafka import KafkaServer
from ..servers.maven import MavenStore
from ..servers.stepdown import Stepdown

COMPACTED, WRITTEN = "compacted", "written"
PARTITIONS = 12
PACED = Filling(partitions=PARTITIONS, partition_bytes=16_000, record_bytes=1000)
PRODUCERS = ProduceRequests(connections=2, in_flight=1, pace_s=0.01)
STRIDES = (1, 7919, 104_729, 611_953, 15_485_863)
"""Primes: stepping by one of them visits every key once, as long as the number of keys is no multiple of it."""
RECORDS_A_BATCH = 1000
SEGMENT_BYTES = 100 << 20
FETCH_BYTES = 8 << 20
PRODUCE_VERSION, FETCH_VERSION = 7, 11
LAST_KEY = b"the last"
NEVER_MS = 1 << 40
CHECKPOINT = "cleaner-offset-checkpoint"
WINDOW_S = 1.0
CLEAN_TIMEOUT_S = 600.0
_UPDATE = Struct(">I")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningTest:
    """How large the compacted topic is, and what the cleaner may use."""

    keys: int = 1_000_000
    updates: int = 5
    value_bytes: int = 100
    map_bytes: int = 128 << 20

    def __post_init__(self) -> None:
        if self.updates > len(STRIDES):
            raise BenchFailure(f"at most {len(STRIDES)} updates of a key, found {self.updates}")
        for stride in STRIDES[: self.updates]:
            if gcd(stride, self.keys) != 1:
                raise BenchFailure(f"{self.keys} keys are a multiple of {stride}: take one key more or less")

    @property
    def records(self) -> int:
        return self.keys * self.updates

    def batches(self) -> Iterator[list[tuple[bytes, bytes]]]:
        """Keys and values in the order of the log."""
        rest = bytes(max(0, self.value_bytes - _UPDATE.size))
        for update in range(self.updates):
            value, stride = _UPDATE.pack(update) + rest, STRIDES[update]
            for first in range(0, self.keys, RECORDS_A_BATCH):
                numbers = range(first, min(first + RECORDS_A_BATCH, self.keys))
                yield [(b"%012d" % (number * stride % self.keys), value) for number in numbers]

    def is_last(self, value: bytes) -> bool:
        """Whether this is the last value written; it is the same for all keys."""
        return len(value) == max(_UPDATE.size, self.value_bytes) and _UPDATE.unpack_from(value)[0] == self.updates - 1

    def describe_case(self) -> dict[str, Value]:
        return {
            "keys": self.keys,
            "updates": self.updates,
            "value_bytes": self.value_bytes,
            "map_bytes": self.map_bytes,
        }


def run_cleaning(
    test: CleaningTest,
    folder: Path,
    maven: MavenStore,
    terms: Terms,
    heap: str,
    journal: Journal,
    show_progress: ShowProgress,
) -> list[Result]:
    """Medians of each server over `terms.rounds`; each round fills a topic of its own."""
    settings = {"log.cleaner.dedupe.buffer.size": str(test.map_bytes), "log.cleaner.backoff.ms": "100"}
    with LoadProcess() as load, start_contenders(folder, maven, terms, settings, heap) as servers:
        for server in servers:
            create_topic(server.address, WRITTEN, PARTITIONS)
        for number in range(1, terms.rounds + 1):
            for server in servers:
                topic = f"{COMPACTED}-{number}"
                show_progress(
                    f"cleaning: round {number} of {terms.rounds}, writing {test.records} records to {server.name}"
                )
                _write_dirty_topic(test, server.address, topic)
                show_progress(f"cleaning: round {number} of {terms.rounds}, measuring {server.name}")
                values = _measure_cleaning(test, server, topic, terms, load)
                show_progress(f"cleaning: round {number} of {terms.rounds}, reading what {server.name} left")
                values |= _count_left_records(test, server.address, topic)
                delete_topic(server.address, topic)
                result = Result(
                    kind="round",
                    bench="cleaning",
                    case=test.describe_case(),
                    server=server.name,
                    version=server.version,
                    round=number,
                    values=values,
                )
                journal.note(result)
    return journal.conclude("cleaning", test.describe_case())


def _write_dirty_topic(test: CleaningTest, address: str, topic: str) -> None:
    """The last record is alone in the open segment, which no cleaner touches."""
    configs = {"segment.bytes": str(SEGMENT_BYTES), "retention.ms": "-1", "min.cleanable.dirty.ratio": "0.01"}
    create_topic(address, topic, 1, configs)
    with Connection(address) as connection:
        for pairs in test.batches():
            _produce(connection, topic, pairs)
        _alter_topic(address, topic, {"segment.ms": "1"})
        _produce(connection, topic, [(LAST_KEY, b"")])
        _alter_topic(address, topic, {"segment.ms": str(NEVER_MS)})


def _produce(connection: Connection, topic: str, pairs: Sequence[tuple[bytes, bytes]]) -> None:
    now_ms = time_ns() // 1_000_000
    records = [Record(offset=at, timestamp=now_ms, key=key, value=value) for at, (key, value) in enumerate(pairs)]
    data = PartitionProduceData(index=0, records=build_batch(records))
    topics = (TopicProduceData(name=topic, partition_data=(data,)),)
    request = ProduceRequest(acks=1, timeout_ms=REQUEST_TIMEOUT_MS, topic_data=topics)
    answer = connection.call(request, PRODUCE_VERSION)
    check_error(answer.responses[0].partition_responses[0].error_code, f"Produce to {topic}")


def _alter_topic(address: str, topic: str, configs: Mapping[str, str]) -> None:
    outcome = run_on(address, alter_topic_configs(topic, configs))
    if outcome.failed:
        raise BenchFailure(f"{topic} cannot be altered: {outcome.error} {outcome.message}")


# Measuring


def _measure_cleaning(
    test: CleaningTest, server: Contender, topic: str, terms: Terms, load: LoadProcess
) -> dict[str, float]:
    """Windows of a second, quiet, while the topic is cleaned, and quiet again."""
    _measure_produce_latencies(server, load, terms.warm_up_of(server))
    quiet = _measure_produce_latencies(server, load, terms.seconds)
    before, log_bytes = server.usage.rss_bytes(), _log_bytes(server, topic)
    server.usage.forget_peak()
    cpu = server.usage.cpu_seconds()
    _alter_topic(server.address, topic, {"cleanup.policy": "compact"})
    began = monotonic()
    windows: list[Sequence[float]] = []
    while not _is_clean(server, topic, test.records):
        windows.append(_measure_produce_latencies(server, load, WINDOW_S))
        if monotonic() - began > CLEAN_TIMEOUT_S:
            raise BenchFailure(f"{topic} is not clean after {CLEAN_TIMEOUT_S:.0f} s: {server.log[-2000:]}")
    peak, cpu = server.usage.peak_rss_bytes(), server.usage.cpu_seconds() - cpu
    seconds = monotonic() - began
    quiet += _measure_produce_latencies(server, load, terms.seconds)
    # Cleaning ends within the last window, so it is partly quiet.
    during = [latency for window in (windows[:-1] or windows) for latency in window]
    values = {f"quiet_{name}": value for name, value in _latency_quantiles(quiet).items()}
    values |= {f"cleaning_{name}": value for name, value in _latency_quantiles(during).items()}
    return values | {
        "slowdown": values["cleaning_p99_ms"] / values["quiet_p99_ms"],
        "cleaning_s": seconds,
        "server_cpu": cpu / seconds,
        "idle_rss_bytes": before,
        "peak_rss_bytes": peak,
        "above_idle_bytes": peak - before,
        "log_bytes": log_bytes,
        "left_bytes": _log_bytes(server, topic),
    }


def _measure_produce_latencies(server: Contender, load: LoadProcess, seconds: float) -> list[float]:
    """Latencies of producers at a pace."""
    plan = PRODUCERS.plan(server.address, WRITTEN, PACED, seconds)
    result = load.run(plan)
    if result.errors:
        raise BenchFailure(f"{result.errors} produce requests were refused")
    return list(result.latencies_s)


def _latency_quantiles(latencies_s: Iterable[float]) -> dict[str, float]:
    ordered = sorted(latencies_s)
    return {f"p{percent}_ms": 1000 * quantile(ordered, percent / 100) for percent in (50, 99)}


def _is_clean(server: Contender, topic: str, offset: int) -> bool:
    """Whether the log is clean up to there, by the file in which cleaners keep that: version, count, entries."""
    try:
        lines = (_log_dir(server) / CHECKPOINT).read_text().splitlines()[2:]
    except FileNotFoundError:
        return False
    return any(line.split()[:2] == [topic, "0"] and int(line.split()[2]) >= offset for line in lines)


def _log_bytes(server: Contender, topic: str) -> int:
    return sum(file.stat().st_size for file in (_log_dir(server) / f"{topic}-0").glob("*.log"))


def _log_dir(server: Contender) -> Path:
    if not isinstance(server, (Stepdown, KafkaServer)):
        raise BenchFailure("a broker that runs already cannot be looked into: its log directory is not known")
    return server.log_dir


# Reading


def _count_left_records(test: CleaningTest, address: str, topic: str) -> dict[str, float]:
    """Records that a reader gets, and those that the model does not have: every key once, with its last value."""
    seen: set[bytes] = set()
    wrong = count = 0
    for record in _read_records(address, topic, test.records + 1):
        key, value = bytes(record.key or b""), bytes(record.value or b"")
        count += 1
        wrong += key in seen or not (key == LAST_KEY or test.is_last(value))
        seen.add(key)
    missing = test.keys + 1 - len(seen)
    return {"left_records": count, "wrong_records": wrong + abs(missing)}


def _read_records(address: str, topic: str, end: int) -> Iterator[Record]:
    offset = 0
    with Connection(address) as connection:
        while offset < end:
            part = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
            request = FetchRequest(max_bytes=FETCH_BYTES, topics=(FetchTopic(topic=topic, partitions=(part,)),))
            found = connection.call(request, FETCH_VERSION).responses[0].partitions[0]
            check_error(found.error_code, f"Fetch of {topic} at {offset}")
            for batch in iter_batches(found.records or memoryview(b"")):
                yield from (record for record in batch.records() if record.offset >= offset)
                offset = batch.last_offset + 1
