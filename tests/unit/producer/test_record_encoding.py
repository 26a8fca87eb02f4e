"""The hash of a key and the encoding of headers, compiled and as their readable twin, as Kafka has them."""

import random
from typing import Any

import pytest
import stepdown.producer
from stepdown.producer import fast_send
from stepdown.protocol.records.record import encode_varint
from support.twin import load_twin

SIGNED = {
    b"": 275646681,
    b"21": -973932308,
    b"foobar": -790332482,
    b"abc": 479470107,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
}


@pytest.fixture(params=["compiled", "twin"])
def path(request: pytest.FixtureRequest) -> Any:
    return fast_send if request.param == "compiled" else load_twin("fast_send", stepdown.producer)


@pytest.mark.parametrize("key", SIGNED)
def test_the_hash_is_kafkas(path: Any, key: bytes) -> None:
    assert path.murmur2(key) == SIGNED[key] & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("key", "partition"), [("mango", 2), ("banana", 1), ("apple", 1), ("lime", 0), ("grape", 0), ("pear", 0)]
)
def test_the_sign_is_masked_and_not_dropped(path: Any, key: str, partition: int) -> None:
    assert path.partition_for_key(key.encode(), 3) == partition


def test_the_twin_hashes_as_the_compiled_one_does() -> None:
    twin, draws = load_twin("fast_send", stepdown.producer), random.Random(1)
    for size in [*range(70), 255, 256, 1000]:
        key = draws.randbytes(size)
        assert twin.murmur2(key) == fast_send.murmur2(key)


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
