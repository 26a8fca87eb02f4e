"""The line that a broker or gateway prints when it is ready, and log lines on its settings."""

from __future__ import annotations

import logging
from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...config.remark import Remark
from ...config.tables.all_keys import BROKER_KEYS
from ...protocol.plural import plural
from ..support.standard_streams import discard_output

if TYPE_CHECKING:
    from ...broker.broker import Broker
    from ...config.layered_values import Layers

log = logging.getLogger("stepdown")
NAMED = 3
"""At most this many settings without effect are named."""


def print_greeting(greeting: str) -> None:
    """Prints the greeting, or logs it if stdout cannot be written."""
    try:
        print(greeting, flush=True)
    except OSError as fault:
        discard_output()
        log.warning("%s (standard output: %s)", greeting, fault.strerror or fault)


def summarize_without_effect(remarks: Sequence[Remark], file: Path | None) -> str:
    """Returns a line with the number of settings without effect, the first names, and a command that explains them."""
    keys = [remark.key for remark in remarks]
    named = ", ".join(keys[:NAMED]) + (", …" if len(keys) > NAMED else "")
    has = "setting has" if len(keys) == 1 else "settings have"
    known = [key for key in keys if key in BROKER_KEYS][:NAMED]
    if file is None and not known:
        return f"{len(keys)} {has} no effect here: {named}; stepdown has none of these names"
    command = f"stepdown config {' '.join(known)}" if file is None else f"stepdown config --explain {file}"
    return f"{len(keys)} {has} no effect here: {named}; `{command}` tells why"


def summarize_broker(broker: Broker, layers: Layers, new: Container[str]) -> str:
    """Returns a line with directories, cluster and node id, number of topics, listeners and the HTTP address.

    `new`: directories that this start has created; they are marked, since a path may be mistyped.
    """
    protocols = {each.listener_name: each.protocol for each in broker.settings.listeners}
    listeners = ", ".join(
        f"{name}://{address}" + ("" if protocols[name] == name else f" ({protocols[name]})")
        for name, address in broker.addresses.items()
    )
    is_default = not (layers.static.keys() & {"log.dirs", "log.dir"})
    directories = ", ".join(path + (" (new)" if path in new else "") for path in broker.settings.log_dirs)
    default = " (Kafka's default)" if is_default else ""
    return (
        f"serving {directories}{default}: cluster {broker.cluster.cluster_id}, node {broker.cluster.node_id}, "
        f"{plural(len(broker.cluster.topics), 'topic')}; listeners {listeners}; http {broker.http_address}"
    )
