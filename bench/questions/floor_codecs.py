"""A codec's library in a loop: opens a batch as `stepdown bench` writes it, compresses it again, and nothing else."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time

import cramjam
import lz4.block
from isal import igzip_lib
from stepdown.bench.load.topics import Filling, batch_of
from stepdown.bench.servers.process import ProcessUsage, Usage
from stepdown.protocol.records.compression import SINGLE_GZIP_LEVEL, decompress
from stepdown.protocol.records.layout import RECORD_BATCH_OVERHEAD, Codec

MOST_OPENED_BYTES = 1 << 20
CALLS = 16
"""Made between two looks at the clock."""
Changed = Callable[[bytes], bytes | int]
"""Bytes to bytes, or to their number in a buffer that is kept."""


@dataclass(slots=True, kw_only=True)
class LibraryLoop:
    """A contestant without a process of its own. `opens` gets `packed`, `packs` what that opens to.

    `stored_bytes` are what a turn counts, whatever `packs` makes: a level that compresses less would look better by the
    bytes of its answers, and bring nobody more records.
    """

    name: str
    stored_bytes: int
    packed: bytes
    opened: bytes
    opens: Changed
    packs: Changed
    version: str = "floor"
    address: str = ""
    http: str = ""
    has_ended: bool = False
    log: str = ""

    @property
    def usage(self) -> Usage:
        return ProcessUsage(os.getpid())

    def start(self) -> None:
        """It needs none."""

    def stop(self) -> None:
        """It needs none."""

    def kill(self) -> None:
        """It needs none."""

    def run(self, seconds: float) -> dict[str, float]:
        """Stored MB a CPU second, and a second on all cores at once."""
        packed, opened, opens, packs = self.packed, self.opened, self.opens, self.packs
        rounds, began = 0, process_time()
        while (taken := process_time() - began) < seconds:
            for _ in range(CALLS):
                opens(packed)
                packs(opened)
            rounds += CALLS
        a_cpu_second = rounds * self.stored_bytes / 1e6 / taken
        return {"mb_per_cpu_s": a_cpu_second, "mb_per_s": a_cpu_second * (os.cpu_count() or 1)}


def loops_for(filling: Filling) -> list[LibraryLoop]:
    """The libraries that are called for batches of this codec; none for plain ones."""
    body = batch_of(filling)[RECORD_BATCH_OVERHEAD:]
    opened = bytes(decompress(filling.codec, body, magic=2, max_bytes=MOST_OPENED_BYTES))
    if filling.codec is Codec.LZ4:
        return [_lz4(len(body), opened)]
    if filling.codec is Codec.SNAPPY:
        return [_snappy(len(body), opened)]
    return [_gzip(body, opened, level) for level in (SINGLE_GZIP_LEVEL, 0)] if filling.codec is Codec.GZIP else []


def _lz4(stored_bytes: int, opened: bytes) -> LibraryLoop:
    return LibraryLoop(
        name="library: lz4",
        stored_bytes=stored_bytes,
        packed=lz4.block.compress(opened, store_size=False),
        opened=opened,
        opens=lambda packed: lz4.block.decompress(packed, uncompressed_size=len(opened)),
        packs=lambda data: lz4.block.compress(data, store_size=False),
    )


def _snappy(stored_bytes: int, opened: bytes) -> LibraryLoop:
    room = bytearray(2 * len(opened))
    return LibraryLoop(
        name="library: snappy",
        stored_bytes=stored_bytes,
        packed=bytes(cramjam.snappy.compress_raw(opened)),
        opened=opened,
        opens=lambda packed: int(cramjam.snappy.decompress_raw_into(packed, room)),
        packs=lambda data: int(cramjam.snappy.compress_raw_into(data, room)),
    )


def _gzip(body: bytes, opened: bytes, level: int) -> LibraryLoop:
    return LibraryLoop(
        name=f"library: isal, level {level}",
        stored_bytes=len(body),
        packed=body,
        opened=opened,
        opens=lambda packed: igzip_lib.decompress(packed, igzip_lib.DECOMP_GZIP),
        packs=lambda data: igzip_lib.compress(data, level, igzip_lib.COMP_GZIP),
    )
