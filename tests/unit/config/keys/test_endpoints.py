import pytest
from stepdown.config.keys.endpoints import (
    HostPort,
    parse_host_port,
    parse_listeners,
    parse_overrides_per_ip,
    parse_protocol_map,
)

PROTOCOLS = {"PLAINTEXT": "PLAINTEXT", "INSIDE": "SSL"}


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("localhost:9092", "localhost", 9092),
        (":0", "", 0),
        ("[::1]:65535", "::1", 65535),
        ("[fe80::1%eth0]:1", "fe80::1%eth0", 1),
        (" a.example:1 ", "a.example", 1),
    ],
)
def test_an_address_is_host_and_port(text: str, host: str, port: int) -> None:
    assert parse_host_port(text) == HostPort(host, port)


@pytest.mark.parametrize("text", ["", "9092", "host", "host:", "host:65536", "::1:9092", "host:-1", "h/x:1", "a b:1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        parse_host_port(text)


def test_an_address_is_shown_as_it_is_written() -> None:
    assert [str(parse_host_port(text)) for text in ("[::1]:1", "h:2")] == ["[::1]:1", "h:2"]


def test_listeners_keep_their_order_and_their_names_are_capital() -> None:
    found = parse_listeners("plaintext://:9092, INSIDE://10.0.0.1:9093", PROTOCOLS)
    assert [str(endpoint) for endpoint in found] == ["PLAINTEXT://:9092", "INSIDE://10.0.0.1:9093"]
    assert [endpoint.protocol for endpoint in found] == ["PLAINTEXT", "SSL"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost:9092", "NAME://HOST:PORT"),
        ("OTHER://:1", "listener.security.protocol.map"),
        ("PLAINTEXT://:1,plaintext://:2", "once"),
        ("PLAINTEXT://host", "NAME://HOST:PORT"),
    ],
)
def test_a_listener_that_is_wrong_says_what_was_expected(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        parse_listeners(text, PROTOCOLS)


def test_the_protocol_map_pairs_names_with_protocols() -> None:
    assert parse_protocol_map("inside:ssl, A:PLAINTEXT,") == {"INSIDE": "SSL", "A": "PLAINTEXT"}
    with pytest.raises(ValueError, match="NAME:PROTOCOL"):
        parse_protocol_map("INSIDE:TLS")


def test_limits_per_address_may_be_of_ipv6() -> None:
    assert parse_overrides_per_ip("127.0.0.1:200,[::1]:100") == (("127.0.0.1", 200), ("0:0:0:0:0:0:0:1", 100))
    with pytest.raises(ValueError, match="ADDRESS:NUMBER"):
        parse_overrides_per_ip("127.0.0.1")
