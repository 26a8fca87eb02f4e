"""`stepdown serve`: runs a broker, or a cluster of them, until a signal stops it."""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...broker.broker import Broker
from ...broker.topics_at_start import create_topics_of_settings
from ...config import BrokerSettings, ConfigError, Given, Origin, StartupSettings, load
from ...config.sources.memory_limit import LEAST_BYTES, memory_limit_bytes, shrink_budgets_to_limit
from ...network.clock import LoopClock
from ...storage.directories.log_directory import CannotCreateDirectory
from ..support.failures import EXIT_FAILED, CommandFailure
from ..support.process_resources import (
    allow_open_files,
    collect_garbage_seldom,
    make_malloc_return_memory,
    shorten_switch_interval,
)
from .event_loop import run_in_loop
from .greeting import print_greeting, summarize_broker, summarize_without_effect
from .host_warnings import start_checking_hosts
from .log_format import configure_logging

if TYPE_CHECKING:
    from ...broker.broker_with_control_port import ControlledBroker
    from ...broker.faults.disk_faults import FaultyDisk

log = logging.getLogger("stepdown")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerOptions:
    """The options of the command line; they override the file and the environment."""

    properties: Path | None = None
    flags: Sequence[Given] = ()
    overrides: Sequence[str] = ()
    brokers: int = 1
    log_format: str = "console"
    log_level: str = "INFO"
    users: Sequence[tuple[str, str]] = field(default=(), repr=False)
    racks: Sequence[str] = ()
    is_temporary: bool = False
    make_files: Callable[[], object] | None = None
    """Makes the files that the flags name; called when all other checks before the start have passed."""


def serve(options: BrokerOptions, environ: Mapping[str, str] = os.environ) -> int:
    """Runs the broker until it stops, and returns the exit code. Raises: ConfigError, OSError, DiskFault."""
    configure_logging(options.log_format, options.log_level)
    limit_bytes = memory_limit_bytes()
    loaded = load_settings(options, environ)
    for warning in loaded.warnings:
        log.warning(warning)
    if loaded.without_effect:
        log.info(summarize_without_effect(loaded.without_effect, options.properties))
    if limit_bytes is not None and limit_bytes < LEAST_BYTES:
        log.error(
            "the memory limit of this process is %d MiB, and a broker that serves takes up to %d: it may be killed; "
            "raise the limit of the container",
            *(limit_bytes >> 20, LEAST_BYTES >> 20),
        )
    new = _check_before_start(loaded, options, environ)
    allow_open_files()
    make_malloc_return_memory()
    shorten_switch_interval()
    try:
        if options.brokers > 1:
            return run_in_loop(_run_cluster(options, loaded, environ, new))
        return run_in_loop(_run_broker(loaded, options, new))
    except CannotCreateDirectory as fault:
        raise CommandFailure(str(fault), "Name one that this user can create with --log-dir DIR.") from fault


def _check_before_start(loaded: StartupSettings, options: BrokerOptions, environ: Mapping[str, str]) -> frozenset[str]:
    """Checks addresses and directories, then makes the files that flags name; returns the log directories to be made.

    Raises: OSError, DiskFault for what would keep a broker from starting.
    """
    from .start_check import check_addresses_can_be_bound, check_directories, check_listener_files

    brokers = [loaded.settings]
    if options.brokers > 1:
        from .cluster_process import load_settings_of_members

        brokers = load_settings_of_members(options.brokers, loaded, partial(load_settings, options, environ))
    check_addresses_can_be_bound(brokers, loaded.settings.stepdown_control_listen)
    new = check_directories(brokers)
    if options.make_files is not None:
        options.make_files()
    check_listener_files(brokers, LoopClock().now_ms())
    return new


def load_settings(options: BrokerOptions, environ: Mapping[str, str], more: Sequence[str] = ()) -> StartupSettings:
    """Returns the settings, with memory budgets that fit into this process's limit. Raises: ConfigError."""
    limit_bytes = memory_limit_bytes()
    budgets = [] if limit_bytes is None else shrink_budgets_to_limit(limit_bytes, max(1, options.brokers))
    defaults = [*budgets, *_replication_factors(options.brokers)]
    return load(options.properties, environ, [*options.overrides, *more], options.flags, defaults)


def _replication_factors(brokers: int) -> list[Given]:
    if brokers < 2:
        return []
    from ...broker.broker_cluster import replication_factor_settings

    return [
        Given(key, text, Origin(f"--brokers {brokers}")) for key, text in replication_factor_settings(brokers).items()
    ]


