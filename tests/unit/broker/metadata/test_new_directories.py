"""A log directory that is empty beside used ones: a new disk, or one that is not mounted."""

from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.config import load
from stepdown.protocol.errors import DiskFault
from stepdown.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from support.client import RawClient


async def start(*directories: Path) -> Broker:
    loaded = load(overrides=["listeners=PLAINTEXT://127.0.0.1:0", f"log.dirs={','.join(map(str, directories))}"])
    broker = Broker(loaded.settings, loaded.layers)
    await broker.start()
    return broker


async def fill(*directories: Path, partitions: int = 4) -> None:
    """A broker makes a topic over the directories and stops."""
    broker = await start(*directories)
    async with await RawClient.connect("127.0.0.1", broker.address.port) as client:
        topic = CreatableTopic(name="orders", num_partitions=partitions, replication_factor=1)
        answer = await client.send(CreateTopicsRequest(topics=(topic,), timeout_ms=1000), 2)
        assert not answer.topics[0].error_code
    await broker.stop()


@pytest.mark.parametrize("away", ["one", "other"])
async def test_a_disk_that_is_not_mounted_stops_the_start_and_nothing_is_made(tmp_path: Path, away: str) -> None:
    """Its partitions, or the metadata, started empty, and what was acknowledged then was gone when it was back."""
    one, other = tmp_path / "one", tmp_path / "other"
    await fill(one, other)
    (tmp_path / away).rename(tmp_path / "unmounted")
    for _ in range(2):
        with pytest.raises(DiskFault, match=f"{away} has no meta.properties.*is a disk not mounted"):
            await start(one, other)
        assert {path.name for path in (tmp_path / away).iterdir()} <= {".lock"}
    for path in (tmp_path / away).iterdir():
        path.unlink()
    (tmp_path / away).rmdir()
    (tmp_path / "unmounted").rename(tmp_path / away)
    await (await start(one, other)).stop()


async def test_a_new_disk_is_taken(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    await fill(one)
    await (await start(one, other)).stop()
    assert (other / "meta.properties").exists()


async def test_a_disk_that_is_lost_for_good_is_done_without(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    await fill(one, other)
    other.rename(tmp_path / "lost")
    broker = await start(one)
    assert len(broker.cluster.topics["orders"].partitions) == 4
    await broker.stop()
