# What protocol/records/kernel/columns.py takes from others.

from stepdown.protocol.records.layout cimport *
from stepdown.protocol.records.kernel.buffer_pointers cimport *
from stepdown.protocol.records.kernel.crc cimport *
from stepdown.protocol.records.kernel.run_status cimport *
from stepdown.protocol.records.kernel.item cimport *
from stepdown.protocol.records.kernel.numbers cimport *
from stepdown.protocol.records.kernel.reading cimport *
