"""Files and objects alike, by path or URI: one object for all places that a job reads and writes.

| scheme | credentials, the first that is there |
|---|---|
| none, file | |
| s3, s3a | options (`aws_access_key_id`, `aws_endpoint`, ...), AWS_* of the environment, ~/.aws (AWS_PROFILE), a role |
| gs | options (`google_service_account`, ...), GOOGLE_* of the environment, gcloud's own file, a role |
| abfss, abfs, az | options (`azure_storage_account_key`, ...), AZURE_* of the environment, the machine's identity |
| http, https | none; only read, folders are listed by WebDAV |

The driver reads environment and profile (`complete_store_options`) and hands what it found to the tasks.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar
from urllib.parse import quote, unquote, urlsplit

from ...storage.files.file_handle import ReadableFile
from ...storage.files.files import DirectoryEntry, Files
from ..failures import BadUsage
from .credentials import SCHEMES, check_option_names, environment_options
from .object_files import ObjectFiles

SEPARATOR = ","
"""Between the log directories of a broker that has several. A path that has one is named as `file:///a%2Cb`."""
LOOKS_AT_ONCE = 16
"""Threads that look at many objects, each of which answers after a round trip."""

_Item = TypeVar("_Item")
_Found = TypeVar("_Found")


def normalize(uri: str) -> str:
    """A path or URI as this room writes it: no slash at its end, a path for `file:`.

    Raises: BadUsage for a scheme that nobody reads.
    """
    scheme, separator, _ = uri.partition(":")
    if scheme == "file" and separator:
        return unquote(urlsplit(uri).path).rstrip("/") or "/"
    if is_remote(uri) and scheme not in SCHEMES:
        raise BadUsage(f"{uri}: a place is a path or begins with file://, {', '.join(f'{s}://' for s in SCHEMES)}")
    return uri.rstrip("/") or uri


def split_places(text: str) -> tuple[str, ...]:
    """Places that are comma-separated, as in `log.dirs`, each as `normalize` gives it. Raises: BadUsage."""
    return tuple(normalize(uri.strip()) for uri in text.split(SEPARATOR) if uri.strip())


def join_places(places: Iterable[str]) -> str:
    """Joins places to one comma-separated text, which `split_places` splits again."""
    return SEPARATOR.join(f"file://{quote(place)}" if SEPARATOR in place else place for place in places)


def is_remote(uri: str) -> bool:
    """Whether this is no path of a file system."""
    return "://" in uri


def complete_store_options(uris: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """The options for these places: those given, then what this process's environment and profile say.

    Raises: BadUsage for a given option that no store has.
    """
    found = {name.lower(): value for name, value in given.items()}
    check_option_names(found)
    for uri in uris:
        if is_remote(uri):
            found = environment_options(urlsplit(uri).scheme, found) | found
    return found


class PlaceFiles:
    """Reads, and where `writable` writes, any place. Paths are as `normalize` gives them.

    A test may put `local` in the place of the disk.
    """

    def __init__(
        self, options: Mapping[str, str] | None = None, *, writable: bool = False, local: Files | None = None
    ) -> None:
        self._options = options or {}
        self._local = local or Files(read_only=not writable)
        self._stores: dict[str, ObjectFiles] = {}

    def files_for(self, path: str) -> Files | ObjectFiles:
        """What does the work for this path."""
        if not is_remote(path):
            return self._local
        parts = urlsplit(path)
        root = f"{parts.scheme}://{parts.netloc}"
        found = self._stores.get(root)
        if found is None:
            found = self._stores[root] = ObjectFiles(root, self._options)
        return found

    def handle(self, path: str, read_to: int = 0, version: Hashable = None) -> ReadableFile:
        """The file for reading; an object is fetched ahead in order, up to `read_to` at most, and has to be the
        `version` that its folder's entry told.
        """
        files = self.files_for(path)
        return files.handle(path) if isinstance(files, Files) else files.handle(path, read_to, version)

    def read_whole(self, path: str, limit: int) -> bytes | None:
        """A small file, None when there is none. Raises: DiskFault."""
        return self.files_for(path).read_whole(path, limit)

    def entries(self, path: str) -> list[DirectoryEntry]:
        """What is in the folder, ordered by name. Raises: DiskFault."""
        return self.files_for(path).entries(path)

    def folder_entries(self, path: str) -> list[DirectoryEntry] | None:
        """What is in the folder, None where there is none; an object store is asked once. Raises: DiskFault."""
        if is_remote(path):
            return self.entries(path) or None
        return self.entries(path) if self.is_directory(path) else None

    def is_directory(self, path: str) -> bool:
        return self.files_for(path).is_directory(path)

    def exists(self, path: str) -> bool:
        return self.files_for(path).exists(path)

    def size(self, path: str) -> int:
        """Raises: DiskFault."""
        return self.files_for(path).size(path)

    def mtime_ms(self, path: str) -> int:
        """Raises: DiskFault."""
        return self.files_for(path).mtime_ms(path)

    def absolute(self, path: str) -> str:
        """One name for one folder."""
        return self.files_for(path).absolute(path)

    def replace(self, path: str, data: bytes) -> None:
        """Put `data` in place of the file at once. Raises: DiskFault."""
        self.files_for(path).replace(path, data)

    def remove(self, path: str) -> bool:
        """Returns whether there was such a file. Raises: DiskFault."""
        return self.files_for(path).remove(path)

    def make_directory(self, path: str) -> None:
        """Make the folder and those above it; an object store needs none. Raises: DiskFault."""
        self.files_for(path).make_directory(path)

    def map_items(self, look: Callable[[_Item], _Found], items: Iterable[_Item], *, near: str) -> list[_Found]:
        """`look` of each item in order, many at once where `near`, a path of theirs, is in an object store."""
        if not is_remote(near):
            return [look(item) for item in items]
        with ThreadPoolExecutor(LOOKS_AT_ONCE) as threads:
            return list(threads.map(look, items))

    def map_groups(
        self, look: Callable[[_Item], _Found], groups: Sequence[Sequence[_Item]], *, near: str
    ) -> list[tuple[_Found, ...]]:
        """Calls `map_items` for the items of all groups together; returns what was found, by group."""
        found = iter(self.map_items(look, [item for group in groups for item in group], near=near))
        return [tuple(islice(found, len(group))) for group in groups]
