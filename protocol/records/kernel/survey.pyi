"""What Python sees of survey.py, which is typed for Cython."""

from ..record import Buffer
from .block_decompression import BlockDecompressor
from .decompressed_stream import Stream

COMPILED: bool

class RecordSurvey(Stream):
    def __init__(self, count: int, base_timestamp: int, append_time: int | None) -> None: ...
    def note_large_record(self, delta: int, timestamp_delta: int, keyless: bool) -> None: ...
    def check_and_summarize(self) -> tuple[int, int, bool, bool]: ...

def validate_and_survey_blocks(
    data: Buffer, blocks: BlockDecompressor, most_opened: int
) -> tuple[int, int, bool, int] | None: ...
def validate_and_survey(data: Buffer, opened: Buffer | None) -> tuple[int, int, bool] | None: ...
