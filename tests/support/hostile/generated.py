"""Requests of any API and version, made from their declarations: with many items, or with whatever chance gives."""

import struct
from collections.abc import Callable
from random import Random
from typing import Any
from uuid import UUID

from stepdown.protocol.field_declarations import Field
from stepdown.protocol.primitives import Primitive
from stepdown.protocol.schema import schema_of

Value = Callable[[Field], Any]


def crowded(cls: type[Any], version: int, items: int, depth: int = 0) -> Any:
    """A request whose arrays at `depth` (0: the outermost) have so many items, all different; others have one."""
    numbers = iter(range(1 << 60))

    def plain(field: Field) -> Any:
        kind = field.item or field.kind
        number = next(numbers)
        if kind is Primitive.STRING:
            return "hostile" if field.name in ("group_id", "topic") and number < 2 else f"n{number}"
        if kind is Primitive.UUID:
            return UUID(int=number + 1)
        if kind in (Primitive.BYTES, Primitive.RECORDS):
            return b""
        if kind is Primitive.INT32:
            return number if "partition" in field.name or "index" in field.name else 1
        return field.default if field.item is None else 1

    def made(cls: type[Any], level: int) -> Any:
        values = {}
        for field in schema_of(cls).fields:
            if version not in field.versions or field.tag is not None:
                continue
            if field.kind is Primitive.ARRAY:
                count = items if level == depth else 1
                values[field.name] = tuple(
                    made(field.element, level + 1) if field.element is not None else plain(field) for _ in range(count)
                )
            elif field.kind is Primitive.STRUCT:
                values[field.name] = made(field.element, level)  # type: ignore[arg-type]
            else:
                values[field.name] = plain(field)
        return cls(**values)

    return made(cls, 0)


def depth_of(cls: type[Any], version: int) -> int:
    """How many arrays lie in each other."""
    return max(
        (
            int(field.kind is Primitive.ARRAY) + (depth_of(field.element, version) if field.element is not None else 0)
            for field in schema_of(cls).fields
            if version in field.versions and field.tag is None
        ),
        default=0,
    )


NAMES = ("t", "u", "g", "", "no-such", "__consumer_offsets", "1", "range", "consumer", "cleanup.policy", "é" * 60)
NUMBERS = (-2, -1, 0, 0, 0, 1, 1, 1, 2, 3, 5, 100, 1000)
EXTREMES = {
    Primitive.INT8: 127,
    Primitive.INT16: 32767,
    Primitive.UINT16: 65535,
    Primitive.INT32: 2**31 - 1,
    Primitive.INT64: 2**63 - 1,
}
RARELY = 0.02


def by_chance(random: Random, cls: type[Any], version: int, records: Callable[[], bytes]) -> Any:
    """A request that a broker may well accept: few names, small numbers, now and then an extreme."""

    def plain(field: Field) -> Any:
        kind = field.item or field.kind
        if kind is Primitive.STRING:
            return random.choice(NAMES)
        if kind is Primitive.UUID:
            return UUID(int=random.choice((0, 1, random.getrandbits(128))))
        if kind is Primitive.BYTES:
            return random.randbytes(random.choice((0, 1, 4, 30)))
        if kind is Primitive.RECORDS:
            return records()
        if kind is Primitive.BOOLEAN:
            return random.random() < 0.5
        if kind is Primitive.FLOAT64:
            return random.choice((0.0, -1.0, 1e300))
        if field.name.endswith("_ms"):
            return random.choice((-1, 0, 1, 10, 300))
        return EXTREMES[kind] if random.random() < RARELY else max(random.choice(NUMBERS), -1 - EXTREMES[kind])

    def made(cls: type[Any]) -> Any:
        values = {}
        for field in schema_of(cls).fields:
            if version not in field.versions or (field.tag is not None and random.random() < 0.5):
                continue
            if field.is_nullable(version) and random.random() < 0.2:
                values[field.name] = None
            elif field.kind is Primitive.ARRAY:
                values[field.name] = tuple(
                    made(field.element) if field.element is not None else plain(field)
                    for _ in range(random.choice((0, 1, 1, 1, 2, 3)))
                )
            elif field.kind is Primitive.STRUCT:
                values[field.name] = made(field.element)  # type: ignore[arg-type]
            else:
                values[field.name] = plain(field)
        return cls(**values)

    return made(cls)


LENGTHS = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0", b"\xff\xff\xff\xff\x0f", b"\x7f\xff")


def damaged(random: Random, frame: bytes) -> bytes:
    """The frame with a few bytes changed, left out or added; its size field right, most of the time."""
    body = bytearray(frame[4:])
    for _ in range(random.choice((0, 1, 1, 2, 4))):
        if not body:
            break
        at = random.randrange(8, len(body)) if len(body) > 8 and random.random() < 0.95 else random.randrange(len(body))
        kind = random.randrange(5)
        if kind == 0:
            body[at] = random.randrange(256)
        elif kind == 1:
            length = random.choice(LENGTHS)
            body[at : at + len(length)] = length
        elif kind == 2:
            del body[at : at + random.randint(1, 8)]
        elif kind == 3:
            body[at:at] = random.randbytes(random.randint(1, 8))
        else:
            body[at] ^= 1 << random.randrange(8)
    size = len(body) if random.random() < 0.99 else random.randrange(-(1 << 31), 1 << 31)
    return struct.pack(">i", size) + bytes(body)
