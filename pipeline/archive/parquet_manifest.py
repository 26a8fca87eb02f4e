"""`_manifest.json` beside a Parquet table: its files, for readers that want all of a batch or nothing.

| member | what |
|---|---|
| batches | how many batches are in `files` |
| compactions | how many compactions there were, which the names of joined files count |
| files | path, rows (null where an earlier version wrote it) and bytes of each file |
| joining | files that a compaction is writing: no part of the table yet |
| replaced | files that joined ones have replaced, and that are being removed |

The file is replaced at once. What a run that died has left in `joining` and `replaced` the next one removes.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..failures import BadUsage
from ..places.place_files import PlaceFiles

FILE_NAME = "_manifest.json"
MAX_BYTES = 1 << 30

_PART = re.compile(r"part-(?P<batch>\d{8})-\d+-\d+\.parquet")


class ListedFile(NamedTuple):
    """A file of the table; `path` counts from the table's."""

    path: str
    rows: int | None
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetManifest:
    """What `_manifest.json` says."""

    batches: int = 0
    compactions: int = 0
    files: tuple[ListedFile, ...] = ()
    joining: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()


def read_manifest(files: PlaceFiles, out: str, batches: int) -> ParquetManifest:
    """The manifest of the table; of one that an earlier version wrote, `batches` of it, what its folders have.

    Raises: BadUsage for what this version does not write; DiskFault.
    """
    path = f"{out}/{FILE_NAME}"
    data = files.read_whole(path, MAX_BYTES)
    if data is None:
        found = _list_parts(files, out, batches) if batches else ()
        return ParquetManifest(batches=batches, files=tuple(found))
    try:
        known = json.loads(data)
        return ParquetManifest(
            batches=int(known["batches"]),
            compactions=int(known["compactions"]),
            files=tuple(ListedFile(each["path"], each["rows"], each["bytes"]) for each in known["files"]),
            joining=tuple(known["joining"]),
            replaced=tuple(known["replaced"]),
        )
    except (ValueError, KeyError, TypeError) as fault:
        raise BadUsage(f"{path} is not what this version writes ({fault!r}): archive into another folder") from fault


def write_manifest(files: PlaceFiles, out: str, manifest: ParquetManifest) -> None:
    """Replace the file. Raises: DiskFault."""
    known: dict[str, Any] = {
        "batches": manifest.batches,
        "compactions": manifest.compactions,
        "joining": manifest.joining,
        "replaced": manifest.replaced,
        "files": [{"path": each.path, "rows": each.rows, "bytes": each.size_bytes} for each in manifest.files],
    }
    files.make_directory(out)
    files.replace(f"{out}/{FILE_NAME}", json.dumps(known, indent=1).encode() + b"\n")


def _list_parts(files: PlaceFiles, out: str, batches: int) -> Iterable[ListedFile]:
    """Yield the files of the first `batches` batches, by what the folders have."""
    topics = _list_folders(files, out, "topic=")
    folders = [f"{topic}/{day}" for topic in topics for day in _list_folders(files, f"{out}/{topic}", "date=")]
    entries = files.map_items(lambda folder: files.entries(f"{out}/{folder}"), folders, near=out)
    for folder, inside in zip(folders, entries, strict=True):
        for entry in inside:
            part = _PART.fullmatch(entry.name)
            if part is not None and int(part["batch"]) < batches:
                yield ListedFile(f"{folder}/{entry.name}", None, entry.size_bytes)


def _list_folders(files: PlaceFiles, path: str, prefix: str) -> list[str]:
    return [entry.name for entry in files.entries(path) if entry.is_directory and entry.name.startswith(prefix)]
