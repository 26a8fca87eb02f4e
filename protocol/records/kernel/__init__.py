"""The loops over records, compiled by Cython; uncompiled, the same files are their readable twin, for tests.

    buffer_checksums.py     CRC-32, CRC-32C, XXH32 of whole buffers
    uncompressed_down.py    whole uncompressed batches down, into a buffer of the caller
    decompressed_stream.py  a decompressed stream, taken in pieces; it goes
    down.py                 down, as messages
    up.py                   up, as records
    survey.py               nowhere: what it looks like; a whole batch at a glance
    block_decompression.py  an LZ4 or snappy stream opened, and what repeats in it
    match_reuse.py          what the records became, closed with what repeated in that
    columns.py              batches and streams of any magic, in columns (not imported here: a broker does without)

No length is trusted: a position never passes the end of its record, message or batch. Work on more than a few kB drops
the GIL. Loops run longer here than elsewhere.

What they share is inlined into each of them: `include/` has it in Cython, these files in Python, as the twin:

    numbers.py          copying, integers, varints      crc.py          checksums of bytes in place (crc.h)
    reading.py          a record, a message, a frame    writing.py      a message
    buffer_pointers.py  buffers of Python               run_status.py   how a run ends
    item.py             where the parts of a record lie (a class of C)
    siphash.py          for the offset map
    results.py          results of many values, in Python alone

docs/decisions/compiled-kernel.md tells why, and what was not done.
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
from .block_decompression import Blocks
from .buffer_checksums import crc32, crc32c, xxh32
from .down import MessagesDown, RecordsDown, wrap
from .survey import RecordSurvey, glance, glance_at_blocks
from .uncompressed_down import convert_plain, plan
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
    "Blocks",
    "MessagesDown",
    "MessagesUp",
    "RecordSurvey",
    "RecordsDown",
    "convert_plain",
    "crc32",
    "crc32c",
    "glance",
    "glance_at_blocks",
    "plan",
    "wrap",
    "xxh32",
]
