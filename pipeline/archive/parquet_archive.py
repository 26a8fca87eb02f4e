"""The files of a batch as one commit of a Parquet table, by its manifest, and small files joined to large ones.

Readers that list the folders see batches half written. They see the joined rows twice while a compaction runs; if it is
killed, until the next run. Readers of `_manifest.json` see neither.

| step of a compaction | what a crash after it leaves |
|---|---|
| the names of the joined files are noted as `joining` | files that the next run removes |
| the joined files are written | the same |
| the manifest lists the joined files; the small ones move to its list `replaced` | files that the next run removes |
| the replaced files are removed | |
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.parquet as pq

from ...protocol.errors import DiskFault
from ..places.place_files import PlaceFiles
from .parquet_files import ArchivedFile, GrowingFile, write_atomically
from .parquet_manifest import ListedFile, ParquetManifest, read_manifest, write_manifest

_PLACE = re.compile(r"(?P<partition>\d+)-(?P<first>\d+)\.parquet$")


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinTask:
    """Files of one folder, and the one that they become. `store` are options of the object stores."""

    out: str
    path: str
    sources: tuple[ListedFile, ...]
    store: Mapping[str, str] = field(default_factory=dict, repr=False)


RunJoins = Callable[[Callable[[JoinTask], list[ListedFile]], Sequence[JoinTask], int], list[ListedFile]]
"""Runs a function for each task on the workers, and returns what all return; the number is their bytes together."""


class ParquetArchive:
    """The table at `out`, of which `batches` are noted as done."""

    def __init__(self, files: PlaceFiles, out: str, batches: int) -> None:
        """Raises: BadUsage, DiskFault."""
        self._files = files
        self._out = out
        self._manifest = read_manifest(files, out, batches)
        self._remove_leftovers()

    def has_committed(self, batch: int) -> bool:
        """Whether the batch is committed."""
        return self._manifest.batches > batch

    def commit(self, batch: int, files: Sequence[ArchivedFile]) -> None:
        """Add the files of a batch at once."""
        added = tuple(ListedFile(file.path, file.rows, file.size_bytes) for file in files)
        self._write(replace(self._manifest, batches=batch + 1, files=self._manifest.files + added))

    def compact(self, run: RunJoins, file_bytes: int, store: Mapping[str, str]) -> tuple[int, int]:
        """Join small files of a folder to files of up to `file_bytes`; how many became how many. Raises: DiskFault."""
        tasks = [
            JoinTask(out=self._out, path=f"{folder}/{self._name_of_joined_file(number)}", sources=sources, store=store)
            for number, (folder, sources) in enumerate(group_files_to_join(self._manifest.files, file_bytes))
        ]
        if not tasks:
            return 0, 0
        self._write(replace(self._manifest, joining=tuple(task.path for task in tasks)))
        joined = run(join_files, tasks, sum(source.size_bytes for task in tasks for source in task.sources))
        gone = {source.path for task in tasks for source in task.sources}
        kept = tuple(file for file in self._manifest.files if file.path not in gone)
        self._write(
            ParquetManifest(
                batches=self._manifest.batches,
                compactions=self._manifest.compactions + 1,
                files=(*kept, *sorted(joined)),
                replaced=tuple(sorted(gone)),
            )
        )
        self._remove_leftovers()
        return len(gone), len(tasks)

    def _name_of_joined_file(self, number: int) -> str:
        return f"joined-{self._manifest.compactions:08d}-{number:06d}.parquet"

    def _remove_leftovers(self) -> None:
        """Remove what a compaction has replaced, or what one that died had begun."""
        for path in (*self._manifest.joining, *self._manifest.replaced):
            self._files.remove(f"{self._out}/{path}")
        if self._manifest.joining or self._manifest.replaced:
            self._write(replace(self._manifest, joining=(), replaced=()))

    def _write(self, manifest: ParquetManifest) -> None:
        write_manifest(self._files, self._out, manifest)
        self._manifest = manifest


def group_files_to_join(files: Sequence[ListedFile], file_bytes: int) -> Iterator[tuple[str, tuple[ListedFile, ...]]]:
    """Yield folders and neighbours there, by partition and first offset, that are `file_bytes` together at most."""
    folders: dict[str, list[ListedFile]] = {}
    for file in files:
        folders.setdefault(file.path.rpartition("/")[0], []).append(file)
    for folder, inside in sorted(folders.items()):
        run: list[ListedFile] = []
        left = file_bytes
        for file in sorted(inside, key=_sort_key):
            if file.size_bytes > left:
                if len(run) > 1:
                    yield folder, tuple(run)
                run, left = [], file_bytes
            run.append(file)
            left -= file.size_bytes
        if len(run) > 1:
            yield folder, tuple(run)


def _sort_key(file: ListedFile) -> tuple[int, int, str]:
    """Partition and first offset of a part; joined files come after all parts, in the order that they were made in."""
    found = _PLACE.search(file.path.rpartition("/")[2].removeprefix("part-"))
    is_part = "/part-" in file.path and found is not None
    return (int(found["partition"]), int(found["first"]), "") if is_part and found else (1 << 32, 0, file.path)


def join_files(task: JoinTask) -> list[ListedFile]:
    """Write one file with the rows of the task's. Raises: DiskFault."""
    files = PlaceFiles(task.store, writable=True)
    joined: GrowingFile | None = None
    for source in task.sources:
        path = f"{task.out}/{source.path}"
        data = files.read_whole(path, source.size_bytes)
        if data is None:
            raise DiskFault(f"{path}: the manifest names this file, and it is not there")
        opened = pq.ParquetFile(pa.BufferReader(data))
        joined = joined or GrowingFile(opened.schema_arrow)
        for group in range(opened.num_row_groups):
            for batch in opened.read_row_group(group).to_batches():
                joined.add(batch)
            joined.flush_if_large()
    assert joined is not None
    data = joined.finish()
    folder, _, name = task.path.rpartition("/")
    write_atomically(files, task.out, folder, name, data)
    return [ListedFile(task.path, joined.rows, len(data))]
