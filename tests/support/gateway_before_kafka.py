"""A gateway before Kafka 4.4.0 in the place of a broker: clients reach the gateway, the files are Kafka's.

Started again, Kafka is another process and the gateway the same one.
"""

from collections.abc import Mapping
from pathlib import Path

from .clients_raw import create_topic
from .gateway_process import GatewayProcess
from .kafka_4 import LATEST, NewKafka4

BROKER = 1
"""Its id."""
BESIDE = "127.0.0.2"
"""Where the gateway's port for the broker is free, since the proxy has the same one at 127.0.0.1."""


class GatewayBeforeKafka:
    """`addresses` is the gateway's scheme; with `advertised` clients are sent there, and `address` is behind it."""

    def __init__(
        self,
        folder: Path,
        *,
        addresses: str,
        advertised: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._kafka = NewKafka4(folder / "kafka", release=LATEST, properties=properties)
        self.log_dir = self._kafka.log_dir
        work = folder / "gateway"
        work.mkdir()
        listen, settings, self._address = "127.0.0.1:0", {"addresses": addresses}, ""
        if advertised is not None:
            host, _, port = advertised.rpartition(":")
            settings["advertised.host"] = host
            if addresses == "ports":
                listen, self._address = f"{BESIDE}:0", f"{BESIDE}:{port}"
                settings["first.port"] = str(int(port) - BROKER)
            else:
                settings["advertised.port"] = port
        self._gateway = GatewayProcess(work, self._kafka.address, listen=listen, **settings)
        self._is_open = False

    @property
    def address(self) -> str:
        return self._address or self._gateway.address

    @property
    def pid(self) -> int:
        return self._gateway.pid

    def start(self) -> None:
        self._kafka.start()
        if not self._is_open:
            self._gateway.__enter__()
            self._is_open = True

    def stop(self) -> None:
        try:
            if self._is_open:
                self._is_open = False
                self._gateway.__exit__(None, None, None)
        finally:
            self._kafka.stop()

    def kill(self) -> None:
        """Kafka alone."""
        self._kafka.kill()

    def create_topic(self, name: str, *, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
        """Create a topic, by requests that Kafka 4 has no more, and return when each partition answers."""
        create_topic(self.address, name, partitions=partitions, configs=configs)
