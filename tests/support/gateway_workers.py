"""A gateway with several worker processes, supervised in the test's process, before a stepdown broker."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from stepdown.config import Given, HostPort, Origin
from stepdown.gateway.settings import make_settings
from stepdown.gateway.workers.supervisor import Supervisor
from stepdown.network.clock import Clock

from .kafka_4_front import Kafka4Front
from .running import running_broker

COMMAND = (sys.executable, "-P", "-m", "stepdown", "gateway")


def supervisor_of(upstream: str, clock: Clock | None = None, **settings: object) -> Supervisor:
    """A supervisor of two workers that is not started; settings by their names with `_` for `.`."""
    texts = {"listen": "127.0.0.1:0", "workers": 2, "upstream_bootstrap_servers": upstream, **settings}
    given = [Given(name.replace("_", "."), str(text), Origin("the test")) for name, text in texts.items()]
    return Supervisor(make_settings(given), given, COMMAND, clock)


@asynccontextmanager
async def running_workers(
    directory: Path, clock: Clock | None = None, **settings: object
) -> AsyncIterator[tuple[Supervisor, HostPort]]:
    """The supervisor, and the address of the broker."""
    async with Kafka4Front() as front:
        advertised = f"PLAINTEXT://127.0.0.1:{front.port}"
        async with running_broker(directory, advertised_listeners=advertised) as broker:
            front.forward_to(broker.address.port)
            supervisor = supervisor_of(f"127.0.0.1:{front.port}", clock, **settings)
            fault = await supervisor.start()
            try:
                assert not fault, fault
                yield supervisor, broker.address
            finally:
                await supervisor.stop(drain_ms=0)


def children_of(pid: int) -> list[int]:
    """The processes that a process has started."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(text) for started in threads for text in started.read_text().split()]


def has_ended(pid: int) -> bool:
    """Whether a process is no more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # the second when it ends between being opened and being read
        return True
