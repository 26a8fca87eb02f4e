"""The state of a cluster, and the metadata log that stores it.

The log is `__cluster_metadata-0` in the log directory that has one; a new log is made in the first, as in Kafka. A
change is written as the records that lead from the old state to the new one, and takes effect once they are on the
disk. A `stepdown-metadata.json` of an earlier stepdown is read once and then renamed to `….migrated`; if Kafka has
written its log after that file, the log is used instead.
"""

import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from uuid import UUID

from ...protocol.acls import Acl
from ...protocol.errors import ApiError, DiskFault, ErrorCode
from ...protocol.schema import NO_UUID
from ...protocol.scram import ScramCredential
from ..directories.meta_properties import read_meta_properties
from ..files.clock import Clock, SystemClock
from ..files.files import Files
from .cluster_state import HIGHEST_METADATA_VERSION, METADATA_VERSION, ClusterState, QuotaEntity, StoredTopic
from .document_values import MalformedDocument
from .metadata_log import DEFAULT_SNAPSHOT_BYTES, LocalVoter, MetadataLog
from .metadata_log_contents import FOLDER, DamagedMetadata, is_misread_by_kafka, read_metadata_file
from .preencoded_changes import PreencodedChanges
from .state_difference import (
    RULES,
    acl_change_records,
    difference_records,
    records_to_put_topic,
    records_to_remove_topic,
    scram_credential_record,
)
from .state_document import decode_document

DOCUMENT = "stepdown-metadata.json"
MIGRATED = ".migrated"
BOOTSTRAP = "bootstrap.checkpoint"
MAX_BYTES = 1 << 30
PRODUCER_ID_BLOCK = 1000  # as many as Kafka's controller allocates at a time
LAST_PRODUCER_ID = 2**63 - 1
DEFAULT_NODE_ID = 1
LEAST_SNAPSHOT_BYTES = 1 << 20
"""At a clean stop a log that is shorter is left as it is."""

_logger = logging.getLogger(__name__)


