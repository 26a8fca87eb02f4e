"""What Python sees of down.py, which is typed for Cython."""

from .decompressed_stream import Stream

COMPILED: bool

def wrap(
    out: bytearray | memoryview,
    at: int,
    end: int,
    magic: int,
    attributes: int,
    last_offset: int,
    timestamp: int,
) -> None: ...

class RecordsDown(Stream):
    def __init__(
        self,
        target: int,
        count: int,
        base_offset: int,
        base_timestamp: int,
        append_time: int | None,
        relative: bool,
        first_offset: int,
    ) -> None: ...
    def skip(self, delta: int, timestamp_delta: int) -> tuple[int, int, int] | None: ...
    def finish(self) -> tuple[int, int, int]: ...

class MessagesDown(Stream):
    def __init__(self, base: int, write: bool) -> None: ...
    def skip(self, offset: int, timestamp: int, attributes: int) -> int: ...
    def finish(self) -> tuple[int, int]: ...
