"""What Python sees of helping.py, which is typed for Cython."""

from ...protocol.records.conversion.compressed_batch import Singles, SinglesDown

COMPILED: bool
THREAD_NAME: str

class Help:
    most_converting: int
    @property
    def converting(self) -> int: ...
    @property
    def is_busy(self) -> bool: ...
    def forget(self) -> None: ...

HELP: Help

def processors() -> int: ...
def convert_with_help(
    singles: SinglesDown, source: memoryview, target: int, out: bytearray | memoryview
) -> Singles: ...
