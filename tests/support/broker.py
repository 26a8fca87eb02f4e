"""The broker under test as a process of its own: `stepdown serve`, or another in its place.

`STEPDOWN_TEST_BROKER` in the environment names what `broker_under_test` starts: `kafka` is Apache Kafka, to prove the
tests; `gateway` is a gateway before Kafka 4.4.0, with a port for the broker, `gateway-single` one with one address.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from stepdown.bench.servers.stepdown import Stepdown as ServerProcess

from .clients_raw import create_topic
from .gateway_before_kafka import GatewayBeforeKafka
from .kafka import ApacheKafka

GATEWAY_SCHEMES = {"gateway": "ports", "gateway-single": "single"}


class BrokerProcess(Protocol):
    """What the tests ask of stepdown and of Kafka alike. `log_dir` holds the partitions."""

    log_dir: Path
    address: str

    @property
    def pid(self) -> int: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...
    def create_topic(self, name: str, *, partitions: int = 1, configs: dict[str, str] | None = None) -> None: ...


class Stepdown(ServerProcess):
    """`stepdown serve` over `folder/data` on free ports; started again it serves the same directory."""

    def __enter__(self) -> "Stepdown":
        self.start()
        return self

    def __exit__(self, error_type: type[BaseException] | None, *error: object) -> None:
        if error_type is None:
            self.stop()
        else:
            self.kill()

    def create_topic(self, name: str, *, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
        """Create a topic and return when each partition has a leader that answers."""
        create_topic(self.address, name, partitions=partitions, configs=configs)


def broker_under_test(
    folder: Path, *, advertised: str | None = None, properties: Mapping[str, str] | None = None
) -> BrokerProcess:
    """Return stepdown, or what `STEPDOWN_TEST_BROKER` names; not started.

    Topics are never made by asking, and records of any age are kept.
    """
    settings = {"auto.create.topics.enable": "false", "log.retention.ms": "-1"} | dict(properties or {})
    if under_test() == "kafka":
        return ApacheKafka(folder, advertised=advertised, properties=settings)
    if (addresses := GATEWAY_SCHEMES.get(under_test())) is not None:
        return GatewayBeforeKafka(folder, addresses=addresses, advertised=advertised, properties=settings)
    return Stepdown(folder, advertised=advertised, properties=settings)


def under_test() -> str:
    """Return "stepdown", "kafka", "gateway" or "gateway-single"."""
    return os.environ.get("STEPDOWN_TEST_BROKER", "stepdown")
