"""What the broker remembers besides its logs."""

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from stepdown.protocol.acls import Acl, AclOperation, PatternType, PermissionType, ResourceType
from stepdown.protocol.errors import DiskFault
from stepdown.protocol.metadata_log import FeatureLevelRecord, RemoveUserScramCredentialRecord
from stepdown.protocol.scram import credential_of
from stepdown.storage.files.file_handle import Buffer, FileHandle
from stepdown.storage.files.files import Files
from stepdown.storage.metadata.cluster_state import StoredTopic
from stepdown.storage.metadata.metadata_log import encode_snapshot
from stepdown.storage.metadata.metadata_log_contents import FOLDER, DamagedMetadata
from stepdown.storage.metadata.metadata_store import DOCUMENT, MIGRATED, PRODUCER_ID_BLOCK, MetadataStore
from stepdown.storage.metadata.partition_record import PartitionRecord
from support.files import Crash, FaultyFiles

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


def test_no_password_is_taken_away_in_the_log_that_is_left(tmp_path: Path) -> None:
    """Fault: Kafka 3.9.1 to 4.4.0 read a log in which one user's password was taken away as if all had been.

    (`ScramDelta.apply`: a removal from a mechanism that has nobody yet drops those that come later in the same load.)
    """
    credential = credential_of("SCRAM-SHA-256", b"salt", b"salted", 4096)
    store = reopened(tmp_path)
    with store.change() as state:
        state.scram_credentials = {(user, "SCRAM-SHA-256"): credential for user in ("a", "b")}
    with store.change() as state:
        state.scram_credentials = {("b", "SCRAM-SHA-256"): credential}
    again = reopened(tmp_path)
    assert list(again.state.scram_credentials) == [("b", "SCRAM-SHA-256")]
    assert not again.log.contents.is_misread_by_kafka
    as_kafka_leaves_it = [RemoveUserScramCredentialRecord(name="b", mechanism=1)]
    again.log.append(as_kafka_leaves_it, again.state.metadata_version)
    left_by_kafka = reopened(tmp_path)
    assert left_by_kafka.log.contents.is_misread_by_kafka
    left_by_kafka.save()
    assert not reopened(tmp_path).log.contents.is_misread_by_kafka


def test_no_setting_of_a_broker_is_taken_away_in_the_log_that_is_left(tmp_path: Path) -> None:
    """Fault: Kafka 4.4.0 kept a setting of the broker that was taken away after the last snapshot."""
    store = reopened(tmp_path)
    with store.change() as state:
        state.configs_of_brokers[1] = {"log.retention.bytes": "1"}
    with store.change() as state:
        state.configs_of_brokers[1] = {}
    again = reopened(tmp_path)
    assert not again.state.configs_of_brokers.get(1)
    assert not again.log.contents.is_misread_by_kafka


def test_a_directory_that_kafka_4_formatted_is_left_with_a_snapshot(tmp_path: Path) -> None:
    """Fault: Kafka 4.4.0 did not start on it again: it reads no snapshot at offset 0, with the levels, beside a log."""
    folder = tmp_path / FOLDER
    folder.mkdir()
    levels = [FeatureLevelRecord(name="metadata.version", feature_level=21)]
    (folder / "00000000000000000000-0000000000.checkpoint").write_bytes(encode_snapshot(levels, 21, epoch=0, now_ms=1))
    store = reopened(tmp_path)
    store.save()  # nothing has changed yet
    with store.change() as state:
        state.configs_of_brokers[1] = {"log.retention.bytes": "1"}
    (snapshot,) = folder.glob("*.checkpoint")
    assert int(snapshot.name[:20]) > 0
    assert reopened(tmp_path).state.features == {"metadata.version": 21}


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
    store.skip_producer_ids_below(4711)
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


