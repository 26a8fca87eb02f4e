"""Pages that only programs on this machine may read.

Requests from web pages in a browser on this machine are refused, by their Origin, or by a Host that is no loopback
name.
"""

import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_address

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(?::[0-9]*)?")
FORWARDED = frozenset({b"forwarded", b"via", b"x-forwarded-for", b"x-real-ip"})
"""Headers of proxies: with one of them, the address of a connection is the proxy's, not the client's."""


def find_reason_to_refuse_page(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The reason to refuse a request without a token; None: answer it."""
    given = {bytes(name).lower(): bytes(value).decode("latin-1") for name, value in headers}
    if b"origin" in given:
        return "without a token no web page is answered"
    return find_reason_to_refuse_host(given)


def find_reason_to_refuse_host(headers: Mapping[bytes, str]) -> str | None:
    """The reason to refuse a request that must come from this machine, by a loopback name; None to answer it."""
    if not FORWARDED.isdisjoint(headers):
        return "without a token or password nothing is answered that comes through a proxy"
    host = headers.get(b"host", "")
    found = HOST.fullmatch(host)
    return (
        None
        if found is not None and found[1].strip("[]") in LOOPBACK
        else "without a token or password the host has to be 127.0.0.1, localhost or [::1]"
    )


def is_local(address: str) -> bool:
    """Whether a connection comes from this machine."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return parsed.is_loopback or (mapped is not None and bool(mapped.is_loopback))
