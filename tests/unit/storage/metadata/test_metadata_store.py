"""What the broker remembers besides its logs."""

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from stepdown.protocol.acls import Acl, AclOperation, PatternType, PermissionType, ResourceType
from stepdown.protocol.errors import DiskFault
from stepdown.storage.files.file_handle import Buffer, FileHandle
from stepdown.storage.files.files import Files
from stepdown.storage.metadata.cluster_state import StoredTopic
from stepdown.storage.metadata.metadata_log_contents import FOLDER, DamagedMetadata
from stepdown.storage.metadata.metadata_store import DOCUMENT, PRODUCER_ID_BLOCK, MetadataStore
from stepdown.storage.metadata.partition_record import PartitionRecord

ALONE = PartitionRecord(replicas=(1,), isr=(1,), leader=1, directories=(UUID(int=0),))
TOPIC_ID = UUID("436c7a4e-a0af-4352-893e-0307916b1357")


class FullDisk(Files):
    """Files that cannot be written."""

    def write(self, handle: FileHandle, pieces: Sequence[Buffer], position: int) -> int:
        raise DiskFault(f"{handle.path}: No space left on device")

    def replace(self, path: str, data: bytes, *, sync: bool = True, private: bool = False) -> None:
        raise DiskFault(f"{path}: No space left on device")


def reopened(*directories: Path) -> MetadataStore:
    return MetadataStore.open(Files(), [str(directory) for directory in directories])


def rule(principal: str) -> Acl:
    return Acl(
        resource_type=ResourceType.GROUP,
        resource_name="\u00e4",
        pattern_type=PatternType.PREFIXED,
        principal=principal,
        host="*",
        operation=AclOperation.ALL,
        permission_type=PermissionType.DENY,
    )


def test_everything_saved_is_there_after_a_restart(tmp_path: Path) -> None:
    store = reopened(tmp_path)
    assert store.is_new
    state = store.state
    state.topics["orders"] = StoredTopic(topic_id=TOPIC_ID, replicas=(ALONE,) * 3, configs={"retention.ms": "1000"})
    state.configs_of_brokers[1] = {"log.retention.ms": "5000"}
    state.cluster_configs["compression.type"] = "lz4"
    state.client_quotas[(("client-id", None), ("user", "ä"))] = {"producer_byte_rate": 1024.5}
    state.acls = {rule("User:a"): uuid4(), rule("User:b"): uuid4()}
    state.features["metadata.version"] = 21
    store.save()
    again = reopened(tmp_path)
    assert not again.is_new
    assert again.state == state


def test_a_producer_id_is_never_handed_out_twice_however_the_process_ends(tmp_path: Path) -> None:
    handed_out = []
    for _ in range(3):
        store = reopened(tmp_path)  # nothing was closed or saved in between, as after kill -9
        handed_out += [store.next_producer_id() for _ in range(PRODUCER_ID_BLOCK // 2)]
    assert len(set(handed_out)) == len(handed_out)


def test_a_block_of_producer_ids_is_on_the_disk_before_its_first_id_is_used(tmp_path: Path) -> None:
    store = reopened(tmp_path)
    assert store.next_producer_id() == 0
    assert reopened(tmp_path).state.next_producer_id == PRODUCER_ID_BLOCK


def test_no_producer_id_is_handed_out_when_its_block_cannot_be_noted(tmp_path: Path) -> None:
    store = MetadataStore.open(FullDisk(), [str(tmp_path)])
    for _ in range(2):
        with pytest.raises(DiskFault):
            store.next_producer_id()


def test_producer_ids_start_above_those_already_in_use(tmp_path: Path) -> None:
    store = reopened(tmp_path)
    store.raise_producer_ids(4711)
    assert store.next_producer_id() == 4711
    assert reopened(tmp_path).next_producer_id() == 4711 + PRODUCER_ID_BLOCK


def test_the_log_is_found_in_whichever_log_directory_it_lies(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    for directory in (first, second):
        directory.mkdir()
    store = reopened(second)
    store.state.cluster_configs["k"] = "v"
    store.save()
    again = reopened(first, second)
    assert again.state.cluster_configs == {"k": "v"}
    assert again.log.folder == str(second / FOLDER)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": 2}',
        '{"version": 1}',
        '{"version":1,"generation":1,"topics":{"a":{"id":"x","partitions":1,"configs":{}}}}',
        '{"version":1,"generation":-1,"topics":{}}',
        "[" * 100_000,
    ],
    ids=["empty", "cut", "list", "newer", "fields missing", "bad id", "negative", "deep"],
)
def test_a_damaged_file_stops_the_start_and_says_which_and_what_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / DOCUMENT).write_text(text)
    with pytest.raises(DamagedMetadata, match=rf"{DOCUMENT} cannot be read: .*move it away"):
        reopened(tmp_path)


def test_a_failed_write_leaves_the_last_state_in_the_file(tmp_path: Path) -> None:
    store = reopened(tmp_path)
    store.save()
    broken = MetadataStore.open(FullDisk(), [str(tmp_path)])
    broken.state.cluster_configs["k"] = "v"
    with pytest.raises(DiskFault):
        broken.save()
    assert reopened(tmp_path).state.cluster_configs == {}
