"""stepdown and Kafka have one log directory in turn: nothing is lost, and nothing comes twice."""

import asyncio
import os
import re
import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from stepdown.bench.servers.kafka import CLUSTER_ID
from stepdown.bench.servers.ports import free_port
from stepdown.broker.broker import Broker
from support.deadline import DEADLINE_S
from support.handover import SETTINGS, Client, Topic, kafka_over
from support.kafka import ApacheKafka
from support.kafka_4 import LATEST, ApacheKafka4
from support.kafka_tools import ACLS, CONFIG, GROUPS, KafkaTools
from support.running import running_broker

pytestmark = pytest.mark.java

STEPS = 12
HAND_OVERS = 10
KAFKA_4 = partial(ApacheKafka4, release=LATEST)
DESCRIBING = (
    ("org.apache.kafka.tools.TopicCommand", "--describe"),
    (CONFIG, "--describe --entity-type topics"),
    (ACLS, "--list"),
    (GROUPS, "--describe --all-groups --offsets"),
)
SEEDS = int(os.environ.get("HANDOVER_SEEDS", "3"))


def stepdown_over(folder: Path, address: str = "127.0.0.1:0") -> AbstractAsyncContextManager[Broker]:
    settings = {key.replace(".", "_"): value for key, value in SETTINGS.items()}
    return running_broker(folder / "data", listeners=f"PLAINTEXT://{address}", **settings)


async def with_stepdown(folder: Path, client: Client, *, is_killed: bool, address: str, is_last: bool = False) -> None:
    async with stepdown_over(folder, address) as broker:
        await asyncio.to_thread(client.check, str(broker.address))
        await asyncio.to_thread(client.work, str(broker.address), STEPS)
        if is_last:
            await asyncio.to_thread(client.end_open)
        await asyncio.to_thread(client.check, str(broker.address))
        if is_killed:
            broker.stop = broker.kill  # type: ignore[method-assign]


def with_kafka(
    folder: Path, client: Client, *, is_killed: bool, address: str, kind: Callable[..., ApacheKafka] = ApacheKafka
) -> None:
    kafka = kafka_over(folder, kind, address=address)
    kafka.start()
    try:
        client.check(kafka.address)
        client.work(kafka.address, STEPS)
        client.check(kafka.address)
    finally:
        if is_killed:
            kafka.kill()
        else:
            kafka.stop()


async def walk(folder: Path, seed: int, hand_overs: int) -> None:
    """stepdown, then one of the two releases of Kafka, and so on, all of them at one address."""
    random = Random(seed)
    client = Client(Random(seed))
    address = f"127.0.0.1:{free_port()}"
    for number in range(hand_overs):
        is_killed = random.random() < 0.5
        if number % 2 == 0:
            await with_stepdown(folder, client, is_killed=is_killed, address=address)
        else:
            kind = random.choice((ApacheKafka, KAFKA_4))
            await asyncio.to_thread(with_kafka, folder, client, is_killed=is_killed, kind=kind, address=address)
    await with_stepdown(folder, client, is_killed=False, address=address, is_last=True)
    print(f"seed {seed}: {client.totals()}")


async def test_stepdown_then_kafka_3_9_then_kafka_4_then_stepdown(tmp_path: Path) -> None:
    client = Client(Random(1))
    address = f"127.0.0.1:{free_port()}"
    await with_stepdown(tmp_path, client, is_killed=True, address=address)
    await asyncio.to_thread(with_kafka, tmp_path, client, is_killed=False, address=address)
    await asyncio.to_thread(with_kafka, tmp_path, client, is_killed=True, kind=KAFKA_4, address=address)
    await with_stepdown(tmp_path, client, is_killed=False, address=address, is_last=True)


