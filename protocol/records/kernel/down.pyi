"""What Python sees of down.py, which is typed for Cython."""

from .decompressed_stream import Stream

COMPILED: bool

def write_wrapper_head(
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
    def admit_large_record(self, delta: int, timestamp_delta: int) -> tuple[int, int, int] | None: ...
    def check_and_summarize(self) -> tuple[int, int, int]: ...

class MessagesDown(Stream):
    def __init__(self, base: int, write: bool) -> None: ...
    def admit_large_message(self, offset: int, timestamp: int, attributes: int) -> int: ...
    def summary(self) -> tuple[int, int]: ...
