"""`snapshot.<zxid in hex>`: all nodes of a ZooKeeper, written while it kept working.

    int32 "ZKSN"   int32 version 2   int64 database id
    int32 count of sessions:         int64 session, int32 timeout
    int32 count of ACL lists:        int64 number, int32 count: int32 permissions, text scheme, text id
    nodes until the path "/":        text path, buffer data, int64 ACL list, 60 bytes of status
    int64 Adler-32 of all before it  text "/"

The path of the root is empty. The snapshot may have later transactions already; they are applied again. The digests
after it, since ZooKeeper 3.6, are ignored. Source: ZooKeeper 3.4 and 3.8 `FileSnap`, `DataTree`.
"""

from .jute_reader import JuteFile, JuteReader, MalformedJute
from .znode_tree import ROOT, ZnodeTree

MAGIC = b"ZKSN"
VERSION = 2
_OWNER_AT = 44
_STATUS_BYTES = 60


class DamagedSnapshot(ValueError):
    """The snapshot is incomplete or damaged."""


def read_snapshot(reader: JuteFile) -> ZnodeTree:
    """Reads the nodes of the snapshot. Raises: DamagedSnapshot; DiskFault."""
    try:
        if bytes(reader.take(4)) != MAGIC or reader.read_int() != VERSION:
            raise DamagedSnapshot("it does not begin as a snapshot of ZooKeeper")
        reader.read_long()
        _skip_sessions_and_acls(reader)
        tree = _read_nodes(reader)
        found = reader.checksum
        expected = reader.read_long()
    except MalformedJute as fault:
        raise DamagedSnapshot(str(fault)) from fault
    if expected != found:
        raise DamagedSnapshot("its checksum is wrong")
    return tree


def _skip_sessions_and_acls(reader: JuteReader) -> None:
    for _ in range(reader.read_count(12)):
        reader.take(12)
    for _ in range(reader.read_count(12)):
        reader.read_long()
        skip_acls(reader)


def skip_acls(reader: JuteReader) -> None:
    """Skips a list of ZooKeeper's own access rules. Raises: MalformedJute."""
    for _ in range(reader.read_count(12)):
        reader.read_int()
        reader.read_buffer()
        reader.read_buffer()


def _read_nodes(reader: JuteReader) -> ZnodeTree:
    tree = ZnodeTree()
    while (path := reader.read_string()) != ROOT:
        data = reader.read_buffer()
        reader.read_long()
        status = reader.take(_STATUS_BYTES)
        owner = int.from_bytes(status[_OWNER_AT : _OWNER_AT + 8], "big", signed=True)
        tree.put(path or ROOT, data, owner)
    return tree
