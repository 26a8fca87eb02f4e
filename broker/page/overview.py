"""The overview: identity of the broker, its traffic and memory, and problems, each with a command that helps.

Counts run since the start; the page computes differences.
"""

import asyncio
from typing import Any

from ... import __version__
from ...network.metrics.instruments import DURATION_BUCKETS, CounterFamily
from ...network.page.durations import sum_durations
from ...network.page.memory_rows import describe_budget, describe_process
from ...network.page.page_query import PageQuery
from ...network.turn import Turn
from .broker_state import BrokerState
from .fault_control import find_control_without_token
from .problems import find_problems

MOST_BROKERS = 100
VIEWS = ("overview", "topics", "groups", "transactions", "clients", "requests")
PHASE = "local"
"""The phase of request times that leaves out the time that requests were parked."""


class Overview:
    """The overview; requests that come while it is being made share it."""

    def __init__(self, state: BrokerState) -> None:
        self._state = state
        self._making: asyncio.Task[dict[str, Any]] | None = None

    async def show(self, query: PageQuery) -> dict[str, Any]:
        """The document."""
        if self._making is None or self._making.done():
            self._making = asyncio.create_task(self._make())
        return await asyncio.shield(self._making)

    async def _make(self) -> dict[str, Any]:
        state, turn = self._state, self._state.services.turns.begin()
        services = state.services
        cluster = services.cluster
        problems = await find_problems(services, turn)
        return {
            "software": "stepdown",
            "views": [*VIEWS, *(("faults",) if find_control_without_token(services) is not None else ())],
            "may_produce": services.settings.stepdown_page_produce,
            "version": __version__,
            "cluster_id": cluster.cluster_id,
            "node_id": cluster.node_id,
            "controller_id": cluster.controller_id,
            "is_ready": state.is_ready(),
            "started_ms": services.started_ms,
            "now_ms": services.clock.now_ms(),
            "elapsed_s": services.clock.monotonic_s(),
            "log_directories": list(services.log_manager.directories),
            "brokers": self._list_brokers(),
            "counts": self._count(),
            "traffic": await self._sum_traffic(turn),
            "requests": await self._measure_requests(turn),
            "bounds_s": DURATION_BUCKETS,
            "memory": self._measure_memory(),
            "problems": problems,
        }

    def _list_brokers(self) -> list[dict[str, Any]]:
        brokers = sorted(self._state.services.cluster.brokers.items())[:MOST_BROKERS]
        return [
            {
                "id": node_id,
                "rack": node.rack,
                "listeners": {name: f"{place.host}:{place.port}" for name, place in node.endpoints.items()},
            }
            for node_id, node in brokers
        ]

    def _count(self) -> dict[str, int]:
        services = self._state.services
        groups, transactions = services.groups_in_use, services.transactions_in_use
        topics = [topic for topic in services.cluster.topics.values() if not topic.is_internal]
        return {
            "connections": self._state.count_connections(),
            "clients": len(services.clients),
            "topics": len(topics),
            "partitions": sum(len(topic.partitions) for topic in topics),
            "groups": 0 if groups is None else len(groups.groups),
            "transactional_ids": 0 if transactions is None else len(transactions.transactions),
        }

    async def _sum_traffic(self, turn: Turn) -> dict[str, float]:
        metrics = self._state.services.metrics
        families: dict[str, CounterFamily] = {
            "bytes_in": metrics.bytes_in,
            "bytes_out": metrics.bytes_out,
            "records_in": metrics.messages_in,
            "records_converted_for_fetch": metrics.fetch_conversions,
            "records_converted_for_produce": metrics.produce_conversions,
            "converted_bytes": metrics.conversion_bytes,
        }
        measured = {}
        for name, family in families.items():
            measured[name] = sum(value for _, value in family.rows())
            await turn.next()
        return measured

    async def _measure_requests(self, turn: Turn) -> list[dict[str, Any]]:
        rows = self._state.services.metrics.request_duration.rows()
        return await sum_durations(((row[0][0], row) for row in rows if row[0][1] == PHASE), turn)

    def _measure_memory(self) -> list[dict[str, Any]]:
        services = self._state.services
        return [
            describe_budget("requests", services.request_memory),
            describe_budget("responses over 64 KiB", services.answer_memory),
            describe_budget("unread responses", services.unread_answers),
            describe_budget("conversion", services.conversion_budget),
            *describe_process(),
        ]
