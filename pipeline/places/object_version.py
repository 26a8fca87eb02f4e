"""Which bytes an object has: an object store tells it with a list, and with each answer that has some of them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...protocol.errors import DiskFault


class ObjectVersion(NamedTuple):
    """The ETag, None where the store has none, the second since 1970 of the last write, and the size of the object."""

    e_tag: str | None
    modified_s: int
    size_bytes: int

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> "ObjectVersion":
        """Makes the version from the metadata that the library gives. Lists of Azure have ETags without the quotes that
        answers have, and lists of S3 have times with the milliseconds that answers lack.
        """
        tag = meta["e_tag"]
        return cls(
            e_tag=tag.removeprefix("W/").strip('"') if tag else None,
            modified_s=int(meta["last_modified"].timestamp()),
            size_bytes=int(meta["size"]),
        )

    def is_same(self, other: "ObjectVersion") -> bool:
        """Whether the bytes are the same; by the time of the write where one of both has no ETag."""
        if self.size_bytes != other.size_bytes:
            return False
        if self.e_tag is None or other.e_tag is None:
            return self.modified_s == other.modified_s
        return self.e_tag == other.e_tag


class VersionCheck:
    """Holds what is read of the object at `path` to one version: `version`, or where that is None the first one met,
    maybe in two threads at once.
    """

    def __init__(self, path: str, version: ObjectVersion | None) -> None:
        self.path = path
        self._met = {} if version is None else {"version": version}

    def check_is_same(self, meta: Mapping[str, Any]) -> None:
        """Raises: DiskFault for another version."""
        found = ObjectVersion.of(meta)
        if not self._met.setdefault("version", found).is_same(found):
            raise DiskFault(f"{self.path}: was replaced while it was read; read it again")
