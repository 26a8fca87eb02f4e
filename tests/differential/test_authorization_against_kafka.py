"""The authorization matrix: requests of each API under rules of each kind, to Kafka 3.9.1 and to stepdown alike.

Rows: a request for each way in which an API asks (`authorization_requests.py`). Columns: no rules, all, one operation
allowed or denied on one type of resource by its name, by a prefix, for all names; and a super user. Answers have to be
the same, but for messages, what each broker makes up, and what docs/compatibility.md names.
"""

import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from struct import pack
from typing import Any
from uuid import UUID

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest
from stepdown.protocol.messages.metadata import MetadataRequest
from stepdown.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.batch import RecordBatch
from stepdown.storage.compaction.record_filter import without_records
from support.authorization_matrix import EVERYTHING, SUBJECT, Column, columns, random_column, set_rules
from support.authorization_requests import (
    AS_A_BROKER,
    GROUP,
    OTHER_GROUP,
    OTHER_TOPIC,
    OTHER_TRANSACTION,
    TOPIC,
    TRANSACTION,
    batch,
    requests,
)
from support.client import RawClient
from support.kafka_authorizing import AUTHORIZER, AuthorizingKafka
from support.running import running_broker
from support.side_by_side import Side, coordinators_ready, differences

pytestmark = pytest.mark.java

SETTINGS = {
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "log.retention.ms": -1,
    "num.partitions": 1,
    "auto.create.topics.enable": "false",
}
REQUESTS_OF_A_CASE = 10
ACCESS_CASES = int(os.environ.get("ACCESS_CASES", "200"))
ACCESS_SEED = int(os.environ.get("SEED", "1"))
"""`make access-cases` asks more often."""
UNCOMPARED = frozenset(
    (
        "error_message",
        "host",
        "port",
        "cluster_id",
        "log_dir",
        "total_bytes",
        "usable_bytes",
        "producer_id",
        "transaction_start_time_ms",
        "last_timestamp",
        "synonyms",
        "documentation",
        "member_id",  # JoinGroup that is refused says it again: see docs/compatibility.md
    )
)

