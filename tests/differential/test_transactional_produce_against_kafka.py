"""Produce with a transactional id: what is wrong with the producer is said before what is wrong with the records."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from stepdown.bench.servers.admin_connection import Connection
from stepdown.protocol.acls import AclOperation, PatternType, PermissionType, ResourceType
from stepdown.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from stepdown.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from support.broker import broker_under_test
from support.deadline import DEADLINE_S
from support.kafka import ApacheKafka

pytestmark = pytest.mark.java

PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
KNOWN, DENIED, UNKNOWN = "known", "denied", "unknown"
ADDED, NOT_ADDED = 0, 1
VERSIONS = (3, 9, 10)
Codes = dict[tuple[str, str, int, int], int]
"""By sender, records, partition and version."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Whom a request says that it is from, beside what the broker gave to `known`."""

    transactional_id: str | None
    producer_id_ahead: int = 0
    epochs_ahead: int = 0


SENDERS = {
    "as it is": Sender(KNOWN),
    "another producer id": Sender(KNOWN, producer_id_ahead=100),
    "an older epoch": Sender(KNOWN, epochs_ahead=-1),
    "a newer epoch": Sender(KNOWN, epochs_ahead=1),
    "an unknown id": Sender(UNKNOWN),
    "no rights": Sender(DENIED),
    "no id": Sender(None),
}


def batch(producer_id: int, epoch: int, count: int = 1) -> bytes:
    records = [Record(offset=number, timestamp=1, key=b"k", value=b"v") for number in range(count)]
    return build_batch(
        records,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=0,
        transactional=True,
        base_offset=0,
        last_offset=max(0, count - 1),
    )


def flip(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :]


def record_sets(producer_id: int, epoch: int) -> Mapping[str, bytes]:
    """What a partition may be sent, the good one last. No records at all (null) are never answered by Kafka."""
    good = batch(producer_id, epoch)
    return {
        "no bytes": b"",
        "a batch of no records": batch(producer_id, epoch, 0),
        "half a batch": good[: len(good) - 4],
        "a wrong checksum": flip(good, len(good) - 1),
        "two batches": good + good,
        "good": good,
    }


def ask(client: Connection) -> Codes:
    producer_id, epoch = prepare(client)
    found: Codes = {}
    for version in VERSIONS:
        for name, sender in SENDERS.items():
            sets = record_sets(producer_id + sender.producer_id_ahead, epoch + sender.epochs_ahead)
            for kind, records in sets.items():
                for partition in (NOT_ADDED, ADDED):
                    key = name, kind, partition, version
                    found[key] = produce(client, sender.transactional_id, partition, records, version)
    return found


def prepare(client: Connection) -> tuple[int, int]:
    """The producer id and epoch of `known`, which has begun a transaction in one of the partitions."""
    entry = AclCreation(
        resource_type=ResourceType.TRANSACTIONAL_ID,
        resource_name=DENIED,
        resource_pattern_type=PatternType.LITERAL,
        principal="User:ANONYMOUS",
        host="*",
        operation=AclOperation.WRITE,
        permission_type=PermissionType.DENY,
    )
    assert client.call(CreateAclsRequest(creations=[entry]), 2).results[0].error_code == 0
    while client.call(FindCoordinatorRequest(key=KNOWN, key_type=1), 1).error_code:
        pass  # the topic of transactions is made
    init = InitProducerIdRequest(transactional_id=KNOWN, transaction_timeout_ms=60_000)
    for _ in range(2):  # so that there is an older epoch
        while (answer := client.call(init, 2)).error_code:
            assert answer.error_code in (14, 15, 16, 51), answer
    add = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=KNOWN,
        v3_and_below_producer_id=answer.producer_id,
        v3_and_below_producer_epoch=answer.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name="t", partitions=[ADDED])],
    )
    while code := client.call(add, 3).results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code:
        assert code in (14, 15, 16, 51), code
    return answer.producer_id, answer.producer_epoch


def produce(client: Connection, transactional_id: str | None, partition: int, records: bytes, version: int) -> int:
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=partition, records=records)])
    request = ProduceRequest(transactional_id=transactional_id, acks=-1, timeout_ms=10_000, topic_data=[data])
    return int(client.call(request, version).responses[0].partition_responses[0].error_code)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Codes]]:
    """Kafka's and ours."""
    folder = tmp_path_factory.mktemp("transactional")
    found = []
    for broker in (
        ApacheKafka(folder / "kafka", properties=PROPERTIES),
        broker_under_test(folder / "ours", properties=PROPERTIES),
    ):
        broker.start()
        try:
            broker.create_topic("t", partitions=2)
            with Connection(broker.address, timeout_s=DEADLINE_S) as client:
                found.append(ask(client))
        finally:
            broker.kill()
    yield found


@pytest.mark.parametrize("sender", SENDERS)
def test_the_code_is_kafkas(answers: list[Codes], sender: str) -> None:
    """Fault: a transactional batch of no records was answered 87 where Kafka says what is wrong with its producer."""
    theirs, ours = ({key: code for key, code in each.items() if key[0] == sender} for each in answers)
    differing = {key: (theirs[key], ours[key]) for key in theirs if theirs[key] != ours[key]}
    assert not differing
