"""The table of request versions, which is made from Kafka's jars, is what running brokers tell.

`tests/vectors/act_as/` has what brokers told, and is asked for again by `test_act_as.py`; the others are asked here.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from stepdown.protocol.api import ApiKey
from stepdown.protocol.kafka_releases import api_key_of, versions_of
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from support.client import RawClient
from support.kafka_4 import ApacheKafka4
from support.release_probe import recorded

RECORDED = {"3.9": "3.9.1", "4.0": "4.0.1", "4.1": "4.1", "4.4": "4.4"}
OTHERS = {"4.0.0": "4.0.0", "4.2.1": "4.2"}
"""The lines of the table by what was asked."""
TELEMETRY = (71, 72)
"""Told only by a broker that has a reporter for them."""
OLDEST_PRODUCE = 3
"""Of Kafka 4, which tells 0, for librdkafka, and closes the connection of who believes it."""


def check(told: Mapping[int, tuple[int, int]], line: str) -> None:
    table = {key: (found.start, found.stop - 1) for key in range(200) if (found := versions_of(line, key))}
    for key in TELEMETRY:
        table.pop(key, None)
    if line.startswith("4"):
        assert table[ApiKey.PRODUCE][0] == OLDEST_PRODUCE
        table[ApiKey.PRODUCE] = (0, table[ApiKey.PRODUCE][1])
    assert told == table


@pytest.mark.parametrize(("release", "line"), RECORDED.items())
def test_the_table_is_what_a_broker_told(release: str, line: str) -> None:
    told = {}
    for name, text in recorded(release).versions.items():
        first, last = map(int, text.split("-"))
        key = api_key_of(name)
        assert key is not None
        told[key] = (first, last)
    check(told, line)


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize(("release", "line"), OTHERS.items())
def test_the_table_is_what_a_running_broker_tells(tmp_path: Path, release: str, line: str) -> None:
    async def ask(address: str) -> dict[int, tuple[int, int]]:
        host, _, port = address.rpartition(":")
        async with await RawClient.connect(host, int(port)) as client:
            answer = await client.send(ApiVersionsRequest(), 0)
        return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}

    with ApacheKafka4(tmp_path, release=release) as kafka:
        check(asyncio.run(ask(kafka.address)), line)
