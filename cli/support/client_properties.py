"""`--command-config FILE`: how a command proves who it is and checks who answers, as Kafka's tools read it (KIP-1147).

Of a client.properties the names that begin with `security.`, `ssl.` and `sasl.` count, with the values that a producer
takes; the rest, which says how a client works, is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...config.errors import ConfigError
from ...config.sources.properties_file import MalformedProperties, decode, parse_properties
from .failures import EXIT_BAD_USAGE, CommandFailure

if TYPE_CHECKING:
    from ...client.security.settings import SecuritySettings

CommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        metavar="FILE",
        envvar="STEPDOWN_COMMAND_CONFIG",
        help="A client.properties with security.*, ssl.*, sasl.*.",
    ),
]
PREFIXES = ("security.", "ssl.", "sasl.")


def security_properties(file: Path | None) -> dict[str, str]:
    """What the file says of security, by Kafka's names; nothing without a file. Raises: CommandFailure."""
    if file is None:
        return {}
    try:
        given = parse_properties(decode(file.read_bytes()))
    except OSError as fault:
        raise CommandFailure(f"--command-config: {file}: {fault.strerror or fault}", "", EXIT_BAD_USAGE) from fault
    except MalformedProperties as fault:
        raise CommandFailure(f"--command-config: {file}: {fault}", "", EXIT_BAD_USAGE) from fault
    return {each.key: each.value.strip() for each in given if each.key.startswith(PREFIXES)}


def security_of(properties: Mapping[str, str]) -> SecuritySettings | None:
    """What they ask for, certificates read; None where they say nothing. Raises: CommandFailure."""
    if not properties:
        return None
    from ...client.security.settings import OAUTHBEARER, parse_security
    from ...client.security.tls_context import open_security

    if properties.get("sasl.mechanism") == OAUTHBEARER:
        raise CommandFailure(f"sasl.mechanism: commands support PLAIN and SCRAM, not {OAUTHBEARER}", "", EXIT_BAD_USAGE)
    try:
        return open_security(parse_security(properties))
    except ConfigError as fault:
        raise CommandFailure(str(fault), "", EXIT_BAD_USAGE) from fault
