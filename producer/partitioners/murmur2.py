"""The hash that gives a key its partition: murmur2, 32 bits, with the seed that every Kafka client uses.

Source: Kafka 3.9, Utils.murmur2 and BuiltInPartitioner.partitionForKey. The sign bit is masked away; that is not the
absolute value, which some descriptions use and which gives other partitions.
"""

from struct import iter_unpack
from typing import Final

SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF
_POSITIVE: Final = 0x7FFFFFFF


def murmur2(key: bytes) -> int:
    """The hash of the bytes as an unsigned 32-bit number."""
    size = len(key)
    whole = size & ~3
    h = SEED ^ size
    for (k,) in iter_unpack("<I", key[:whole]):
        k = k * _M & _MASK
        h = (h * _M & _MASK) ^ ((k ^ k >> 24) * _M & _MASK)
    if whole < size:
        h = ((h ^ int.from_bytes(key[whole:], "little")) * _M) & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def partition_for_key(key: bytes, partitions: int) -> int:
    """The partition of a key among `partitions`, those without a leader included."""
    return (murmur2(key) & _POSITIVE) % partitions
