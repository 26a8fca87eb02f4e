"""What Python sees of kept_chunks.py, which is typed for Cython."""

from mmap import mmap

COMPILED: bool
WHOLE: int

class KeptChunk:
    reader: int
    def __init__(
        self,
        end: int,
        size_bytes: int,
        records: int,
        temporary_bytes: int,
        needs_worker: bool,
        memory: mmap,
        at: int,
    ) -> None: ...
    @property
    def end(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def records(self) -> int: ...
    @property
    def temporary_bytes(self) -> int: ...
    @property
    def needs_worker(self) -> bool: ...

class KeptRun:
    def __init__(self, position: int, skip: int) -> None: ...
    @property
    def end(self) -> int: ...
    @property
    def skip(self) -> int: ...
    @property
    def sent_bytes(self) -> int: ...
    @property
    def written_bytes(self) -> int: ...
    @property
    def records(self) -> int: ...
    @property
    def temporary_bytes(self) -> int: ...
    @property
    def found_bytes(self) -> int: ...
    @property
    def needs_worker(self) -> bool: ...
    @property
    def is_full(self) -> bool: ...
    def go(
        self,
        chunks: dict[tuple[int, int], KeptChunk],
        first_offset: int,
        end: int,
        reader: int,
        socket: int,
        most_bytes: int,
        turn_bytes: int,
    ) -> None: ...
