"""Starting on metadata that cannot be read to the end."""

import logging
from pathlib import Path
from uuid import UUID

import pytest
from stepdown.protocol.errors import DiskFault
from stepdown.protocol.metadata_log import AccessControlEntryRecord, UserScramCredentialRecord, encode_metadata_record
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from stepdown.storage.files.files import Files
from support.kafka_authorizing import AUTHORIZER
from support.running import running_broker

ALLOW, DENY = 3, 2


def batch(offset: int, record: object) -> bytes:
    return build_batch([Record(offset=offset, timestamp=0, value=encode_metadata_record(record))])


def rule_batch(offset: int, permission: int) -> bytes:
    record = AccessControlEntryRecord(
        acl_id=UUID(int=offset + 1),
        resource_type=2,
        resource_name="orders",
        pattern_type=3,
        principal="User:mallory",
        host="*",
        operation=3,
        permission_type=permission,
    )
    return batch(offset, record)


def password_batch(offset: int) -> bytes:
    record = UserScramCredentialRecord(
        name="mallory", mechanism=1, salt=b"salt", stored_key=bytes(32), server_key=bytes(32), iterations=4096
    )
    return batch(offset, record)


def rewrite(path: Path, data: bytes, mode: int = 0o600) -> None:
    path.write_bytes(data)
    path.chmod(mode)


def modes(folder: Path) -> list[int]:
    """Of the log and the snapshot."""
    return [path.stat().st_mode & 0o777 for path in folder.iterdir() if path.suffix in (".log", ".checkpoint")]


def damaged(data: bytes) -> bytes:
    """With the last bit of its last record's name of a principal, or of a key, turned."""
    return data[:-20] + bytes([data[-20] ^ 1]) + data[-19:]


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """Of an ALLOW, a DENY that cannot be read, and another rule."""
    folder = tmp_path / "data" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    path = folder / f"{0:020d}.log"
    path.write_bytes(rule_batch(0, ALLOW) + damaged(rule_batch(1, DENY)) + rule_batch(2, ALLOW))
    return path


async def test_a_rule_that_denies_is_not_lost_in_silence(segment: Path) -> None:
    """Fault: the broker started, and allowed what the lost rule denies."""
    for settings in ({}, {"authorizer_class_name": AUTHORIZER}):
        with pytest.raises(DiskFault, match="batch at position 114 is damaged, and others follow it"):
            async with running_broker(segment.parents[1], **settings):
                pass


async def test_a_removed_password_does_not_come_back(segment: Path) -> None:
    """Fault: the broker started, and let in who had been removed."""
    rewrite(segment, password_batch(0) + damaged(rule_batch(1, DENY)) + rule_batch(2, ALLOW))
    with pytest.raises(DiskFault, match="is damaged, and others follow it"):
        async with running_broker(segment.parents[1]):
            pass


async def test_what_was_being_written_when_the_writer_stopped_is_cut_off(
    segment: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = rule_batch(0, DENY)
    rewrite(segment, whole + rule_batch(1, ALLOW)[:60])
    with caplog.at_level(logging.WARNING):
        async with running_broker(segment.parents[1], authorizer_class_name=AUTHORIZER) as broker:
            assert [acl.permission_type for acl in broker.topics.store.state.acls] == [DENY]
    assert "the last 60 bytes at position 114 are no whole batch" in caplog.text


async def test_the_folder_may_be_moved_away(segment: Path) -> None:
    Files().rename(str(segment.parent), str(segment.parents[2] / "kept"))
    async with running_broker(segment.parents[1], authorizer_class_name=AUTHORIZER) as broker:
        assert broker.topics.store.state.acls == {}


async def test_files_with_keys_of_passwords_are_their_owners_alone(
    segment: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rewrite(segment, password_batch(0), 0o644)
    with caplog.at_level(logging.WARNING):
        async with running_broker(segment.parents[1]) as broker:
            assert list(broker.topics.store.state.scram_credentials) == [("mallory", "SCRAM-SHA-256")]
            with broker.topics.store.change() as state:
                state.cluster_configs = {"log.retention.ms": "5"}
            broker.topics.store.write_snapshot()
            with broker.topics.store.change() as state:
                state.cluster_configs = {"log.retention.ms": "6"}
    assert "1 file of" in caplog.text and "could be read by others" in caplog.text
    assert modes(segment.parent) == [0o600, 0o600]
