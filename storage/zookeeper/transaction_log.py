"""`log.<zxid in hex>`: the transactions of a ZooKeeper from that one on.

    int32 "ZKLG"   int32 version 2   int64 database id
    int64 Adler-32 of the body   int32 length   body   0x42      the length 0 ends the log (it is padded with zeros)

    body: int64 session, int32 cxid, int64 zxid, int64 time, int32 type, and by type

| type | change | fields |
|---|---|---|
| 1, 15 | create | path, data, access rules, bool ephemeral, int32 version |
| 19, 21 | create a container, with a time to live | path, data, access rules, int32 version |
| 2, 20 | delete | path |
| 5 | set data | path, data, int32 version |
| 14 | several at once | int32 count: int32 type, buffer |
| -11 | close a session, which removes its ephemeral nodes | |
| -1 | a failed request; if one of several at once is such, all have failed | |

Other types change no data. Source: ZooKeeper 3.4 and 3.8 `FileTxnLog`, `DataTree.processTxn`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import adler32

from .jute_reader import JuteReader, MalformedJute
from .znode_tree import ZnodeTree
from .zookeeper_snapshot import skip_acls

MAGIC = b"ZKLG"
VERSION = 2
END_OF_RECORD = 0x42

_CREATE = (1, 15)
_CREATE_OTHERS = (19, 21)
_DELETE = (2, 20)
_SET_DATA = 5
_SEVERAL = 14
_CLOSE_SESSION = -11
_FAILED = -1
_HEAD_BYTES = 16


class DamagedLog(ValueError):
    """The transaction log is damaged; the message has the position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """One transaction; `body`: the bytes after its header."""

    session: int
    zxid: int
    kind: int
    body: memoryview

    def apply(self, tree: ZnodeTree) -> None:
        """Applies the transaction to the tree; a second time has no effect. Raises: MalformedJute."""
        _apply(tree, self.kind, JuteReader(self.body), self.session)


def read_transactions(reader: JuteReader) -> Iterator[Transaction]:
    """Yields the transactions. A log may end within one, after a crash; that is not damage.

    Raises: DamagedLog, MalformedJute, after those before the damage; DiskFault.
    """
    if reader.left < _HEAD_BYTES:
        return
    if bytes(reader.take(4)) != MAGIC or reader.read_int() != VERSION:
        raise DamagedLog("it does not begin as a transaction log of ZooKeeper")
    reader.read_long()
    while reader.left >= 12:
        position = reader.position
        checksum, size = reader.read_long(), reader.read_int()
        if size == 0:
            return
        if size > reader.left - 1:
            return
        body = reader.take(size) if size > 0 else memoryview(b"")
        if size < 0 or checksum != adler32(body) or reader.take(1)[0] != END_OF_RECORD:
            raise DamagedLog(f"the transaction at position {position} has a wrong checksum or length")
        yield _read_transaction(body, position)


def _read_transaction(body: memoryview, position: int) -> Transaction:
    reader = JuteReader(body)
    try:
        session, _, zxid, _, kind = (
            reader.read_long(), reader.read_int(), reader.read_long(), reader.read_long(), reader.read_int()
        )  # fmt: skip
    except MalformedJute as fault:
        raise DamagedLog(f"the transaction at position {position} cannot be read: {fault}") from fault
    return Transaction(session=session, zxid=zxid, kind=kind, body=body[reader.position :])


def _apply(tree: ZnodeTree, kind: int, reader: JuteReader, session: int) -> None:
    if kind in _CREATE or kind in _CREATE_OTHERS:
        path, data = reader.read_string(), reader.read_buffer()
        skip_acls(reader)
        is_ephemeral = kind in _CREATE and reader.read_bool()
        tree.put(path, data, session if is_ephemeral else 0)
    elif kind in _DELETE:
        tree.remove(reader.read_string())
    elif kind == _SET_DATA:
        tree.replace(reader.read_string(), reader.read_buffer())
    elif kind == _CLOSE_SESSION:
        tree.close_session(session)
    elif kind == _SEVERAL:
        parts = [(reader.read_int(), reader.read_buffer()) for _ in range(reader.read_count(8))]
        if any(part == _SEVERAL for part, _ in parts):
            raise MalformedJute("several changes at once that are within others, which no ZooKeeper writes")
        if all(part != _FAILED for part, _ in parts):
            for part, body in parts:
                _apply(tree, part, JuteReader(body), session)
