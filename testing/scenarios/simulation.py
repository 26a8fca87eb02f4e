"""The environment of a scenario: brokers, producers and group members in one event loop; only steps move its clock.

Nothing waits for real time, and random choices come from a seed: each run is the same, to the last request. Connections
stay inside the process, since the kernel's loopback delivers later on a busy machine.
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from random import Random
from types import TracebackType
from typing import Any, Self

from ...broker.broker_with_control_port import ControlledBroker
from ...broker.faults.event_log import Event, OtherEvent
from ...broker.scheduling.movable_clock import MovableClock
from ...config import HostPort
from ...producer import Producer
from ...producer.accumulator.compression_estimator import CompressionRatios
from ...producer.injected_dependencies import Dependencies
from ...producer.network.connections import Connections
from ..async_kafka import AsyncKafka
from ..finish_despite_cancellation import finish_despite_cancellation
from ..make_brokers import make_brokers
from .scenario import Scenario
from .scenario_member import ScenarioMember

START_MS = 1_700_000_000_000
TURNS = 150
"""Passes of the event loop after each timer and each step; a request with its response takes about ten."""


@dataclass(slots=True)
class SentRecord:
    """A sent record, or a step of a transaction. `label`: its name in expectations. `outcome`: offset or error name."""

    label: str
    outcome: int | str | None = None
    tasks: list[asyncio.Future[Any]] = field(default_factory=list)


class SimulatedProducer(Producer):
    """A producer with the clock and the network of the simulation."""

    def __init__(self, address: str, around: Dependencies, settings: Mapping[str, Any]) -> None:
        self._given = around
        super().__init__(address, configs=settings)

    def _make_dependencies(self) -> Dependencies:
        return self._given


class Simulation:
    """One run of a scenario, with the brokers' files in `folder`."""

    def __init__(self, scenario: Scenario, seed: int, folder: str) -> None:
        self.scenario = scenario
        self._seed, self._folder = seed, folder
        self.producers: dict[str, Producer] = {}
        self.members: dict[str, ScenarioMember] = {}
        self.sent: dict[str, SentRecord] = {}

    async def __aenter__(self) -> Self:
        self.clock = MovableClock(START_MS, turns=TURNS)
        async with AsyncExitStack() as opened:
            self.brokers = make_brokers(
                self._folder,
                brokers=self.scenario.brokers,
                config=self.scenario.config,
                clock=self.clock,
                seed=self._seed,
            )
            opened.push_async_callback(self.brokers.stop)
            self.control = self.brokers.control
            await self.brokers.start()
            self.kafka = AsyncKafka(self.brokers.bootstrap)
            opened.push_async_callback(self.kafka.close)
            for name, topic in self.scenario.topics.items():
                await self.kafka.create_topic(name, **topic)
            self._opened = opened.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None
    ) -> None:
        await finish_despite_cancellation(self._end())

    async def _end(self) -> None:
        async with self._opened:
            self.control.close()
            for producer in self.producers.values():
                await producer.close(timeout_ms=0)
            for member in self.members.values():
                await member.close()

    async def producer(self, name: str) -> Producer:
        """Returns the producer of that name, started at its first use. Raises: KeyError."""
        if name not in self.producers:
            settings: Mapping[str, Any] = self.scenario.producers[name]
            around = Dependencies(
                clock=self.clock,
                draws=Random(self._seed),
                link=partial(Connections, draws=Random(self._seed), connect=self._connect),
                ratios=CompressionRatios(),
            )
            producer = SimulatedProducer(self.brokers.bootstrap, around, {"client.id": name, **settings})
            self.producers[name] = await producer.start()
        return self.producers[name]

    def member(self, name: str) -> ScenarioMember:
        """Returns the member of that name. Raises: KeyError."""
        if name not in self.members:
            settings = self.scenario.members[name]
            self.members[name] = ScenarioMember(
                name, settings, self.brokers.bootstrap, self.clock, self.add_line, self._connect
            )
        return self.members[name]

    async def _connect(
        self, protocol: Callable[[], asyncio.BaseProtocol], host: str, port: int, *, tls: ssl.SSLContext | None
    ) -> None:
        running = (
            [self.brokers.broker]
            if isinstance(self.brokers, ControlledBroker)
            else self.brokers.cluster.brokers.values()
        )
        for broker in running:
            if broker.address == HostPort(host, port):
                await asyncio.get_running_loop().create_connection(protocol, sock=broker.open_in_process_socket())
                return
        raise ConnectionRefusedError(f"no broker runs at {host}:{port}")

    def add_line(self, line: str) -> None:
        """Adds a line for a step or an outcome to the event log."""
        self.control.events.add(OtherEvent(at_ms=self.clock.now_ms(), line=line))

    async def settle(self) -> None:
        """Returns after everything that needs no time has happened."""
        await self.clock.advance(0)

    def lines(self) -> list[str]:
        """Returns the events in order, with the time since the start; without heartbeats that just succeeded."""
        shown = (event for event in self.control.events if not _is_hidden(event))
        return [f"{(event.at_ms - START_MS) / 1000:9.3f} s  {event.line}" for event in shown]


def _is_hidden(event: Event) -> bool:
    if isinstance(event, OtherEvent):
        return event.event != "other"
    return event.api == "Heartbeat" and event.answer == [] and not event.faults
