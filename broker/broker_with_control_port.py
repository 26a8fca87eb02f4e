"""A broker under control: with faults, a clock that moves and a log of its requests; for tests, not for production."""

from ..config import BrokerSettings, HostPort, Layers
from .broker import Broker, naming_address
from .faults.control_requests import Control
from .faults.disk_faults import FaultyDisk
from .http.control_port import ControlPort
from .scheduling.movable_clock import MovableClock


class ControlledBroker(Broker):
    """As `Broker`; `control` is what tests ask. The control port opens where `stepdown.control.listen` says so."""

    def __init__(
        self,
        settings: BrokerSettings,
        layers: Layers,
        *,
        clock: MovableClock | None = None,
        disk: FaultyDisk | None = None,
        seed: int = 0,
    ) -> None:
        self.control = Control(clock or MovableClock(), seed=seed)
        disk = disk or FaultyDisk()
        super().__init__(settings, layers, clock=self.control.clock, files=disk)
        self.control.attach(self, disk)
        self.control_address: HostPort | None = None
        self._port = ControlPort(self.control, settings.stepdown_control_token or "")

    @property
    def bootstrap(self) -> str:
        """What clients connect to."""
        return str(self.address)

    async def _listen(self) -> None:
        await super()._listen()
        wanted = self.settings.stepdown_control_listen
        if wanted is not None:
            with naming_address(wanted.host, wanted.port):
                self.control_address = HostPort(*await self._port.start(wanted.host, wanted.port))

    async def stop(self) -> None:
        self.control.close()
        await self._port.stop()
        await super().stop()