FORMATTED = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:9093
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
controller.listener.names=CONTROLLER
log.dirs={}
"""


async def test_a_directory_that_kafka_4_formatted_and_stepdown_served_first_is_kafkas_again(tmp_path: Path) -> None:
    """Kafka 4.4.0 ended at its start: the levels of its features were in a snapshot that it reads no more then."""
    data = tmp_path / "data"
    (file := tmp_path / "format.properties").write_text(FORMATTED.format(data))
    KafkaTools(LATEST).run("kafka.tools.StorageTool", f"format -t {CLUSTER_ID} -c {file}")
    assert [path.name[:20] for path in data.glob("__cluster_metadata-0/*.checkpoint")] == ["0" * 20]
    client = Client(Random(5))
    address = f"127.0.0.1:{free_port()}"
    await with_stepdown(tmp_path, client, is_killed=True, address=address)
    await asyncio.to_thread(with_kafka, tmp_path, client, is_killed=False, kind=KAFKA_4, address=address)
    await with_stepdown(tmp_path, client, is_killed=False, address=address, is_last=True)


def describe(address: str) -> dict[str, list[str]]:
    """What Kafka's tools say of topics, settings without their synonyms, access rules and groups."""

    def run(tool: str, command: str) -> str:
        return KafkaTools(ApacheKafka.version).run(tool, f"--bootstrap-server {address} {command}")

    return {
        command: sorted(re.sub(r" synonyms=.*", "", line) for line in run(tool, command).splitlines())
        for tool, command in DESCRIBING
    }


async def test_kafkas_tools_say_the_same_of_stepdown_and_of_kafka_after_it(tmp_path: Path) -> None:
    client = Client(Random(3))
    async with stepdown_over(tmp_path) as broker:
        for step in (client.create, client.create, client.configure, client.commit, client.commit, client.allow):
            await asyncio.to_thread(client.work, str(broker.address), 0)
            await asyncio.to_thread(step)
        of_stepdown = await asyncio.to_thread(describe, str(broker.address))
    kafka = kafka_over(tmp_path)
    with kafka:
        of_kafka = await asyncio.to_thread(describe, kafka.address)
    assert of_kafka == of_stepdown


STALE_TOPICS = {"first": (0,), "last": (2,), "most": (0, 1)}


async def test_stale_folders_are_set_aside_as_kafka_does(tmp_path: Path) -> None:
    """Folders of a topic that was deleted lie where those of the new topic of that name belong."""
    ours, theirs = tmp_path / "ours" / "data", tmp_path / "theirs"
    await fill_with_stale_folders(ours)
    shutil.copytree(ours, theirs / "data")
    async with stepdown_over(ours.parent) as broker:
        of_stepdown = await asyncio.to_thread(read_all, str(broker.address))
    with kafka_over(theirs) as kafka:
        of_kafka = await asyncio.to_thread(read_all, kafka.address)
    assert of_stepdown == of_kafka
    assert (
        strays(ours)
        == strays(theirs / "data")
        == sorted(f"{topic}-{index}" for topic, stale in STALE_TOPICS.items() for index in stale)
    )


async def fill_with_stale_folders(directory: Path) -> None:
    """Topics that were made, written, deleted and made again, with some folders of the old ones put back."""
    old = directory.parent / "old"
    for times in (4, 3):
        async with stepdown_over(directory.parent) as broker:
            await asyncio.to_thread(make_topics, str(broker.address), times)
        if not old.exists():
            shutil.copytree(directory, old)
    for topic, stale in STALE_TOPICS.items():
        for folder in (f"{topic}-{index}" for index in stale):
            shutil.rmtree(directory / folder)
            shutil.copytree(old / folder, directory / folder)


def make_topics(address: str, times: int) -> None:
    """The topics, anew, with that many records in each partition."""
    admin = AdminClient({"bootstrap.servers": address})
    present = [topic for topic in admin.list_topics(timeout=DEADLINE_S).topics if topic in STALE_TOPICS]
    for future in admin.delete_topics(present).values() if present else ():
        future.result(DEADLINE_S)
    new = [NewTopic(topic, num_partitions=3, replication_factor=1) for topic in STALE_TOPICS]
    for future in admin.create_topics(new).values():
        future.result(DEADLINE_S)
    producer = Producer({"bootstrap.servers": address})
    for topic in STALE_TOPICS:
        for index in range(3):
            for number in range(times):
                producer.produce(topic, b"%d of %d" % (number, times), partition=index)
    assert producer.flush(DEADLINE_S) == 0


def read_all(address: str) -> dict[tuple[str, int], list[bytes]]:
    """The values in each partition."""
    client = Client(Random(0), {topic: Topic(3) for topic in STALE_TOPICS}, address=address)
    return client.read([(topic, index) for topic in STALE_TOPICS for index in range(3)])


def strays(directory: Path) -> list[str]:
    return sorted(path.name.partition(".")[0] for path in directory.glob("*-stray"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_ten_hand_overs_lose_and_double_nothing(tmp_path: Path, seed: int) -> None:
    await walk(tmp_path, seed, HAND_OVERS)
