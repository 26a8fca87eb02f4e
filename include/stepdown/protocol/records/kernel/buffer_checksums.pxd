# What protocol/records/kernel/buffer_checksums.py takes from others.

from stepdown.protocol.records.kernel.buffer_pointers cimport *
from stepdown.protocol.records.kernel.crc cimport *
from stepdown.protocol.records.kernel.numbers cimport *
