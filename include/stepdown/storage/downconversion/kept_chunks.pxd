# What storage/downconversion/kept_chunks.py takes from the operating system and from the kernel.

from stepdown.protocol.records.kernel.buffers cimport sink_of
from stepdown.protocol.records.kernel.numbers cimport Sink
from stepdown.storage.sockets cimport offer
