"""What Kafka's controllers wrote into `__cluster_metadata-0` (KRaft): read when a directory of Kafka is taken over,
never written.

    <20 digits end offset>-<10 digits epoch>.checkpoint     a snapshot: batches that make up the whole state
    <20 digits base offset>.log                             batches of what happened

The newest snapshot is read, then the log from its end offset on. Control batches carry no metadata. What belongs to a
transaction counts when it ends. Source: Kafka 3.9 `Snapshots`, `MetadataBatchLoader`, `MetadataDelta`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from ...protocol.acls import Acl, AclOperation, PatternType, PermissionType, ResourceType
from ...protocol.errors import CorruptRecord, InvalidRecord, MalformedFrame
from ...protocol.metadata_log import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    ClientQuotaRecord,
    ConfigRecord,
    EndTransactionRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveAccessControlEntryRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UserScramCredentialRecord,
    decode_metadata_record,
)
from ...protocol.records.batches import view
from ...protocol.scram import SCRAM_MECHANISMS, ScramCredential
from ..files.file_names import LOG
from ..files.files import Files
from ..log.batch_scan import valid_batches
from .cluster_state import QuotaEntity

FOLDER = "__cluster_metadata-0"
TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4

_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_SEGMENT = re.compile(r"(\d{20})" + re.escape(LOG))


@dataclass(slots=True, kw_only=True)
class KraftMetadata:
    """The state as of the last record that could be read. `configs` by resource type and name; `fault` says what could
    not be read, "" where all was."""

    topics: dict[str, UUID] = field(default_factory=dict)
    partitions: dict[UUID, int] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    quotas: dict[QuotaEntity, dict[str, float]] = field(default_factory=dict)
    acls: dict[UUID, Acl] = field(default_factory=dict)
    next_producer_id: int = 0
    scram_credentials: dict[tuple[str, str], ScramCredential] = field(default_factory=dict)
    fault: str = ""

    def apply(self, record: Any) -> None:
        match record:
            case TopicRecord():
                self.topics[record.name] = record.topic_id
            case PartitionRecord():
                known = self.partitions.get(record.topic_id, 0)
                self.partitions[record.topic_id] = max(known, record.partition_id + 1)
            case RemoveTopicRecord():
                self._remove_topic(record.topic_id)
            case ConfigRecord():
                self._configure(record)
            case ClientQuotaRecord():
                self._set_quota(record)
            case UserScramCredentialRecord() if record.mechanism in SCRAM_MECHANISMS:
                self.scram_credentials[record.name, SCRAM_MECHANISMS[record.mechanism]] = ScramCredential(
                    salt=bytes(record.salt),
                    stored_key=bytes(record.stored_key),
                    server_key=bytes(record.server_key),
                    iterations=record.iterations,
                )
            case RemoveUserScramCredentialRecord():
                self.scram_credentials.pop((record.name, SCRAM_MECHANISMS.get(record.mechanism, "")), None)
            case ProducerIdsRecord():
                self.next_producer_id = max(self.next_producer_id, record.next_producer_id)
            case AccessControlEntryRecord():
                self._add_acl(record)
            case RemoveAccessControlEntryRecord():
                self.acls.pop(record.acl_id, None)

    def _remove_topic(self, topic_id: UUID) -> None:
        self.partitions.pop(topic_id, None)
        for name in [name for name, known in self.topics.items() if known == topic_id]:
            del self.topics[name]
            self.configs.pop((TOPIC_RESOURCE, name), None)

    def _configure(self, record: ConfigRecord) -> None:
        configs = self.configs.setdefault((record.resource_type, record.resource_name), {})
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value

    def _add_acl(self, record: AccessControlEntryRecord) -> None:
        try:
            acl = Acl(
                resource_type=ResourceType(record.resource_type),
                resource_name=record.resource_name,
                pattern_type=PatternType(record.pattern_type),
                principal=record.principal,
                host=record.host,
                operation=AclOperation(record.operation),
                permission_type=PermissionType(record.permission_type),
            )
        except ValueError as fault:
            raise InvalidRecord(f"the access rule {record.acl_id} cannot be understood: {fault}") from fault
        self.acls[record.acl_id] = acl

    def _set_quota(self, record: ClientQuotaRecord) -> None:
        entity = tuple(sorted((part.entity_type, part.entity_name) for part in record.entity))
        quotas = self.quotas.setdefault(entity, {})
        if record.remove:
            quotas.pop(record.key, None)
        else:
            quotas[record.key] = record.value


def read_kraft_metadata(files: Files, folder: str) -> KraftMetadata | None:
    """The metadata in `folder`; None when there is none. What cannot be read ends it: `fault` tells.

    Raises: DiskFault.
    """
    if not files.is_directory(folder):
        return None
    entries = [entry for entry in files.entries(folder) if not entry.is_directory]
    sizes = {entry.name: entry.size_bytes for entry in entries}
    metadata = KraftMetadata()
    snapshots = sorted(name for name in sizes if _SNAPSHOT.fullmatch(name))
    start = 0
    try:
        if snapshots:
            start = int(snapshots[-1][:20])
            _replay(metadata, _records(files, f"{folder}/{snapshots[-1]}", sizes[snapshots[-1]], 0))
        _replay(metadata, _log_records(files, folder, sizes, start))
    except (CorruptRecord, InvalidRecord, MalformedFrame) as fault:
        metadata.fault = str(fault)
    return metadata


def _log_records(files: Files, folder: str, sizes: dict[str, int], start: int) -> Iterator[Any]:
    for name in sorted(name for name in sizes if _SEGMENT.fullmatch(name)):
        yield from _records(files, f"{folder}/{name}", sizes[name], start)


def _records(files: Files, path: str, size: int, start: int) -> Iterator[Any]:
    """The metadata records of a file from the offset `start` on. Raises: CorruptRecord."""
    handle = files.handle(path)
    end = 0
    try:
        for header in valid_batches(handle, 0, size):
            end = header.end
            if header.is_control or header.last_offset < start:
                continue
            batch = view(memoryview(handle.read(header.size_bytes, header.position)))
            for record in batch.records():
                decoded = None if record.value is None else decode_metadata_record(memoryview(record.value))
                if decoded is not None and record.offset >= start:
                    yield decoded
    finally:
        handle.close()
    if end < size:
        raise CorruptRecord(f"{path}: the {size - end} bytes at position {end} are no whole batch")


def _replay(metadata: KraftMetadata, records: Iterator[Any]) -> None:
    pending: list[Any] | None = None
    for record in records:
        match record:
            case BeginTransactionRecord():
                pending = []
            case AbortTransactionRecord():
                pending = None
            case EndTransactionRecord():
                for waiting in pending or ():
                    metadata.apply(waiting)
                pending = None
            case _ if pending is not None:
                pending.append(record)
            case _:
                metadata.apply(record)
