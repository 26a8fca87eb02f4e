"""Completions of topics, groups and settings; names come from the broker of the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

TIMEOUT_S = 1.0
"""Short, since a user waits for the completion."""


def complete_topics(ctx: typer.Context, incomplete: str) -> list[str]:
    from ...client.operations.topics import describe_topics

    return _find_candidates(ctx, incomplete, describe_topics, lambda topic: str(topic["name"]))


def complete_groups(ctx: typer.Context, incomplete: str) -> list[str]:
    from ...client.operations.groups import list_groups

    return _find_candidates(ctx, incomplete, list_groups, lambda group: str(group.name))


def complete_settings(incomplete: str) -> list[str]:
    from ...config import BROKER_KEYS, TOPIC_KEYS

    return [key for key in dict.fromkeys([*BROKER_KEYS, *TOPIC_KEYS]) if key.startswith(incomplete)]


def complete_topic_settings(incomplete: str) -> list[str]:
    from ...config import TOPIC_KEYS

    return [f"{key}=" for key in TOPIC_KEYS if key.startswith(incomplete)]


def _find_candidates(
    ctx: typer.Context, begin: str, operation: Callable[[], Any], name_of: Callable[[Any], str]
) -> list[str]:
    """Returns the names that begin with `begin`, none if no broker answers: completion cannot show faults."""
    from ...client.blocking_client import BlockingClient
    from ...client.errors import ClientError
    from ...client.security.settings import OPEN
    from .bootstrap_server import LOCAL, parse_addresses
    from .client_properties import load_security, security_properties
    from .command_client import CLIENT_ID
    from .failures import CommandFailure

    try:
        addresses = parse_addresses(ctx.params.get("bootstrap") or LOCAL)
        security = load_security(security_properties(ctx.params.get("command_config"))) or OPEN
        with BlockingClient(addresses, client_id=CLIENT_ID, security=security, timeout_s=TIMEOUT_S, tries=1) as client:
            found = client.run(operation())
    except (ClientError, CommandFailure):
        return []
    return [name for name in map(name_of, found) if name.startswith(begin)]
