"""Log directories with damage of all kinds, from a seed: what people copy, restore and keep after a crash.

A sound log of a few segments, of every magic and codec, is written, or taken as a real Kafka has written it; then one
to three damages are done to it. What
the broker noted may be old: how far it was flushed, where it begins, which other partitions there were. In half
of all cases it is in one of two directories of the broker; the other one has a sound partition, and may have a copy.
"""

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple

from stepdown.protocol.errors import CorruptRecord
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from stepdown.storage.directories.log_move import MOVED_MARK
from stepdown.storage.files.checkpoint_file import HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS
from stepdown.storage.files.partition_metadata import FILE_NAME as PARTITION_METADATA

from .log_directories import keyed_records, write_batches
from .logs_of_releases import unpack_log

TOPIC = "topic"
MAX_DAMAGES = 3
_CODECS = {0: (0, 1, 2, 3), 1: (0, 1, 2, 3), 2: (0, 1, 2, 3, 4)}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsoundDirectory:
    """What was made: all records that the log had, what was done to it, and what is noted of it: the log start offset,
    the recovery point, and the offset that it has reached for sure.

    `beside` is the broker's other directory, with a sound partition 1 of `sound` records; `is_twice`: both have a
    partition 0. `gone` is a partition that the checkpoints name and that has no folder, None for none.
    """

    path: Path
    records: dict[int, Record]
    damages: tuple[str, ...]
    log_start: int
    recovery_point: int
    known_end: int
    gone: int | None = None
    beside: Path | None = None
    sound: tuple[int, ...] = ()
    is_twice: bool = False

    @property
    def places(self) -> str:
        """As the option `path` names them."""
        return str(self.path) if self.beside is None else f"{self.path},{self.beside}"

    @property
    def folder(self) -> Path:
        return self.path / f"{TOPIC}-0"


def make_unsound_directory(path: Path, seed: int, release: str | None = None) -> UnsoundDirectory:
    """Make the directory of this seed; the same seed makes the same bytes. `release` is that of the Kafka that wrote
    the log, None for a log from the seed.
    """
    random = Random(seed)
    folder = path / f"{TOPIC}-0"
    records = _write_sound(path, random) if release is None else _unpack_sound(release, folder)
    end = max(records) + 1
    noted = _note_offsets(path, end, random)
    names = random.sample(sorted(DAMAGES), random.randint(1, MAX_DAMAGES))
    done = tuple(name for name in names if _segments(folder) and DAMAGES[name](folder, random) is not False)
    beside = path.with_name(f"{path.name}-beside") if random.random() < 0.5 else None
    second = _SecondDirectory() if beside is None else _write_second(folder, beside, end, random)
    return UnsoundDirectory(
        path=path,
        records=records,
        damages=(*done, *second.damages),
        log_start=noted.log_start,
        recovery_point=noted.recovery_point,
        known_end=noted.recovery_point if (folder / PARTITION_METADATA).exists() else noted.least_end,
        gone=noted.gone,
        beside=beside,
        sound=second.sound,
        is_twice=second.is_twice,
    )


class _Noted(NamedTuple):
    """What is noted of a log, the lower of both ends, and a partition that is gone which the checkpoints name."""

    log_start: int
    recovery_point: int
    least_end: int
    gone: int | None


def _note_offsets(path: Path, end: int, random: Random) -> _Noted:
    """Write checkpoints, of which each may be missing, old, or of a topic of long ago that had the same name."""
    recovery_point = random.choice((0, end, random.randrange(end), end + 7))
    mark = random.choice((None, end, random.randrange(end), end + 7))
    log_start = random.choice((0, 0, 0, random.randrange(end), end + 3))
    gone = random.choice((None, None, 7))
    named_by = random.choice(("both", RECOVERY_POINTS)) if gone is not None else ""
    points, marks = {0: recovery_point} if recovery_point else {}, {} if mark is None else {0: mark}
    if gone is not None:
        points[gone] = 5
        marks |= {gone: 5} if named_by == "both" else {}
    _checkpoint(path, RECOVERY_POINTS, points)
    _checkpoint(path, LOG_STARTS, {0: log_start} if log_start else {})
    if marks:
        _checkpoint(path, HIGH_WATERMARKS, marks)
    least_end = min(recovery_point, recovery_point if mark is None else mark)
    is_sure = gone in marks if marks else gone in points
    return _Noted(log_start, recovery_point, least_end, gone if is_sure else None)


