"""Which partitions of a fetch are converted down, to what, and which are refused (KIP-283).

| Fetch version | newest magic the client reads |
|---|---|
| 0, 1 | 0 |
| 2, 3 | 1 |
| 4 and later | 2 (zstd from 10 on) |

A log takes only magic 2 since inter.broker.protocol.version 3.0, so every fetch below v4 takes this path; batches already at or below
the target are copied. Promising a size takes the first batch's conversion: plain batches are measured here, on the loop, those
with a codec in a worker.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..protocol.errors import ApiError, ErrorCode, UnsupportedCompression
from ..storage.converted import ConversionRules, ConvertedSlice
from .reading import Reading, Terms

if TYPE_CHECKING:
    from .broker import Broker

FIRST_VERSION_WITH_ZSTD = 10
SLICES_A_TURN = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A partition's records cannot be had. `hides_reading`: the answer keeps nothing of what was read, not even its error."""

    code: ErrorCode
    hides_reading: bool = True


def target_magic(version: int) -> int | None:
    """The newest magic that a client of this Fetch version reads; None if it reads all."""
    if version <= 1:
        return 0
    return 1 if version <= 3 else None


async def convert_for(broker: "Broker", readings: Sequence[Reading], terms: Terms) -> dict[int, ConvertedSlice | Refusal]:
    """What replaces the slices of `readings`, by their index; a reading that is not named goes out as it was stored."""
    replaced: dict[int, ConvertedSlice | Refusal] = {}
    if terms.version >= FIRST_VERSION_WITH_ZSTD:
        return replaced
    target = target_magic(terms.version)
    for index, reading in enumerate(readings):
        refusal = _refusal(broker, reading, terms, target)
        if refusal is not None:
            replaced[index] = refusal
        elif target is not None and reading.slice.size_bytes:
            replaced[index] = await _promise(broker, reading, target)
            if index % SLICES_A_TURN == SLICES_A_TURN - 1:
                await broker.breathe()
    return replaced


def _refusal(broker: "Broker", reading: Reading, terms: Terms, target: int | None) -> Refusal | None:
    if reading.topic is None:
        return None
    settings = reading.topic.settings
    rejected = broker.metrics.conversions_rejected
    if settings.compression_type == "zstd" and (target is None or broker.zstd_to is None):
        rejected.of("zstd").add()
        return Refusal(code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    if target is not None and not terms.is_follower and not settings.message_downconversion_enable:
        rejected.of("disabled").add()
        return Refusal(code=ErrorCode.UNSUPPORTED_VERSION)
    return None


async def _promise(broker: "Broker", reading: Reading, target: int) -> ConvertedSlice | Refusal:
    topic = reading.topic
    assert topic is not None
    rules = ConversionRules(
        target=target,
        first_offset=reading.interest.fetch_offset,
        zstd_to=broker.zstd_to,
        chunk_bytes=broker.settings.stepdown_downconversion_chunk_bytes,
        hints_at_too_large=True,
    )
    counted = broker.conversion_counter(topic.name)
    try:
        converted = ConvertedSlice(reading.slice, rules, counted)
        if converted.needs_worker:
            with await broker.conversion_budget.claim(converted.claim_bytes):
                await broker.heavy(converted.promise)
        else:
            converted.promise()
    except UnsupportedCompression as error:
        broker.metrics.conversions_rejected.of("zstd").add()
        return Refusal(code=error.code)
    except ApiError as error:
        broker.metrics.conversions_rejected.of("corrupt").add()
        return Refusal(code=error.code)
    return converted
