"""Whom a client's certificate names: Java's X500Principal and Kafka's SslPrincipalMapper say the same."""

import struct
from random import Random

import pytest
from stepdown.network.tls.principal_rules import NoMatchingRule, map_to_user, parse_principal_rules
from stepdown.network.tls.subject import distinguished_name
from support.java_oracle import JavaError

SEQUENCE, SET, OID, INTEGER = 0x30, 0x31, 0x06, 0x02
TYPES = {
    "CN": "550403",
    "serialNumber": "550405",
    "C": "550406",
    "L": "550407",
    "ST": "550408",
    "STREET": "550409",
    "O": "55040a",
    "OU": "55040b",
    "title": "55040c",
    "givenName": "55042a",
    "dnQualifier": "55042e",
    "UID": "0992268993f22c640101",
    "DC": "0992268993f22c640119",
    "emailAddress": "2a864886f70d010901",
    "of a joint arc": "88370305",
    "of a large arc": "2b06010401828f3d8fffff7f",
}
STRINGS = {0x0C: "utf-8", 0x12: "ascii", 0x13: "ascii", 0x14: "latin-1", 0x16: "ascii", 0x1E: "utf-16-be"}
TEXTS = (
    "alice",
    "Example, Inc.",
    "a+b=c",
    '<"quoted">;\\',
    "#hash",
    "a#b",
    " lead",
    "trail ",
    "  two  inside  ",
    " ",
    "",
    "nul\0inside",
    "tab\tand\nline",
    "J\u00fcrgen \u00c5",
    "\u4f8b\u3048",
    "\u20ac 5",
    "x" * 300,
)


def der(tag: int, content: bytes) -> bytes:
    size = len(content)
    length = bytes((size,)) if size < 0x80 else b"\x82" + struct.pack(">H", size)
    return bytes((tag,)) + length + content


def pair(random: Random) -> bytes:
    tag = random.choice(list(STRINGS))
    text = random.choice(TEXTS)
    try:
        value = text.encode(STRINGS[tag])
        value.decode()
    except UnicodeError:
        tag, value = 0x0C, text.encode()
    return der(SEQUENCE, der(OID, bytes.fromhex(random.choice(list(TYPES.values())))) + der(tag, value))


def name(random: Random) -> bytes:
    parts = (
        der(SET, b"".join(sorted(pair(random) for _ in range(random.choice((1, 1, 1, 2, 3))))))
        for _ in range(random.randint(0, 5))
    )
    return der(SEQUENCE, b"".join(parts))


def certificate(subject: bytes, *, has_version: bool) -> bytes:
    """As far as the name in it is looked at."""
    version = der(0xA0, der(INTEGER, b"\2")) if has_version else b""
    empty = der(SEQUENCE, b"")
    return der(SEQUENCE, der(SEQUENCE, version + der(INTEGER, b"\1") + 3 * empty + subject + empty) + empty)


def strings(answer: bytes, *, with_flags: bool) -> list[str | None]:
    found: list[str | None] = []
    at = 0
    while at < len(answer):
        there = True
        if with_flags:
            there, at = bool(answer[at]), at + 1
        (size,) = struct.unpack_from(">h", answer, at)
        text = answer[at + 2 : at + 2 + size].decode()
        found.append(text if there else None)
        at += 2 + size
    return found


