"""Converted plain chunks that several readers want at about the same time: made once, sent to all.

| what is noted | for how long |
|---|---|
| who began to read a slice where | until 4 to 8 times the limit has been begun since, or for a second or two |
| files of which two readers began the same slice | until nothing was found for a second |
| the chunks made of such a file | first in, first out; until others need the memory; a second with nothing found |

Nothing is kept for a reader that is alone: what counts as found is a chunk that somebody else had before, and a file
of which much was kept and nothing found is left alone for a while (its readers are too far apart).

A chunk is known by the number of its open file, which no other ever has, by what it was converted to, and where it
begins. The file's generation tells whether anything was cut off it since; else stored bytes stay what they are. Where a
chunk ends does not matter to a reader whose slice goes as far: converted batches lie one behind the other, so that the
bytes are the same wherever chunks end.
Only the first batch of a slice may be converted in part, from the reader's first offset on, which is part of the key
then.

For one thread: the event loop's.
"""

from bisect import bisect_right, insort
from collections.abc import Callable
from functools import partial
from mmap import mmap
from typing import Protocol

from ..files.clock import Clock
from ..files.file_handle import OpenFile
from ..files.file_slice import Outlet
from .chunk_making import Made
from .kept_chunks import KeptChunk, KeptRun
from .shelf import SHELF_BYTES, Held, Shelf

SWEEP_MS = 1000
TRIAL_BYTES = 2 << 20
"""Kept of a file while nothing is found: a slice or two, since readers may be so far apart."""
GHOST_LIMITS = 4
"""Slices are noted until so many times the limit has been begun."""
BESIDE_BYTES = 512
"""Charged with each chunk for what tells where it is."""


class SpareMemory(Protocol):
    """A budget that lends what nobody needs."""

    def try_spare(self, size_bytes: int, drop: Callable[[], None]) -> Held | None:
        """So much memory, if it is free. `drop` is called when somebody needs it, and releases it at once."""
        ...


class Timers(Clock, Protocol):
    """A clock that calls back."""

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> object: ...


class SharedFile:
    """The kept chunks of one file for one magic."""

    __slots__ = ("_again_at", "_chunks", "_keeper", "_starts", "_unfound_bytes", "generation")

    def __init__(self, keeper: "SharedChunks", generation: int) -> None:
        self.generation = generation
        self._keeper = keeper
        self._chunks: dict[tuple[int, int], KeptChunk] = {}
        self._starts: list[int] = []
        self._unfound_bytes = 0
        self._again_at = 0

    def send(self, run: KeptRun, first_offset: int, end: int, outlet: Outlet, most_bytes: int, turn_bytes: int) -> None:
        """Lets `run` go on. Raises: OSError when the peer has gone."""
        try:
            run.go(self._chunks, first_offset, end, outlet.number, outlet.fileno(), most_bytes, turn_bytes)
        finally:
            outlet.took(run.sent_bytes)
            if run.found_bytes:
                self._unfound_bytes = self._again_at = 0
                self._keeper.found(run.found_bytes)

    @property
    def has_chunks(self) -> bool:
        return bool(self._chunks)

    def is_kept(self, position: int, first_offset: int) -> bool:
        """Whether there is a chunk that begins there."""
        return (position, first_offset) in self._chunks

    @property
    def is_worth_keeping(self) -> bool:
        """Whether the chunks that are made now are likely to be found."""
        if self._unfound_bytes > TRIAL_BYTES:
            self.pause()
        return not self._again_at

    def pause(self) -> None:
        """Keeps nothing for a while."""
        self._unfound_bytes = 0
        self._again_at = self._keeper.begun_bytes + GHOST_LIMITS * self._keeper.limit_bytes

    def try_again(self) -> None:
        """Two readers began the same slice."""
        if self._keeper.begun_bytes >= self._again_at:
            self._again_at = 0

    def next_start(self, position: int) -> int | None:
        """Where the next chunk begins that is kept: who ends one there finds those that follow."""
        at = bisect_right(self._starts, position)
        return self._starts[at] if at < len(self._starts) else None

    def room(self, size_bytes: int) -> memoryview | None:
        """Where the next chunk can be made that is to be kept, to be released at once; None when there is no memory."""
        return self._keeper.room(size_bytes)

    def keep(self, position: int, first_offset: int, made: Made, end: int, reader: int) -> None:
        """Keeps for others what `reader` had `made` in `room` of the batches from `position` to `end`."""
        key = position, first_offset
        memory, at = self._keeper.fill(made.size_bytes)
        chunk = KeptChunk(end, made.size_bytes, made.records, made.temporary_bytes, made.needs_worker, memory, at)
        chunk.reader = reader
        self._keeper.when_dropped(partial(self._forget, key, chunk))
        if key not in self._chunks:
            insort(self._starts, position)
        self._chunks[key] = chunk
        self._unfound_bytes += chunk.size_bytes

    def _forget(self, key: tuple[int, int], chunk: KeptChunk) -> None:
        if self._chunks.get(key) is chunk:
            del self._chunks[key]
            self._starts.remove(key[0])


