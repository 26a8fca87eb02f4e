"""Files of a ZooKeeper, written by hand: snapshots of nodes, logs of transactions, the nodes of a cluster of Kafka."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from struct import pack
from zlib import adler32

CREATE, DELETE, SET_DATA, SEVERAL, CLOSE_SESSION, FAILED = 1, 2, 5, 14, -11, -1
SESSION = 77

Change = tuple[int, bytes]
"""A type of transaction and its body."""


def text(value: str) -> bytes:
    return buffer(value.encode())


def buffer(value: bytes) -> bytes:
    return pack(">i", len(value)) + value


def create(path: str, data: bytes = b"", *, ephemeral: bool = False) -> Change:
    rules = pack(">ii", 1, 31) + text("world") + text("anyone")
    return CREATE, text(path) + buffer(data) + rules + pack(">?i", ephemeral, 1)


def delete(path: str) -> Change:
    return DELETE, text(path)


def set_data(path: str, data: bytes) -> Change:
    return SET_DATA, text(path) + buffer(data) + pack(">i", 2)


def several(*changes: Change) -> Change:
    return SEVERAL, pack(">i", len(changes)) + b"".join(pack(">i", kind) + buffer(body) for kind, body in changes)


def snapshot(nodes: Mapping[str, bytes], owners: Mapping[str, int] | None = None) -> bytes:
    """The bytes of a snapshot."""
    data = b"ZKSN" + pack(">iq", 2, 0) + pack(">iqi", 1, SESSION, 6000)
    data += pack(">iqii", 1, 1, 1, 31) + text("world") + text("anyone")
    for path, value in {"": b"", **nodes}.items():
        status = pack(">qqqqiiiqq", 1, 1, 1, 1, 0, 0, 0, (owners or {}).get(path, 0), 1)
        data += text(path) + buffer(value) + pack(">q", 1) + status
    data += text("/")
    return data + pack(">q", adler32(data)) + text("/")


def log(first: int, changes: Iterable[Change], padding: int = 64) -> bytes:
    """The bytes of a log whose first transaction is `first`."""
    data = b"ZKLG" + pack(">iq", 2, 0)
    for number, (kind, body) in enumerate(changes):
        body = pack(">qiqqi", SESSION, number, first + number, 1, kind) + body
        data += pack(">q", adler32(body)) + buffer(body) + b"\x42"
    return data + bytes(padding)


def leave(folder: Path, files: Mapping[str, bytes]) -> Path:
    """A data directory with these files."""
    below = folder / "version-2"
    below.mkdir(parents=True)
    for name, data in files.items():
        (below / name).write_bytes(data)
    return folder


def kafka_nodes(topics: Mapping[str, list[tuple[list[int], int, int, list[int]]]], cluster_id: str) -> dict[str, bytes]:
    """The nodes of a cluster: by topic, for each partition replicas, leader, leader epoch and ISR."""
    nodes = {"/cluster/id": {"version": "1", "id": cluster_id}}
    for name, partitions in topics.items():
        path = f"/brokers/topics/{name}"
        nodes[path] = {"version": 1, "partitions": {str(n): each[0] for n, each in enumerate(partitions)}}  # type: ignore[dict-item]
        for number, (_, leader, epoch, isr) in enumerate(partitions):
            state = {"leader": leader, "leader_epoch": epoch, "isr": isr, "controller_epoch": 1, "version": 1}
            nodes[f"{path}/partitions/{number}/state"] = state  # type: ignore[assignment]
    return {path: json.dumps(value).encode() for path, value in nodes.items()}


def with_parents(nodes: Mapping[str, bytes]) -> dict[str, bytes]:
    """The nodes and those above them, parents first."""
    above = {"/".join(path.split("/")[:n]) for path in nodes for n in range(2, path.count("/") + 1)}
    return dict(sorted({**dict.fromkeys(above, b""), **nodes}.items()))
