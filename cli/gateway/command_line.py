"""`stepdown gateway`: the command line of the gateway."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from ...client.security.settings import TlsSettings
from ...config import ConfigError, Given, Origin
from ...config.keys.endpoints import parse_host_port
from ...config.sources.command_parser import CommandParser
from ...gateway.allow_list import ENDED, list_ended_entries
from ...gateway.gateway import Gateway
from ...gateway.setting_keys import KEYS, VARIABLES
from ...gateway.setting_sources import list_settings_for_restart, list_settings_in_force, read_sources
from ...gateway.settings import GatewaySettings, list_allowed_networks, make_settings
from ...gateway.settings_without_effect import describe_settings_without_effect
from ...gateway.workers.supervisor import StartFailed, Supervisor
from ...gateway.workers.worker import Worker
from ...network.clock import LoopClock
from ...network.tls.certificate_dates import list_certificates_not_in_force, list_certificates_not_in_force_in_files
from ..serve.event_loop import run_in_loop
from ..serve.greeting import print_greeting
from ..serve.host_warnings import start_checking_hosts
from ..serve.log_format import configure_logging
from ..serve.logging_options import add_logging_options
from ..support.process_resources import (
    allow_open_files,
    collect_garbage_seldom,
    make_malloc_return_memory,
    shorten_switch_interval,
)

DESCRIPTION = """Stand in front of a Kafka cluster and translate the requests that Kafka 4 removed; the rest passes.

Options win over environment variables (STEPDOWN_GATEWAY_FIRST_PORT for first.port), and those over the file.
docs/gateway.md lists the settings."""

KEPT_BYTES = 8 << 20
"""Freed memory that a process keeps: page faults of fresh buffers take a third of the CPU of a translated fetch."""

LENT = (
    "authentication=%s: whoever reaches %s has the rights of the gateway's %s; set security.protocol, ssl.client.auth "
    "or allow"
)

RELAYED = (
    "authentication=relay: each client logs in to the cluster itself; for clients that cannot, such as Java 0.8, set "
    "authentication=swap"
)

NO_OPTION = (
    "-o and -c are options of `stepdown serve`: settings without an option go into GATEWAY.YAML, which comes without "
    "one, or into variables, such as STEPDOWN_GATEWAY_FIRST_PORT for first.port"
)

log = logging.getLogger("stepdown")


def main(arguments: Sequence[str], environ: Mapping[str, str] = os.environ) -> int:
    """Runs the gateway until it stops, and returns the exit code.

    Raises: SystemExit for --help and bad usage, ConfigError, OSError, DiskFault.
    """
    parser = make_parser()
    given = parser.parse_args(arguments)
    if given.settings is not None:
        parser.error(NO_OPTION)
    if given.file is not None and _is_address(given.file):
        parser.error(f"{given.file} is no file of settings: did you mean --upstream {given.file}?")
    configure_logging(given.log_format, given.log_level.upper())
    allow_open_files()
    make_malloc_return_memory(KEPT_BYTES)
    shorten_switch_interval()
    if given.worker:
        return _run_worker(given.worker)
    read = partial(read_sources, given.file, environ, _settings_of_flags(given))
    texts = read()
    if given.check:
        for each in list_ended_entries(list_allowed_networks(texts), LoopClock().now_ms()):
            log.warning(ENDED, each)
    settings = make_settings(texts, opens_files=True)
    if settings.lends_its_login:
        how, what = ("swap", "login") if settings.swaps else ("relay", "certificate")
        log.warning(LENT, how, settings.listen, what)
    for line in (*describe_settings_without_effect(texts, settings), *_list_certificates_not_in_force(settings)):
        log.warning(line)
    if given.check:
        if settings.security.sasl is not None and not settings.swaps:
            log.info(RELAYED)
        print("the settings are good; the cluster was not asked")
        return 0
    if settings.workers == 1:
        return run_in_loop(_run(Gateway(settings), texts, read))
    options = ("--log-format", given.log_format, "--log-level", given.log_level)
    # -P: the working directory may hold another stepdown, such as a clone
    command = (sys.executable, "-P", "-m", __name__.partition(".")[0], "gateway", *options)
    return run_in_loop(_run(Supervisor(settings, texts, command), texts, read))


def _is_address(file: Path) -> bool:
    try:
        parse_host_port(str(file))
    except ValueError:
        return False
    return not file.exists()


def _list_certificates_not_in_force(settings: GatewaySettings) -> Iterator[str]:
    """Yields a line for each certificate that has expired or is not valid yet, of listener and client side."""
    if isinstance(settings.security.tls, TlsSettings):
        files = (settings.security.tls.own_file, settings.security.tls.trusted_file)
        yield from list_certificates_not_in_force_in_files(files, LoopClock().now_ms())
    for security in settings.network.listener_security.values():
        if security.tls is not None:
            yield from list_certificates_not_in_force(security.tls, LoopClock().now_ms())


def _run_worker(descriptors: str) -> int:
    """Runs a worker process, which ignores stop signals: its supervisor handles them. Returns the exit code."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    collect_garbage_seldom()
    ports, questions = (socket.socket(fileno=int(each)) for each in descriptors.split(","))
    return run_in_loop(Worker(ports, questions).run())


