"""`meta.properties`: the node and cluster that a log directory belongs to.

    version=0    broker.id, cluster.id (may be missing)          a broker that used ZooKeeper
    version=1    node.id, cluster.id, directory.id (may be missing; base64url UUID)      KRaft

Both are read; version 1 is written. Source: Kafka 3.9 `MetaProperties`, `MetaPropertiesEnsemble`.
"""

from dataclasses import dataclass
from uuid import UUID

from ...protocol.errors import DiskFault
from ..files.files import Files
from ..files.partition_metadata import decode_uuid, encode_uuid

FILE_NAME = "meta.properties"
_MAX_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """The identity in one log directory; -1 or None for a value that the file lacks."""

    version: int
    node_id: int = -1
    cluster_id: str | None = None
    directory_id: UUID | None = None


def read_meta_properties(files: Files, directory: str) -> MetaProperties | None:
    """Reads the file in `directory`; None when there is none.

    Raises: DiskFault when a value is missing or cannot be understood.
    """
    path = f"{directory}/{FILE_NAME}"
    data = files.read_whole(path, _MAX_BYTES)
    return None if data is None else _parse(path, data.decode("utf-8", "replace"))


def _parse(path: str, text: str) -> MetaProperties:
    fields = _parse_properties(text)
    version = _parse_number(path, fields, "version")
    if version not in (0, 1):
        raise DiskFault(f"{path}: version 0 or 1 expected, found {version}")
    id_key = "broker.id" if version == 0 else "node.id"
    if version == 1 and (id_key not in fields or "cluster.id" not in fields):
        raise DiskFault(f"{path}: version 1 needs node.id and cluster.id")
    try:
        directory_id = decode_uuid(fields["directory.id"]) if "directory.id" in fields else None
    except ValueError as fault:
        raise DiskFault(f"{path}: directory.id: {fault}") from fault
    return MetaProperties(
        version=version,
        node_id=_parse_number(path, fields, id_key) if id_key in fields else -1,
        cluster_id=fields.get("cluster.id"),
        directory_id=directory_id,
    )


def _parse_properties(text: str) -> dict[str, str]:
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line and line[0] not in "#!")
    # Java escapes ':' and '=' in values.
    return {key.strip(): value.strip().replace("\\", "") for key, _, value in pairs}


def _parse_number(path: str, fields: dict[str, str], key: str) -> int:
    try:
        return int(fields.get(key, ""))
    except ValueError as fault:
        raise DiskFault(f"{path}: {key} should be a number, found {fields.get(key)!r}") from fault


def write_meta_properties(files: Files, directory: str, properties: MetaProperties) -> None:
    """Replaces the file by one of version 1 with these properties, and syncs it.

    Raises: DiskFault.
    """
    lines = ["version=1", f"node.id={properties.node_id}", f"cluster.id={properties.cluster_id}"]
    if properties.directory_id is not None:
        lines.append(f"directory.id={encode_uuid(properties.directory_id)}")
    files.replace(f"{directory}/{FILE_NAME}", ("\n".join(lines) + "\n").encode())
