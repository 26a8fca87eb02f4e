"""A metadata log that is damaged is opened as Kafka 3.9.1 opens it, or the broker stops with a sentence."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from stepdown.bench.failures import BenchFailure
from stepdown.broker.metadata.topics import NewTopic
from stepdown.protocol.errors import DiskFault
from stepdown.storage.metadata.metadata_log_contents import FOLDER
from support.deadline import DEADLINE_S
from support.handover import SETTINGS, kafka_over
from support.running import running_broker

pytestmark = pytest.mark.java

BEFORE, AFTER = ("a-1", "a-2"), ("b-1", "b-2", "b-3")
Topics = set[str] | None
"""Those that a broker has, None for one that does not start."""
STEPDOWN_SETTINGS = {key.replace(".", "_"): value for key, value in SETTINGS.items()}


async def make_directory(data: Path, *, has_snapshot: bool) -> None:
    """Topics in a snapshot, if there is one, and after it topics in the log, each in a batch of its own."""
    for names in (BEFORE, AFTER):
        async with running_broker(data, **STEPDOWN_SETTINGS) as broker:
            if names is AFTER and has_snapshot:
                broker.topics.store.write_snapshot()
            settings = broker.topics.configuration.topic_settings({})
            for name in names:
                await broker.topics.create([NewTopic(name=name, partitions=1, settings=settings)])


def log_of(data: Path) -> Path:
    return sorted((data / FOLDER).glob("*.log"))[-1]


def snapshot_of(data: Path) -> Path:
    return next((data / FOLDER).glob("*.checkpoint"))


def batches(log: Path) -> list[tuple[int, int]]:
    """Where each batch of the log begins and ends."""
    data, position, found = log.read_bytes(), 0, []
    while position < len(data):
        end = position + 12 + int.from_bytes(data[position + 8 : position + 12])
        found.append((position, end))
        position = end
    return found


def flip(file: Path, position: int) -> None:
    data = bytearray(file.read_bytes())
    data[position] ^= 4
    file.write_bytes(data)


def tear_tail(data: Path) -> None:
    log = log_of(data)
    log.write_bytes(log.read_bytes()[:-5])


def flip_last_batch(data: Path) -> None:
    flip(log_of(data), batches(log_of(data))[-1][1] - 3)


def flip_earlier_batch(data: Path) -> None:
    flip(log_of(data), batches(log_of(data))[-3][1] - 3)


def flip_snapshot(data: Path) -> None:
    flip(snapshot_of(data), snapshot_of(data).stat().st_size // 2)


def halve_snapshot(data: Path) -> None:
    content = snapshot_of(data).read_bytes()
    snapshot_of(data).write_bytes(content[: len(content) // 2])


def remove_log(data: Path) -> None:
    log_of(data).unlink()


def remove_snapshot(data: Path) -> None:
    snapshot_of(data).unlink()


def remove_nothing(data: Path) -> None:
    pass


async def topics_of_stepdown(folder: Path) -> Topics:
    try:
        async with running_broker(folder / "data", **STEPDOWN_SETTINGS) as broker:
            return set(broker.cluster.topics)
    except DiskFault as fault:
        assert FOLDER in str(fault) and "cannot be read" in str(fault), fault
        return None


def topics_of_kafka(folder: Path) -> Topics:
    kafka = kafka_over(folder)
    try:
        kafka.start()
    except BenchFailure:
        return None
    try:
        return set(AdminClient({"bootstrap.servers": kafka.address}).list_topics(timeout=DEADLINE_S).topics)
    finally:
        kafka.kill()


WITH_SNAPSHOT = [remove_nothing, tear_tail, flip_last_batch, remove_log, flip_snapshot, halve_snapshot, remove_snapshot]
WITHOUT_SNAPSHOT = [remove_nothing, tear_tail, flip_last_batch]


@pytest.mark.parametrize(
    ("has_snapshot", "damage"),
    [(True, damage) for damage in WITH_SNAPSHOT] + [(False, damage) for damage in WITHOUT_SNAPSHOT],
)
async def test_it_is_opened_as_by_kafka(tmp_path: Path, has_snapshot: bool, damage: Callable[[Path], None]) -> None:
    theirs, ours = await open_by_both(tmp_path, damage, has_snapshot=has_snapshot)
    assert ours == theirs


@pytest.mark.parametrize("has_snapshot", [True, False])
async def test_damage_with_whole_batches_after_it_stops_the_broker(tmp_path: Path, has_snapshot: bool) -> None:
    """Kafka cuts the log there, and sets the folders of topics aside that were acknowledged."""
    theirs, ours = await open_by_both(tmp_path, flip_earlier_batch, has_snapshot=has_snapshot)
    assert theirs == set(BEFORE)
    assert ours is None


async def test_without_any_metadata_topics_are_taken_over_from_their_folders(tmp_path: Path) -> None:
    """Kafka has no topics then, and sets all folders aside."""
    theirs, ours = await open_by_both(tmp_path, remove_log, has_snapshot=False)
    assert theirs == set()
    assert ours == {*BEFORE, *AFTER}


async def open_by_both(folder: Path, damage: Callable[[Path], None], *, has_snapshot: bool) -> tuple[Topics, Topics]:
    """The topics that Kafka and stepdown have after the damage."""
    ours, theirs = folder / "ours", folder / "theirs"
    await make_directory(ours / "data", has_snapshot=has_snapshot)
    damage(ours / "data")
    shutil.copytree(ours / "data", theirs / "data")
    return await asyncio.to_thread(topics_of_kafka, theirs), await topics_of_stepdown(ours)