async def _run_cluster(
    options: BrokerOptions, loaded: StartupSettings, environ: Mapping[str, str], new: frozenset[str]
) -> int:
    from ...broker.failed_brokers import FailedBrokers
    from .cluster_process import make_cluster, make_cluster_with_control_port

    stopping = _make_stop_event(options)
    load_with = partial(load_settings, options, environ)
    async with contextlib.AsyncExitStack() as stack:
        control = ""
        if loaded.settings.stepdown_control_listen is None:
            made = make_cluster(options.brokers, loaded, load_with, racks=options.racks)
            cluster = await stack.enter_async_context(made)
            stack.push_async_callback(FailedBrokers(cluster, stopping.set).wait_for_kills)
        else:  # goes on without a broker: a test starts them again
            make_disk = partial(_make_disk, options)
            controlled = make_cluster_with_control_port(options.brokers, loaded, load_with, options.racks, make_disk)
            cluster = (await stack.enter_async_context(controlled)).cluster
            control = f", control {controlled.control_address}"
        if options.users:
            cluster.scram_credentials.set_passwords(options.users)
        collect_garbage_seldom()
        for broker in cluster.brokers.values():
            log.info(summarize_broker(broker, loaded.layers, new))
        http = ",".join(str(broker.http_address) for broker in cluster.brokers.values())
        print_greeting(f"stepdown listening on {cluster.bootstrap}, http {http}{control}")
        checking = _start_checking_hosts(broker.settings for broker in cluster.brokers.values())
        await stopping.wait()
        checking.cancel()
        if not cluster.brokers:
            return EXIT_FAILED
        log.info("stopping: finishing what is in flight")
    log.info("stopped")
    return 0


def _make_stop_event(options: BrokerOptions) -> asyncio.Event:
    """Returns an event that is set by a stop signal, and for `--temporary` also at the end of stdin."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores it
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    if options.is_temporary:
        from .temporary_process import call_at_end_of_input

        call_at_end_of_input(stopping.set)
    return stopping


async def _run_broker(loaded: StartupSettings, options: BrokerOptions, new: frozenset[str]) -> int:
    stopping = _make_stop_event(options)
    broker = _make_broker(loaded, options)
    if isinstance(broker, Broker):  # with a control port the process goes on: a test starts the broker again
        broker.on_failed = stopping.set
    try:
        await broker.start()
        if isinstance(broker, Broker):
            await create_topics_of_settings(broker)
    except ConfigError:
        await broker.stop()
        raise
    if options.users:
        broker.scram_credentials.set_passwords(options.users)
    collect_garbage_seldom()
    log.info(summarize_broker(broker if isinstance(broker, Broker) else broker.broker, loaded.layers, new))
    print_greeting(_make_greeting(broker))
    checking = _start_checking_hosts([loaded.settings])
    await stopping.wait()
    checking.cancel()
    if broker.has_failed:
        await broker.kill()  # with a failed disk a stop may hang; the next start recovers the logs
        return EXIT_FAILED
    log.info("stopping: finishing what is in flight")
    await broker.stop()
    log.info("stopped")
    return 0


def _start_checking_hosts(brokers: Iterable[BrokerSettings]) -> asyncio.Task[None]:
    hosts = [listener.host for settings in brokers for listener in settings.advertised_listeners]
    return start_checking_hosts("advertised.listeners", hosts)


def _make_broker(loaded: StartupSettings, options: BrokerOptions) -> "Broker | ControlledBroker":
    if loaded.settings.stepdown_control_listen is None:
        return Broker(loaded.settings, loaded.layers)
    from ...broker.broker_with_control_port import ControlledBroker

    return ControlledBroker(loaded.settings, loaded.layers, disk=_make_disk(options))


def _make_disk(options: BrokerOptions) -> "FaultyDisk":
    """Returns the files of a broker; those of `--temporary` never sync, since no test survives a power loss."""
    from ...broker.faults.disk_faults import FaultyDisk
    from ...broker.faults.hard_linked_files import HardLinkedFiles

    return HardLinkedFiles() if options.is_temporary else FaultyDisk()


def _make_greeting(broker: "Broker | ControlledBroker") -> str:
    control = getattr(broker, "control_address", None)
    more = "" if control is None else f", control {control}"
    return f"stepdown listening on {broker.address}, http {broker.http_address}{more}"
