"""`leader-epoch-checkpoint`: a checkpoint file with the start offset of each leader epoch.

Its entries are `epoch startOffset`; both ascend, and a new entry removes those that it contradicts. Source: Kafka 3.9
`LeaderEpochFileCache` (KIP-101).
"""

import logging
from bisect import bisect_right
from threading import Lock
from typing import Final, NamedTuple

from ..files.checkpoint_file import MalformedCheckpoint, parse_offset, read_checkpoint_entries, write_checkpoint_entries
from ..files.files import Files

FILE_NAME = "leader-epoch-checkpoint"
UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1
LAST_EPOCH: Final = 2**31 - 1

_logger = logging.getLogger(__name__)


class EpochEntry(NamedTuple):
    """An epoch and the first offset written in it."""

    epoch: int
    start_offset: int


class LeaderEpochs:
    """The epochs of one log, read from its file when first asked for."""

    __slots__ = ("_entries", "_files", "_path", "_unsynced", "_writing")

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._path = f"{directory}/{FILE_NAME}"
        self._entries: list[EpochEntry] | None = None
        self._unsynced = False
        self._writing = Lock()  # flushes of one log may run side by side, and beside an append

    @property
    def entries(self) -> list[EpochEntry]:
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    @property
    def latest(self) -> int:
        """The last epoch, -1 when none is known."""
        entries = self.entries
        return entries[-1].epoch if entries else UNDEFINED_EPOCH

    def epoch_at(self, offset: int) -> int:
        """The epoch in which `offset` was written, -1 when it is not known."""
        at = bisect_right(self.entries, offset, key=lambda entry: entry.start_offset)
        return self.entries[at - 1].epoch if at else UNDEFINED_EPOCH

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Adds an epoch and removes the entries that contradict it; returns False if it was known already.

        Raises: DiskFault.
        """
        entries = self.entries
        if entries and entries[-1].epoch == epoch and start_offset >= entries[-1].start_offset:
            return False
        kept = [entry for entry in entries if entry.epoch < epoch and entry.start_offset < start_offset]
        self._replace([*kept, EpochEntry(epoch, start_offset)])
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEntry:
        """The largest epoch at or below `epoch` and its end offset (exclusive); (-1, -1) when that is not known.

        For an epoch below all known ones it returns that epoch and the start offset of the first known one.
        """
        entries = self.entries
        if epoch == UNDEFINED_EPOCH or not entries or epoch > entries[-1].epoch:
            return EpochEntry(UNDEFINED_EPOCH, UNDEFINED_OFFSET)
        if epoch == entries[-1].epoch:
            return EpochEntry(epoch, log_end_offset)
        at = bisect_right(entries, epoch, key=lambda entry: entry.epoch)
        return EpochEntry(entries[at - 1].epoch if at else epoch, entries[at].start_offset)

    def truncate_from_end(self, offset: int) -> None:
        """Removes the epochs that begin at or after `offset`, the new end of the log."""
        if self.entries and self.entries[-1].start_offset >= offset:
            self._replace([entry for entry in self.entries if entry.start_offset < offset])

    def truncate_from_epoch(self, epoch: int) -> None:
        """Removes this epoch and later ones; their records then count to the epoch before."""
        if self.latest >= epoch:
            self._replace([entry for entry in self.entries if entry.epoch < epoch])

    def truncate_from_start(self, offset: int) -> None:
        """Removes the epochs that end before `offset`; the one that contains it now begins there."""
        before = [entry for entry in self.entries if entry.start_offset <= offset]
        if len(before) > 1 or (before and before[0].start_offset < offset):
            self._replace([EpochEntry(before[-1].epoch, offset), *self.entries[len(before) :]])

    def clear(self) -> None:
        """Removes all epochs, as Kafka does when a batch of magic 0 or 1, which has no epoch, is appended."""
        if self.entries:
            self._replace([])

    def sync(self) -> None:
        """Syncs the file if it has changed since the last sync."""
        if self._unsynced:
            self._write(sync=True)

    def _replace(self, entries: list[EpochEntry]) -> None:
        self._entries = entries
        self._unsynced = True
        # Not synced: after a crash of the machine before the next flush, these epochs are read from the batches again.
        self._write(sync=False)

    def _write(self, *, sync: bool) -> None:
        with self._writing:
            entries = self.entries
            write_checkpoint_entries(
                self._files, self._path, (f"{epoch} {start}" for epoch, start in entries), sync=sync
            )
            if sync and entries is self.entries:
                self._unsynced = False

    def _read(self) -> list[EpochEntry]:
        try:
            entries = [_parse(*fields) for fields in read_checkpoint_entries(self._files, self._path)]
        except (MalformedCheckpoint, TypeError, ValueError) as fault:
            _logger.warning("%s cannot be read and is ignored: %s", self._path, fault)
            return []
        kept: list[EpochEntry] = []
        for entry in entries:
            if not kept or (entry.epoch > kept[-1].epoch and entry.start_offset > kept[-1].start_offset):
                kept.append(entry)
        return kept


def _parse(epoch: str, start: str) -> EpochEntry:
    entry = EpochEntry(int(epoch), parse_offset(start))
    if not UNDEFINED_EPOCH <= entry.epoch <= LAST_EPOCH:
        raise ValueError(f"{epoch[:40]!r} is no epoch")
    return entry
