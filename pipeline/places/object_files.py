"""An object store with the calls of `storage.files.Files` that the pipeline uses, over obstore.

Files are objects, folders are prefixes; an object is there whole or not at all, so `replace` and `create` are a put.
Failed requests are tried again with growing pauses (5xx, timeouts, broken connections); what remains is a DiskFault.
"""

import re
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from ...protocol.errors import DiskFault
from ...storage.files.files import DirectoryEntry
from ..failures import BadUsage
from .ranged_file import RangedFile

RETRIES = 10
RETRY_FOR = timedelta(minutes=2)
FIRST_PAUSE = timedelta(milliseconds=100)
LONGEST_PAUSE = timedelta(seconds=5)
PAUSE_GROWTH = 3
"""At most; the library draws each pause, and all of them together take 10 to 20 s."""
READS_AHEAD = 4
"""Threads that fetch ahead, for all files of one task."""

_URL = re.compile(r"https?://[^\s/]+")
_PREFIXES = {"s3": "aws_", "s3a": "aws_", "gs": "google_", "abfss": "azure_", "abfs": "azure_", "az": "azure_"}
"""By scheme, how the names of its options begin."""


class ObjectFiles:
    """Objects under the URIs of one bucket or host. `fetched_bytes` and `requests` count what was read."""

    def __init__(self, uri: str, options: Mapping[str, str]) -> None:
        parts = urlsplit(uri)
        self._root = f"{parts.scheme}://{parts.netloc}"
        self._store = _open_store(self._root, options)
        self._ahead = ThreadPoolExecutor(READS_AHEAD, thread_name_prefix="fetch-ahead")
        self._count = threading.Lock()
        self.fetched_bytes = 0
        self.requests = 0

    def handle(self, path: str, read_to: int = 0) -> RangedFile:
        """The object, read in order up to `read_to` at most. It need not exist: reading tells."""
        return RangedFile(path, lambda start, end: self._fetch(path, start, end), self._ahead, read_to)

    def read_whole(self, path: str, limit: int) -> bytes | None:
        """The bytes of a small object, None when there is none. Raises: DiskFault, also above `limit` bytes."""
        import obstore

        try:
            with _store_errors(path):
                found = obstore.get(self._store, self._key(path))
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

        with _store_errors(path):
            found = obstore.list_with_delimiter(self._store, self._key(path))
        self._count_request(0)
        names = [DirectoryEntry(name=_name(each), is_directory=True, size_bytes=0) for each in found["common_prefixes"]]
        names += [
            DirectoryEntry(name=_name(each["path"]), is_directory=False, size_bytes=each["size"])
            for each in found["objects"]
        ]
        return sorted(names, key=lambda entry: entry.name)

    def is_directory(self, path: str) -> bool:
        """Whether anything is under the prefix."""
        return bool(self.entries(path))

    def size(self, path: str) -> int:
        return int(self._head(path)["size"])

    def mtime_ms(self, path: str) -> int:
        """When the object was written, in ms since 1970."""
        return int(self._head(path)["last_modified"].timestamp() * 1000)

    def exists(self, path: str) -> bool:
        try:
            self._head(path)
        except DiskFault as fault:
            if isinstance(fault.__cause__, FileNotFoundError):
                return False
            raise
        return True

    def replace(self, path: str, data: bytes) -> None:
        """Put `data` in place of the object at once."""
        import obstore

        with _store_errors(path):
            obstore.put(self._store, self._key(path), data)

    def upload(self, path: str, file: str) -> None:
        """Put a local file in place of the object, in parts; it is there when the last part is."""
        from pathlib import Path

        import obstore

        with _store_errors(path):
            obstore.put(self._store, self._key(path), Path(file))

    def remove(self, path: str) -> bool:
        """Whether there was an object to remove."""
        import obstore

        if not self.exists(path):
            return False
        with _store_errors(path):
            obstore.delete(self._store, self._key(path))
        return True

    def make_directory(self, path: str) -> None:
        """Nothing: a prefix is there as soon as an object is."""

    def absolute(self, path: str) -> str:
        return path

    def _head(self, path: str) -> Any:
        import obstore

        with _store_errors(path):
            return obstore.head(self._store, self._key(path))

    def _fetch(self, path: str, start: int, end: int) -> memoryview:
        import obstore

        with _store_errors(path):
            data = memoryview(obstore.get_range(self._store, self._key(path), start=start, end=end))
        self._count_request(len(data))
        return data

    def _count_request(self, size: int) -> None:
        with self._count:
            self.fetched_bytes += size
            self.requests += 1

    def _key(self, path: str) -> str:
        return path.removeprefix(self._root).strip("/")


