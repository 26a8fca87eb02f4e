"""Checks the names of settings that are to be removed: a broker removes what is not there without a word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..support.failures import EXIT_BAD_USAGE, CommandFailure

if TYPE_CHECKING:
    from ...client.operations.configs import ConfigResource
    from ..support.command_client import CommandClient


def check_removed_settings(client: CommandClient, resource: ConfigResource, removed: Sequence[str]) -> None:
    """Raises: CommandFailure for a name that is no setting of the resource."""
    if not removed:
        return
    from ...client.operations.configs import describe_configs
    from ...config.similar_names import suggest

    known = [row["name"] for row in client.run(describe_configs(resource))]
    for name in removed:
        if name not in known:
            raise CommandFailure(f"{name}: no such setting{suggest(name, known)}", "", EXIT_BAD_USAGE)
