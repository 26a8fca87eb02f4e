"""`--bootstrap-server`, `--json` and `--internal`, options of commands on a running broker, and its client."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from ...config.keys.endpoints import HostPort, parse_host_port
from .client_properties import load_security, security_properties
from .failures import EXIT_BAD_USAGE, CommandFailure

if TYPE_CHECKING:
    from .command_client import CommandClient

Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap-server",
        "-b",
        metavar="HOST:PORT",
        envvar="STEPDOWN_BOOTSTRAP",
        help="Where the broker listens; several with commas between.",
    ),
]
Internal = Annotated[bool, typer.Option("--internal", help="Internal topics, too, such as __consumer_offsets.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

DEFAULT_PORT = 9092
LOCAL = f"127.0.0.1:{DEFAULT_PORT}"
NO_HINTS: Mapping[str, str] = MappingProxyType({})


def connect_client(
    bootstrap: str, command_config: Path | None = None, hints: Mapping[str, str] = NO_HINTS
) -> CommandClient:
    """Returns a client connected to a broker at HOST:PORT,…, with the security of `--command-config`.

    Raises: CommandFailure.
    """
    return connect_client_by_properties(bootstrap, security_properties(command_config), hints)


def connect_client_by_properties(
    bootstrap: str, properties: Mapping[str, str], hints: Mapping[str, str] = NO_HINTS
) -> CommandClient:
    """Returns the same, with the security of properties. Raises: CommandFailure."""
    from .command_client import CommandClient

    client = CommandClient(parse_addresses(bootstrap), load_security(properties), hints)
    client.connect()
    return client


def parse_addresses(bootstrap: str) -> list[HostPort]:
    """Returns the addresses of HOST[:PORT],…. Raises: CommandFailure."""
    texts = [each.strip().rstrip("/") for each in bootstrap.split(",")]
    try:
        return [parse_host_port(text if ":" in text else f"{text}:{DEFAULT_PORT}") for text in texts]
    except ValueError as fault:
        raise CommandFailure(
            f"--bootstrap-server: expected {fault}, found {bootstrap!r}", "", EXIT_BAD_USAGE
        ) from fault


def parse_http_address(text: str, option: str) -> HostPort:
    """Returns the address of an HTTP port; `text` may also be a URL. Raises: CommandFailure."""
    try:
        url = urlsplit(text if "://" in text else f"//{text}")
        if url.scheme not in ("", "http"):
            raise ValueError(f"HOST:PORT without {url.scheme}://, which the port does not speak")
        return parse_host_port(url.netloc)
    except ValueError as fault:
        raise CommandFailure(f"{option}: expected {fault}, found {text!r}", "", EXIT_BAD_USAGE) from fault
