"""Cuts a stream into blocks that are compressed one by one, as LZ4 frames and xerial streams do."""

from abc import ABC, abstractmethod

from ..record import Buffer


class BlockWriter(ABC):
    """Takes chunks of any size and writes blocks of `block_bytes`, the last one shorter."""

    def __init__(self, block_bytes: int) -> None:
        self._block_bytes = block_bytes
        self._block = bytearray()

    @abstractmethod
    def write_block(self, block: Buffer) -> None:
        """Compresses one block and appends it."""

    def write(self, chunk: Buffer) -> None:
        """Takes a chunk; what does not fill a block is kept for the next."""
        view = memoryview(chunk)
        at = 0
        if self._block:
            at = min(self._block_bytes - len(self._block), len(view))
            self._block += view[:at]
            if len(self._block) < self._block_bytes:
                return
            self.write_block(self._block)
            self._block.clear()
        while len(view) - at >= self._block_bytes:
            self.write_block(view[at : at + self._block_bytes])
            at += self._block_bytes
        self._block += view[at:]

    def finish(self) -> None:
        """Writes what is left as a block."""
        if self._block:
            self.write_block(self._block)
