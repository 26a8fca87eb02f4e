"""Whether /readyz lets clients be sent here."""

import asyncio
from http import HTTPStatus
from pathlib import Path

from stepdown.broker.http.pages import pages_of
from stepdown.protocol.errors import DiskFault
from support.fetching import connect, create
from support.running import running_broker
from support.scraping import value


async def test_a_broker_is_ready_until_all_its_directories_fail(tmp_path: Path) -> None:
    async with running_broker(tmp_path, log_dirs=f"{tmp_path}/a,{tmp_path}/b") as broker:
        async with await connect(broker) as client:
            await create(client, "t", partitions=2)
        ready = pages_of(broker, lambda: broker.is_ready)["/readyz"]
        assert (await ready()).status == HTTPStatus.OK
        first, second = (broker.cluster.partition("t", index).log for index in (0, 1))
        first.fault = DiskFault("the disk is gone")
        assert (await ready()).status == HTTPStatus.OK
        assert await value(broker, "stepdown_offline_log_directories") == 1
        second.fault = DiskFault("the disk is gone")
        page = await ready()
        assert (page.status, page.body) == (
            HTTPStatus.SERVICE_UNAVAILABLE,
            b"not ready: every log directory fails, see the log\n",
        )


async def test_a_broker_that_stops_is_not_ready(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        ready = pages_of(broker, lambda: broker.is_ready)["/readyz"]
    assert (await ready()).status == HTTPStatus.SERVICE_UNAVAILABLE


async def test_metrics_are_made_once_for_all_who_ask_at_the_same_time(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        metrics, made = pages_of(broker, lambda: broker.is_ready)["/metrics"], 0
        read = broker.metrics.instruments.take_snapshot

        def counted(*args: object) -> object:
            nonlocal made
            made += 1
            return read(*args)  # type: ignore[arg-type]

        broker.metrics.instruments.take_snapshot = counted  # type: ignore[method-assign, assignment]
        pages = await asyncio.gather(*(metrics() for _ in range(20)))
        assert made == 1
        assert {page.body for page in pages} == {pages[0].body}
        await metrics()
        assert made == 2
