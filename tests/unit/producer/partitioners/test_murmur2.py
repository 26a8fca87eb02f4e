"""murmur2 and the partition of a key, as Kafka's own tests and clients have them."""

import pytest
from stepdown.producer.partitioners.murmur2 import murmur2, partition_for_key

SIGNED = {
    b"": 275646681,
    b"21": -973932308,
    b"foobar": -790332482,
    b"abc": 479470107,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
}


@pytest.mark.parametrize("key", SIGNED)
def test_the_hash_is_kafkas(key: bytes) -> None:
    assert murmur2(key) == SIGNED[key] & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("key", "partition"), [("mango", 2), ("banana", 1), ("apple", 1), ("lime", 0), ("grape", 0), ("pear", 0)]
)
def test_the_sign_is_masked_and_not_dropped(key: str, partition: int) -> None:
    assert partition_for_key(key.encode(), 3) == partition
