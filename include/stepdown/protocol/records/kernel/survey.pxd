# What protocol/records/kernel/survey.py takes from others.

from stepdown.protocol.records.layout cimport *
from stepdown.protocol.records.kernel.block_decompression cimport BlockDecompressor
from stepdown.protocol.records.kernel.buffer_pointers cimport *
from stepdown.protocol.records.kernel.crc cimport *
from stepdown.protocol.records.kernel.run_status cimport *
from stepdown.protocol.records.kernel.item cimport *
from stepdown.protocol.records.kernel.numbers cimport *
from stepdown.protocol.records.kernel.reading cimport *
from stepdown.protocol.records.kernel.decompressed_stream cimport *

cdef enum:
    BLOCKS_ROOM = 131072
