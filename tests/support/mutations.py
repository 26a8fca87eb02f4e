"""Batches damaged at random, most of them with a right checksum, so that what lies behind it is reached."""

from random import Random

from stepdown.protocol.records import kernel
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.layout import (
    ATTRIBUTES_OFFSET,
    CRC_OFFSET,
    LEGACY_CRC_OFFSET,
    MAGIC_OFFSET,
    SIZE_OFFSET,
    Codec,
    ControlType,
    TimestampType,
)
from stepdown.protocol.records.record import Record

_TEMPTING = (0, 1, 0x7F, 0x80, 0xFF, 0xFE, 0x40)


def random_batch(random: Random, offset: int = 0) -> bytes:
    """Return a valid batch or message set of any magic and codec that begins at `offset`."""
    magic = random.choice((0, 1, 2, 2, 2))
    codec = random.choice((0, 0, 0, 1, 2, 3, 4 if magic == 2 else 0))
    if magic == 2 and random.random() < 0.05:
        kind = ControlType.COMMIT
        return build_control_marker(
            kind, offset=offset, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp=5
        )
    append_time = random.random() < 0.2
    return build_batch(
        _records(random, offset, headers=magic == 2),
        magic=magic,
        codec=Codec(codec),
        timestamp_type=TimestampType.LOG_APPEND_TIME if append_time else TimestampType.CREATE_TIME,
        log_append_time=random.randrange(1 << 41) if append_time else None,
    )


def _records(random: Random, offset: int, *, headers: bool) -> list[Record]:
    records = []
    for _ in range(random.choice((1, 1, 2, 3, 20))):
        records.append(
            Record(
                offset=offset,
                timestamp=random.choice((-1, 0, random.randrange(1 << 41))),
                key=_bytes(random, 20),
                value=_bytes(random, 300),
                headers=tuple((f"h{n}", _bytes(random, 9)) for n in range(random.choice((0, 0, 1, 3))))
                if headers
                else (),
            )
        )
        offset += random.choice((1, 1, 1, 5))
    return records


def _bytes(random: Random, longest: int) -> bytes | None:
    return random.choice((None, b"", random.randbytes(random.randrange(longest))))


def mutate(random: Random, data: bytes) -> bytes:
    """Return the data with a few bytes changed, cut out, doubled or added."""
    damaged = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 5))):
        at = random.randrange(len(damaged)) if damaged else 0
        match random.randrange(6):
            case 0 | 1 | 2:
                damaged[at : at + 1] = bytes((random.choice((*_TEMPTING, random.randrange(256))),))
            case 3:
                del damaged[at : at + random.randrange(1, 9)]
            case 4:
                damaged[at:at] = random.randbytes(random.randrange(1, 9))
            case _:
                damaged[at : at + 4] = random.choice((b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00"))
    return bytes(damaged)


def mended(data: bytes) -> bytes:
    """Return the first batch in the data with the size and checksum that its bytes ask for."""
    if len(data) <= MAGIC_OFFSET:
        return data
    batch = bytearray(data)
    batch[SIZE_OFFSET : SIZE_OFFSET + 4] = (len(batch) - 12).to_bytes(4, "big")
    if batch[MAGIC_OFFSET] < 2:
        crc = kernel.crc32(memoryview(batch)[MAGIC_OFFSET:])
        batch[LEGACY_CRC_OFFSET : LEGACY_CRC_OFFSET + 4] = crc.to_bytes(4, "big")
    elif len(batch) > ATTRIBUTES_OFFSET:
        crc = kernel.crc32c(memoryview(batch)[ATTRIBUTES_OFFSET:])
        batch[CRC_OFFSET : CRC_OFFSET + 4] = crc.to_bytes(4, "big")
    return bytes(batch)


def damaged_batch(random: Random, offset: int = 0) -> bytes:
    """Return a batch that is probably broken; three in four have a right frame and checksum."""
    damaged = mutate(random, random_batch(random, offset))
    return mended(damaged) if random.random() < 0.75 else damaged
