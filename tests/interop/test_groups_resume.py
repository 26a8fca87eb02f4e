"""Members of groups, of every generation: what they committed is where they go on, whatever happens to the broker."""

import sys
from collections.abc import Iterator

import pytest
from support.broker import BrokerProcess, broker_under_test
from support.clients import Message
from support.clients_python import AIOKAFKA
from support.group_members import JAVA_MEMBERS, OLD_PYTHON_MEMBERS, PYTHON_MEMBERS, Member
from support.proxy import RecordingProxy

TOPIC = "t"
PARTITIONS, RECORDS = 2, 60
EVERYTHING = {(partition, offset) for partition in range(PARTITIONS) for offset in range(RECORDS)}
PROPERTIES = {
    "group.initial.rebalance.delay.ms": "0",
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
}
BEFORE_3_12 = pytest.mark.skipif(sys.version_info >= (3, 12), reason="kafka-python 1.4.7 runs on Python up to 3.11")
MEMBERS = [
    *(pytest.param(each, id=each.name) for each in PYTHON_MEMBERS),
    *(pytest.param(each, id=each.name, marks=BEFORE_3_12) for each in OLD_PYTHON_MEMBERS),
    *(pytest.param(each, id=each.name, marks=pytest.mark.java) for each in JAVA_MEMBERS),
]


@pytest.fixture(scope="module")
def broker(proxy: RecordingProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker that can be killed and started again behind an address that stays; the topic is full."""
    broker = broker_under_test(tmp_path_factory.mktemp("groups"), advertised=proxy.address, properties=PROPERTIES)
    broker.start()
    proxy.forward_to(broker.address)
    broker.create_topic(TOPIC, partitions=PARTITIONS)
    messages = [Message(key=b"k", value=b"v") for _ in range(RECORDS)]
    for partition in range(PARTITIONS):
        AIOKAFKA.produce(proxy.address, "fill", TOPIC, partition, messages, "none")
    yield broker
    broker.stop()


@pytest.mark.parametrize("member", MEMBERS)
def test_a_group_goes_on_where_it_was_after_the_broker_was_killed(
    member: Member, broker: BrokerProcess, proxy: RecordingProxy
) -> None:
    group = f"of-{member.name}"
    first = member.reads(proxy.address, group, TOPIC, 40)
    broker.kill()
    broker.start()
    proxy.forward_to(broker.address)
    second = member.reads(proxy.address, group, TOPIC, len(EVERYTHING) - len(first))
    assert len(first) == 40
    assert sorted([*first, *second]) == sorted(EVERYTHING)


@pytest.mark.parametrize("last", MEMBERS)
def test_every_client_goes_on_where_another_was(last: Member, broker: BrokerProcess, proxy: RecordingProxy) -> None:
    group = f"first-others-then-{last.name}"
    others = [PYTHON_MEMBERS[0], PYTHON_MEMBERS[5], PYTHON_MEMBERS[6]]
    found = [place for other in others for place in other.reads(proxy.address, group, TOPIC, 20)]
    found += last.reads(proxy.address, group, TOPIC, len(EVERYTHING) - len(found))
    assert sorted(found) == sorted(EVERYTHING)
