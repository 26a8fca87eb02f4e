"""IP addresses compared as values: `::1`, `0:0:0:0:0:0:0:1` and `0::0001` are one host, `::ffff:10.0.0.1` is 10.0.0.1.

Kafka compares texts, and a client's is what Java's `InetAddress.getHostAddress` writes; an access rule for `::1` never
matches there. Here both sides are brought to Java's form before they are compared.
"""

import ipaddress
from functools import lru_cache

_PARTS = 4
_GROUPS_OF_A_NETWORK = 4


def canonical_address(text: str) -> str:
    """The address as Java writes it: IPv6 in eight groups without leading zeros, small letters, the zone after `%`.

    What is no address (a host's name, `*`) comes back as it is.
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
    """The canonical forms that stand for a client's address: with its zone, and without."""
    own = canonical_address(text)
    return tuple(dict.fromkeys((own, own.partition("%")[0])))


@lru_cache(maxsize=1024)
def network_of(text: str) -> str:
    """What one client has of addresses: an IPv4 address; of IPv6 the first 64 bits, in which it may choose any."""
    groups = address_forms(text)[-1].split(":")
    return ":".join(groups[:_GROUPS_OF_A_NETWORK])


def _strip_leading_zeros(address: str) -> str:
    """`010.0.0.1` is 10.0.0.1, as in Java."""
    parts = address.split(".")
    if len(parts) == _PARTS and all(part.isascii() and part.isdigit() for part in parts):
        return ".".join(part.lstrip("0") or "0" for part in parts)
    return address
