"""The loops over records, compiled by Cython; uncompiled, the same files are their readable twin, for tests.

    buffer_checksums.py     CRC-32, CRC-32C, XXH32 of whole buffers
    uncompressed_down.py    converts whole uncompressed batches down, into a buffer of the caller
    decompressed_stream.py  takes a decompressed stream in pieces; the base of the next three
    down.py                 converts it down to messages
    up.py                   converts it up to records
    survey.py               scans it; validates and scans a whole batch
    block_decompression.py  decompresses an LZ4 or snappy stream and notes its matches
    match_reuse.py          compresses the converted messages with those matches
    columns.py              decodes batches and streams of any magic into columns (not imported here: brokers need none)

No length is trusted: a position never passes the end of its record, message or batch. Work on more than a few kB drops
the GIL. Loops run longer here than elsewhere.

Functions that they share are inlined into each of them, from `include/` in Cython; these files are the Python twins:

    numbers.py          copying, integers, varints      crc.py          checksums of bytes in place (crc.h)
    reading.py          a record, a message, a frame    writing.py      a message
    buffer_pointers.py  buffers of Python               run_status.py   how a run ends
    item.py             where the parts of a record lie (a class of C)
    siphash.py          for the offset map
    results.py          results with many values, in Python only

docs/decisions/compiled-kernel.md gives the reasons and the alternatives.
"""

from . import (
    block_decompression,
    buffer_checksums,
    decompressed_stream,
    down,
    item,
    match_reuse,
    survey,
    uncompressed_down,
    up,
)
from .block_decompression import BlockDecompressor
from .buffer_checksums import crc32, crc32c, xxh32
from .down import MessagesDown, RecordsDown, write_wrapper_head
from .survey import RecordSurvey, validate_and_survey, validate_and_survey_blocks
from .uncompressed_down import convert_plain, plan_chunk
from .up import MessagesUp

_LOOPS = (
    block_decompression,
    buffer_checksums,
    decompressed_stream,
    down,
    item,
    match_reuse,
    survey,
    uncompressed_down,
    up,
)
COMPILED: bool = all(each.COMPILED for each in _LOOPS)

__all__ = [
    "COMPILED",
    "BlockDecompressor",
    "MessagesDown",
    "MessagesUp",
    "RecordSurvey",
    "RecordsDown",
    "convert_plain",
    "crc32",
    "crc32c",
    "plan_chunk",
    "validate_and_survey",
    "validate_and_survey_blocks",
    "write_wrapper_head",
    "xxh32",
]
