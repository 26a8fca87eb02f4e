"""A broker under control: with faults, a clock that moves and a log of its requests; for tests, not for production."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from ..config import BrokerSettings, HostPort, Layers
from ..network.listener import address_in_bind_errors
from .broker import Broker
from .dispatch.suspended_broker import Suspension
from .faults.control_operation import FIELDS_OF_CLUSTERS, PATHS_OF_CLUSTERS, Answer, ControlOperation, Fields
from .faults.control_requests import SEVERAL, Control
from .faults.disk_faults import FaultyDisk
from .faults.fault_fields import WrongFault
from .faults.field_parsers import parse_int
from .held_ports import HeldPorts
from .http.control_port import ControlPort
from .scheduling.movable_clock import MovableClock
from .security.scram_credentials import ScramCredentials
from .topics_at_start import create_topics_of_settings

NOT_RUNNING = "broker {} does not run: kafka.cluster.start(), or POST /brokers/start, starts it"


class ControlledBroker:
    """`control` takes the requests of tests; `broker` is the one that runs, or ran last.

    The control port opens at the address of `stepdown.control.listen`, if that is set.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        layers: Layers,
        *,
        clock: MovableClock | None = None,
        disk: FaultyDisk | None = None,
        seed: int = 0,
    ) -> None:
        """Raises: OSError when an address cannot be bound, DiskFault."""
        self.control = Control(clock or MovableClock(), seed=seed, token=settings.stepdown_control_token or "")
        self.control_address: HostPort | None = None
        self.control.running = lambda: [self.broker] if self._is_running else []
        self.control.on_reset = self._restore_broker
        self.control.lacking = PATHS_OF_CLUSTERS | FIELDS_OF_CLUSTERS
        self._settings, self._layers = settings, layers
        self._disk = disk or FaultyDisk()
        self._is_running = False
        self._pause = Suspension()
        self._port = ControlPort(self.control)
        self._ports = HeldPorts(settings.listeners)
        self._ports.hold()
        try:
            self.broker = self._make_broker()
        except BaseException:
            self._ports.release()
            raise
        for name, act, what in (
            ("stop", self._stop_broker, "Stops the broker in order."),
            ("kill", self._kill_broker, "Ends the broker at once, as a process that is killed."),
            ("start", self._start_again, "Starts the broker again, on its ports and over its logs."),
            ("pause", self._pause_broker, "Has the broker accept and read, and answer nobody."),
            ("resume", self._resume_broker, "Has the broker go on."),
        ):
            self._add_operation(f"brokers/{name}", act, what)

    # What is there

    @property
    def address(self) -> HostPort:
        """The address of the first listener."""
        return self.broker.address

    @property
    def http_address(self) -> HostPort | None:
        return self.broker.http_address

    @property
    def bootstrap(self) -> str:
        """What clients connect to."""
        return str(self.address)

    @property
    def scram_credentials(self) -> ScramCredentials:
        return self.broker.scram_credentials

    @property
    def has_failed(self) -> bool:
        return self.broker.has_failed

    # Life

    async def start(self) -> None:
        """Returns when clients are served. Raises: OSError, DiskFault; ConfigError, for topics that cannot be made."""
        await self._start_broker()
        await create_topics_of_settings(self.broker)
        wanted = self._settings.stepdown_control_listen
        if wanted is not None:
            with address_in_bind_errors(wanted.host, wanted.port):
                self.control_address = HostPort(*await self._port.start(wanted.host, wanted.port))

    async def stop(self) -> None:
        """Returns when everything acknowledged is on disk, and nothing is left."""
        await self._end_broker_and_control(self.broker.stop)

    async def kill(self) -> None:
        """Ends at once."""
        await self._end_broker_and_control(self.broker.kill)

    async def _end_broker_and_control(self, end: Callable[[], Awaitable[None]]) -> None:
        self.control.close()
        self._pause.end()
        await self._port.stop()
        if self._is_running:
            self._is_running = False
            await end()
        self._ports.release()

    def _make_broker(self) -> Broker:
        listeners = self._ports.listeners
        layers = replace(self._layers, static={**self._layers.static, "listeners": ",".join(map(str, listeners))})
        settings = replace(self._settings, listeners=listeners)
        broker = Broker(settings, layers, clock=self.control.clock, files=self._disk)
        self.control.attach(broker, self._disk)
        return broker

    async def _start_broker(self) -> None:
        with self._ports.let_broker_listen():
            await self.broker.start()
        self._is_running = True

    # What tests ask

    def _add_operation(self, name: str, act: Callable[[], Awaitable[None]], what: str) -> None:
        async def answer(fields: Fields) -> Answer:
            node_id = self.broker.cluster.node_id
            if fields.get("broker", node_id) != node_id:
                raise WrongFault(f"there is no broker {fields['broker']}, only broker {node_id}; {SEVERAL}")
            await act()
            self.control.note_broker(name, node_id)
            self.control.log_event(f"{name} broker {node_id}")
            return {"brokers": [node_id] if self._is_running else []}

        self.control.add(ControlOperation(path=name, what=what, act=answer, fields={"broker": parse_int}))

    def _check_runs(self) -> None:
        if not self._is_running:
            raise WrongFault(NOT_RUNNING.format(self.broker.cluster.node_id))

    async def _stop_broker(self) -> None:
        self._check_runs()
        self._pause.end()
        self._is_running = False
        await self.broker.stop()

    async def _kill_broker(self) -> None:
        self._check_runs()
        self._pause.end()
        self._is_running = False
        await self.broker.kill()

    async def _start_again(self) -> None:
        if self._is_running:
            raise WrongFault("the broker runs already")
        self.broker = self._make_broker()
        await self._start_broker()

    async def _restore_broker(self) -> None:
        if self._is_running and self.broker.log_manager.offline:  # until it is started again
            await self._kill_broker()
        if not self._is_running:
            await self._start_again()
        await self._resume_broker()

    async def _pause_broker(self) -> None:
        self._check_runs()
        if not self._pause.is_on:
            self._pause.begin()
            self.broker.interceptors.append(self._pause)

    async def _resume_broker(self) -> None:
        self._check_runs()
        if self._pause.is_on:
            self.broker.interceptors.remove(self._pause)
            self._pause.end()
