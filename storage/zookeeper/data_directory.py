"""Reads the data directory of a stopped ZooKeeper: its newest whole snapshot, and the transactions after it.

`version-2` is in `dataDir`, and in `dataLogDir` if the logs are kept apart. If a snapshot is damaged, the one before it
is used. Transactions that are in no file or cannot be read are reported: their changes are not known.
Source: ZooKeeper 3.8 `FileTxnSnapLog`.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from ...protocol.errors import DiskFault
from ..files.files import Files
from .jute_reader import JuteFile, MalformedJute
from .transaction_log import DamagedLog, Transaction, read_transactions
from .znode_tree import ZnodeTree
from .zookeeper_snapshot import DamagedSnapshot, read_snapshot

VERSION_FOLDER = "version-2"
_NAME = re.compile(r"(snapshot|log)\.([0-9a-f]{1,16})")
_PACKED = (".gz", ".snappy")
_EPOCH_SHIFT = 32


class UnreadableDirectory(DiskFault):
    """The directory has no files of ZooKeeper; the message says which were expected."""


@dataclass(slots=True, kw_only=True)
class DataDirectory:
    """The tree after transaction `zxid`. `notes`: files that were skipped. `gaps`: changes that are unknown."""

    tree: ZnodeTree = field(default_factory=ZnodeTree)
    zxid: int = 0
    notes: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)


def read_data_directory(files: Files, paths: Sequence[str]) -> DataDirectory:
    """Reads the files in these directories; nothing is written. Raises: UnreadableDirectory, DiskFault."""
    return _DataDirectoryReader(files, paths).read()


class _DataDirectoryReader:
    def __init__(self, files: Files, paths: Sequence[str]) -> None:
        self._files = files
        self._paths = paths
        self._found = DataDirectory()
        self._folders = [_version_folder(files, path) for path in paths]
        self._snapshots = self._list_files("snapshot")
        self._logs = self._list_files("log")
        self._has_snapshot = False

    def _list_files(self, kind: str) -> list[tuple[int, str]]:
        """Transaction id and path of each file of a kind, ordered by id."""
        matches = [(folder, _NAME.fullmatch(name)) for folder in self._folders for name in self._files.names(folder)]
        return sorted({(int(m[2], 16), f"{folder}/{m[0]}") for folder, m in matches if m and m[1] == kind})

    def read(self) -> DataDirectory:
        if not self._snapshots and not self._logs:
            raise UnreadableDirectory(
                f"{' and '.join(self._paths)}: no snapshot.* and no log.* of a ZooKeeper here or in {VERSION_FOLDER} "
                "that is not compressed"
            )
        self._read_newest_snapshot()
        self._read_logs()
        self._note_compressed_snapshots()
        return self._found

    def _note_compressed_snapshots(self) -> None:
        """Adds compressed snapshots (`zookeeper.snapshot.compression.method`) to the gaps, which they may fill."""
        if self._found.gaps:
            names = [f"{folder}/{name}" for folder in self._folders for name in sorted(self._files.names(folder))]
            packed = [name for name in names if name.endswith(_PACKED) and "/snapshot." in name]
            self._found.gaps += [
                f"{name} is compressed, and was not read: unpack it, and read again" for name in packed
            ]

    def _read_newest_snapshot(self) -> None:
        for zxid, path in reversed(self._snapshots):
            try:
                with self._open(path) as reader:
                    self._found.tree = read_snapshot(reader)
            except DamagedSnapshot as fault:
                self._found.notes.append(f"{path} is damaged ({fault}), the snapshot before it is taken")
            else:
                self._found.zxid, self._has_snapshot = zxid, True
                return

    def _read_logs(self) -> None:
        before = [zxid for zxid, _ in self._logs if zxid <= self._found.zxid + 1]
        first = max(before, default=0)
        for zxid, path in self._logs:
            if zxid >= first:
                self._read_log(path, is_last=path == self._logs[-1][1])

    def _read_log(self, path: str, *, is_last: bool) -> None:
        found = self._found
        try:
            for transaction in self._transactions(path):
                if transaction.zxid > found.zxid:
                    self._note_gap_before(transaction.zxid, path)
                    transaction.apply(found.tree)
                    found.zxid = transaction.zxid
        except (DamagedLog, MalformedJute) as fault:
            text = f"{path} is damaged: {fault}; what was changed after transaction {found.zxid:#x} is not known"
            (found.gaps if is_last else found.notes).append(text)

    def _transactions(self, path: str) -> Iterator[Transaction]:
        with self._open(path) as reader:
            yield from read_transactions(reader)

    @contextmanager
    def _open(self, path: str) -> Iterator[JuteFile]:
        with closing(self._files.handle(path)) as handle:
            yield JuteFile(handle, self._files.size(path))

    def _note_gap_before(self, zxid: int, path: str) -> None:
        known = self._found.zxid
        if not self._is_next_transaction(zxid, known):
            self._found.gaps.append(
                f"the transactions {known + 1:#x} to {zxid - 1:#x} are in no file (before {path}): "
                "what they changed is not known"
            )

    def _is_next_transaction(self, zxid: int, known: int) -> bool:
        """Whether `zxid` comes directly after `known`.

        A new leader of the ensemble begins again with number 1. Without a snapshot all transactions are needed.
        """
        epoch, number = divmod(zxid, 1 << _EPOCH_SHIFT)
        is_first = number == 1 and epoch > known >> _EPOCH_SHIFT
        return zxid == known + 1 or (is_first and (known > 0 or self._has_snapshot or epoch == 1))


def _version_folder(files: Files, path: str) -> str:
    below = f"{path}/{VERSION_FOLDER}"
    return below if files.is_directory(below) else path
