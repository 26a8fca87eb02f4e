"""Undoes an applied plan, with the journal of each directory.

If Kafka has started meanwhile, it may have renamed folders to `-stray` and made others in their place. The new folders
are removed if they have no records, and the `-stray` ones get their names back. Records that Kafka wrote into
partitions, and topics that it made, stay.

Leader epochs that Kafka began are removed. The old brokers continue with the lower epochs of ZooKeeper, and a leader
drops the history of epochs above its own. Followers that still have that history would ask for epochs that the leader
does not know, and never return to the ISR (`LeaderEpochFileCache.assign`, 2.8.2).
"""

from collections.abc import Callable, Iterator, Sequence

from ..directories.log_directory import LOCK
from ..directories.meta_properties import FILE_NAME as META_PROPERTIES
from ..files.file_names import LOG, STRAY_DIRECTORY, parse_log_folder_name
from ..files.files import Files
from ..files.partition_metadata import FILE_NAME as PARTITION_METADATA
from ..log.leader_epochs import LeaderEpochs
from ..metadata.metadata_log_contents import FOLDER as METADATA_FOLDER
from ..metadata.metadata_store import BOOTSTRAP
from .directory_survey import JOURNAL, MOST_META_BYTES, RefusedDirectory, hold_locks
from .local_brokers import find_local_brokers
from .migration_plan import MigrationPlan
from .plan_check import faults_of_epochs
from .undo_journal import UndoJournal, read_journal

_UNIQUE = 33  # a dot and 32 hexadecimal digits


class PlanReversal:
    """Undoes a plan in the directories that are on this machine."""

    def __init__(self, files: Files, plan: MigrationPlan, say: Callable[[str], None]) -> None:
        """`say` is called with a line for each directory, and for what stays."""
        self._files = files
        self._plan = plan
        self._say = say

    def undo(self) -> None:
        """Undoes the plan. Raises: RefusedDirectory before any change; DiskFault."""
        brokers = find_local_brokers(self._files, self._plan, needs_all=False)
        planned = [directory.path for broker in brokers for directory in broker.directories]
        paths = [path for path in planned if self._files.exists(f"{path}/{META_PROPERTIES}")]
        for path in sorted(set(planned) - set(paths)):
            self._say(f"{path}: it is not there; when its disk is back, undo again before the broker starts")
        found = [(path, journal) for path in paths if (journal := read_journal(self._files, path)) is not None]
        for path in sorted(set(paths) - {path for path, _ in found}):
            self._files.remove(f"{path}/{JOURNAL}.tmp")
            self._say(f"{path}: no plan was applied, nothing is changed")
        self._check_epochs([journal for _, journal in found])
        with hold_locks(self._files, [path for path, _ in found]):
            renames = {path: self._check_renames(path, journal) for path, journal in found}
            # From here on Kafka does not start any more, even if this is interrupted.
            for path, journal in found:
                self._restore_meta_properties(path, journal.meta_properties)
            for path, journal in found:
                self._restore_folders(path, journal, renames[path])
        for path, journal in found:
            self._remove_journal_and_report(path, journal)

    def _check_epochs(self, journals: Sequence[UndoJournal]) -> None:
        """Raises: RefusedDirectory if the plan was edited since it was applied, and its leader epochs are too low."""
        is_other = any(journal.plan != self._plan.digest for journal in journals)
        faults = list(faults_of_epochs(self._plan)) if is_other else []
        if faults:
            raise RefusedDirectory(f"the plan was changed since it was applied: {faults[0]}")

    def _restore_meta_properties(self, path: str, data: bytes) -> None:
        """Writes the file unless it is unchanged: `apply` may have stopped because the disk is full."""
        name = f"{path}/{META_PROPERTIES}"
        self._files.remove(f"{name}.tmp")
        if self._files.read_whole(name, MOST_META_BYTES) != data:
            self._files.replace(name, data)

    def _check_renames(self, path: str, journal: UndoJournal) -> list[tuple[str, str]]:
        """The folders to rename: current name and old name. Raises: RefusedDirectory if records would be lost."""
        renames = [*self._find_renames(path, journal)]
        filled = [old for _, old in renames if self._has_records(f"{path}/{old}")]
        if filled:
            raise RefusedDirectory(
                f"{path}: Kafka has written records into {', '.join(filled[:5])}, which were set aside before. Move "
                "these folders out of the log directory, and undo again"
            )
        return renames

    def _find_renames(self, path: str, journal: UndoJournal) -> Iterator[tuple[str, str]]:
        present = self._files.names(path)
        for old, new in journal.set_aside.items():
            if new in present:
                yield new, old
        known = journal.names | set(journal.set_aside.values())
        for name in sorted(present - known):
            old = _name_before_stray(name, journal.names)
            if old:
                yield name, old

    def _has_records(self, folder: str) -> bool:
        names = (name for name in self._files.names(folder) if name.endswith(LOG))
        return any(self._files.size(f"{folder}/{name}") for name in names)

    def _restore_folders(self, path: str, journal: UndoJournal, renames: list[tuple[str, str]]) -> None:
        files = self._files
        for new, old in renames:
            files.remove_directory(f"{path}/{old}")
            files.rename(f"{path}/{new}", f"{path}/{old}")
        for name in sorted(journal.topic_ids):
            files.remove(f"{path}/{name}/{PARTITION_METADATA}")
            files.remove(f"{path}/{name}/{PARTITION_METADATA}.tmp")
        self._forget_epochs(path)
        files.remove_directory(f"{path}/{METADATA_FOLDER}")
        for name in (BOOTSTRAP, f"{META_PROPERTIES}.tmp", f"{JOURNAL}.tmp"):
            if name not in journal.names:
                files.remove(f"{path}/{name}")
        files.sync_directory(path)

    def _forget_epochs(self, path: str) -> None:
        files, topics = self._files, self._plan.state.topics
        for entry in files.entries(path):
            name = parse_log_folder_name(entry.name) if entry.is_directory else None
            topic = None if name is None else topics.get(name.topic)
            if name is not None and topic is not None and name.partition < topic.partitions:
                planned = topic.replicas[name.partition].leader_epoch
                LeaderEpochs(files, f"{path}/{entry.name}").truncate_from_epoch(planned)
        files.sync_file_system(path)

    def _remove_journal_and_report(self, path: str, journal: UndoJournal) -> None:
        if not journal.had_lock:
            self._files.remove(f"{path}/{LOCK}")
        self._files.remove(f"{path}/{JOURNAL}")
        self._files.sync_directory(path)
        more = sorted(self._files.names(path) - journal.names)
        if more:
            self._say(f"{path}: made by Kafka since, and left: {', '.join(more[:20])}")
        self._say(f"{path}: as it was before the plan")


def _name_before_stray(name: str, names: frozenset[str]) -> str:
    """The name of a folder before Kafka renamed it to `-stray`, which cuts long names; "" for any other folder."""
    if not name.endswith(STRAY_DIRECTORY):
        return ""
    stem = name[: -len(STRAY_DIRECTORY) - _UNIQUE]
    return stem if stem in names else next((each for each in sorted(names) if _is_shortened_name(stem, each)), "")


def _is_shortened_name(stem: str, name: str) -> bool:
    topic, _, partition = stem.rpartition("-")
    return bool(topic) and name.startswith(topic) and name.endswith(f"-{partition}") and len(name) > len(stem)