class _SecondDirectory(NamedTuple):
    """What was made in the second directory."""

    damages: tuple[str, ...] = ()
    sound: tuple[int, ...] = ()
    is_twice: bool = False


def _write_second(folder: Path, beside: Path, end: int, random: Random) -> _SecondDirectory:
    """A sound partition 1, and maybe a copy of partition 0, or what is noted of one that has moved away."""
    sound = keyed_records(0, random.randint(1, 20))
    write_batches(beside, TOPIC, 1, [sound])
    what = random.choice(("nothing", "a copy", "a copy that was moved", "a future copy", "a name"))
    copy = beside / folder.name
    if what == "a future copy":
        copy = beside / f"{folder.name}.{random.randbytes(16).hex()}-future"
    if what not in ("nothing", "a name"):
        shutil.copytree(folder, copy)
    if what == "a copy that was moved":
        (copy / MOVED_MARK).write_text(str(folder))
    offsets = {1: sound[-1].offset + 1} | ({0: end} if what == "a name" else {})
    _checkpoint(beside, RECOVERY_POINTS, offsets)
    _checkpoint(beside, HIGH_WATERMARKS, offsets)
    offsets_of_sound = tuple(record.offset for record in sound)
    return _SecondDirectory((f"second directory with {what}",), offsets_of_sound, what == "a copy")


def _write_sound(path: Path, random: Random) -> dict[int, Record]:
    """Write segments of batches without a gap."""
    first = random.choice((0, 0, 1000, 1 << 40))
    offset, records = first, {}
    for _ in range(random.randint(1, 5)):
        magic = random.choice((0, 1, 2, 2, 2))
        codec = Codec(random.choice(_CODECS[magic]))
        base, batches = offset, []
        for _ in range(random.randint(1, 6)):
            count = 1 if magic < 2 and codec is Codec.NONE else random.randint(1, 12)
            batches.append(keyed_records(offset, count, value_bytes=random.choice((0, 20, 300))))
            offset += count
        write_batches(path, TOPIC, 0, batches, base=base, magic=magic, codec=codec)
        records |= {record.offset: record for batch in batches for record in batch}
    return records


def _unpack_sound(release: str, folder: Path) -> dict[int, Record]:
    unpack_log(release, folder)
    return {
        record.offset: record
        for segment in _segments(folder)
        for batch in iter_batches(segment.read_bytes())
        for record in batch.records()
    }


def _checkpoint(path: Path, name: str, offsets: Mapping[int, int]) -> None:
    """Write the offsets by partition."""
    lines = "".join(f"{TOPIC} {partition} {offset}\n" for partition, offset in offsets.items())
    (path / name).write_text(f"0\n{len(offsets)}\n{lines}")


def _segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.log"))


def _any(folder: Path, random: Random) -> Path:
    return random.choice(_segments(folder))


def _remove(path: Path) -> None:
    for suffix in (".log", ".index", ".timeindex"):
        path.with_suffix(suffix).unlink(missing_ok=True)


def _remove_segment(folder: Path, random: Random) -> None:
    _remove(_any(folder, random))


def _empty_segment(folder: Path, random: Random) -> None:
    _any(folder, random).write_bytes(b"")


def _cut_segment(folder: Path, random: Random) -> None:
    path = _any(folder, random)
    data = path.read_bytes()
    path.write_bytes(data[: random.randrange(len(data) + 1)])


