"""The hash of a key, compiled and as its readable twin, as Kafka has it."""

import random
from typing import Any

import pytest
import stepdown.producer
from stepdown.producer.partitioners import murmur2
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
    return murmur2 if request.param == "compiled" else load_twin("partitioners.murmur2", stepdown.producer)


@pytest.mark.parametrize("key", SIGNED)
def test_the_hash_is_kafkas(path: Any, key: bytes) -> None:
    assert path.murmur2(key) == SIGNED[key] & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("key", "partition"), [("mango", 2), ("banana", 1), ("apple", 1), ("lime", 0), ("grape", 0), ("pear", 0)]
)
def test_the_sign_is_masked_and_not_dropped(path: Any, key: str, partition: int) -> None:
    assert path.partition_for_key(key.encode(), 3) == partition


def test_the_twin_hashes_as_the_compiled_one_does() -> None:
    twin, draws = load_twin("partitioners.murmur2", stepdown.producer), random.Random(1)
    for size in [*range(70), 255, 256, 1000]:
        key = draws.randbytes(size)
        assert twin.murmur2(key) == murmur2.murmur2(key)
