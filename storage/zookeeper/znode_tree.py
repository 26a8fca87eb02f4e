"""The nodes of a ZooKeeper, by path."""

from collections.abc import Iterator, Mapping

ROOT = "/"


class ZnodeTree:
    """The data of nodes by path, and the session of each ephemeral node; `/` is the root."""

    def __init__(self, nodes: Mapping[str, bytes] | None = None) -> None:
        self._children: dict[str, dict[str, None]] = {}
        self._data: dict[str, bytes] = {}
        self._owners: dict[str, int] = {}
        for path, data in (nodes or {}).items():
            self.put(path, data)

    def __contains__(self, path: str) -> bool:
        return path in self._data

    def __len__(self) -> int:
        return len(self._data)

    def get(self, path: str) -> bytes | None:
        """The data of a node; None if there is no such node."""
        return self._data.get(path)

    def children(self, path: str) -> list[str]:
        """The names of the node's children, ordered."""
        return sorted(self._children.get(path, ()))

    def paths(self) -> Iterator[str]:
        return iter(self._data)

    def put(self, path: str, data: bytes, owner: int = 0) -> None:
        """Adds the node or replaces its data; `owner`: the session of an ephemeral node."""
        self._data[path] = data
        if owner:
            self._owners[path] = owner
        parent, _, name = path.rpartition("/")
        if name:
            self._children.setdefault(parent or ROOT, {})[name] = None

    def replace(self, path: str, data: bytes) -> None:
        """Replaces the data of a node, if it exists."""
        if path in self._data:
            self._data[path] = data

    def remove(self, path: str) -> None:
        """Removes a node, if it exists."""
        self._data.pop(path, None)
        self._owners.pop(path, None)
        parent, _, name = path.rpartition("/")
        self._children.get(parent or ROOT, {}).pop(name, None)

    def close_session(self, session: int) -> None:
        """Removes the ephemeral nodes of a session."""
        for path in [path for path, owner in self._owners.items() if owner == session]:
            self.remove(path)

    def subtree(self, prefix: str) -> "ZnodeTree":
        """The nodes below `prefix` as a separate tree, as a client with that chroot sees them."""
        start = prefix.rstrip("/") + "/"
        return ZnodeTree({path[len(start) - 1 :]: data for path, data in self._data.items() if path.startswith(start)})
