"""Makes the broker or the cluster of a test, not started, with settings that suit tests."""

from collections.abc import Mapping, Sequence
from functools import partial

from ..broker.broker_cluster import BrokerCluster, replication_factor_settings
from ..broker.broker_with_control_port import ControlledBroker
from ..broker.cluster_with_control_port import ControlledCluster
from ..broker.faults.hard_linked_files import HardLinkedFiles
from ..broker.scheduling.movable_clock import MovableClock
from ..config import load
from .wire.config_values import as_config_value

DEFAULTS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "stepdown.shutdown.grace.ms": "200",
}
"""Defaults for tests; the settings of a test override them."""

Brokers = ControlledBroker | ControlledCluster


def make_brokers(
    folder: str,
    *,
    brokers: int,
    config: Mapping[str, object],
    racks: Sequence[str] = (),
    clock: MovableClock | None = None,
    seed: int = 0,
) -> Brokers:
    """Not started yet; in the event loop that they will run in. Raises: ConfigError, DiskFault."""
    settings = {name: as_config_value(name, value) for name, value in {**DEFAULTS, **config}.items()}
    if brokers == 1:
        rack = {"broker.rack": racks[0]} if racks else {}
        given = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": folder, **rack, **settings}
        loaded = load(overrides=[f"{name}={text}" for name, text in given.items()])
        return ControlledBroker(loaded.settings, loaded.layers, clock=clock, disk=HardLinkedFiles(), seed=seed)
    given = {**replication_factor_settings(brokers), **settings}
    own = load(overrides=[f"{name}={text}" for name, text in given.items()]).settings
    return ControlledCluster(
        partial(BrokerCluster.of, folder, brokers, settings=given, racks=racks, seed=seed),
        clock=clock,
        make_disk=HardLinkedFiles,
        seed=seed,
        port=own.stepdown_control_listen,
        token=own.stepdown_control_token or "",
    )