async def _run(gateway: Gateway | Supervisor, started: Sequence[Given], read: Callable[[], Sequence[Given]]) -> int:
    stopping, starting = asyncio.Event(), asyncio.create_task(gateway.start())

    def stop_soon() -> None:
        stopping.set()
        starting.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop_soon)
    reloads: set[asyncio.Task[None]] = set()

    def reload_soon() -> None:
        reloads.add(task := asyncio.create_task(reload_settings(gateway, started, read)))
        task.add_done_callback(reloads.discard)

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload_soon)
    collect_garbage_seldom()
    try:
        fault = await starting
    except StartFailed as failure:
        return failure.status
    except asyncio.CancelledError:
        log.info("stopped")
        return 0
    print_greeting(make_greeting(gateway, fault))
    checking = start_checking_hosts("advertised.host", [gateway.settings.advertised_host])
    await stopping.wait()
    checking.cancel()
    log.info("stopping: finishing what is in flight")
    await gateway.stop()
    log.info("stopped")
    return 0


async def reload_settings(
    gateway: Gateway | Supervisor, started: Sequence[Given], read: Callable[[], Sequence[Given]]
) -> None:
    """Reads the settings again. If they are wrong, logs why and keeps the old ones. Logs the settings that differ from
    those at the start, `started`, and which of them need a restart."""
    try:
        texts = read()
        settings = make_settings(texts, opens_files=True)
        if isinstance(gateway, Supervisor):
            await gateway.reload(settings, texts)
        else:
            gateway.reload(settings)
    except ConfigError as error:
        log.error("the settings stay as they were: %s", error)
    else:
        changed = ", ".join(list_settings_in_force(started, texts)) or "none"
        log.info("the settings were read again; changed since the start, and in force: %s", changed)
        if late := list_settings_for_restart(started, texts):
            log.warning("changed, and in force after a restart: %s", ", ".join(late))


def make_greeting(gateway: Gateway | Supervisor, fault: str) -> str:
    """Returns the line that is printed when the gateway listens. `fault`: why the cluster cannot be asked, or ""."""
    servers = ",".join(map(str, gateway.settings.bootstrap))
    if fault:
        told = f"upstream {servers} cannot be asked for its brokers: {fault}"
    else:
        told = f"upstream {servers} ({gateway.cluster_id or 'cluster unknown'}, {gateway.release})"
    port_fault = gateway.find_port_fault()
    unready = f"; not ready: {port_fault}" if port_fault else ""
    return f"stepdown gateway listening on {gateway.address}, http {gateway.http_address}, {told}{unready}"


def _settings_of_flags(given: argparse.Namespace) -> list[Given]:
    flags = (
        ("listen", "--listen", given.listen),
        ("advertised.host", "--advertised-host", given.advertised_host),
        ("http", "--http", given.http),
        ("upstream.bootstrap.servers", "--upstream", given.upstream),
    )
    return [Given(name, text, Origin(f"option {option}")) for name, option, text in flags if text]


def _describe_no_option(key: str) -> str:
    """Returns the message for a setting that was given as an option and has none."""
    variable = VARIABLES + key.upper().replace(".", "_")
    return f"{key} has no option: it goes into GATEWAY.YAML, or into the variable {variable}"


def make_parser() -> CommandParser:
    """Returns the parser of the command line."""
    parser = CommandParser(
        "stepdown gateway",
        DESCRIPTION,
        "stepdown gateway --upstream kafka-1:9092 --listen 127.0.0.1:9092",
        {f"--{key.replace('.', '-')}": _describe_no_option(key) for key in KEYS}
        | dict.fromkeys(("--port", "-p", "--host"), "its address is --listen HOST:PORT")
        | dict.fromkeys(("--bootstrap-server", "-b"), "the cluster's brokers are --upstream HOST:PORT[,…]"),
    )
    option = parser.add_argument
    option("file", type=Path, nargs="?", metavar="GATEWAY.YAML", help="Settings.")
    option("--upstream", default="", metavar="HOST:PORT[,…]", help="Brokers of the cluster.")
    option(
        "--advertised-host",
        default="",
        metavar="HOST",
        help="The host by which clients reach the gateway [default: that of --listen].",
    )
    for name, help_line in (
        ("listen", "Address of the bootstrap port; port 0 picks one"),
        ("http", "Address of the page, /metrics, /healthz and /readyz; port 0 picks one"),
    ):
        option(f"--{name}", default="", metavar="HOST:PORT", help=f"{help_line} [default: {KEYS[name].default}].")
    option(
        "--check",
        action="store_true",
        help="Check the settings and the files of certificates and keys, name every fault, and end; the cluster is not "
        "asked.",
    )
    option("-o", "-c", "--override", "--config", dest="settings", help=argparse.SUPPRESS)
    option("--worker", default="", help=argparse.SUPPRESS)  # descriptors that a supervisor passes to a worker process
    add_logging_options(parser)
    return parser
