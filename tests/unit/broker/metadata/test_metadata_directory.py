"""`metadata.log.dir`: the metadata log is there, with what Kafka looks for beside it."""

from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.metadata.topics import NewTopic
from stepdown.protocol.errors import DiskFault
from stepdown.storage.directories.meta_properties import read_meta_properties
from stepdown.storage.files.files import Files
from stepdown.storage.metadata.metadata_log_contents import FOLDER
from support.running import running_broker


async def create(broker: Broker, name: str) -> None:
    settings = broker.topics.configuration.topic_settings({})
    assert not await broker.topics.create([NewTopic(name=name, partitions=1, settings=settings)])


async def test_a_directory_of_its_own_has_the_metadata_and_no_partitions(tmp_path: Path) -> None:
    data, metadata = tmp_path / "data", tmp_path / "metadata"
    for name in ("one", "two"):
        async with running_broker(data, metadata_log_dir=metadata, broker_id=7) as broker:
            await create(broker, name)
    assert (metadata / FOLDER).is_dir()
    assert not (data / FOLDER).exists()
    assert sorted(path.name for path in data.glob("*-0")) == ["one-0", "two-0"]
    meta, own = (read_meta_properties(Files(), str(each)) for each in (metadata, data))
    assert meta is not None
    assert own is not None
    assert (meta.node_id, meta.cluster_id) == (7, own.cluster_id)
    assert meta.directory_id not in (None, own.directory_id)


async def test_a_log_that_another_directory_has_already_is_used(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "data") as broker:
        await create(broker, "orders")
    async with running_broker(tmp_path / "data", metadata_log_dir=tmp_path / "metadata") as broker:
        assert list(broker.cluster.topics) == ["orders"]
    assert not (tmp_path / "metadata" / FOLDER).exists()


async def test_two_brokers_cannot_have_one_metadata_directory(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "a", metadata_log_dir=tmp_path / "metadata"):
        with pytest.raises(DiskFault, match="is in use by another broker"):
            async with running_broker(tmp_path / "b", metadata_log_dir=tmp_path / "metadata"):
                pass


async def test_after_so_many_bytes_a_snapshot_takes_the_place_of_the_log(tmp_path: Path) -> None:
    settings = {"metadata_log_max_record_bytes_between_snapshots": 500}
    async with running_broker(tmp_path, **settings) as broker:
        for number in range(10):
            await create(broker, f"topic-{number}")
    assert list((tmp_path / FOLDER).glob("*.checkpoint"))
    async with running_broker(tmp_path, **settings) as broker:
        assert len(broker.cluster.topics) == 10
