"""Applies a plan: writes Kafka's metadata beside the partitions, and leaves their files as they are.

The steps in each directory:

    1. write the journal
    2. rename the folders that are set aside
    3. write partition.metadata into each folder
    4. write __cluster_metadata-0 with the snapshot, in the first directory
    5. write meta.properties, once all directories have reached this step

This order makes sure that Kafka does not start on a half-changed directory (it refuses `meta.properties` of version 0)
and that every change is in the journal before it is made. Each file is written under another name and renamed; those of
step 3 are synced all at once. Running it again repeats the same steps, so an interrupted run leaves nothing behind.
"""

from collections.abc import Callable, Iterator
from uuid import UUID

from ..directories.log_directory import LOCK
from ..directories.meta_properties import FILE_NAME as META_PROPERTIES
from ..directories.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from ..files.file_names import DELETE_DIRECTORY, STRAY_DIRECTORY, parse_log_folder_name
from ..files.files import Files
from ..files.partition_metadata import FILE_NAME as PARTITION_METADATA
from ..files.partition_metadata import has_topic_id, write_topic_id
from ..metadata.cluster_state import ClusterState
from ..metadata.metadata_log import encode_snapshot, snapshot_name
from ..metadata.metadata_log_contents import FOLDER as METADATA_FOLDER
from ..metadata.state_difference import difference_records
from .directory_survey import (
    JOURNAL,
    MOST_META_BYTES,
    PlannedBroker,
    PlannedDirectory,
    RefusedDirectory,
    fingerprint,
    hold_locks,
    stray_name_of,
)
from .local_brokers import find_local_brokers
from .migration_plan import MigrationPlan
from .plan_check import faults_of_plan
from .undo_journal import UndoJournal, read_journal, write_journal

SNAPSHOT_END, SNAPSHOT_EPOCH = 100, 1
NO_BROKER = -1
DIGITS_SHOWN = 8
FAULTS_SHOWN = 20


