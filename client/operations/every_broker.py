"""Requests that each broker answers for itself alone, as that for the groups that it coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...protocol.api import ApiKey
from ..operation import Ask, Operation, ask
from .topics import make_metadata_request


def ask_every_broker(key: ApiKey, make_request: Callable[[int], Any]) -> Operation[dict[int, Any]]:
    """The response of each broker of the cluster, by its id, in the order of ids."""
    found = yield from ask(make_metadata_request([]))
    responses = {}
    for node in sorted({each.node_id for each in found.brokers}):
        responses[node] = yield Ask(key=key, make_request=make_request, to=node)
    return responses
