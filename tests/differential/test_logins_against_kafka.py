"""Random conversations about a login, right and wrong, with Kafka 3.9.1 and with stepdown: the answers are the same.

`make access-cases` has two thousand of them.
"""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from stepdown.protocol.errors import ErrorCode
from support.certificates import Authority
from support.kafka_secure import SecureKafka
from support.sasl_walks import HUNG_UP, Walker, random_walk
from support.secure import secure_broker, secure_settings
from support.side_by_side import Side

pytestmark = pytest.mark.java

WALKS = int(os.environ.get("ACCESS_CASES", "100"))
SEED = int(os.environ.get("SEED", "1"))

LAST_WORDS = (
    ("versions", ErrorCode.ILLEGAL_SASL_STATE),
    ("handshake", ErrorCode.ILLEGAL_SASL_STATE, []),
    ("metadata", 0),
    "an answer",
)
"""What Kafka answers to a request that has no place in a login, before it hangs up as we do: docs/compatibility.md."""


def is_same(theirs: list[Any], ours: list[Any]) -> bool:
    end = len(ours) - 1
    if theirs == ours or ours[end] != HUNG_UP or theirs[:end] != ours[:end]:
        return theirs == ours
    return theirs[end] in LAST_WORDS and theirs[end + 1 :] == [HUNG_UP]


async def test_what_is_said_before_during_and_after_a_login_is_answered_the_same(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    walks = [random_walk(SEED * 1_000_000 + number) for number in range(WALKS)]
    with SecureKafka(tmp_path / "kafka", authority) as kafka:
        side = Side.at(kafka.addresses["SASL_PLAINTEXT"])
        theirs = await asyncio.gather(*map(Walker(side.host, side.port).take, walks))
    async with secure_broker(tmp_path / "ours", secure_settings(authority)) as broker:
        address = broker.addresses["SASL_PLAINTEXT"]
        ours = await asyncio.gather(*map(Walker(address.host, address.port).take, walks))
    found = [
        f"{walk}\n  Kafka {one}\n  we    {other}"
        for walk, one, other in zip(walks, theirs, ours, strict=True)
        if not is_same(one, other)
    ]
    assert not found, f"{len(found)} of {WALKS}:\n" + "\n".join(found[:40])
    said = [answer for answers in theirs for answer in answers]
    assert ("metadata", 1) in said and HUNG_UP in said, "some got in, and some did not"
