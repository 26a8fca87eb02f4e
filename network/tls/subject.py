"""The distinguished name in a certificate, as Java writes it (RFC 2253): `CN=alice,OU=tests,O=Example`.

    Certificate     ::= SEQUENCE { tbsCertificate SEQUENCE { [0] version, serial, algorithm, issuer, validity, subject …
    Name            ::= SEQUENCE OF RelativeDistinguishedName, which is a SET OF SEQUENCE { type OID, value }

The last part of the name comes first. Types without a short name, and values that are no text, are written as
`OID=#hex` of their encoding. Text that is not UTF-8 is refused: with Java's replacement characters, different names
would become one user. Source: Java's `X500Principal.getName()`, `AVA.toRFC2253String`.
"""

from collections.abc import Iterator

SHORT_NAMES = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
TEXT_TAGS = frozenset((0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E))
"""UTF8String, Printable-, T61-, IA5-, General- and BMPString: Java decodes all of them as UTF-8."""
ESCAPED = ',=+<>#;"\\'
VERSION_TAG = 0xA0


def distinguished_name(certificate: bytes) -> str:
    """The subject of a certificate in DER, which OpenSSL has checked. Raises: ValueError."""
    try:
        (_, whole, _), *_ = _read_der_elements(certificate)
        fields = list(_read_der_elements(next(_read_der_elements(whole))[1]))
        subject = fields[5 if fields[0][0] == VERSION_TAG else 4][1]
        parts = [
            "+".join(_format_attribute(pair) for _, pair, _ in _read_der_elements(relative))
            for _, relative, _ in _read_der_elements(subject)
        ]
    except (IndexError, StopIteration, UnicodeDecodeError) as fault:
        raise ValueError("the certificate's name cannot be read") from fault
    return ",".join(reversed(parts))


def _read_der_elements(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yields tag, content and whole encoding of each element in `data`."""
    at = 0
    while at < len(data):
        tag, length, start = data[at], data[at + 1], at + 2
        if length & 0x80:
            count = length & 0x7F
            length, start = int.from_bytes(data[start : start + count]), start + count
        if start + length > len(data):
            raise IndexError("an element ends behind its parent")
        yield tag, data[start : start + length], data[at : start + length]
        at = start + length


def _format_attribute(pair: bytes) -> str:
    (_, oid, _), (tag, value, encoded) = _read_der_elements(pair)
    dotted = _oid_text(oid)
    name = SHORT_NAMES.get(dotted)
    if name is None or tag not in TEXT_TAGS:
        return f"{name or dotted}=#{encoded.hex()}"
    text = value.decode()
    body = "".join(f"\\{letter}" if letter in ESCAPED else letter for letter in text.strip(" "))
    lead, trail = len(text) - len(text.lstrip(" ")), len(text) - len(text.rstrip(" "))
    if not text.strip(" "):
        lead, trail = len(text), 0
    return f"{name}=" + "\\ " * lead + body.replace("\0", "\\00") + "\\ " * trail


def _oid_text(oid: bytes) -> str:
    numbers, number = [], 0
    for byte in oid:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))