class MetadataStore:
    """The state of one broker, or of a cluster in one process, and its log.

    `is_new`: there are no metadata yet; `state` is empty until the caller fills and saves it.
    """

    def __init__(self, log: MetadataLog, state: ClusterState, node_id: int) -> None:
        self.log = log
        self.state = state
        self.is_new = log.end_offset == 0
        self._has_document = False
        self.node_id = node_id
        self._saved = log.contents.state
        self._is_misread_by_kafka = log.contents.is_misread_by_kafka
        self._has_lost_writes = self._is_snapshot_under_way = False
        self._next_producer_id = self._block_end = state.next_producer_id

    @classmethod
    def open(
        cls,
        files: Files,
        directories: Sequence[str],
        clock: Clock | None = None,
        *,
        snapshot_bytes: int = DEFAULT_SNAPSHOT_BYTES,
    ) -> "MetadataStore":
        """Opens the store in these directories, which exist and are locked; takes over a document of earlier versions.

        Raises: DamagedMetadata, DiskFault.
        """
        store = cls.read(files, directories, clock)
        store.log.snapshot_bytes = snapshot_bytes
        store.log.make_private()
        store._migrate_documents(files, directories)
        return store

    @classmethod
    def read(cls, files: Files, directories: Sequence[str], clock: Clock | None = None) -> "MetadataStore":
        """Reads the store; nothing is written until something is saved. Raises: DamagedMetadata, DiskFault."""
        home = _find_home(files, directories)
        meta = read_meta_properties(files, home)
        node_id = meta.node_id if meta is not None and meta.node_id >= 0 else DEFAULT_NODE_ID
        directory_id = (meta.directory_id if meta is not None else None) or NO_UUID
        voter = LocalVoter(node_id=node_id, directory_id=directory_id)
        log = MetadataLog(files, f"{home}/{FOLDER}", clock or SystemClock(), voter)
        state = log.contents.state.copy()
        state.registrations.clear()  # those of Kafka's brokers ended with Kafka
        store = cls(log, state, node_id)
        if store.is_new and files.exists(f"{home}/{BOOTSTRAP}"):
            store.state = read_metadata_file(files, f"{home}/{BOOTSTRAP}")
        store._read_documents(files, directories)
        if store.is_new or store._has_document:
            store.state.features.setdefault(METADATA_VERSION, HIGHEST_METADATA_VERSION)
        return store

    def _read_documents(self, files: Files, directories: Sequence[str]) -> None:
        """Takes the state from the newest document of an earlier stepdown, unless Kafka wrote its log after it."""
        found = list(_read_state_documents(files, directories, self.node_id))
        if not found:
            return
        path, _, state = max(found, key=lambda each: each[1])
        self._has_document = files.mtime_ms(path) >= self.log.contents.changed_ms
        if self._has_document:
            self.state = _merge(self.state, state)
            self._next_producer_id = self._block_end = self.state.next_producer_id
            self.is_new = False

    def _migrate_documents(self, files: Files, directories: Sequence[str]) -> None:
        """Saves the state from the documents in the log, and renames the documents."""
        found = [path for directory in directories if files.exists(path := f"{directory}/{DOCUMENT}")]
        if self._has_document:
            self.save()
        for path in found:
            if self._has_document:
                _logger.info("%s is in %s now", path, self.log.folder)
            else:
                _logger.warning(
                    "%s was written before the last change in %s, which counts. It is kept as %s%s",
                    path, self.log.folder, DOCUMENT, MIGRATED)  # fmt: skip
            files.make_private(path)
            files.rename(path, path + MIGRATED)

    def preencode_topics(self, topics: Mapping[str, StoredTopic | None], into: PreencodedChanges) -> Iterator[None]:
        """Encodes the records of a change of these topics in advance, one record a step.

        None stands for a topic that the change deletes.
        """
        for name, after in topics.items():
            before = self._saved.topics.get(name)
            if after is not None:
                records = records_to_put_topic(name, before, after)
            else:
                records = iter(()) if before is None else records_to_remove_topic(name, before)
            yield from into.encode(name, before, after, records, self.state.metadata_version)

    def preencode_acls(self, acls: Mapping[Acl, UUID], into: PreencodedChanges) -> Iterator[None]:
        """Does the same for ACLs: `acls` are all ACLs after the change."""
        before = self._saved.acls
        yield from into.encode(RULES, before, acls, acl_change_records(before, acls), self.state.metadata_version)

    def preencode_scram_credentials(
        self, credentials: Mapping[tuple[str, str], ScramCredential], into: PreencodedChanges
    ) -> Iterator[None]:
        """Does the same for SCRAM credentials, by user and mechanism."""
        for key, credential in credentials.items():
            records = [scram_credential_record(*key, credential)]
            before = self._saved.scram_credentials.get(key)
            yield from into.encode(key, before, credential, records, self.state.metadata_version)

    def save(
        self,
        *,
        sync: bool = True,
        encoded: PreencodedChanges | None = None,
        quotas: Collection[QuotaEntity] | None = None,
    ) -> None:
        """Writes the changes since the last save; `encoded` may have some of their records already.

        With `sync` they are on the disk when this returns; without it, when the function of `log.prepare_sync` has
        returned. `quotas`: the entities whose quotas may have changed; None if any may have.

        Raises: DiskFault; the log then still holds the last state that was saved.
        """
        version = self.state.metadata_version
        find = partial((encoded or PreencodedChanges()).find, version)
        records = list(difference_records(self._saved, self.state, self.node_id, find, quotas))
        if records:
            self.log.append(records, version, sync=sync)
            self._saved = self.state.copy()
            self.is_new = False
            self._is_misread_by_kafka |= any(
                is_misread_by_kafka(each) for each in records if not isinstance(each, bytes)
            )
        if self._has_lost_writes or (sync and self.is_snapshot_due):
            self.write_snapshot()

    @property
    def is_snapshot_due(self) -> bool:
        """Whether a snapshot should replace the log. `save` writes it, but without `sync` the caller has to."""
        is_long = self.log.bytes_since_snapshot > self.log.snapshot_bytes and not self._is_snapshot_under_way
        return is_long or (self._is_misread_by_kafka and self.log.end_offset > 0)

    def close(self) -> None:
        """Syncs the log, and writes a snapshot if the log is long, so that the next start is fast."""
        if self.log.synced_offset < self.log.end_offset:
            with suppress(DiskFault):  # `Files.on_fault` reports it
                self.log.prepare_sync()()
        if self.log.bytes_since_snapshot > LEAST_SNAPSHOT_BYTES or self.is_snapshot_due:
            self.write_snapshot()

    def write_snapshot(self) -> None:
        """Writes a snapshot of the last saved state and removes the log before it; if that fails, the log stays."""
        self.prepare_snapshot()()

    def prepare_snapshot(self) -> Callable[[], None]:
        """Returns a function that does the same in a worker thread: ten thousand partitions take 0.1 s."""
        records = difference_records(ClusterState(), self._saved, self.node_id)
        write = self.log.prepare_snapshot(records, self._saved.metadata_version)
        was_misread, had_lost_writes = self._is_misread_by_kafka, self._has_lost_writes
        self._is_misread_by_kafka = self._has_lost_writes = False
        self._is_snapshot_under_way = True

        def write_or_stay() -> None:
            try:
                write()
            except DiskFault as fault:
                self._is_misread_by_kafka |= was_misread
                self._has_lost_writes |= had_lost_writes
                _logger.warning("no snapshot of the metadata was written, the log stays: %s", fault)
            finally:
                self._is_snapshot_under_way = False

        return write_or_stay

    def note_lost_writes(self) -> None:
        """Notes that a sync failed: earlier writes may never reach the disk, so the next change writes a snapshot,
        which replaces the log."""
        self._has_lost_writes = True

    @contextmanager
    def change(
        self,
        *,
        sync: bool = True,
        encoded: PreencodedChanges | None = None,
        quotas: Collection[QuotaEntity] | None = None,
    ) -> Iterator[ClusterState]:
        """A block that changes the state; `save` follows it, and the old state is restored if anything fails.

        Raises: DiskFault.
        """
        before = self.state.copy()
        try:
            yield self.state
            self.save(sync=sync, encoded=encoded, quotas=quotas)
        except BaseException:
            self.state = before
            raise

    def next_producer_id(self) -> int:
        """A producer id that was never handed out before.

        Ids are reserved in blocks that are written without a sync: if the process dies, none is handed out twice; if
        the machine dies, none of a block that had reached the disk.

        Raises: DiskFault when the next block cannot be written, ApiError when there is none.
        """
        if self._next_producer_id >= self._block_end:
            self._reserve_producer_ids()
        taken = self._next_producer_id
        self._next_producer_id += 1
        return taken

    def skip_producer_ids_below(self, first: int) -> None:
        """Hands out no id below `first` from now on; the next `save` stores that."""
        if first > self._next_producer_id:
            self.state.next_producer_id = max(self.state.next_producer_id, first)
            self._next_producer_id = self._block_end = self.state.next_producer_id

    def _reserve_producer_ids(self) -> None:
        start = self.state.next_producer_id
        if start > LAST_PRODUCER_ID - PRODUCER_ID_BLOCK:  # Kafka 3.9: ProducerIdControlManager
            raise ApiError(
                f"all producer ids are used up, the metadata have {start} as the next one",
                ErrorCode.UNKNOWN_SERVER_ERROR,
            )
        with self.change(sync=False) as state:
            state.next_producer_id = start + PRODUCER_ID_BLOCK
        self._next_producer_id, self._block_end = start, start + PRODUCER_ID_BLOCK