class SharedChunks:
    """All that is kept, in at most `limit_bytes` (whole shelves). `on_found` hears the bytes of each
    chunk that a reader finds, `on_kept` and `on_dropped` of each that comes and goes."""

    def __init__(
        self,
        memory: SpareMemory,
        timers: Timers,
        limit_bytes: int,
        on_found: Callable[[int], object],
        on_kept: Callable[[], object],
        on_dropped: Callable[[], object],
    ) -> None:
        self._memory = memory
        self._timers = timers
        self._most_shelves = limit_bytes // SHELF_BYTES
        self._on_found = on_found
        self._on_kept = on_kept
        self._on_dropped = on_dropped
        self._shelves: list[Shelf] = []
        self._forgets: list[list[Callable[[], None]]] = []
        self._files: dict[tuple[int, int], SharedFile] = {}
        self._begun: dict[tuple[int, int, int], int] = {}
        self._begun_before: dict[tuple[int, int, int], int] = {}
        self._rotate_at = 0
        self._is_watching = False
        self._found_lately = False
        self.limit_bytes = self._most_shelves * SHELF_BYTES
        self.begun_bytes = 0

    @property
    def held_bytes(self) -> int:
        return len(self._shelves) * SHELF_BYTES

    def begins(self, file: OpenFile, target: int, position: int, size_bytes: int, reader: int) -> None:
        """A slice is about to be sent to `reader`, a number that no other connection has."""
        if not self._most_shelves:
            return
        if not self._is_watching:
            self._is_watching = True
            self._timers.call_later(SWEEP_MS, self._sweep)
        self.begun_bytes += size_bytes
        if self.begun_bytes >= self._rotate_at:
            self._rotate()
        key = file.number, target, position
        before = self._begun.get(key) or self._begun_before.get(key)
        self._begun[key] = reader
        if before is not None and before != reader:
            shared = self.shared_file(file, target)
            if shared is None:
                self._files[file.number, target] = SharedFile(self, file.generation)
            else:
                shared.try_again()

    def shared_file(self, file: OpenFile, target: int) -> SharedFile | None:
        """What is kept of a file that several read, as long as nothing is cut off it."""
        shared = self._files.get((file.number, target))
        if shared is not None and shared.generation != file.generation:
            del self._files[file.number, target]
            return None
        return shared

    def found(self, size_bytes: int) -> None:
        """A chunk was found by a reader that had not had it."""
        self._found_lately = True
        self._on_found(size_bytes)

    def room(self, size_bytes: int) -> memoryview | None:
        """Room for a chunk of up to so much, to be released at once; None when there is no memory for it."""
        is_full = not self._shelves or self._shelves[-1].left_bytes < size_bytes + BESIDE_BYTES
        if is_full and not self._begin_shelf():
            return None
        return self._shelves[-1].room(size_bytes)

    def fill(self, size_bytes: int) -> tuple[mmap, int]:
        """So much of the `room` is a chunk now: the memory that it is in, and where."""
        shelf = self._shelves[-1]
        at = shelf.fill(size_bytes, BESIDE_BYTES)
        self._on_kept()
        return shelf.memory, at

    def when_dropped(self, forget: Callable[[], None]) -> None:
        """`forget` is called when the chunk that was kept last is gone."""
        self._forgets[-1].append(forget)

    def _begin_shelf(self) -> bool:
        """Whether there is an empty shelf at the end: a new one, or the oldest."""
        if len(self._shelves) < self._most_shelves:
            claim = self._memory.try_spare(SHELF_BYTES, self._drop_oldest)
            if claim is None:
                return False
            try:
                self._shelves.append(Shelf(claim))
            except OSError:
                return False
        else:
            shelf = self._take_oldest()
            shelf.empty()
            self._shelves.append(shelf)
        self._forgets.append([])
        return True

    def _drop_oldest(self) -> None:
        self._take_oldest().release()

    def _take_oldest(self) -> Shelf:
        """Nobody finds what is on it any more."""
        for forget in self._forgets.pop(0):
            forget()
            self._on_dropped()
        return self._shelves.pop(0)

    def _rotate(self) -> None:
        self._begun_before, self._begun = self._begun, {}
        self._rotate_at = self.begun_bytes + GHOST_LIMITS * self.limit_bytes

    def _sweep(self) -> None:
        """Once a second while anything is noted: gives up what nobody found."""
        if not self._found_lately:
            while self._shelves:
                self._drop_oldest()
        self._found_lately = False
        self._files = {key: file for key, file in self._files.items() if file.has_chunks}
        self._rotate()
        self._is_watching = bool(self._files or self._begun_before)
        if self._is_watching:
            self._timers.call_later(SWEEP_MS, self._sweep)