def _name(key: str) -> str:
    return key.rstrip("/").rpartition("/")[2]


def _open_store(root: str, options: Mapping[str, str]) -> Any:
    """Raises: BadUsage for an endpoint that is no URL; DiskFault for options that the store does not know."""
    from obstore.store import from_url

    prefix = _PREFIXES.get(root.partition(":")[0], "none")
    config = {name: value for name, value in options.items() if name.startswith(prefix)}
    allowed = config.pop(f"{prefix}allow_http", options.get("allow_http", "false"))  # of the client, not of the store
    for name in config:
        if name.endswith("endpoint") and not _URL.match(config[name]):
            raise BadUsage(f"the option {name} is a URL like http://127.0.0.1:9000, not {config[name]!r}")
    plain = root.startswith("http:") or any(value.startswith("http:") for value in config.values())
    client = {"allow_http": plain or allowed.strip().lower() in {"true", "1"}}
    backoff = {"init_backoff": FIRST_PAUSE, "max_backoff": LONGEST_PAUSE, "base": PAUSE_GROWTH}
    retry = {"backoff": backoff, "max_retries": RETRIES, "retry_timeout": RETRY_FOR}
    with _store_errors(root):
        return from_url(root, config=config or None, client_options=client, retry_config=retry)  # type: ignore[call-overload]


@contextmanager
def _store_errors(path: str) -> Iterator[None]:
    """Turn the store's errors into DiskFault, with FileNotFoundError as the cause where nothing is there."""
    from obstore.exceptions import BaseError, NotFoundError

    try:
        yield
    except (NotFoundError, FileNotFoundError) as missing:
        raise DiskFault(f"{path}: no such object") from FileNotFoundError(str(missing))
    except (BaseError, OSError) as error:
        raise DiskFault(f"{path}: {_reason(str(error).strip())}") from error


_REQUEST = re.compile(
    r"Error performing (?P<request>[A-Z]+ [^\s?]+)\S* in \S+?,?(?: after (?P<retries>\d+) retries.*?)? - "
)


_CODE = re.compile(r"<Code>(?P<code>[^<]+)</Code>(?:\s*<Message>(?P<message>[^<]+))?")
_ROLE = re.compile(r"//(169\.254\.169\.254|metadata\.google\.internal|169\.254\.170\.2)\b")
"""Where machines of the providers ask for the credentials of their role."""


def _reason(text: str) -> str:
    """What the store said, without the library's own words about it; what to do where access is denied."""
    said = text.partition("\n\nDebug source")[0]
    line = said.partition("\n")[0].partition("<")[0].rstrip(": ")  # without XML, of which _CODE has what counts
    found, code = _REQUEST.search(line), _CODE.search(said)
    if found is not None and _ROLE.search(found["request"]):
        return f"no credentials: none in options of the store, environment or profile, and no role ({found['request']})"
    if found is not None:
        tries = f", after {found['retries']} retries" if found["retries"] else ""
        line = f"{found['request']}: {line[found.end() :].rstrip(': ')}{tries}"
    if code is not None:
        line += ": " + ", ".join(filter(None, (code["code"], code["message"])))
    denied = any(each in line for each in ("401 Unauthorized", "403 Forbidden"))
    return line[:300] + ("; set credentials by options of the store or the environment" if denied else "")
