"""Faults of the disk: writes that fail, and a batch whose bytes have changed."""

import os
from collections.abc import Callable, Sequence

from ...protocol.errors import ApiError, ErrorCode
from ...storage.files.file_handle import Buffer, FileHandle
from ...storage.files.file_names import LOG
from ...storage.files.files import Files
from ...storage.log.log import Log


class FaultyDisk(Files):
    """Files on which writing fails when `failing` says so: it is given the path, and gives an error number or None."""

    failing: Callable[[str], int | None] | None = None

    def write(self, handle: FileHandle, pieces: Sequence[Buffer], position: int) -> int:
        if self.failing is not None and (number := self.failing(handle.path)) is not None:
            error = OSError(number, os.strerror(number))
            raise self.report(handle.path, error, f"writing at {position}: ") from error
        return super().write(handle, pieces, position)


def corrupt_last_batch(files: Files, log: Log) -> int:
    """Flips bits of the last byte of a log's last batch on the disk; the offset at which that batch begins.

    Raises: ApiError when there is no batch, DiskFault.
    """
    segment = log.segments.active
    batches = list(segment.batches())
    if not batches:
        raise ApiError(f"{log.name} has no batch to corrupt", ErrorCode.OFFSET_OUT_OF_RANGE)
    last = batches[-1]
    file = files.handle(segment.path(LOG))
    (byte,) = file.read(1, last.end - 1)
    file.write([bytes([byte ^ 0xFF])], last.end - 1)
    file.close()
    return last.base_offset