def _find_home(files: Files, directories: Sequence[str]) -> str:
    """The directory that holds the metadata log, by default the first. Raises: DamagedMetadata if several hold one."""
    found = [directory for directory in directories if files.is_directory(f"{directory}/{FOLDER}")]
    if len(found) > 1:
        raise DamagedMetadata(
            f"{' and '.join(found)} have a {FOLDER} each, and only one can be right: Kafka uses that of the first of "
            "log.dirs, or of metadata.log.dir. Move the others away"
        )
    return found[0] if found else directories[0]


def _read_state_documents(
    files: Files, directories: Sequence[str], node_id: int
) -> Iterator[tuple[str, int, ClusterState]]:
    """Yields path, generation and state of each document. Raises: DamagedMetadata, DiskFault."""
    for path in (f"{directory}/{DOCUMENT}" for directory in directories):
        data = files.read_whole(path, MAX_BYTES)
        if data is None:
            continue
        try:
            yield path, *decode_document(json.loads(data), node_id)
        except (MalformedDocument, ValueError, RecursionError) as fault:
            raise DamagedMetadata(
                f"{path} cannot be read: {fault}. Put a good copy in its place. Without one, move it away: topics and "
                "partitions are then built from the log directories, but topic configs, dynamic broker configs, users, "
                "quotas and access rules are lost"
            ) from fault


def _merge(logged: ClusterState, from_document: ClusterState) -> ClusterState:
    """The state from the document, with the parts that only Kafka's log has."""
    return replace(
        logged,
        topics=from_document.topics,
        cluster_configs=from_document.cluster_configs,
        configs_of_brokers=from_document.configs_of_brokers,
        client_quotas=from_document.client_quotas,
        acls={acl: logged.acls.get(acl, acl_id) for acl, acl_id in from_document.acls.items()},
        scram_credentials=from_document.scram_credentials,
        next_producer_id=max(logged.next_producer_id, from_document.next_producer_id),
        features=from_document.features | logged.features,
    )