DOCUMENT_TEXT = """{"version": 1, "generation": 17,
 "topics": {"orders": {"id": "Q2x6TqCvQ1KJPgMHkWsTVw", "partitions": 3, "configs": {"retention.ms": "1000"}}},
 "deleting": [], "broker_configs": {"log.retention.ms": "5000"}, "cluster_configs": {}, "next_producer_id": 3000,
 "client_quotas": [{"entity": {"user": "a", "client-id": null}, "quotas": {"producer_byte_rate": 1024.0}}],
 "acls": [[2, "orders", 3, "User:a", "*", 3, 3]], "features": {}, "features_epoch": 0,
 "scram_credentials": [{"user": "a", "mechanism": "SCRAM-SHA-256", "salt": "c2FsdA==", "stored_key": "a2V5",
                        "server_key": "a2V5", "iterations": 4096}]}"""


def crash_at(folder: Path, writes: int) -> bool:
    """Whether the machine lost its power while the document was taken over."""
    files = FaultyFiles(seed=writes)
    files.crash_in = writes
    try:
        MetadataStore.open(files, [str(folder)])
    except Crash:
        files.lose_power()
        return True
    return False


def test_the_document_of_an_earlier_stepdown_is_taken_over_wherever_the_power_goes(tmp_path: Path) -> None:
    for writes in range(100):
        folder = tmp_path / str(writes)
        folder.mkdir()
        (folder / DOCUMENT).write_text(DOCUMENT_TEXT)
        has_crashed = crash_at(folder, writes)
        for _ in range(2):
            state = reopened(folder).state
            assert (state.topics["orders"].partitions, state.topics["orders"].configs) == (3, {"retention.ms": "1000"})
            assert (state.configs_of_brokers, state.next_producer_id) == ({1: {"log.retention.ms": "5000"}}, 3000)
            assert [acl.principal for acl in state.acls] == ["User:a"]
            assert list(state.scram_credentials) == [("a", "SCRAM-SHA-256")]
            assert state.client_quotas == {(("client-id", None), ("user", "a")): {"producer_byte_rate": 1024.0}}
            assert state.metadata_version == 21
        migrated = folder / (DOCUMENT + MIGRATED)
        assert (migrated.exists(), (folder / DOCUMENT).exists()) == (True, False)
        assert migrated.stat().st_mode & 0o777 == 0o600
        if not has_crashed:
            return
    raise AssertionError("it never went through")


def test_a_document_that_is_older_than_the_log_does_not_count(tmp_path: Path) -> None:
    store = reopened(tmp_path)
    with store.change() as state:
        state.cluster_configs = {"k": "v"}
    (tmp_path / DOCUMENT).write_text(DOCUMENT_TEXT)
    Files().set_mtime_ms(str(tmp_path / DOCUMENT), 1000)
    state = reopened(tmp_path).state
    assert (state.cluster_configs, dict(state.topics)) == ({"k": "v"}, {})
    assert (tmp_path / (DOCUMENT + MIGRATED)).exists()


def test_what_changes_while_a_snapshot_is_written_comes_after_it(tmp_path: Path) -> None:
    store = reopened(tmp_path)
    for number in range(12):
        write = store.prepare_snapshot() if store.log.end_offset else None
        for part in range(number % 3):
            with store.change(sync=part == 1) as state:
                state.topics[f"topic-{number}-{part}"] = StoredTopic(topic_id=uuid4(), replicas=(ALONE,))
        if write is not None:
            write()
            (snapshot,) = (tmp_path / FOLDER).glob("*.checkpoint")
            assert len(list((tmp_path / FOLDER).glob("*.log"))) <= 2
        assert reopened(tmp_path).state == store.state
    assert int(snapshot.name[:20]) > 0


def test_of_two_snapshots_the_later_one_stays(tmp_path: Path) -> None:
    store = reopened(tmp_path)
    state = store.state
    state.cluster_configs["compression.type"] = "lz4"
    store.save()
    write = store.prepare_snapshot()
    state.cluster_configs["compression.type"] = "gzip"
    store.save()
    store.write_snapshot()
    write()
    (snapshot,) = (tmp_path / FOLDER).glob("*.checkpoint")
    assert int(snapshot.name[:20]) == store.log.end_offset
    assert reopened(tmp_path).state == state
