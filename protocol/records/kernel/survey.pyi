"""What Python sees of survey.py, which is typed for Cython."""

from .stream import Stream

COMPILED: bool

class RecordSurvey(Stream):
    def __init__(self, count: int, base_timestamp: int, append_time: int | None) -> None: ...
    def skip(self, delta: int, timestamp_delta: int, keyless: bool) -> None: ...
    def finish(self) -> tuple[int, int, bool, bool, int]: ...
