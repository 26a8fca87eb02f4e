"""An object store with the calls of `storage.files.Files` that the pipeline uses, over obstore.

Files are objects, folders are prefixes; an object is there whole or not at all, so `replace` and `create` are a put.
Failed requests are tried again with growing pauses (5xx, timeouts, broken connections); what remains is a DiskFault.
It is also a DiskFault if an object was replaced after it was listed, or while a handle reads it: its parts would come
from two versions.
"""

import re
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ...protocol.errors import DiskFault
from ...storage.files.files import DirectoryEntry
from ..durations import parse_seconds
from ..failures import BadUsage
from .object_version import ObjectVersion, VersionCheck
from .ranged_file import RangedFile
from .store_errors import store_errors_as_disk_faults

RETRIES = 10
RETRY_FOR = timedelta(minutes=2)
"""How long a request and what is tried again of it take at most; the option `retry_timeout` changes it."""
READ_TIMEOUT = timedelta(seconds=30)
"""How long a server may send nothing before a request counts as failed; the option `read_timeout` changes it."""
FIRST_PAUSE = timedelta(milliseconds=100)
LONGEST_PAUSE = timedelta(seconds=5)
PAUSE_GROWTH = 3
"""At most; the library draws each pause, and all of them together take 10 to 20 s."""
READS_AHEAD = 4
"""Threads that fetch ahead, for all files of one task."""

_CUT = "HTTP error: request or response body error"
_URL = re.compile(r"https?://[^\s/]+")
_Answer = TypeVar("_Answer")
_PREFIXES = {"s3": "aws_", "s3a": "aws_", "gs": "google_", "abfss": "azure_", "abfs": "azure_", "az": "azure_"}
"""By scheme, how the names of its options begin."""


class ObjectFiles:
    """Objects under the URIs of one bucket or host. `fetched_bytes` and `requests` count what was read."""

    def __init__(self, uri: str, options: Mapping[str, str]) -> None:
        parts = urlsplit(uri)
        self._root = f"{parts.scheme}://{parts.netloc}"
        self._retry_for = _time_option(options, "retry_timeout", RETRY_FOR)
        self._store = _open_store(self._root, options, self._retry_for)
        self._ahead = ThreadPoolExecutor(READS_AHEAD, thread_name_prefix="fetch-ahead")
        self._count = threading.Lock()
        self.fetched_bytes = 0
        self.requests = 0

    def handle(self, path: str, read_to: int = 0, version: Hashable = None) -> RangedFile:
        """The object, read in order up to `read_to` at most. Does not check that it exists: reading raises DiskFault if
        it is missing, or no longer the `version` that was listed.
        """
        check = VersionCheck(path, version if isinstance(version, ObjectVersion) else None)
        return RangedFile(path, lambda start, end: self._fetch_range(check, start, end), self._ahead, read_to)

    def read_whole(self, path: str, limit: int) -> bytes | None:
        """The bytes of a small object, None when there is none. Raises: DiskFault, also above `limit` bytes."""
        import obstore

        try:
            with store_errors_as_disk_faults(path):
                found = self._send_with_retries(lambda: obstore.get(self._store, self._key(path)))
                if found.meta["size"] > limit:
                    raise DiskFault(f"{path}: longer than the {limit} bytes such a file may have")
                data = bytes(found.bytes())
        except DiskFault as fault:
            if isinstance(fault.__cause__, FileNotFoundError):
                return None
            raise
        self._count_request(len(data))
        return data

    def entries(self, path: str) -> list[DirectoryEntry]:
        """What is under the prefix, ordered by name."""
        import obstore

        with store_errors_as_disk_faults(path):
            found = self._send_with_retries(lambda: obstore.list_with_delimiter(self._store, self._key(path)))
        self._count_request(0)
        names = [
            DirectoryEntry(name=_last_part(each), is_directory=True, size_bytes=0) for each in found["common_prefixes"]
        ]
        names += [
            DirectoryEntry(_last_part(each["path"]), False, each["size"], ObjectVersion.of(each))
            for each in found["objects"]
        ]
        return sorted(names, key=lambda entry: entry.name)

    def is_directory(self, path: str) -> bool:
        """Whether anything is under the prefix."""
        return bool(self.entries(path))

    def size(self, path: str) -> int:
        return int(self._request_head(path)["size"])

    def mtime_ms(self, path: str) -> int:
        """When the object was written, in ms since 1970."""
        return int(self._request_head(path)["last_modified"].timestamp() * 1000)

    def exists(self, path: str) -> bool:
        try:
            self._request_head(path)
        except DiskFault as fault:
            if isinstance(fault.__cause__, FileNotFoundError):
                return False
            raise
        return True

    def replace(self, path: str, data: bytes) -> None:
        """Put `data` in place of the object at once."""
        import obstore

        with store_errors_as_disk_faults(path):
            obstore.put(self._store, self._key(path), data)

    def upload(self, path: str, file: str) -> None:
        """Put a local file in place of the object, in parts; it is there when the last part is."""
        from pathlib import Path

        import obstore

        with store_errors_as_disk_faults(path):
            obstore.put(self._store, self._key(path), Path(file))

    def remove(self, path: str) -> bool:
        """Returns whether there was an object to remove."""
        import obstore

        if not self.exists(path):
            return False
        with store_errors_as_disk_faults(path):
            obstore.delete(self._store, self._key(path))
        return True

    def make_directory(self, path: str) -> None:
        """Nothing: a prefix is there as soon as an object is."""

    def absolute(self, path: str) -> str:
        return path

    def _request_head(self, path: str) -> Any:
        import obstore

        with store_errors_as_disk_faults(path):
            return self._send_with_retries(lambda: obstore.head(self._store, self._key(path)))

    def _fetch_range(self, version: VersionCheck, start: int, end: int) -> memoryview:
        import obstore

        with store_errors_as_disk_faults(version.path):
            key = self._key(version.path)
            found = self._send_with_retries(lambda: obstore.get(self._store, key, options={"range": (start, end)}))
            version.check_is_same(found.meta)
            data = memoryview(found.bytes())
        self._count_request(len(data))
        return data

    def _send_with_retries(self, send: Callable[[], _Answer]) -> _Answer:
        """The answer of a request that changes nothing. The library asks again for the rest of an object, and not for
        that of a list or of a refusal.
        """
        from obstore.exceptions import GenericError

        give_up_s = time.monotonic() + self._retry_for.total_seconds()
        for number in range(RETRIES):
            try:
                return send()
            except GenericError as error:
                if _CUT not in str(error) or time.monotonic() >= give_up_s:
                    raise
            time.sleep(FIRST_PAUSE.total_seconds() * (number + 1))
        return send()

    def _count_request(self, size: int) -> None:
        with self._count:
            self.fetched_bytes += size
            self.requests += 1

    def _key(self, path: str) -> str:
        return path.removeprefix(self._root).strip("/")


