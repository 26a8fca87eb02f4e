# What protocol/records/record_buffer.py takes from others.

from stepdown.protocol.records.kernel.numbers cimport *
from stepdown.protocol.records.layout cimport RECORD_BATCH_OVERHEAD
