"""The rows of the table in docs/limits.md: what is sent, and what others may feel of it."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from stepdown.bench.servers.admin_connection import Connection
from stepdown.bench.servers.contenders import Contender
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest
from stepdown.protocol.messages.metadata import MetadataRequest
from stepdown.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

from ..deadline import DEADLINE_S
from .attacks import TOPIC, WIDE_PARTITIONS, WIDE_TOPIC, small_batches_of_gzip
from .client import asked, connected

TESTS = Path(__file__).resolve().parents[2]
LONG_NAMES = 2_000
MANY_PARTITIONS = 9_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """`clients` processes send `attack`; `prepare` makes the topics. `at_http`: they ask the port of /metrics."""

    attack: str
    told: str
    clients: int = 1
    prepare: Callable[[str], None] = lambda address: create(address, {TOPIC: 1})
    at_http: bool = False
    kafka_answers: bool = True
    is_huge: bool = False  # sends 20 MB and more

    @property
    def name(self) -> str:
        return self.attack if self.clients == 1 else f"{self.attack}_by_{self.clients}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Felt:
    """What others felt: milliseconds of small requests, growth of the broker, answers to heartbeats."""

    waits_ms: list[float]
    growth_bytes: int
    heartbeat_codes: list[int]

    @property
    def p50_ms(self) -> float:
        return median(self.waits_ms)

    @property
    def p95_ms(self) -> float:
        return sorted(self.waits_ms)[int(len(self.waits_ms) * 0.95)]

    @property
    def p99_ms(self) -> float:
        return sorted(self.waits_ms)[int(len(self.waits_ms) * 0.99)]

    @property
    def most_ms(self) -> float:
        return max(self.waits_ms)


def create(address: str, topics: dict[str, int]) -> None:
    """Makes topics of so many partitions each, as far as the broker has room for them, and waits for their leaders."""
    wanted = tuple(
        CreatableTopic(name=name, num_partitions=count, replication_factor=1) for name, count in topics.items()
    )
    with Connection(address) as connection:
        made = 0
        for at in range(0, len(wanted), 500):
            answer = connection.call(CreateTopicsRequest(topics=wanted[at : at + 500], timeout_ms=60_000), 2)
            made += sum(topics[each.name] for each in answer.topics if each.error_code != ErrorCode.POLICY_VIOLATION)
        while not all_led(connection, made):
            pass


def all_led(connection: Connection, partitions: int) -> bool:
    topics = connection.call(MetadataRequest(topics=None), 1).topics
    return sum(not partition.error_code for topic in topics for partition in topic.partitions) >= partitions


def wide(address: str) -> None:
    create(address, {TOPIC: 1, WIDE_TOPIC: WIDE_PARTITIONS})


def long_names(address: str) -> None:
    create(
        address,
        {TOPIC: 1}
        | {f"{number:04}".ljust(230, "abcdefghijklmnopqrstuvwxyz"[number % 26]): 1 for number in range(LONG_NAMES)},
    )


def many_partitions(address: str) -> None:
    create(address, {f"t{number}": 100 for number in range(MANY_PARTITIONS // 100)})


def with_small_batches(address: str) -> None:
    create(address, {TOPIC: 50})
    with connected(address) as sock:
        asked(sock, small_batches_of_gzip())


def one_offset(address: str) -> None:
    create(address, {TOPIC: 1})
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="m" * 4_000)
    commit = OffsetCommitRequest(
        group_id="with-metadata",
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=(OffsetCommitRequestTopic(name=TOPIC, partitions=(partition,)),),
    )
    with Connection(address) as connection:
        while connection.call(commit, 2).topics[0].partitions[0].error_code:
            connection.call(FindCoordinatorRequest(key=commit.group_id), 0)


ROWS = (
    Row(attack="pipelined_api_versions", told="a connection pipelines ApiVersions"),
    Row(attack="pipelined_api_versions", clients=4, told="four of them"),
    Row(attack="pipelined_metadata", told="a connection pipelines Metadata"),
    Row(attack="pipelined_produce", told="a producer pipelines records of 30 bytes, acks=1"),
    Row(attack="pipelined_produce", clients=2, told="two of them"),
    Row(attack="the_broker_1000_times", told="DescribeConfigs names the broker 1,000 times"),
    Row(attack="the_broker_20000_times", told="20,000 times"),
    Row(attack="tagged_fields_in_the_header", told="50 million tagged fields in a header (100 MB)", is_huge=True),
    Row(attack="tagged_fields_in_the_body", told="in a body (100 MB)", is_huge=True),
    Row(attack="many_names", told="Metadata with 2,000,000 names (20 MB)", is_huge=True),
    Row(attack="names_within_the_limit", told="with 90,000 names"),
    Row(attack="many_coordinators", told="FindCoordinator of 500,000 keys"),
    Row(attack="coordinators_within_the_limit", told="of 90,000"),
    Row(attack="many_offsets_fetched", told="OffsetFetch of 500,000 partitions"),
    Row(attack="offsets_fetched_within_the_limit", told="of 90,000"),
    Row(attack="many_offsets_listed", told="ListOffsets of 500,000 partitions"),
    Row(attack="offsets_listed_within_the_limit", told="of 90,000"),
    Row(
        attack="one_offset_fetched_again",
        told="OffsetFetch of one partition, with 4 kB of metadata, 90,000 times",
        prepare=one_offset,
    ),
    Row(attack="fetch_sessions", told="Fetches of 20,000 partitions, each with a session"),
    Row(attack="joins_with_protocols", told="ever new members of a group with 19,000 protocols each"),
    Row(
        attack="metadata_not_read",
        told="300 connections ask for the metadata of 9,000 partitions and do not read",
        prepare=many_partitions,
    ),
    Row(
        attack="expressions",
        told="hard expressions over 2,000 long topic names",
        prepare=long_names,
        kafka_answers=False,
    ),
    Row(attack="parked_fetches", told="ten fetches of 5,000 partitions wait, records come", prepare=wide),
    Row(attack="half_frames", told="40 connections each with 50 MB of a 100 MB request", is_huge=True),
    Row(
        attack="small_half_frames",
        clients=10,
        told="5,000 connections each with 30 kB of a request of 31 kB",
        is_huge=True,
    ),
    Row(attack="slow_frames", told="500 connections each with 300 kB of a 1 MB request, and a byte a second"),
    Row(
        attack="scrapes",
        told="60 scrapes of 9,000 partitions at once",
        prepare=many_partitions,
        at_http=True,
        kafka_answers=False,
    ),
    Row(
        attack="scrapes_not_read",
        told="60 that do not read",
        prepare=many_partitions,
        at_http=True,
        kafka_answers=False,
    ),
    Row(
        attack="old_messages_of_the_wrong_kind",
        told="50 sets of magic 1 in a request, 24 kB each, of messages that are looked at one by one",
        prepare=lambda address: create(address, {TOPIC: 50}),
    ),
    Row(
        attack="old_fetches_of_small_batches",
        told="fetches of 50 batches of gzip, each 60 kB once opened, by a client of Kafka 0.10",
        prepare=with_small_batches,
    ),
    Row(
        attack="batches_that_open_wide",
        told="200 zstd batches of 1.4 kB, 40 MB each once opened, in a request",
        prepare=wide,
    ),
)


def felt(row: Row, server: Contender, seconds: float) -> Felt:
    """What others feel of a row for so many seconds. The server has been started; topics are made here."""
    row.prepare(server.address)
    run_probe(server.address, 1)
    with client("members", server.address) as group_members:
        usage = server.usage
        before = usage.rss_bytes()
        usage.forget_peak()
        target = server.http if row.at_http else server.address
        with ExitStack() as attackers:
            for _ in range(row.clients):
                attackers.enter_context(client(row.attack, target))
            waits = run_probe(server.address, seconds)
        growth = usage.peak_rss_bytes() - before
        told, _ = group_members.communicate(timeout=DEADLINE_S)
    return Felt(waits_ms=waits, growth_bytes=growth, heartbeat_codes=json.loads(told))


def run_probe(address: str, seconds: float) -> list[float]:
    done = subprocess.run(
        command("probe", address, str(seconds)), cwd=TESTS, check=True, capture_output=True, timeout=DEADLINE_S
    )
    waits: list[float] = json.loads(done.stdout)
    return waits


@contextmanager
def client(*arguments: str, module: str = "client") -> Iterator["subprocess.Popen[bytes]"]:
    """A client of its own that has begun."""
    with subprocess.Popen(
        command(*arguments, module=module), cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            yield process
        finally:
            process.kill()


def command(*arguments: str, module: str = "client") -> list[str]:
    return [sys.executable, "-m", f"support.hostile.{module}", *arguments]
