"""Parses the data of a node as JSON; error messages have the node's path."""

import json
from collections.abc import Mapping
from typing import Any

from ...protocol.errors import DiskFault
from .znode_tree import ZnodeTree


class MalformedZnode(DiskFault):
    """The data of a node cannot be parsed; the message has its path."""


def read_object(tree: ZnodeTree, path: str) -> Mapping[str, Any]:
    """Reads the object in a node; an empty one if there is no node, or no data in it. Raises: MalformedZnode."""
    data = tree.get(path)
    if not data:
        return {}
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as fault:
        raise MalformedZnode(f"ZooKeeper's {path} is no JSON: {fault}") from fault
    if not isinstance(value, dict):
        raise MalformedZnode(f"ZooKeeper's {path}: an object expected, found {str(value)[:100]}")
    return value


def parse_whole_number(path: str, value: object) -> int:
    """Parses a whole number, which may be a text. Raises: MalformedZnode."""
    try:
        if not isinstance(value, bool | float):
            return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError):
        pass
    raise MalformedZnode(f"ZooKeeper's {path}: a whole number expected, found {str(value)[:100]}")


def parse_broker_ids(path: str, value: object) -> tuple[int, ...]:
    """Parses a list of broker ids. Raises: MalformedZnode."""
    if not isinstance(value, list):
        raise MalformedZnode(f"ZooKeeper's {path}: a list of broker ids expected, found {str(value)[:100]}")
    return tuple(parse_whole_number(path, each) for each in value)


def read_texts(path: str, value: object) -> dict[str, str]:
    """Reads an object of names and texts. Raises: MalformedZnode."""
    if not isinstance(value, dict):
        raise MalformedZnode(f"ZooKeeper's {path}: names and values expected, found {str(value)[:100]}")
    return {str(name): str(text) for name, text in value.items()}
