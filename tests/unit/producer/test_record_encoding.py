"""The encoding of headers, compiled and as its readable twin, as Kafka has it."""

from typing import Any

import pytest
import stepdown.producer
from stepdown.producer import record_encoding
from stepdown.protocol.records.record import encode_varint
from support.twin import load_twin


@pytest.fixture(params=["compiled", "twin"])
def path(request: pytest.FixtureRequest) -> Any:
    return record_encoding if request.param == "compiled" else load_twin("record_encoding", stepdown.producer)


@pytest.mark.parametrize(
    "headers",
    [
        (),
        [("", b"")],
        [("trace", b"1"), ("null", None), ("ä" * 70, b"x" * 200)],
        [("view", memoryview(b"view")), ("bytearray", bytearray(b"array"))],
        [("many", b"%d" % number) for number in range(200)],
    ],
    ids=["none", "empty", "long names and values", "views", "many"],
)
def test_headers_are_encoded_as_lengths_and_bytes(path: Any, headers: list[tuple[str, bytes | None]]) -> None:
    wanted = encode_varint(len(headers))
    for name, value in headers:
        wanted += encode_varint(len(name.encode())) + name.encode()
        wanted += encode_varint(-1) if value is None else encode_varint(len(value)) + bytes(value)
    assert path.encode_headers(headers) == wanted


@pytest.mark.parametrize(
    ("header", "error"),
    [
        ((b"name", b""), TypeError),
        (("name", "text"), TypeError),
        (("\ud800", b""), ValueError),
        (("name",), ValueError),
    ],
    ids=["a name of bytes", "a value of text", "a lone surrogate", "no pair"],
)
def test_a_header_that_cannot_be_is_refused(path: Any, header: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        path.encode_headers([header])