class PlanApplication:
    """Applies a plan to the directories that are on this machine."""

    def __init__(self, files: Files, plan: MigrationPlan, say: Callable[[str], None]) -> None:
        """`say` is called with a line for each broker."""
        self._files = files
        self._plan = plan
        self._say = say

    def apply(self) -> list[PlannedBroker]:
        """Applies the plan; returns the brokers that are now ready for Kafka.

        Raises: RefusedDirectory before any change; DiskFault.
        """
        self._refuse_stops()
        self._refuse_faults()
        brokers = find_local_brokers(self._files, self._plan)
        snapshot = self._encode_snapshot()
        had_lock = {path: self._files.exists(f"{path}/{LOCK}") for path in _paths(brokers)}
        with hold_locks(self._files, _paths(brokers)):
            journals = [
                (directory, self._find_or_plan_journal(broker, directory, had_lock=had_lock[directory.path]))
                for broker in brokers
                for directory in broker.directories
            ]
            for directory, journal in journals:
                write_journal(self._files, directory.path, journal)
                self._rename_and_write_topic_ids(directory, journal)
            for broker in brokers:
                self._write_snapshot(broker.directories[0].path, snapshot)
            for directory, journal in journals:
                self._write_meta_properties(directory, journal.broker_id)
        for broker in brokers:
            self._say(
                f"broker {broker.broker_id}: ready for Kafka {self._plan.release} by the plan "
                f"{self._plan.digest[:DIGITS_SHOWN]}, which has to be that of every broker"
            )
        return brokers

    def _refuse_stops(self) -> None:
        if self._plan.stops:
            lines = "\n  ".join(self._plan.stops)
            raise RefusedDirectory(f"the plan has stops, which have to be settled first:\n  {lines}")

    def _refuse_faults(self) -> None:
        faults = faults_of_plan(self._plan)
        if faults:
            lines = "\n  ".join(faults[:FAULTS_SHOWN])
            raise RefusedDirectory(f"the plan cannot be applied as it is, {len(faults)} faults:\n  {lines}")

    # Checks before any change

    def _find_or_plan_journal(
        self, broker: PlannedBroker, directory: PlannedDirectory, *, had_lock: bool
    ) -> UndoJournal:
        """The existing journal, or the one to write. Raises: RefusedDirectory if the directory has changed."""
        files, path = self._files, directory.path
        known = read_journal(files, path)
        if known is not None and known.plan != self._plan.digest:
            raise RefusedDirectory(f"{path}: another plan was applied, or this one was changed since: undo that first")
        renamed = {} if known is None else {new: old for old, new in known.set_aside.items()}
        if fingerprint(files, path, renamed) != directory.fingerprint:
            raise RefusedDirectory(
                f"{path} has changed since the plan was made: files are other ones, or have other sizes or times. "
                "Was a broker started on it? Plan again"
            )
        if known is not None:
            return known
        meta = read_meta_properties(files, path)
        if meta is not None and meta.cluster_id not in (None, self._plan.cluster_id):
            raise RefusedDirectory(f"{path} is of cluster {meta.cluster_id}, the plan of {self._plan.cluster_id}")
        if meta is None or meta.version != 0 or files.exists(f"{path}/{METADATA_FOLDER}"):
            raise RefusedDirectory(f"{path} is KRaft's already, and no plan was applied there")
        return UndoJournal(
            plan=self._plan.digest,
            broker_id=broker.broker_id,
            meta_properties=files.read_whole(f"{path}/{META_PROPERTIES}", MOST_META_BYTES) or b"",
            names=frozenset(files.names(path)) - {f"{JOURNAL}.tmp", *(() if had_lock else (LOCK,))},
            had_lock=had_lock,
            set_aside={
                folder: stray_name_of(directory, folder)
                for folder in broker.set_aside
                if files.is_directory(f"{path}/{folder}")
            },
            topic_ids=frozenset(name for name, _ in self._folders_without_id(path, broker)),
        )

    def _folders_without_id(self, path: str, broker: PlannedBroker) -> Iterator[tuple[str, UUID]]:
        """Yields the folders that lack a topic id, which Kafka would set aside, with their topic's id."""
        for name in sorted(self._files.names(path)):
            parsed = parse_log_folder_name(name) if self._files.is_directory(f"{path}/{name}") else None
            if parsed is None or parsed.suffix in (DELETE_DIRECTORY, STRAY_DIRECTORY) or name in broker.set_aside:
                continue
            topic_id = self._plan.topic_id(parsed.topic)
            if topic_id is not None and not self._files.exists(f"{path}/{name}/{PARTITION_METADATA}"):
                yield name, topic_id

    # Changes

    def _rename_and_write_topic_ids(self, directory: PlannedDirectory, journal: UndoJournal) -> None:
        files, path = self._files, directory.path
        for old, new in journal.set_aside.items():
            if files.is_directory(f"{path}/{old}"):
                files.rename(f"{path}/{old}", f"{path}/{new}")
        if journal.set_aside:
            files.sync_directory(path)
        for name in sorted(journal.topic_ids):
            parsed = parse_log_folder_name(name)
            topic_id = None if parsed is None else self._plan.topic_id(parsed.topic)
            if topic_id is not None and not has_topic_id(files, f"{path}/{name}", topic_id):
                write_topic_id(files, f"{path}/{name}", topic_id, sync=False)
        if journal.topic_ids:
            files.sync_file_system(path)

    def _encode_snapshot(self) -> bytes:
        """Encodes the snapshot, which is the same for each broker."""
        state = self._plan.state_with_directories()
        records = difference_records(ClusterState(), state, NO_BROKER)
        return encode_snapshot(
            records,
            state.metadata_version,
            epoch=SNAPSHOT_EPOCH,
            now_ms=self._plan.made_ms,
            voters=self._plan.voter_records(),
        )

    def _write_snapshot(self, path: str, snapshot: bytes) -> None:
        folder = f"{path}/{METADATA_FOLDER}"
        self._files.make_directory(folder)
        self._files.replace(f"{folder}/{snapshot_name(SNAPSHOT_END, SNAPSHOT_EPOCH)}", snapshot, private=True)
        self._files.sync_directory(path)

    def _write_meta_properties(self, directory: PlannedDirectory, broker_id: int) -> None:
        wanted = MetaProperties(
            version=1, node_id=broker_id, cluster_id=self._plan.cluster_id, directory_id=directory.directory_id
        )
        if read_meta_properties(self._files, directory.path) != wanted:
            write_meta_properties(self._files, directory.path, wanted)


def _paths(brokers: list[PlannedBroker]) -> list[str]:
    return [directory.path for broker in brokers for directory in broker.directories]
