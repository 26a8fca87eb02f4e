"""What is for programs on this machine is for nobody else, and for no web page in their browser."""

import pytest
from stepdown.network.http.local_access import find_reason_to_refuse_page, is_local


@pytest.mark.parametrize("host", [b"127.0.0.1:80", b"localhost", b"[::1]:80", b"[::1]"])
def test_a_loopback_host_is_answered(host: bytes) -> None:
    assert find_reason_to_refuse_page([(b"Host", host)]) is None


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"host", b"evil.example:80")],
        [(b"host", b"127.0.0.1:80"), (b"Origin", b"http://127.0.0.1")],
        [(b"host", b"[::1")],
        [(b"host", b"[::1].evil.example")],
        [(b"host", b"[127.0.0.1]evil.example:80")],
        [(b"host", b"127.0.0.1"), (b"X-Forwarded-For", b"192.0.2.7")],
    ],
    ids=["no host", "another name", "an origin", "half a bracket", "a longer name", "one with a port", "a proxy"],
)
def test_others_are_told_why_not(headers: list[tuple[bytes, bytes]]) -> None:
    assert find_reason_to_refuse_page(headers)


@pytest.mark.parametrize(
    ("address", "wanted"),
    [(each, True) for each in ("127.0.0.1", "127.0.0.9", "::1", "::ffff:127.0.0.1")]
    + [(each, False) for each in ("10.0.0.1", "", "fe80::1%eth0", "::ffff:10.0.0.1")],
)
def test_only_the_loopback_is_local(address: str, wanted: bool) -> None:
    assert is_local(address) is wanted
