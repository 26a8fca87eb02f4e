# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Batches on their way from a file into a socket, converted chunk by chunk, with little of the interpreter in between.

A chunk is read, converted and sent. In a loop of Python the three leave nothing of the interpreter in the processor's
caches, so that each begins with a cold one. `ConvertedChunks` does the same for whatever is not plain sailing, and is
what tests hold this against.
"""

from __future__ import annotations

import os

import cython

from ...protocol.errors import ApiError
from ...protocol.records.conversion.compressed_batch import singles_of_thread

COMPILED: bool = cython.compiled

PIECE_BYTES = cython.declare(cython.Py_ssize_t, 128 * 1024)

# As what is claimed for a plain chunk (chunk_claims.py): one that has to be made again is made in so much.
CHUNK_ROOM_BYTES = cython.declare(cython.Py_ssize_t, 256 * 1024)

# Of an overflow entry, as in converted_chunks.py, which writes it again if its chunk has to be made again.
PADDING_BYTES = cython.declare(cython.Py_ssize_t, 128 * 1024)
OVERFLOW_ENTRY_BYTES = cython.declare(cython.Py_ssize_t, 12)
SMALLEST_OVERFLOW = cython.declare(cython.Py_ssize_t, 61)


@cython.final
@cython.cclass
class Relay:
    """Chunks that went one after the other, and the one, if any, that the socket did not take whole.

    `end` is the position in the file behind those that it took whole; `sent_bytes` went, of the `written_bytes` that
    they were before the last was cut, or that they are with `padding_bytes` behind the last; `chunks`, `records`,
    `temporary_bytes` and `seconds` tell what making them took.
    `needs_codec`: the batch that follows plain ones has to be opened. Of the chunk that was not taken whole, which lies
    in the buffer from `unsent_at` on, `unsent_taken_bytes` of `unsent_bytes` went; the latter are 0 when there is none.
    `head_taken_bytes` went of what was to go before the first.
    The chunk at hand begins at `front` in the file and is made of `chunk_at` stored bytes.
    """

    end = cython.declare(cython.longlong, visibility="readonly")
    sent_bytes = cython.declare(cython.longlong, visibility="readonly")
    written_bytes = cython.declare(cython.longlong, visibility="readonly")
    padding_bytes = cython.declare(cython.longlong, visibility="readonly")
    chunks = cython.declare(cython.longlong, visibility="readonly")
    records = cython.declare(cython.longlong, visibility="readonly")
    temporary_bytes = cython.declare(cython.longlong, visibility="readonly")
    seconds = cython.declare(cython.double, visibility="readonly")
    needs_codec = cython.declare(cython.bint, visibility="readonly")
    unsent_bytes = cython.declare(cython.longlong, visibility="readonly")
    unsent_taken_bytes = cython.declare(cython.longlong, visibility="readonly")
    unsent_at = cython.declare(cython.longlong, visibility="readonly")
    head_taken_bytes = cython.declare(cython.longlong, visibility="readonly")
    run: PlainDown
    item: Item
    chunk_bytes: cython.Py_ssize_t
    head: Sink
    head_left: cython.Py_ssize_t
    front: cython.longlong
    chunk_at: cython.longlong
    chunk_padding: cython.Py_ssize_t
    held: cython.Py_ssize_t
    unsent_chunk: Chunk

    def __init__(self, target: cython.int, first_offset: cython.longlong, chunk_bytes: cython.Py_ssize_t) -> None:
        self.run, self.item = PlainDown(), Item()
        self.run.target, self.run.first_offset, self.run.measure = target, first_offset, False
        self.chunk_bytes = chunk_bytes

    def go(
        self,
        file: cython.int,
        position: cython.longlong,
        end: cython.longlong,
        socket: cython.int,
        window: object,
        out: object,
        most_bytes: cython.longlong,
        turn_bytes: cython.longlong,
        with_codec: cython.bint,
        head: bytearray | None = None,
    ) -> None:
        """Sends `head`, and what the batches from `position` to `end` of the file become, made in `out`: without a
        codec as many chunks as it has room for, which leave together, as the head does with the first.

        Up to `turn_bytes`, or to `most_bytes`, which are promised: there the last chunk is cut, or one without a codec
        is padded, if that fits into `out`; to a chunk that is not taken whole; or to a batch that is better made alone:
        one too large for a chunk, a damaged one, the end; a plain one if `with_codec`, else one for a codec. With a
        codec the chunk that reaches `most_bytes` is not sent.

        Nothing is sent of a head for which no chunk could be made.

        Raises: OSError when the peer has gone.
        """
        run: PlainDown = self.run
        item: Item = self.item
        looked: cython.uchar[::1] = window
        made: cython.uchar[::1] = out
        sink: Sink
        status: cython.Py_ssize_t
        if self.chunk_bytes > len(looked):
            raise ValueError(f"chunks of {self.chunk_bytes} bytes through a window of {len(looked)}")
        sink = sink_of(looked)
        run.data, run.sink, run.room = sink, sink_of(made), len(made)
        self.end = position
        self.sent_bytes = self.written_bytes = self.chunks = self.records = self.temporary_bytes = 0
        self.padding_bytes = self.chunk_padding = 0
        self.unsent_bytes = self.unsent_taken_bytes = self.unsent_at = 0
        self.head_taken_bytes = self.head_left = 0
        if head is not None:
            self.head, self.head_left = cython.cast(Sink, PyByteArray_AS_STRING(head)), len(head)
        self.seconds, self.needs_codec = 0, False
        turn_bytes = min(turn_bytes, most_bytes)
        if with_codec:
            status = self.pump_with_codec(run, file, end, socket, window, sink, out, most_bytes, turn_bytes)
        else:
            with cython.nogil:
                status = self.pump(run, item, file, end, socket, sink, most_bytes, turn_bytes)
        if status < 0:
            raise OSError(-status, os.strerror(-status))

    def unsent(self) -> tuple[int, int, int, int, float, int]:
        """Where the chunk that was not taken whole ends in the file; its size before it was cut, records, temporary
        bytes, seconds that making it took, and how much of it is padding."""
        chunk: Chunk = self.unsent_chunk
        return (
            self.end + chunk.stored,
            chunk.written,
            chunk.records,
            chunk.temporary,
            chunk.seconds,
            chunk.padding,
        )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def pump(
        self,
        run: PlainDown,
        item: Item,
        file: cython.int,
        end: cython.longlong,
        socket: cython.int,
        window: Sink,
        most_bytes: cython.longlong,
        turn_bytes: cython.longlong,
    ) -> cython.Py_ssize_t:
        """Makes and sends; an error number of the socket's, below 0, or 0."""
        chunks: Chunk[MOST_CHUNKS]
        count: cython.Py_ssize_t
        size: cython.longlong
        taken: cython.Py_ssize_t
        began: cython.double
        status: cython.int = DONE
        out: Sink = run.sink
        room: cython.Py_ssize_t = run.room
        self.held, self.front = 0, self.end
        while status == DONE and self.sent_bytes < turn_bytes:
            count = size = 0
            while status == DONE and count < MOST_CHUNKS and self.sent_bytes + size < turn_bytes:
                if count and room - size < CHUNK_ROOM_BYTES:
                    break
                began = now_s()
                run.sink, run.room = out + size, min(room - size, CHUNK_ROOM_BYTES)
                status = self.make(run, item, file, end, window, most_bytes - self.sent_bytes - size)
                if status >= BAD_FRAME or run.written == 0:
                    status = BAD_FRAME
                    break
                if status == DONE and self.front + self.chunk_at + self.held == end:
                    self.pad(run, most_bytes - self.sent_bytes - size - run.written)
                self.note(cython.address(chunks[count]), run, began, size, most_bytes - self.sent_bytes - size)
                size += chunks[count].size
                self.front += self.chunk_at
                count += 1
                if status == NO_ROOM:  # in the next there is
                    status = DONE
            self.needs_codec = status == NEEDS_CODEC
            if count == 0:
                break
            taken = self.send(socket, out, size, chunks, count)
            if taken < 0:
                return taken
            if self.unsent_bytes:
                break
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def make(
        self,
        run: PlainDown,
        item: Item,
        file: cython.int,
        end: cython.longlong,
        window: Sink,
        most_bytes: cython.longlong,
    ) -> cython.int:
        """Makes a chunk; what ended it.

        It is read piece by piece, so that it leaves room for what it becomes in the processor's cache. What the end of
        one piece has of a batch, `held` bytes of the window, is the beginning of the next. None is read behind what is
        promised.
        """
        size: cython.Py_ssize_t
        held: cython.Py_ssize_t
        status: cython.int = DONE
        self.chunk_at = run.written = run.records = run.temporary = run.batches = run.trimmed = 0
        while status == DONE and run.written < most_bytes:
            held = self.held
            size = min(self.chunk_bytes - self.chunk_at, end - self.front - self.chunk_at, PIECE_BYTES)
            if run.written > 0:  # no more than is likely to fit, or a batch is converted in vain
                size = min(size, (run.room - run.written) * self.chunk_at // run.written)
            if size <= held and self.chunk_at:
                break
            if read_into(file, window, held, size - held, self.front + self.chunk_at + held) < size - held:
                return BAD_FRAME
            run.at, run.end = 0, size
            status = convert_batches(run, item)
            self.chunk_at += run.at
            self.held = size - run.at
            move_to_front(window, run.at, self.held)
            if run.at == 0:
                break
        return status

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def pad(self, run: PlainDown, size: cython.longlong) -> cython.void:
        """An overflow entry over the `size` bytes that are promised beyond the chunk, if it fits behind it: to make it
        alone would take as long as to convert a third of a chunk."""
        if size <= 0 or size > PADDING_BYTES or max(size, OVERFLOW_ENTRY_BYTES) > run.room - run.written:
            return
        clear(run.sink, run.written, size)
        put64(run.sink, run.written, -1)
        put32(run.sink, run.written + 8, max(size + 1, SMALLEST_OVERFLOW))
        self.chunk_padding = size
        run.written += size

    @cython.cfunc
    def pump_with_codec(
        self,
        run: PlainDown,
        file: cython.int,
        end: cython.longlong,
        socket: cython.int,
        stored: object,
        window: Sink,
        out: object,
        most_bytes: cython.longlong,
        turn_bytes: cython.longlong,
    ) -> cython.Py_ssize_t:
        """As `pump`, the batches opened and closed again; the interpreter's lock is held where a codec of Python is."""
        singles: SinglesDown = singles_of_thread()
        made: Chunk
        held: cython.Py_ssize_t = 0
        size: cython.Py_ssize_t
        got: cython.Py_ssize_t
        taken: cython.Py_ssize_t
        began: cython.double
        while self.sent_bytes < turn_bytes:
            began = now_s()
            size = min(self.chunk_bytes, end - self.end)
            with cython.nogil:
                got = read_into(file, window, held, size - held, self.end + held)
            if got < size - held:
                break
            try:
                run.at, run.written, run.records, run.temporary = convert_with_help(
                    singles, stored[:size], run.target, out
                )
            except ApiError:
                break
            if run.written == 0 or batch_end(window, run.at, size) != 0:
                break
            self.chunk_at = run.at
            self.note(cython.address(made), run, began, 0, most_bytes - self.sent_bytes)
            if made.size == most_bytes - self.sent_bytes:
                self.unsent_chunk, self.unsent_bytes = made, made.size
                break
            with cython.nogil:
                taken = self.send(socket, run.sink, made.size, cython.address(made), 1)
            if taken < 0:
                return taken
            if self.unsent_bytes:
                break
            held = size - run.at
            move_to_front(window, run.at, held)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def note(
        self,
        chunk: cython.pointer(Chunk),
        run: PlainDown,
        began: cython.double,
        at: cython.Py_ssize_t,
        most_bytes: cython.longlong,
    ) -> cython.void:
        """What was made since `began` is a chunk at `at` of the buffer, of which up to `most_bytes` are to go."""
        chunk.stored, chunk.at, chunk.size = self.chunk_at, at, min(run.written, most_bytes)
        chunk.written, chunk.padding = run.written, self.chunk_padding
        chunk.records, chunk.temporary = run.records, run.temporary
        chunk.seconds = now_s() - began

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def send(
        self,
        socket: cython.int,
        made: Sink,
        size: cython.Py_ssize_t,
        chunks: cython.pointer(Chunk),
        count: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Offers what is left of the head and the `size` bytes of so many chunks, and counts those that are taken
        whole, up to the first that is not; an error number below 0."""
        taken: cython.Py_ssize_t
        of_head: cython.Py_ssize_t
        i: cython.Py_ssize_t
        behind: cython.Py_ssize_t
        if self.head_left:
            taken = offer_both(socket, self.head, self.head_left, made, size)
        else:
            taken = offer(socket, made, size)
        if taken < 0:
            return taken
        of_head = min(taken, self.head_left)
        self.head_taken_bytes += of_head
        self.head_left -= of_head
        taken -= of_head
        for i in range(count):
            if taken < chunks[i].size:
                self.unsent_chunk = chunks[i]
                self.unsent_at, self.unsent_bytes, self.unsent_taken_bytes = chunks[i].at, chunks[i].size, taken
                self.needs_codec = self.needs_codec and i == count - 1  # those behind it were made in vain
                for behind in range(i + 1, count):
                    self.seconds += chunks[behind].seconds
                return 0
            taken -= chunks[i].size
            self.end += chunks[i].stored
            self.sent_bytes += chunks[i].size
            self.written_bytes += chunks[i].written
            self.padding_bytes += chunks[i].padding
            self.chunks += 1
            self.records += chunks[i].records
            self.temporary_bytes += chunks[i].temporary
            self.seconds += chunks[i].seconds
        return 0
