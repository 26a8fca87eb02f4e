"""`--command-config FILE`: how a command proves who it is and checks who answers, as Kafka's tools read it (KIP-1147).

Commands read the keys of a client.properties that begin with `security.`, `ssl.` and `sasl.`, with the values that a
producer accepts, and `bootstrap.servers` as the default of --bootstrap-server. They ignore all other keys.
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

BOOTSTRAP_KEY = "bootstrap.servers"


def _take_bootstrap(context: typer.Context, file: Path | None) -> Path | None:
    """Makes the file's `bootstrap.servers` the default of --bootstrap-server, and returns the file."""
    if file is not None:
        found = read_properties(file).get(BOOTSTRAP_KEY)
        context.default_map = {"bootstrap": found} if found else {}
    return file


CommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        metavar="FILE",
        envvar="STEPDOWN_COMMAND_CONFIG",
        is_eager=True,
        callback=_take_bootstrap,
        help="A client.properties with bootstrap.servers, security.*, ssl.*, sasl.*.",
    ),
]
PREFIXES = ("security.", "ssl.", "sasl.")


def security_properties(file: Path | None) -> dict[str, str]:
    """Returns the security properties of the file, none without a file. Raises: CommandFailure."""
    given = {} if file is None else read_properties(file)
    return {key: text for key, text in given.items() if key.startswith(PREFIXES)}


def read_properties(file: Path) -> dict[str, str]:
    """Returns all properties of the file. Raises: CommandFailure."""
    try:
        given = parse_properties(decode(file.read_bytes()))
    except OSError as fault:
        raise CommandFailure(f"--command-config: {file}: {fault.strerror or fault}", "", EXIT_BAD_USAGE) from fault
    except MalformedProperties as fault:
        raise CommandFailure(f"--command-config: {file}: {fault}", "", EXIT_BAD_USAGE) from fault
    return {each.key: each.value.strip() for each in given}


def load_security(properties: Mapping[str, str]) -> SecuritySettings | None:
    """Returns the security settings, with certificates read; None without properties. Raises: CommandFailure."""
    if not properties:
        return None
    from ...client.security.settings import OAUTHBEARER, parse_security
    from ...client.security.tls_context import load_certificates

    if properties.get("sasl.mechanism") == OAUTHBEARER:
        raise CommandFailure(f"sasl.mechanism: commands support PLAIN and SCRAM, not {OAUTHBEARER}", "", EXIT_BAD_USAGE)
    try:
        return load_certificates(parse_security(properties))
    except ConfigError as fault:
        raise CommandFailure(str(fault), "", EXIT_BAD_USAGE) from fault
