"""`stepdown gateway`: the command line of the gateway."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from ...config import ConfigError, Given, Origin
from ...gateway.gateway import Gateway
from ...gateway.settings import GatewaySettings, load_settings
from ..serve.greeting import announce
from ..serve.log_format import configure_logging
from ..support.event_loop import run_in_loop
from ..support.process_resources import allow_open_files, return_memory

DESCRIPTION = """Stand in front of a Kafka cluster and translate the requests that Kafka 4 removed; the rest passes.

Options win over environment variables (STEPDOWN_GATEWAY_ADVERTISED_HOST for advertised.host), and those over the file.
docs/gateway.md lists the settings."""

log = logging.getLogger("stepdown")


def main(arguments: Sequence[str], environ: Mapping[str, str] = os.environ) -> int:
    """The process's exit code, once the gateway has stopped.

    Raises: SystemExit for --help and bad usage, ConfigError, OSError, DiskFault.
    """
    given = _parser().parse_args(arguments)
    configure_logging(given.log_format, given.log_level.upper())
    read_settings = partial(load_settings, given.file, environ, _flags(given))
    settings = read_settings()
    if given.check:
        Gateway(settings)  # reads certificates, opens nothing
        print("the settings are good")
        return 0
    allow_open_files()
    return_memory()
    return run_in_loop(_run(settings, read_settings))


async def _run(settings: GatewaySettings, read_settings: Callable[[], GatewaySettings]) -> int:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    gateway = Gateway(settings)
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload, gateway, read_settings)
    fault = await gateway.start()
    announce(greeting(gateway, fault))
    await stopping.wait()
    log.info("stopping: finishing what is in flight")
    await gateway.stop()
    log.info("stopped")
    return 0


def reload(gateway: Gateway, read_settings: Callable[[], GatewaySettings]) -> None:
    """Reads the settings again; what is wrong with them is logged, and those of before stay."""
    try:
        gateway.reload(read_settings())
    except ConfigError as error:
        log.error("the settings stay as they were: %s", error)
    else:
        log.info("the settings were read again")


def greeting(gateway: Gateway, fault: str) -> str:
    """What is printed when clients are served."""
    servers = ",".join(map(str, gateway.settings.bootstrap))
    if fault:
        told = f"upstream {servers} was not reached: {fault}"
    else:
        told = f"upstream {servers} ({gateway.upstream.cluster_id or 'cluster unknown'}, {gateway.upstream.release})"
    return f"stepdown gateway listening on {gateway.address}, http {gateway.http_address}, {told}"


def _flags(given: argparse.Namespace) -> list[Given]:
    flags = {
        "listen": given.listen,
        "http": given.http,
        "upstream.bootstrap.servers": given.upstream,
    }
    return [Given(name, text, Origin("the command line")) for name, text in flags.items() if text]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stepdown gateway",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    option = parser.add_argument
    option("file", type=Path, nargs="?", metavar="GATEWAY.YAML", help="Settings.")
    option("--upstream", default="", metavar="HOST:PORT[,…]", help="Brokers of the cluster.")
    option("--listen", default="", metavar="HOST:PORT", help="Address of the bootstrap port; port 0 picks one.")
    option("--http", default="", metavar="HOST:PORT", help="Address of the page, /metrics, /healthz and /readyz.")
    option("--check", action="store_true", help="Check the settings, name every fault, and end.")
    forms, levels = ("console", "json"), ("debug", "info", "warning", "error")
    option("--log-format", choices=forms, default="console", help="Format of log lines.")
    option("--log-level", choices=levels, default="info", help="Lowest level that is logged.")
    return parser