def packed(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


@pytest.mark.java
def test_names_are_written_as_java_writes_them(java_oracle):
    random = Random(28)
    names = [name(random) for _ in range(1_000)]
    payload = struct.pack(">i", len(names)) + b"".join(struct.pack(">i", len(each)) + each for each in names)
    expected = strings(java_oracle("principals").call("Principals.written", payload), with_flags=False)
    for has_version in (True, False):
        assert [distinguished_name(certificate(each, has_version=has_version)) for each in names] == expected


def test_a_name_that_is_no_utf_8_is_nobody():
    """To Java the two are one user."""
    for text in ("J\u00fcrgen", "J\u00f6rgen"):
        part = der(SEQUENCE, der(OID, bytes.fromhex(TYPES["CN"])) + der(0x14, text.encode("latin-1")))
        with pytest.raises(ValueError, match="cannot be read"):
            distinguished_name(certificate(der(SEQUENCE, der(SET, part)), has_version=True))


NAMES = (
    "CN=alice,OU=tests,O=Example,C=DE",
    "CN=Alice",
    "CN=a\\,b,O=x",
    "OU=tests,CN=bob",
    "O=Example",
    "UID=u1,DC=example,DC=org",
    "CN=J\u00fcrgen,O=\u0130",
    "1.2.840.113549.1.9.1=#16036140,CN=mail",
    "CN=$1,O=a/b",
    "CN=one two  three",
    "",
)
RULES = (
    "DEFAULT",
    "",
    " ",
    ",",
    "DEFAULT,",
    "DEFAULT, DEFAULT",
    "RULE:^CN=([^,]+).*$/$1/",
    "RULE:^CN=([^,]+).*$/$1/L",
    "RULE:^CN=([^,]+).*$/$1/U",
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),C=(.*?)$/$1@$2/L, DEFAULT",
    "RULE:^CN=(.*?),.*$/$1/, RULE:^OU=(.*?),.*/$1-$2/U, DEFAULT",
    "RULE:CN=(.*?)/$1-end/",
    "RULE:(.*)/x$1/",
    "RULE:.*/all/",
    "RULE:.*/$0/",
    "RULE:.*/$1/",
    "RULE:(CN)=(.*)/$2 $1 $3 $12 $21/",
    "RULE:(CN=).*/$10/",
    "RULE:(CN=).*/$01/",
    "RULE:(CN=).*/$0/",
    "RULE:(CN=)(x)?.*/[$2]/",
    r"RULE:(CN=.*)/\$1\\/",
    r"RULE:CN=(.*),O=a\/b/$1\/c/",
    r"RULE:([A-Z]+)=(\w+)(,.*)?/$1:$2/",
    "RULE:^CN=(.*?)$/$1/L,RULE:^(O|OU)=(.*?)$/$2/",
    "RULE:^CN=(.*?)$//",
    "RULE:/x/",
    "RULE:^$/nobody/",
    "RULE:a|CN=.*/either/",
    "RULE:^CN=([^,]+)/$1/,  DEFAULT  ",
    "RULE:^UID=(.*?),.*$/$1/\n,DEFAULT",
    "RULE:cn=(.*)/$1/, RULE:(?i)cn=(.*)/i-$1/",
    "RULE:CN=(.*)/a$/",
    "RULE:CN=(.*)/a$b/",
    r"RULE:CN=(.*)/a\/",
    "RULE:[/x/",
    "RULE:x/y",
    "RULE:x",
    "RULE:x/y/L/",
    "RULE:x/y/Lower",
    "RULE:x/y/X",
    "DEFAULT RULE:x/y/",
    "default",
    "nonsense",
    "RULE:CN=(.*)/$1/ DEFAULT",
    "RULE:CN=(.*)/$1/,nonsense",
    "RULE:CN=a,b/x/,DEFAULT",
    "RULE:CN=(.*?)(,OU=(.*?))?(,O=(.*?))?(,C=(.*?))?/$1.$3.$5.$7/",
    "RULE:.+,DC=([^,]+),DC=([^,]+)/$1.$2/U",
)


def mapped(rules: str) -> list[str | None]:
    parsed = parse_principal_rules(rules)
    found: list[str | None] = []
    for each in NAMES:
        try:
            found.append(map_to_user(each, parsed))
        except NoMatchingRule:
            found.append(None)
    return found


@pytest.mark.java
@pytest.mark.parametrize("rules", RULES)
def test_rules_give_the_users_of_kafka(java_oracle, rules):
    payload = packed(rules) + struct.pack(">i", len(NAMES)) + b"".join(map(packed, NAMES))
    try:
        expected = strings(java_oracle("principals").call("Principals.mapped", payload), with_flags=True)
    except JavaError:
        with pytest.raises(ValueError):
            parse_principal_rules(rules)
        return
    assert mapped(rules) == expected
