"""`partition.metadata`: a file in each log's folder, with the id of the topic.

    version: 0
    topic_id: Q2x6TqCvQ1KJPgMHkWsTVw      base64url of the 16 bytes, no padding; no newline at the end

Source: Kafka 3.9 `PartitionMetadataFile` (KIP-516).
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64
from functools import lru_cache
from uuid import UUID

from ...protocol.errors import DiskFault
from .checkpoint_file import SmallFileReader
from .files import Files

FILE_NAME = "partition.metadata"
_MAX_BYTES = 4096


def encode_uuid(value: UUID) -> str:
    """The 22 characters Kafka writes for a UUID."""
    return urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def decode_uuid(text: str) -> UUID:
    """Decodes the UUID in 22 base64url characters.

    Raises: ValueError.
    """
    try:
        return UUID(bytes=urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (BadBase64, ValueError) as fault:
        raise ValueError(f"not a base64url UUID: {text[:40]!r}") from fault


def read_topic_id(files: SmallFileReader, directory: str) -> UUID | None:
    """The topic id of the log in `directory`; None when there is no file.

    Raises: DiskFault when the file cannot be understood.
    """
    path = f"{directory}/{FILE_NAME}"
    data = files.read_whole(path, _MAX_BYTES)
    if data is None:
        return None
    try:
        return _parse(data)
    except ValueError as fault:
        raise DiskFault(f"{path}: {fault}") from fault


@lru_cache(maxsize=16)  # folders are opened in the order of their names, so those of one topic follow each other
def _parse(data: bytes) -> UUID:
    """Raises: ValueError."""
    fields = dict(line.split(":", 1) for line in data.decode("utf-8", "replace").split("\n") if ":" in line)
    version, topic_id = fields.get("version", "").strip(), fields.get("topic_id", "").strip()
    if version != "0":
        raise ValueError(f"`version: 0` expected, found {version!r}")
    try:
        return decode_uuid(topic_id)
    except ValueError as fault:
        raise ValueError(f"topic_id: {fault}") from fault


def write_topic_id(files: Files, directory: str, topic_id: UUID, *, sync: bool = True) -> None:
    """Replaces the file, and syncs it unless `sync` is false.

    Raises: DiskFault.
    """
    files.replace(f"{directory}/{FILE_NAME}", _encode(topic_id), sync=sync)


def write_temporary_topic_id(files: Files, directory: str, topic_id: UUID) -> None:
    """Writes the temporary file that `rename_temporary_topic_id` puts in place. Raises: DiskFault."""
    files.write_temporary(f"{directory}/{FILE_NAME}", _encode(topic_id))


def rename_temporary_topic_id(files: Files, directory: str, *, sync: bool = True) -> None:
    """Puts the temporary file in place, and syncs it unless `sync` is false. Raises: DiskFault."""
    files.rename_temporary(f"{directory}/{FILE_NAME}", sync=sync)


def has_topic_id(files: SmallFileReader, directory: str, topic_id: UUID) -> bool:
    """Whether the file exists and has exactly this topic id; False also for a damaged file.

    Raises: DiskFault when it cannot be read.
    """
    return files.read_whole(f"{directory}/{FILE_NAME}", _MAX_BYTES) == _encode(topic_id)


def _encode(topic_id: UUID) -> bytes:
    return f"version: 0\ntopic_id: {encode_uuid(topic_id)}".encode()
