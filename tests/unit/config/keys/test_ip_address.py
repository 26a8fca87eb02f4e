"""Addresses as values, in the form that Java writes."""

import pytest
from stepdown.config.keys.ip_address import address_forms, canonical_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("::1", "0:0:0:0:0:0:0:1"),
        ("0:0:0:0:0:0:0:1", "0:0:0:0:0:0:0:1"),
        ("0000::0001", "0:0:0:0:0:0:0:1"),
        ("[::1]", "0:0:0:0:0:0:0:1"),
        ("2001:DB8::ABCD", "2001:db8:0:0:0:0:0:abcd"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("::FFFF:0a00:0001", "10.0.0.1"),
        ("010.000.0.01", "10.0.0.1"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
        ("*", "*"),
        ("host.example", "host.example"),
        ("1.2.3", "1.2.3"),
        ("::1::2", "::1::2"),
        ("", ""),
    ],
)
def test_one_address_has_one_text(text: str, expected: str) -> None:
    assert canonical_address(text) == expected


def test_a_client_with_a_zone_is_meant_with_and_without_it() -> None:
    assert address_forms("fe80::1%eth0") == ("fe80:0:0:0:0:0:0:1%eth0", "fe80:0:0:0:0:0:0:1")
    assert address_forms("10.0.0.1") == ("10.0.0.1",)
