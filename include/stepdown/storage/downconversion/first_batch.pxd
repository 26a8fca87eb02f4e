# What storage/downconversion/first_batch.py takes from the operating system and from the kernel.

from stepdown.protocol.records.layout cimport *
from stepdown.protocol.records.kernel.buffers cimport *
from stepdown.protocol.records.kernel.faults cimport *
from stepdown.protocol.records.kernel.item cimport *
from stepdown.protocol.records.kernel.numbers cimport *
from stepdown.protocol.records.kernel.plain cimport *
from stepdown.protocol.records.kernel.reading cimport batch_end
from stepdown.storage.positioned cimport read_into
