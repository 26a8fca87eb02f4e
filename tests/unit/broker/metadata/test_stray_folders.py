"""Fault: folders of a topic that was deleted were served as the new topic of that name, and gave it their id.

The metadata decide which folders are a topic's: the others are set aside, whichever comes first and whichever are most.
"""

import logging
import shutil
from pathlib import Path
from uuid import UUID

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.metadata.topics import NewTopic
from stepdown.protocol.errors import DiskFault
from stepdown.storage.files.files import Files
from stepdown.storage.files.partition_metadata import write_topic_id
from stepdown.storage.metadata.metadata_log_contents import FOLDER
from support.running import running_broker

STALE = UUID(int=77)


async def create(broker: Broker, name: str, partitions: int) -> None:
    settings = broker.topics.configuration.topic_settings({})
    assert not await broker.topics.create([NewTopic(name=name, partitions=partitions, settings=settings)])


def strays(directory: Path) -> list[str]:
    return sorted(path.name.partition(".")[0] for path in directory.glob("*-stray"))


def remove_id(directory: Path, *folders: str) -> None:
    for folder in folders:
        (directory / folder / "partition.metadata").unlink()


@pytest.mark.parametrize("stale", [(0,), (2,), (0, 1), (0, 1, 2)], ids=["first", "last", "most", "all"])
async def test_a_folder_with_another_id_is_set_aside(
    tmp_path: Path, stale: tuple[int, ...], caplog: pytest.LogCaptureFixture
) -> None:
    async with running_broker(tmp_path) as broker:
        await create(broker, "orders", 3)
        topic_id = broker.cluster.topics["orders"].topic_id
    for index in stale:
        write_topic_id(Files(), str(tmp_path / f"orders-{index}"), STALE)
    for _ in range(2):
        async with running_broker(tmp_path) as broker:
            topic = broker.cluster.topics["orders"]
            assert (topic.topic_id, len(topic.partitions)) == (topic_id, 3)
            assert {partition.log.topic_id for partition in topic.partitions.values()} == {topic_id}
    assert strays(tmp_path) == [f"orders-{index}" for index in stale]
    assert "the metadata have another topic of that name, with the id" in caplog.text


@pytest.mark.parametrize("valid", ["one", "other"])
async def test_of_one_partition_in_two_directories_the_stale_one_is_set_aside(tmp_path: Path, valid: str) -> None:
    """Fault: a stale folder in another log directory kept the broker from starting."""
    one, other = tmp_path / "one", tmp_path / "other"
    async with running_broker(one) as broker:
        await create(broker, "orders", 1)
        topic_id = broker.cluster.topics["orders"].topic_id
    other.mkdir()
    copy(one / "orders-0", other / "orders-0")
    stale = {"one": other, "other": one}[valid]
    write_topic_id(Files(), str(stale / "orders-0"), STALE)
    for _ in range(2):
        async with running_broker(one, log_dirs=f"{one},{other}") as broker:
            found = broker.cluster.topics["orders"].partitions[0].log
            assert (found.directory, found.topic_id) == (str(tmp_path / valid / "orders-0"), topic_id)
    assert strays(stale) == ["orders-0"]
    assert strays(tmp_path / valid) == []


async def test_without_metadata_two_folders_of_one_partition_stop_the_start(tmp_path: Path) -> None:
    for name, number in (("one", 1001), ("other", 1002)):
        (tmp_path / name / "orders-0").mkdir(parents=True)
        write_topic_id(Files(), str(tmp_path / name / "orders-0"), UUID(int=number))
    with pytest.raises(DiskFault, match="orders-0 is in two places, of two topics with that name"):
        async with running_broker(tmp_path, log_dirs=f"{tmp_path / 'one'},{tmp_path / 'other'}"):
            pass


