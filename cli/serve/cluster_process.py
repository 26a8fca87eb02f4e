"""`stepdown serve --brokers N`: a cluster in this process, each broker on a port and a log directory of its own.

Broker i listens on the ports of --listen plus i - 1 (port 0: any free ones) and has `broker-i` in the log directory.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from ...broker.broker import Broker
from ...broker.broker_cluster import BrokerCluster, LoadSettings, own_settings
from ...broker.cluster_with_control_port import ControlledCluster
from ...broker.faults.disk_faults import FaultyDisk
from ...config import BrokerSettings, Endpoint, Given, Origin, StartupSettings
from ...network.clock import Clock
from ...storage.files.files import Files

Load = Callable[[Sequence[str]], StartupSettings]
"""Returns the settings of the command line, overridden by `key=value` texts."""


def make_cluster(
    brokers: int,
    loaded: StartupSettings,
    load: Load,
    *,
    racks: Sequence[str] = (),
    clock: Clock | None = None,
    files: Callable[[int], Files] | None = None,
    on_broker: Callable[[Broker], None] | None = None,
) -> BrokerCluster:
    """Returns a cluster of brokers 1 to n, not started. Raises: ConfigError, DiskFault."""
    members = {number: _make_settings_loader(number, loaded, load, racks) for number in range(1, brokers + 1)}
    return BrokerCluster(loaded.settings.log_dirs[0], members, clock=clock, files=files, on_broker=on_broker)


def make_cluster_with_control_port(
    brokers: int,
    loaded: StartupSettings,
    load: Load,
    racks: Sequence[str] = (),
    make_disk: Callable[[], FaultyDisk] = FaultyDisk,
) -> ControlledCluster:
    """Returns the same with one control port for the whole cluster. Raises: ConfigError, DiskFault."""
    settings = loaded.settings
    return ControlledCluster(
        partial(make_cluster, brokers, loaded, load, racks=racks),
        make_disk=make_disk,
        port=settings.stepdown_control_listen,
        token=settings.stepdown_control_token or "",
    )


def load_settings_of_members(brokers: int, loaded: StartupSettings, load: Load) -> list[BrokerSettings]:
    """Returns the settings of brokers 1 to n. Raises: ConfigError."""
    return [_make_settings_loader(number, loaded, load, ())(()).settings for number in range(1, brokers + 1)]


def _make_settings_loader(number: int, loaded: StartupSettings, load: Load, racks: Sequence[str]) -> LoadSettings:
    settings = loaded.settings
    own = [
        *own_settings(number, settings.log_dirs[0], racks[(number - 1) % len(racks)] if racks else None),
        _shift_ports("listeners", settings.listeners, number),
        _shift_ports("advertised.listeners", settings.advertised_listeners, number),
    ]
    return lambda more: load([f"{each.key}={each.text}" for each in (*own, *more)])


def _shift_ports(key: str, endpoints: Iterable[Endpoint], number: int) -> Given:
    moved = [replace(each, port=each.port + number - 1 if each.port else 0) for each in endpoints]
    return Given(key, ",".join(map(str, moved)), Origin("option --brokers"))
