"""Parses addresses in settings: HOST:PORT, and listeners NAME://HOST:PORT with their security protocols.

As in Kafka's EndPoint and listenerListToEndPoints, a host in brackets is IPv6, the empty host means every address,
names are converted to capital letters, and each name may occur once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .ip_address import canonical_address

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
HIGHEST_PORT = 65_535

_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.%\w]+)\]|([^\[\]:/\s,]*)):([0-9]{1,5})")
_LISTENER = re.compile(r"([A-Za-z0-9_.-]+)://(.*)")


@dataclass(frozen=True, slots=True)
class HostPort:
    """An address; host "" means every address of the machine, port 0 any free port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A listener: its name, the protocol spoken there, and its address."""

    listener_name: str
    protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.listener_name}://{HostPort(self.host, self.port)}"


def parse_host_port(text: str) -> HostPort:
    """Parses HOST:PORT, [IPv6]:PORT or :PORT.

    Raises:
        ValueError: the text is not an address.
    """
    match = _ADDRESS.fullmatch(text.strip())
    if match is None or int(match[3]) > HIGHEST_PORT:
        raise ValueError(f"HOST:PORT with a port up to {HIGHEST_PORT}")
    return HostPort(match[1] or match[2] or "", int(match[3]))


def parse_protocol_map(text: str) -> dict[str, str]:
    """Parses text such as `INSIDE:PLAINTEXT,OUTSIDE:SSL` to security protocols by listener name.

    Raises:
        ValueError: a pair is malformed, or its protocol unknown.
    """
    protocols = {}
    for pair in filter(None, (item.strip() for item in text.split(","))):
        name, colon, protocol = pair.rpartition(":")
        if not colon or protocol.strip().upper() not in PROTOCOLS:
            raise ValueError(f"NAME:PROTOCOL pairs, the protocol out of {', '.join(PROTOCOLS)}")
        protocols[name.strip().upper()] = protocol.strip().upper()
    return protocols


def parse_listeners(text: str, protocols: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Parses text such as `PLAINTEXT://:9092,INSIDE://10.0.0.1:9093` to listeners, in its order.

    Raises:
        ValueError: the text is malformed; the message says what was expected.
    """
    endpoints = tuple(_parse_listener(item.strip(), protocols) for item in text.split(",") if item.strip())
    names = [endpoint.listener_name for endpoint in endpoints]
    if len(set(names)) != len(names):
        raise ValueError("each listener name once")
    return endpoints


def listener_names(text: str) -> frozenset[str]:
    """The listener names in text for `parse_listeners`, which may be malformed, in small letters."""
    return frozenset(item.partition("://")[0].strip().lower() for item in text.split(","))


def _parse_listener(item: str, protocols: Mapping[str, str]) -> Endpoint:
    match = _LISTENER.fullmatch(item)
    if match is None:
        raise ValueError("listeners of the form NAME://HOST:PORT")
    name = match[1].upper()
    if name not in protocols:
        raise ValueError(f"{name} to have a protocol in listener.security.protocol.map")
    try:
        address = parse_host_port(match[2])
    except ValueError as fault:
        raise ValueError(f"NAME://{fault}") from None
    return Endpoint(listener_name=name, protocol=protocols[name], host=address.host, port=address.port)


def parse_overrides_per_ip(text: str) -> tuple[tuple[str, int], ...]:
    """Parses text such as `127.0.0.1:200,::1:100` to pairs of canonical address and limit.

    Raises:
        ValueError: a pair is malformed.
    """
    pairs = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        address, colon, number = item.rpartition(":")
        if not colon or not address or not number.strip().isdigit():
            raise ValueError("ADDRESS:NUMBER pairs")
        pairs.append((canonical_address(address), int(number)))
    return tuple(pairs)