async def test_a_folder_whose_topic_is_not_there_is_set_aside(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        await create(broker, "orders", 1)
    copy(tmp_path / "orders-0", tmp_path / "gone-0")
    async with running_broker(tmp_path) as broker:
        assert list(broker.cluster.topics) == ["orders"]
    assert strays(tmp_path) == ["gone-0"]


async def test_why_a_folder_is_set_aside_and_what_to_do_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Fault: all were told to remove `partition.metadata`, also without one, and internal topics to change the name."""
    async with running_broker(tmp_path, offsets_topic_num_partitions=2) as broker:
        await create(broker, "orders", 2)
        await broker.topics.ensure("__consumer_offsets")
    for name in ("orders-7", "gone-0", "__consumer_offsets-2"):
        copy(tmp_path / "orders-0", tmp_path / name)
    remove_id(tmp_path, "orders-7")
    async with running_broker(tmp_path, offsets_topic_num_partitions=2):
        pass
    told = {
        message.partition(" (")[0].rpartition("/")[2]: message for message in caplog.messages if "-stray" in message
    }
    assert told["orders-7"].endswith(
        "the topic has 2 partitions in the metadata. To read its records, stop the broker and rename the folder for a "
        "topic that does not exist, such as orders.found-7: it is then taken over"
    )
    assert "the metadata have no topic of that name" in told["gone-0"]
    assert told["gone-0"].endswith("such as gone.found-0, without its partition.metadata: it is then taken over")
    assert told["__consumer_offsets-2"].endswith("What an internal topic has cannot be served under another name")
    rename_stray(tmp_path, "gone-0", "gone.found-0")
    remove_id(tmp_path, "gone.found-0")
    async with running_broker(tmp_path) as broker:
        assert list(broker.cluster.topics["gone.found"].partitions) == [0]


def rename_stray(directory: Path, name: str, new_name: str) -> None:
    (stray,) = directory.glob(f"{name}.*-stray")
    stray.rename(directory / new_name)


def copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target)


async def test_a_folder_without_an_id_is_served_if_its_topic_is_known(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        await create(broker, "orders", 2)
        topic_id = broker.cluster.topics["orders"].topic_id
    remove_id(tmp_path, "orders-1")
    async with running_broker(tmp_path) as broker:
        assert broker.cluster.topics["orders"].partitions[1].log.topic_id == topic_id
    assert strays(tmp_path) == []


async def test_a_folder_put_in_by_hand_is_taken_over_and_keeps_everything(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        await create(broker, "orders", 1)
    copy(tmp_path / "orders-0", tmp_path / "found-0")
    remove_id(tmp_path, "found-0")
    async with running_broker(tmp_path) as broker:
        assert broker.cluster.topics["found"].settings.stepdown_settings_unknown
        assert broker.cluster.topics["found"].topic_id != broker.cluster.topics["orders"].topic_id


async def test_partitions_of_an_internal_topic_that_others_had_are_absent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Fault: their number was that of the highest folder, so groups were looked up in the wrong partition."""
    async with running_broker(tmp_path, offsets_topic_num_partitions=5) as broker:
        await broker.topics.ensure("__consumer_offsets")
    forget(tmp_path, FOLDER, "__consumer_offsets-4", "__consumer_offsets-0")
    with pytest.raises(DiskFault, match=r"set offsets\.topic\.num\.partitions to that of the old cluster"):
        async with running_broker(tmp_path, offsets_topic_num_partitions=3):
            pass
    with caplog.at_level(logging.WARNING):
        async with running_broker(tmp_path, offsets_topic_num_partitions=5) as broker:
            partitions = broker.cluster.topics["__consumer_offsets"].partitions
            assert [partition.is_here for partition in partitions.values()] == [False, True, True, True, False]
    assert "__consumer_offsets has 5 partitions by offsets.topic.num.partitions, 3 of them have a folder" in caplog.text
    async with running_broker(tmp_path) as broker:
        assert len(broker.cluster.topics["__consumer_offsets"].partitions) == 5


def forget(directory: Path, *names: str) -> None:
    for name in names:
        shutil.rmtree(directory / name)
