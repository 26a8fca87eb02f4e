"""Records that real clients write: from 0 bytes to near the limit, with nulls, headers and timestamps out of order."""

import random
from collections.abc import Sequence

from .clients import Client, Message

BASE_TIMESTAMP_MS = 1_600_000_000_000
# Of 1048588; the snappy of 0.10 clients, in blocks of 1 kB, adds one percent.
NEAR_LIMIT = 1_030_000

HEADERS = (
    ("trace", b"\x00\xff\x80"),
    ("empty", b""),
    ("null", None),
    ("trace", b"the same key again"),
    ("ключ", "значение".encode()),
)


def samples(magic: int, *, null_headers: bool = True, seed: int = 1) -> list[Message]:
    """Return records that this format can hold; the largest fills a batch of almost 1 MiB."""
    noise = random.Random(seed)
    headers = HEADERS if null_headers else tuple((key, value or b"") for key, value in HEADERS)
    messages = [
        Message(key=None, value=b""),
        Message(key=b"", value=b"empty key"),
        Message(key=b"deleted", value=None),
        Message(key=None, value=b"one header", headers=(("h", b"1"),)),
        Message(key=b"many headers", value=b"v", headers=headers),
        Message(key="ключ".encode(), value="значение".encode()),
        *(Message(key=b"%d" % size, value=noise.randbytes(size)) for size in (1, 2, 3, 63, 64, 127, 128, 1000)),
        *(Message(key=b"same" * 20, value=b"compresses well " * count) for count in (1, 10, 100, 1000)),
        Message(key=b"just over a default batch", value=noise.randbytes(16_385)),
        Message(key=b"chunk", value=noise.randbytes(131_072)),
        Message(key=b"near the limit", value=noise.randbytes(NEAR_LIMIT)),
        Message(key=b"last", value=b"."),
    ]
    return [_stamped(message, index).at_magic(magic) for index, message in enumerate(messages)]


def many(count: int, size: int, *, seed: int = 2) -> list[Message]:
    """Return `count` records with values of `size` bytes that compress to about half."""
    noise = random.Random(seed)
    filler = b"stepdown" * (size // 16 + 1)
    half = size // 2
    values = (noise.randbytes(half) + filler[: size - half] for _ in range(count))
    return [_stamped(Message(key=b"%d" % index, value=value), index) for index, value in enumerate(values)]


def first_difference(wanted: Sequence[Message], got: Sequence[Message]) -> str | None:
    """Return what differs first, in few words, or None where all is equal."""
    if len(wanted) != len(got):
        return f"{len(wanted)} records written, {len(got)} read"
    for index, (one, other) in enumerate(zip(wanted, got, strict=True)):
        if one != other:
            return f"record {index}: wrote {_short(one)}, read {_short(other)}"
    return None


def _stamped(message: Message, index: int) -> Message:
    jitter_ms = (index * 7919) % 1000 - 500
    return Message(
        key=message.key,
        value=message.value,
        headers=message.headers,
        timestamp_ms=BASE_TIMESTAMP_MS + 1000 * index + jitter_ms,
    )


def _short(message: Message) -> str:
    value = message.value
    shown = value if value is None or len(value) <= 40 else value[:40] + b"... %d bytes" % len(value)
    return f"({message.key!r}, {shown!r}, {message.headers!r}, {message.timestamp_ms})"


def written_by(client: Client) -> list[Message]:
    """Return the samples that this client is able to write."""
    return samples(client.write_magic, null_headers=client.null_headers)
