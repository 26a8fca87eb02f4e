"""Where a scenario happens: a broker and producers in one event loop, on a clock that only the steps move.

Nothing waits for real time and lots are drawn from a seed, so each run is the same, to the last request.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from types import TracebackType
from typing import Any, Self

from ...broker.faults.event_log import OtherEvent
from ...broker.scheduling.movable_clock import MovableClock
from ...producer import Producer
from ...producer.accumulator.compression_estimator import CompressionRatios
from ...producer.network.connections import Network
from ...producer.surroundings import Surroundings
from ..brokers import make_brokers
from ..kafka import Kafka
from .scenario import Scenario

START_MS = 1_700_000_000_000
TURNS = 150
"""Of the loop, after each timer and each step: a request and its answer take about ten."""


@dataclass(slots=True)
class Sent:
    """A record that was sent, by the name that expectations know it by. `outcome`: an offset, or the error's name."""

    label: str
    outcome: int | str | None = None
    tasks: list[asyncio.Future[Any]] = field(default_factory=list)


class StagedProducer(Producer):
    """A producer in surroundings of the stage."""

    def __init__(self, address: str, around: Surroundings, settings: Mapping[str, Any]) -> None:
        self._given = around
        super().__init__(address, configs=settings)

    def _surroundings(self) -> Surroundings:
        return self._given


class Stage:
    """Of one run of a scenario."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        self._seed = seed
        self.producers: dict[str, Producer] = {}
        self.sent: dict[str, Sent] = {}

    async def __aenter__(self) -> Self:
        self._folder = tempfile.mkdtemp(prefix="stepdown-scenario-")
        self.clock = MovableClock(START_MS, turns=TURNS)
        self.brokers = make_brokers(
            self._folder,
            brokers=self.scenario.brokers,
            config=self.scenario.config,
            clock=self.clock,
            seed=self._seed,
        )
        self.control = self.brokers.control
        await self.brokers.start()
        self.kafka = Kafka(self.brokers.bootstrap)
        for name, topic in self.scenario.topics.items():
            await asyncio.to_thread(self.kafka.create_topic, name, **topic)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None
    ) -> None:
        self.control.close()
        for producer in self.producers.values():
            await producer.close(timeout_ms=0)
        await asyncio.to_thread(self.kafka.close)
        await self.brokers.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def producer(self, name: str) -> Producer:
        """The producer of that name, started when it is first used. Raises: KeyError."""
        if name not in self.producers:
            settings: Mapping[str, Any] = self.scenario.producers[name]
            around = Surroundings(
                clock=self.clock,
                draws=Random(self._seed),
                link=partial(Network, draws=Random(self._seed)),
                ratios=CompressionRatios(),
            )
            producer = StagedProducer(self.brokers.bootstrap, around, {"client.id": name, **settings})
            self.producers[name] = await producer.start()
        return self.producers[name]

    def tell(self, line: str) -> None:
        """Notes a step, or an outcome, between the requests."""
        self.control.events.add(OtherEvent(at_ms=self.clock.now_ms(), line=line))

    async def settle(self) -> None:
        """Lets everything that needs no time happen."""
        await self.clock.advance(0)

    def lines(self) -> list[str]:
        """What happened, in order, with the time since the start."""
        return [f"{(event.at_ms - START_MS) / 1000:9.3f} s  {event.line}" for event in self.control.events]
