"""How one chunk is made: the batches from a place of a slice on, as far as chunk, buffer and good batches reach."""

import contextlib
from dataclasses import dataclass

from ...protocol.errors import ApiError
from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.conversion.compressed_batch import convert_singles
from ...protocol.records.kernel import convert_plain, plan
from ..files.file_slice import FileSlice
from .conversion_rules import ConversionRules, has_to_be_opened, is_for_worker, next_is_for_worker, through_codec
from .read_window import KEPT_BYTES, batch_at, batch_in, read_window


@dataclass(slots=True)
class Made:
    """One chunk: the source position behind it, its size, what it took; whether what is behind it is for a worker.

    `wants_bytes`: the room that the first batch would have needed; `padding_bytes`: how much of it is padding.
    """

    end: int = 0
    size_bytes: int = 0
    records: int = 0
    temporary_bytes: int = 0
    seconds: float = 0.0
    wants_bytes: int = 0
    needs_worker: bool = False
    padding_bytes: int = 0


class ChunkMaking:
    """Makes chunks of `source`; positions are counted from its start."""

    __slots__ = ("_rules", "_source")

    def __init__(self, source: FileSlice, rules: ConversionRules) -> None:
        self._source = source
        self._rules = rules

    def make(self, at: int, out: bytearray | memoryview, *, in_worker: bool, stored_bytes: int) -> Made:
        """The chunk at `at`, of up to `stored_bytes` (more if the first batch has more), in `out`."""
        try:
            if in_worker:
                return self._make_in_worker(at, out, stored_bytes)
            return self._make_plain(at, out, stored_bytes)
        except ApiError:
            return self._make_good(at, out, in_worker)

    def _make_plain(self, at: int, out: bytearray | memoryview, stored_bytes: int) -> Made:
        rules, source = self._rules, self._source
        window = read_window(source, at, stored_bytes)
        read, written, _, records, _, temporary_bytes, has_codec = convert_plain(
            window, 0, rules.target, rules.first_offset, out
        )
        made = Made(
            end=at + read,
            size_bytes=written,
            records=records,
            temporary_bytes=temporary_bytes,
            needs_worker=has_codec,
        )
        if not read and not has_codec:
            self._make_large(made, out, in_worker=False)
        return made

    def _make_large(self, made: Made, out: bytearray | memoryview, *, in_worker: bool) -> None:
        """Adds to an empty `made` the next batch, which is larger than a chunk or than `out`; if there is one, and it
        is not for a worker."""
        header = batch_at(self._source, made.end)
        if header is None:
            return
        if not in_worker and is_for_worker(header, self._rules.target):
            made.needs_worker = True
            return
        self._add(header, read_window(self._source, made.end, header.size_bytes), out, made)

    def _make_in_worker(self, at: int, out: bytearray | memoryview, stored_bytes: int) -> Made:
        """As `_make_plain`, those with a codec opened and closed again; what is not of the usual kind by itself."""
        made = Made(end=at)
        source, target = self._source, self._rules.target
        window = read_window(source, at, stored_bytes)
        while True:
            read, made.size_bytes, records, temporary_bytes = convert_singles(
                window, made.end - at, target, out, made.size_bytes
            )
            made.end = at + read
            made.records += records
            made.temporary_bytes += temporary_bytes
            header = batch_in(window, read, source.position + at)
            if header is None or not self._add(header, window[read : read + header.size_bytes], out, made):
                break
        if made.end == at and not made.wants_bytes:
            self._make_large(made, out, in_worker=True)
        made.needs_worker = next_is_for_worker(source, made.end, target)
        return made

    def _add(self, header: BatchHeader, batch: memoryview, out: bytearray | memoryview, made: Made) -> bool:
        """Whether the batch behind `made` could be put into `out`; if so `made` now covers it."""
        rules = self._rules
        if has_to_be_opened(header, rules.target):
            written, records, temporary_bytes, fits = _through_codec_into(batch, rules, out, made.size_bytes)
            wanted = written
        else:
            read, written, _, records, _, temporary_bytes, _ = convert_plain(
                batch, 0, rules.target, rules.first_offset, out, made.size_bytes
            )
            fits = read > 0
            wanted = plan(batch, rules.target, header.size_bytes)[3] if not fits else 0
        if not fits:
            made.wants_bytes = 0 if made.size_bytes else wanted
            return False
        made.end += header.size_bytes
        made.size_bytes = written
        made.records += records
        made.temporary_bytes += temporary_bytes
        return True

    def _make_good(self, at: int, out: bytearray | memoryview, in_worker: bool) -> Made:
        """The batches before the one that cannot be converted; without any, what is made ends where it begins."""
        made = Made(end=at)
        with contextlib.suppress(ApiError):
            while (header := batch_at(self._source, made.end)) is not None:
                if not in_worker and is_for_worker(header, self._rules.target):
                    made.needs_worker = True
                    return made
                if made.end > at and header.size_bytes > KEPT_BYTES:  # nobody has claimed memory for it
                    break
                batch = read_window(self._source, made.end, header.size_bytes)
                if not self._add(header, batch, out, made):
                    break
        made.needs_worker = in_worker and made.end == at  # else a frame is read, which may be the damage
        return made


def _through_codec_into(
    batch: memoryview, rules: ConversionRules, out: bytearray | memoryview, at: int
) -> tuple[int, int, int, bool]:
    """Where a compressed batch ends in `out` once converted, its records, temporary bytes, whether there was room."""
    converted = through_codec(batch, rules)
    end = at + converted.size_bytes
    if fits := end <= len(out):
        out[at:end] = converted.data
    return end, converted.records, converted.temporary_bytes, fits
