"""Which partition of a coordinator's topic holds a group or a transactional id.

Source: Kafka 3.9, GroupMetadataManager.partitionFor: the magnitude of Java's `String.hashCode`, modulo the partitions.
"""

_MASK = 0xFFFFFFFF
_SIGN = 0x80000000


def java_string_hash(text: str) -> int:
    """Java's `String.hashCode`: a signed 32-bit number made of the UTF-16 units of `text`."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & _MASK
    return value - (1 << 32) if value & _SIGN else value


def partition_of(key: str, partitions: int) -> int:
    """The partition that keeps `key`. Kafka's `Utils.abs` turns the one number without a positive twin into 0."""
    value = java_string_hash(key)
    return (0 if value == -(1 << 31) else abs(value)) % partitions
