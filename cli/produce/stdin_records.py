"""Splits stdin into pieces at delimiters, and parses pieces into records.

A piece is a value, or `key SEPARATOR value`, or a line of JSON (`record_json.py`). No piece may be longer than a bound,
so an input without delimiters does not fill the memory. `--whole` takes all of stdin for one piece.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from ...protocol.records.record import Header
from ..support.escape_sequences import escape
from ..support.record_json import NewRecord, record_from_json

READ_BYTES = 262_144


class DelimitedInput:
    """Splits incoming bytes at delimiters."""

    def __init__(self, delimiter: bytes, most_bytes: int) -> None:
        self._delimiter, self._most_bytes = delimiter, most_bytes
        self._held = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Returns the pieces that `data` completes. Raises: ValueError when a piece is too long."""
        searched = max(0, len(self._held) - len(self._delimiter) + 1)
        self._held += data
        whole: list[bytes] = []
        if self._held.find(self._delimiter, searched) >= 0:
            *whole, rest = bytes(self._held).split(self._delimiter)
            self._held = bytearray(rest)
        if max(map(len, (*whole, self._held))) > self._most_bytes:
            raise ValueError(f"it is longer than {self._most_bytes} bytes; is the delimiter the right one?")
        return whole

    def rest(self) -> list[bytes]:
        """Returns the bytes after the last delimiter as one piece, or no piece."""
        return [bytes(self._held)] if self._held else []


class WholeInput:
    """Collects incoming bytes into one piece."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._held = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Returns no pieces. Raises: ValueError when there is more than fits into a record."""
        self._held += data
        if len(self._held) > self._most_bytes:
            raise ValueError(f"it is longer than {self._most_bytes} bytes; -X max.request.size=BYTES raises the limit")
        return []

    def rest(self) -> list[bytes]:
        """Returns all bytes as one piece, also if there are none."""
        return [bytes(self._held)]


Input = DelimitedInput | WholeInput


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRecordParser:
    """Parses pieces as values, or as keys and values if there is a `separator`."""

    separator: bytes | None = None
    null_value: bytes | None = None
    null_key: bytes | None = None
    key: bytes | None = None
    headers: tuple[Header, ...] = ()
    timestamp: int | None = None

    def parse_record(self, piece: bytes) -> NewRecord:
        """Returns the record of a piece. Raises: ValueError if the separator is missing in it."""
        key, value = self.key, piece
        if self.separator is not None:
            key, found, value = piece.partition(self.separator)
            if not found:
                raise ValueError(f"it has no key separator {escape(self.separator)}")
        return NewRecord(
            timestamp=self.timestamp,
            key=None if key == self.null_key else key,
            value=None if value == self.null_value else value,
            headers=self.headers,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonRecordParser:
    """Parses pieces as JSON. `headers` are added to each record's own; `timestamp` overrides theirs."""

    headers: tuple[Header, ...] = ()
    timestamp: int | None = None

    def parse_record(self, piece: bytes) -> NewRecord:
        """Returns the record of a piece. Raises: ValueError with the fault in it."""
        given = record_from_json(piece)
        return NewRecord(
            topic=given.topic,
            partition=given.partition,
            timestamp=given.timestamp if self.timestamp is None else self.timestamp,
            key=given.key,
            value=given.value,
            headers=given.headers + self.headers,
        )


RecordParser = TextRecordParser | JsonRecordParser


async def read_some(descriptor: int, name: str) -> bytes:
    """Returns the next bytes of a file descriptor, b"" at its end. Raises: OSError with `name` as its file name.

    A daemon thread reads, since an event loop cannot wait for files; a cancelled read leaves it behind.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[bytes] = loop.create_future()

    def settle(end: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody wants it any more
            loop.call_soon_threadsafe(lambda: None if found.done() else end())

    def read() -> None:
        try:
            data = os.read(descriptor, READ_BYTES)
        except OSError as fault:
            error = OSError(fault.errno, fault.strerror, name)
            settle(lambda: found.set_exception(error))
        else:
            settle(lambda: found.set_result(data))

    threading.Thread(target=read, name="stdin", daemon=True).start()
    return await found
