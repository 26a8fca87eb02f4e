"""`stepdown-metadata.json`: what survives a restart and is in no partition's folder, replaced as a whole every time.

It lies in one of the log directories, the first one when it is made. Kafka ignores plain files that it does not know
there, so a directory stays usable by both. `cluster_state.py` shows the content.

A write is `path.tmp`, fsync, rename, fsync of the folder: after a crash there is the old document or the new one. One
that cannot be read stops the start: guessing would bring deleted configs back, or hand out producer ids a second time.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...protocol.errors import DiskFault
from ..files.files import Files
from .cluster_state import ClusterState, MalformedState, decode, encode

FILE_NAME = "stepdown-metadata.json"
MAX_BYTES = 1 << 30
PRODUCER_ID_BLOCK = 1000  # as many as Kafka's controller allocates at a time


class DamagedMetadata(DiskFault):
    """The file cannot be understood; the message names it and says what to do."""


class MetadataStore:
    """The state of one broker and the file that holds it.

    `is_new`: there was no file, so `state` is empty until it is filled and saved.
    """

    def __init__(self, files: Files, path: str, state: ClusterState, *, is_new: bool) -> None:
        self.path = path
        self.state = state
        self.is_new = is_new
        self._files = files
        self._next_producer_id = self._block_end = state.next_producer_id

    @classmethod
    def open(cls, files: Files, directories: Sequence[str]) -> "MetadataStore":
        """The store of a broker with these log directories, which exist.

        Raises: DamagedMetadata, DiskFault.
        """
        found: list[tuple[str, ClusterState]] = []
        for directory in directories:
            path = f"{directory}/{FILE_NAME}"
            data = files.read_whole(path, MAX_BYTES)
            if data is not None:
                found.append((path, _parse(path, data)))
        if not found:
            return cls(files, f"{directories[0]}/{FILE_NAME}", ClusterState(), is_new=True)
        path, state = max(found, key=lambda pair: pair[1].generation)
        return cls(files, path, state, is_new=False)

    def save(self) -> None:
        """Write the state as it is now; it is on the disk when this returns.

        Raises: DiskFault, the file then still holds the last state that was saved.
        """
        self.state.generation += 1
        text = json.dumps(encode(self.state), separators=(",", ":"), ensure_ascii=False)
        self._files.replace(self.path, text.encode())
        self.is_new = False

    @contextmanager
    def change(self) -> Iterator[ClusterState]:
        """The state, to be changed, and saved after that; when anything fails it is again as it was.

        Raises: DiskFault.
        """
        before = self.state.copy()
        try:
            yield self.state
            self.save()
        except BaseException:
            self.state = before
            raise

    def next_producer_id(self) -> int:
        """A producer id that was never handed out before, and never will be again, whatever happens to this process.

        Raises: DiskFault when a block is used up and the next one cannot be noted.
        """
        if self._next_producer_id >= self._block_end:
            self._take_block()
        taken = self._next_producer_id
        self._next_producer_id += 1
        return taken

    def raise_producer_ids(self, first: int) -> None:
        """Hand out no id below `first`; noted with the next `save`."""
        if first > self._next_producer_id:
            self.state.next_producer_id = max(self.state.next_producer_id, first)
            self._next_producer_id = self._block_end = self.state.next_producer_id

    def _take_block(self) -> None:
        with self.change() as state:
            start = state.next_producer_id
            state.next_producer_id = start + PRODUCER_ID_BLOCK
        self._next_producer_id, self._block_end = start, start + PRODUCER_ID_BLOCK


def _parse(path: str, data: bytes) -> ClusterState:
    try:
        return decode(json.loads(data))
    except (MalformedState, ValueError, RecursionError) as fault:
        raise DamagedMetadata(
            f"{path} cannot be read: {fault}. Put a good copy in its place. Without one, move it away: topics and "
            "partitions are then built from the log directories, but topic configs, dynamic broker configs, quotas "
            "and access rules are lost"
        ) from fault
