"""Starting on a directory of Kafka's whose metadata cannot be read to the end."""

import logging
import os
from pathlib import Path
from uuid import UUID

import pytest
from stepdown.protocol.errors import DiskFault
from stepdown.protocol.metadata_log import AccessControlEntryRecord, UserScramCredentialRecord
from stepdown.protocol.primitives import write_uvarint
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from stepdown.protocol.schema import encode
from support.kafka_authorizing import AUTHORIZER
from support.running import running_broker

ACCESS_CONTROL_ENTRY, USER_SCRAM_CREDENTIAL = 18, 11
ALLOW, DENY = 3, 2


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
    value = b"".join(map(write_uvarint, (1, ACCESS_CONTROL_ENTRY, 0)))
    value += b"".join(bytes(piece) for piece in encode(record, 0))  # type: ignore[arg-type]  # all are bytes
    return build_batch([Record(offset=offset, timestamp=0, value=value)])


def password_batch(offset: int) -> bytes:
    record = UserScramCredentialRecord(
        name="mallory", mechanism=1, salt=b"salt", stored_key=bytes(32), server_key=bytes(32), iterations=4096
    )
    value = b"".join(map(write_uvarint, (1, USER_SCRAM_CREDENTIAL, 0)))
    value += b"".join(bytes(piece) for piece in encode(record, 0))  # type: ignore[arg-type]  # all are bytes
    return build_batch([Record(offset=offset, timestamp=0, value=value)])


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """An ALLOW that can be read, then a DENY that cannot."""
    folder = tmp_path / "data" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    torn = bytearray(rule_batch(1, DENY))
    torn[-1] ^= 1
    (folder / f"{0:020d}.log").write_bytes(rule_batch(0, ALLOW) + torn)
    return folder.parent


async def test_a_rule_that_denies_is_not_lost_in_silence(log_dir: Path) -> None:
    """The broker started, and allowed what the lost rule denies."""
    with pytest.raises(DiskFault, match=r"access rules in .*__cluster_metadata-0 cannot .* checksum .* Start Kafka"):
        async with running_broker(log_dir, authorizer_class_name=AUTHORIZER):
            pass
    assert [entry.name for entry in os.scandir(log_dir) if entry.name.startswith("stepdown-metadata")] == []


async def test_without_an_authorizer_rules_are_left_out(log_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Some of them would be in force when an authorizer is set later, and not the one that denies."""
    with caplog.at_level(logging.WARNING):
        async with running_broker(log_dir):
            pass
    assert "access rules and passwords are not imported" in caplog.text
    async with running_broker(log_dir, authorizer_class_name=AUTHORIZER) as broker:
        assert broker.topics.store.state.acls == frozenset()


@pytest.fixture
def log_dir_with_passwords(log_dir: Path) -> Path:
    """A password that can be read, then a record that cannot: it may be the password's removal."""
    (segment,) = (log_dir / "__cluster_metadata-0").iterdir()
    lost = bytearray(rule_batch(1, DENY))
    lost[-1] ^= 1
    segment.write_bytes(password_batch(0) + lost)
    return log_dir


async def test_a_removed_password_does_not_come_back(log_dir_with_passwords: Path) -> None:
    """The broker started, and let in who had been removed."""
    sasl = {"listeners": "SASL_PLAINTEXT://127.0.0.1:0", "sasl_enabled_mechanisms": "SCRAM-SHA-256"}
    with pytest.raises(DiskFault, match=r"passwords in .* removal of one may be missing: .* `stepdown users set`"):
        async with running_broker(log_dir_with_passwords, **sasl):
            pass


async def test_without_scram_passwords_are_left_out(log_dir_with_passwords: Path) -> None:
    async with running_broker(log_dir_with_passwords) as broker:
        assert broker.topics.store.state.scram_credentials == {}


async def test_passwords_that_can_be_read_are_taken_over(log_dir: Path) -> None:
    (segment,) = (log_dir / "__cluster_metadata-0").iterdir()
    segment.write_bytes(password_batch(0))
    async with running_broker(log_dir) as broker:
        assert list(broker.topics.store.state.scram_credentials) == [("mallory", "SCRAM-SHA-256")]


async def test_the_folder_may_be_moved_away(log_dir: Path) -> None:
    (log_dir / "__cluster_metadata-0").rename(log_dir.parent / "kept")
    async with running_broker(log_dir, authorizer_class_name=AUTHORIZER) as broker:
        assert broker.topics.store.state.acls == frozenset()