def _flip_bytes(folder: Path, random: Random) -> bool:
    path = _any(folder, random)
    data = bytearray(path.read_bytes())
    for _ in range(random.randint(1, 3) if data else 0):
        data[random.randrange(len(data))] ^= random.randint(1, 255)
    path.write_bytes(data)
    return bool(data)


def _zero_bytes(folder: Path, random: Random) -> bool:
    path = _any(folder, random)
    data = bytearray(path.read_bytes())
    if not data:
        return False
    start = random.randrange(len(data))
    size = random.randint(1, min(200, len(data) - start))
    data[start : start + size] = bytes(size)
    path.write_bytes(data)
    return True


def _cut_out_batches(folder: Path, random: Random) -> bool:
    path = _any(folder, random)
    data = path.read_bytes()
    batches = []
    with suppress(CorruptRecord):  # of a damage before
        batches += (bytes(batch.data) for batch in iter_batches(data))
    if not batches:
        return False
    rest = data[sum(map(len, batches)) :]
    at = random.randrange(len(batches))
    del batches[at : at + random.randint(1, 2)]
    path.write_bytes(b"".join(batches) + rest)
    return True


def _insert_bytes(folder: Path, random: Random) -> None:
    path = _any(folder, random)
    data = path.read_bytes()
    at = random.randrange(len(data) + 1)
    path.write_bytes(data[:at] + random.randbytes(random.randint(1, 100)) + data[at:])


def _append_zeros(folder: Path, random: Random) -> None:
    with _segments(folder)[-1].open("ab") as file:
        file.write(bytes(random.randint(1, 5000)))


def _append_garbage(folder: Path, random: Random) -> None:
    with _any(folder, random).open("ab") as file:
        file.write(random.randbytes(random.randint(1, 300)))


def _leave_transient_file(folder: Path, random: Random) -> None:
    path = _any(folder, random)
    suffix = random.choice((".swap", ".cleaned", ".deleted"))
    copy = path.with_name(path.name + suffix)
    shutil.copy(path, copy)
    if random.random() < 0.5:
        path.unlink()


def _spoil_indexes(folder: Path, random: Random) -> None:
    for path in [*folder.glob("*.index"), *folder.glob("*.timeindex")]:
        what = random.choice(("keep", "remove", "zero", "random", "cut"))
        data = path.read_bytes()
        if what == "remove":
            path.unlink()
        elif what != "keep":
            path.write_bytes({"zero": bytes(len(data)), "random": random.randbytes(64), "cut": data[:-3]}[what])


def _copy_segment_under_another_name(folder: Path, random: Random) -> bool:
    path = _any(folder, random)
    base = int(path.stem) + random.randint(1, 5)
    target = folder / f"{base:020}.log"
    if target.exists():
        return False
    shutil.copy(path, target)
    return True


def _remove_all_files(folder: Path, _: Random) -> None:
    for path in folder.iterdir():
        path.unlink()


def _add_folder_that_is_not_served(folder: Path, random: Random) -> None:
    suffix = random.choice(("delete", "future", "stray"))
    shutil.copytree(folder, folder.with_name(f"{folder.name}.{random.randbytes(16).hex()}-{suffix}"))


DAMAGES: dict[str, Callable[[Path, Random], bool | None]] = {
    "remove a segment": _remove_segment,
    "empty a segment": _empty_segment,
    "cut a segment": _cut_segment,
    "flip bytes": _flip_bytes,
    "zero bytes": _zero_bytes,
    "cut out batches": _cut_out_batches,
    "insert bytes": _insert_bytes,
    "append zeros": _append_zeros,
    "append garbage": _append_garbage,
    "leave a transient file": _leave_transient_file,
    "spoil indexes": _spoil_indexes,
    "copy a segment under another name": _copy_segment_under_another_name,
    "remove all files": _remove_all_files,
    "add a folder that is not served": _add_folder_that_is_not_served,
}
"""Each does something to the partition's folder; False: there was nothing to do it to."""
