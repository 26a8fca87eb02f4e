"""Canonical IP addresses: `::1`, `0:0:0:0:0:0:0:1` and `0::0001` are one host, `::ffff:10.0.0.1` is 10.0.0.1.

Kafka compares texts with the one that Java's `InetAddress.getHostAddress` returns for a client, so an ACL for `::1`
never matches there. stepdown converts both sides to Java's form before it compares them.
"""

import ipaddress
from functools import lru_cache

_PARTS = 4
_GROUPS_OF_A_NETWORK = 4


def canonical_address(text: str) -> str:
    """The address in Java's form: IPv6 in eight groups without leading zeros, small letters, the zone after `%`.

    Text that is not an address (a host name, `*`) is returned unchanged.
    """
    address, percent, zone = text.strip().strip("[]").partition("%")
    try:
        value = ipaddress.ip_address(_strip_leading_zeros(address))
    except ValueError:
        return text
    if isinstance(value, ipaddress.IPv4Address):
        return str(value)
    if value.ipv4_mapped is not None:
        return str(value.ipv4_mapped)
    groups = (f"{int(group, 16):x}" for group in value.exploded.split(":"))
    return ":".join(groups) + percent + zone


@lru_cache(maxsize=1024)
def address_forms(text: str) -> tuple[str, ...]:
    """The canonical forms of a client's address: with its zone, and without."""
    own = canonical_address(text)
    return tuple(dict.fromkeys((own, own.partition("%")[0])))


@lru_cache(maxsize=1024)
def network_of(text: str) -> str:
    """The network of one client: an IPv4 address, or the first 64 bits of an IPv6 one, which it may use freely."""
    groups = address_forms(text)[-1].split(":")
    return ":".join(groups[:_GROUPS_OF_A_NETWORK])


def _strip_leading_zeros(address: str) -> str:
    """Converts `010.0.0.1` to 10.0.0.1, as Java does."""
    parts = address.split(".")
    if len(parts) == _PARTS and all(part.isascii() and part.isdigit() for part in parts):
        return ".".join(part.lstrip("0") or "0" for part in parts)
    return address
