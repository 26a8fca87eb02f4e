# What protocol/records/compaction_loops.py takes from others.

from stepdown.protocol.records.kernel.buffer_pointers cimport *
from stepdown.protocol.records.kernel.crc cimport *
from stepdown.protocol.records.kernel.numbers cimport *
from stepdown.protocol.records.kernel.siphash cimport sip_hash
from stepdown.protocol.records.layout cimport *