FEW = (
    "nothing",
    "everything",
    "only TOPIC READ",
    "TOPIC WRITE by prefix",
    "everything but TOPIC DESCRIBE",
    "TOPIC CREATE of all",
    "everything but GROUP READ by prefix",
    "only CLUSTER ALTER",
    "only CLUSTER CLUSTER_ACTION",
    "everything but CLUSTER DESCRIBE",
    "everything but TRANSACTIONAL_ID WRITE",
    "everything from another host",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request in one version, as it is for each side."""

    key: ApiKey
    what: str
    version: int
    requests: tuple[Any, Any]


class Pairing:
    """Both brokers with the same content, a connection of the subject and one of the super user to each."""

    def __init__(
        self, sides: tuple[Side, Side], kafka: AuthorizingKafka, broker: Broker, kafka_admin: RawClient
    ) -> None:
        self.sides = sides
        self.kafka = kafka
        self.broker = broker
        self.kafka_admin = kafka_admin
        self.ids: list[dict[str, UUID]] = []

    async def prepare(self) -> None:
        await self.set(EVERYTHING)
        for side in self.sides:
            client = side.clients[0]
            await coordinators_ready(side)
            topics = [
                CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in (TOPIC, OTHER_TOPIC)
            ]
            await client.send(CreateTopicsRequest(topics=topics), 4)
            self.ids.append(await _topic_ids(client))
            for group in (GROUP, OTHER_GROUP):
                await client.send(_commit(group), 8)
            for name in (TRANSACTION, OTHER_TRANSACTION):
                await client.send(InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000), 1)
        for side, ids in zip(self.sides, self.ids, strict=True):
            side.values = dict(ids)

    async def set(self, acls: Sequence[Any]) -> None:
        await set_rules(self.kafka_admin, acls)
        await self.broker.acls.remove_in_turns(self.broker.topics.store.state.acls, self.broker.turns.begin())
        self.broker.acls.add(acls)

    async def be_super_user(self) -> None:
        """The subject is one now."""
        await self.sides[0].clients[0].close()
        self.sides[0].clients[0] = await self.kafka.admin()
        assert self.broker.authorizer is not None
        self.broker.authorizer.super_users |= {SUBJECT}

    def asked(self, versions: dict[ApiKey, Sequence[int]]) -> list[Asked]:
        """The requests of the matrix, each in these versions."""
        rows = [list(requests(ids)) for ids in self.ids]
        return [
            Asked(key, what, version, (theirs(version), mine(version)))
            for (key, what, theirs), (_, _, mine) in zip(*rows, strict=True)
            for version in versions[key]
            if theirs(version) is not None
        ]

    async def differences(self, asked: Iterable[Asked]) -> list[str]:
        found = []
        for each in asked:
            answers = [
                _compared(each.key, each.what, side.heard(await _ask(side, request, each.version), UNCOMPARED))
                for side, request in zip(self.sides, each.requests, strict=True)
            ]
            name = f"{API[each.key].name} v{each.version} {each.what}"
            found += [f"{name}: {difference}" for difference in differences("", *answers)]
        return found


def _compared(key: ApiKey, what: str, answer: Any) -> Any:
    """The part of an answer that has to be the same where others do not."""
    if (key, what) == (ApiKey.FETCH, AS_A_BROKER):  # what a replica is told is for the tests of replication
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return [part["error_code"] == code for topic in answer["responses"] for part in topic["partitions"]]
    if key is ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS and answer["error_code"]:
        return answer["error_code"]  # Kafka repeats it for each user, without the name
    if key is ApiKey.OFFSET_FETCH and not answer["groups"] and not answer["error_code"]:
        codes = {part["error_code"] for topic in answer["topics"] for part in topic["partitions"]}
        if codes <= {ErrorCode.GROUP_AUTHORIZATION_FAILED}:
            return "nothing"  # v1 has no error of its own: Kafka answers no partition at all then
    return answer


async def _ask(side: Side, request: Any, version: int) -> Any:
    try:
        return await side.clients[0].send(request, version)
    except TimeoutError:
        raise TimeoutError(f"no answer to v{version} {request}") from None
    except ConnectionError:
        side.clients[0] = await RawClient.connect(side.host, side.port)
        return "hung up"


async def _topic_ids(client: RawClient) -> dict[str, UUID]:
    while True:
        answer = await client.send(MetadataRequest(topics=None), 12)
        ids = {topic.name: topic.topic_id for topic in answer.topics if topic.name in (TOPIC, OTHER_TOPIC)}
        if len(ids) == 2 and not any(part.error_code for topic in answer.topics for part in topic.partitions):
            return ids


def _commit(group: str) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="m")
    return OffsetCommitRequest(
        group_id=group,
        topics=[OffsetCommitRequestTopic(name=name, partitions=[partition]) for name in (TOPIC, OTHER_TOPIC)],
    )


@asynccontextmanager
async def pairing(folder: Path, *, default: bool = False) -> AsyncIterator[Pairing]:
    properties = {name: str(value) for name, value in SETTINGS.items()}
    properties["allow.everyone.if.no.acl.found"] = str(default).lower()
    with AuthorizingKafka(folder / "kafka", properties=properties) as kafka:
        ours = {name.replace(".", "_"): value for name, value in properties.items()}
        async with running_broker(
            folder / "ours", authorizer_class_name=AUTHORIZER, super_users="User:admin", **ours
        ) as broker:
            sides = Side.at(kafka.address), Side.at(f"127.0.0.1:{broker.address.port}")
            for side in sides:
                await side.connect(1)
            pair = Pairing(sides, kafka, broker, await kafka.admin())
            try:
                await pair.prepare()
                yield pair
            finally:
                await pair.kafka_admin.close()
                for side in sides:
                    await side.close()


async def _compare(pair: Pairing, wanted: Iterable[Column], versions: dict[ApiKey, Sequence[int]]) -> list[str]:
    found = []
    for column in wanted:
        await pair.set(column.acls)
        found += [f"{column.name}: {difference}" for difference in await pair.differences(pair.asked(versions))]
    return found


def _versions(*, every: bool) -> dict[ApiKey, Sequence[int]]:
    """All versions that both have, or the first and the last."""
    last = {ApiKey.CONSUMER_GROUP_HEARTBEAT: 0, ApiKey.CONSUMER_GROUP_DESCRIBE: 0}
    found = {}
    for key, spec in API.items():
        most = last.get(key, spec.max_version)
        found[key] = range(most + 1) if every else sorted({0, most})
    return found


async def test_a_part_of_the_matrix_is_answered_the_same(tmp_path: Path) -> None:
    wanted = [column for column in columns() if column.name in FEW]
    assert len(wanted) == len(FEW)
    async with pairing(tmp_path) as pair:
        found = await _compare(pair, wanted, _versions(every=False))
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("default", [False, True], ids=["denied without rules", "allowed without rules"])
async def test_the_whole_matrix_is_answered_the_same(tmp_path: Path, default: bool) -> None:
    versions = _versions(every=not default)
    async with pairing(tmp_path, default=default) as pair:
        found = await _compare(pair, columns(), versions)
        await pair.be_super_user()
        found += await _compare(pair, [Column("a super user", ())], versions)
    assert not found, "\n".join(found)


async def test_random_requests_under_random_rules_are_answered_the_same(tmp_path: Path) -> None:
    """Prefixed rules, rules for IPv6 hosts and for others were compared one at a time only."""
    dice, versions, found = Random(ACCESS_SEED), _versions(every=True), list[str]()
    async with pairing(tmp_path) as pair:
        for _ in range(ACCESS_CASES // REQUESTS_OF_A_CASE):
            column = random_column(dice)
            await pair.set(column.acls)
            asked = dice.sample(pair.asked(versions), REQUESTS_OF_A_CASE)
            found += [f"{column.name}: {difference}" for difference in await pair.differences(asked)]
    assert not found, "\n".join(found)


WITHOUT_RECORDS = {
    "no bytes": b"",
    "a batch of no records": without_records(RecordBatch(batch(transactional=True))),
    "half a header": batch(transactional=True)[:40],
    "a batch that is cut": batch(transactional=True)[:62],
    "half a header that is a whole batch": batch(transactional=True)[:8]
    + pack(">i", 28)
    + batch(transactional=True)[12:40],
}


async def test_a_produce_with_a_transactional_id_and_no_records_is_answered_the_same(tmp_path: Path) -> None:
    """It was answered TOPIC_AUTHORIZATION_FAILED where Kafka answers TRANSACTIONAL_ID_AUTHORIZATION_FAILED."""
    found = []
    async with pairing(tmp_path) as pair:
        await pair.set(())
        for name, records in WITHOUT_RECORDS.items():
            for version in (3, 8, 9, 11):
                data = [PartitionProduceData(index=0, records=records)]
                topic_data = [TopicProduceData(name=TOPIC, partition_data=data)]
                request = ProduceRequest(transactional_id=TRANSACTION, acks=1, timeout_ms=99, topic_data=topic_data)
                answers = [side.heard(await _ask(side, request, version), UNCOMPARED) for side in pair.sides]
                found += [f"{name}, v{version}: {each}" for each in differences("", *answers)]
    assert not found, "\n".join(found)
