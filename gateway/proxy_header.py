"""The PROXY header (versions 1 and 2) by which a balancer in front says whose connection it passes on.

    v1    "PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\\r\\n", 107 bytes at most; "PROXY UNKNOWN …": its own
    v2    12 bytes of signature | version and command (0x20 LOCAL, 0x21 PROXY) | family and protocol (0x11 TCP over
          IPv4, 0x21 over IPv6) | uint16 size of the rest | addresses of source and destination, their ports | TLVs

Source: https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt
"""

from ipaddress import IPv4Address, IPv6Address, ip_address
from struct import Struct
from typing import NamedTuple

from ..protocol.errors import MalformedFrame

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
V1_START = b"PROXY "
MOST_V1_BYTES = 107
V2_HEAD_BYTES = 16
MOST_V2_BYTES = 2048
"""The most bytes after the head: addresses take 36, the rest are TLVs, which are ignored."""
FIRST_BYTES = (V1_START[0], SIGNATURE[0])
"""The first bytes of headers; neither TLS nor a request of an accepted size begins with them."""
LOCAL, PROXY = 0x20, 0x21
TCP_4, TCP_6 = 0x11, 0x21
_PORTS = Struct(">HH")


class ProxyAddress(NamedTuple):
    """The source of a connection."""

    host: str
    port: int


def parse_v1(line: bytes) -> ProxyAddress | None:
    """The source in a line of version 1; None: the balancer itself. Raises: MalformedFrame."""
    words = line.removesuffix(b"\r\n").split(b" ")
    if not line.endswith(b"\r\n") or words[0] != b"PROXY":
        raise MalformedFrame("its PROXY header is no line of version 1")
    if words[1:2] == [b"UNKNOWN"]:
        return None
    try:
        family, source, _, port, _ = (str(word, "ascii") for word in words[1:])
        if "%" in source:  # a zone, which may be any text
            raise ValueError(source)
        address = {"TCP4": IPv4Address, "TCP6": IPv6Address}[family](source)
        return ProxyAddress(str(address), _parse_port(port))
    except (ValueError, KeyError):
        raise MalformedFrame("its PROXY header of version 1 names no address and port") from None


def size_of_v2_rest(head: bytes) -> int:
    """The bytes that follow the first 16 of a header of version 2. Raises: MalformedFrame."""
    size = int.from_bytes(head[14:V2_HEAD_BYTES], "big")
    if head[:12] != SIGNATURE or head[12] not in (LOCAL, PROXY):
        raise MalformedFrame("its PROXY header is of no version that is known")
    if size > MOST_V2_BYTES:
        raise MalformedFrame(f"its PROXY header has {size} bytes after the head, {MOST_V2_BYTES} are the most")
    return size


def parse_v2(head: bytes, rest: bytes) -> ProxyAddress | None:
    """The source in a header of version 2; None: the balancer itself. Raises: MalformedFrame."""
    if head[12] == LOCAL:
        return None
    size = {TCP_4: 4, TCP_6: 16}.get(head[13])
    if size is None or len(rest) < 2 * size + _PORTS.size:
        raise MalformedFrame("its PROXY header of version 2 names no address of TCP")
    return ProxyAddress(str(ip_address(rest[:size])), _PORTS.unpack_from(rest, 2 * size)[0])


def _parse_port(text: str) -> int:
    """Raises: ValueError."""
    if not text.isdecimal() or len(text) > 5 or int(text) > 65_535:
        raise ValueError(text)
    return int(text)
