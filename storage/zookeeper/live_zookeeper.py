"""Reads Kafka's nodes from a live ZooKeeper, with kazoo, which is an extra."""

from collections.abc import Iterable, Sequence
from typing import Any

from .znode_tree import ROOT, ZnodeTree

BRANCHES = (
    "/admin",
    "/brokers",
    "/cluster",
    "/config",
    "/consumers",
    "/controller_epoch",
    "/delegation_token",
    "/feature",
    "/kafka-acl",
    "/kafka-acl-extended",
    "/latest_producer_id_block",
    "/migration",
)
REQUESTS_AT_ONCE = 1000
TIMEOUT_S = 30.0


class LiveZookeeperFault(Exception):
    """The message says why ZooKeeper cannot be read, and what to do."""


def read_live_zookeeper(hosts: str) -> ZnodeTree:
    """Reads the tree of a ZooKeeper at HOST:PORT[,HOST:PORT…][/CHROOT]. Raises: LiveZookeeperFault."""
    try:
        from kazoo.client import KazooClient
        from kazoo.exceptions import KazooException
        from kazoo.handlers.threading import KazooTimeoutError
    except ImportError:
        raise LiveZookeeperFault(
            "a live ZooKeeper is read with kazoo, which is not installed: `pip install 'stepdown[migrate]'`, "
            "or pass its data directory with --zookeeper-data"
        ) from None
    client = KazooClient(hosts=hosts, timeout=TIMEOUT_S, read_only=True)
    try:
        client.start(timeout=TIMEOUT_S)
        tree = ZnodeTree()
        level = [path for path in BRANCHES if client.exists(path) is not None]
        while level:
            level = _read_level(client, tree, level)
    except (KazooException, KazooTimeoutError, OSError, ValueError) as fault:
        raise LiveZookeeperFault(
            f"ZooKeeper at {hosts} cannot be read: {fault!r}; its files say the same (--zookeeper-data)"
        ) from fault
    finally:
        client.stop()
        client.close()
    return tree


def _read_level(client: Any, tree: ZnodeTree, paths: Sequence[str]) -> list[str]:
    """Adds the nodes to the tree; returns the paths of their children."""
    below: list[str] = []
    for at in range(0, len(paths), REQUESTS_AT_ONCE):
        below += _read_nodes(client, tree, paths[at : at + REQUESTS_AT_ONCE])
    return below


def _read_nodes(client: Any, tree: ZnodeTree, paths: Sequence[str]) -> Iterable[str]:
    asked = [(path, client.get_async(path), client.get_children_async(path)) for path in paths]
    below: list[str] = []
    for path, data, children in asked:
        value, _ = data.get(timeout=TIMEOUT_S)
        tree.put(path, value or b"")
        below += (f"{path.rstrip(ROOT)}/{name}" for name in children.get(timeout=TIMEOUT_S))
    return below