def _last_part(key: str) -> str:
    return key.rstrip("/").rpartition("/")[2]


def _time_option(options: Mapping[str, str], name: str, default: timedelta) -> timedelta:
    """An option that is a time. Raises: BadUsage."""
    text = options.get(name)
    if text is None:
        return default
    seconds = parse_seconds(text)
    if seconds is None:
        raise BadUsage(f"the option {name} of the store is a time like 30s or 2m, not {text!r}")
    return timedelta(seconds=seconds)


def _open_store(root: str, options: Mapping[str, str], retry_for: timedelta) -> Any:
    """Raises: BadUsage for an endpoint that is no URL; DiskFault for options that the store does not know."""
    from obstore.store import from_url

    prefix = _PREFIXES.get(root.partition(":")[0], "none")
    config = {name: value for name, value in options.items() if name.startswith(prefix)}
    allowed = config.pop(f"{prefix}allow_http", options.get("allow_http", "false"))  # of the client, not of the store
    for name in config:
        if name.endswith("endpoint") and not _URL.match(config[name]):
            raise BadUsage(f"the option {name} is a URL like http://127.0.0.1:9000, not {config[name]!r}")
    plain = root.startswith("http:") or any(value.startswith("http:") for value in config.values())
    client = {
        "allow_http": plain or allowed.strip().lower() in {"true", "1"},
        "read_timeout": _time_option(options, "read_timeout", READ_TIMEOUT),
        "timeout": retry_for,  # a slow answer may take as long as all tries together
    }
    backoff = {"init_backoff": FIRST_PAUSE, "max_backoff": LONGEST_PAUSE, "base": PAUSE_GROWTH}
    retry = {"backoff": backoff, "max_retries": RETRIES, "retry_timeout": retry_for}
    with store_errors_as_disk_faults(root):
        return from_url(root, config=config or None, client_options=client, retry_config=retry)  # type: ignore[call-overload]
