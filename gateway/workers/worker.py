"""A worker: a gateway without HTTP, which asks its supervisor for ports and answers its questions.

It ends when the supervisor says so, or has gone. Signals are the supervisor's: they come to all processes of a terminal
or of a service at once.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable
from typing import Any

from ...config import Given, Origin
from ...network.clients.client_exchange import prepare_clients_dump
from ...network.metrics.instruments import FamilySnapshot
from ...network.page.page_query import PageQuery
from ..gateway import Gateway
from ..settings import GatewaySettings, divide_memory_by_workers, make_settings
from .shared_ports import PortChannel
from .worker_messages import Message, WorkerMessages

log = logging.getLogger(__name__)


class Worker:
    """`ports` and `questions` are its ends of the sockets to the supervisor."""

    def __init__(self, ports: socket.socket, questions: socket.socket) -> None:
        self._ports = PortChannel(ports)
        self._questions = questions
        self._stopping = asyncio.Event()
        self._fault: BaseException | None = None
        self._gateway: Gateway | None = None

    async def run(self) -> int:
        """Returns the status of the process. Raises: OSError, DiskFault, ConfigError when it cannot start."""
        messages = WorkerMessages(*await asyncio.open_unix_connection(sock=self._questions))
        answering = asyncio.create_task(self._answer_all(messages))
        await self._stopping.wait()
        if self._gateway is not None and self._fault is None:
            await self._gateway.stop()
        answering.cancel()
        messages.close()
        if self._fault is not None:
            raise self._fault
        return 0

    async def _answer_all(self, messages: WorkerMessages) -> None:
        try:
            while (question := await messages.receive()) is not None:
                await messages.send({**await self._answer(question), "id": question["id"]})
        except Exception as fault:
            self._fault = fault
        finally:
            self._stopping.set()

    async def _answer(self, question: Message) -> Message:
        asked = question["ask"]
        if asked == "start":
            answer = await self._start(_read_settings(question), question["gateway_id"], question["known_fault"])
            if question["is_first"] and not answer["fault"] and self._gateway is not None:
                self._gateway.start_warning_of_acls_by_host()
            return answer
        assert self._gateway is not None
        if asked == "reload":
            self._gateway.reload(_read_settings(question))
        elif asked == "stop":
            self._stopping.set()
        else:
            return await _answer_for_page(asked, self._gateway)
        return {}

    async def _start(self, settings: GatewaySettings, gateway_id: str, known_fault: str) -> Message:
        """Raises: OSError, DiskFault, ConfigError."""
        self._gateway = gateway = Gateway(settings, bind=self._ports.bind, has_http=False, gateway_id=gateway_id)
        fault = await gateway.start(known_fault)
        return {
            "fault": fault,
            "port_fault": gateway.find_port_fault(),
            "address": str(gateway.address),
            "cluster_id": gateway.upstream.cluster_id,
            "release": gateway.upstream.release_description,
        }


def encode_settings(given: Any) -> list[list[str]]:
    """What was given, as a message has it."""
    return [[each.key, each.text] for each in given]


def _read_settings(question: Message) -> GatewaySettings:
    """Raises: ConfigError."""
    origin = Origin("the supervisor")
    return divide_memory_by_workers(make_settings([Given(key, text, origin) for key, text in question["given"]]))


async def _answer_for_page(what: str, gateway: Gateway) -> Message:
    """A fault of one page leaves the others, and the clients, alone."""
    try:
        shown: Message = await _SHOWN[what](gateway)
    except Exception as fault:
        log.exception("%s cannot be shown", what)
        return {"error": str(fault) or type(fault).__name__}
    return shown


async def _answer_overview(gateway: Gateway) -> Message:
    return await gateway.views.overview(PageQuery(""))


async def _answer_ready(gateway: Gateway) -> Message:
    page = await gateway.readiness_page()
    return {"status": page.status, "text": page.body.decode()}


async def _answer_clients(gateway: Gateway) -> Message:
    return await gateway.run_in_worker(prepare_clients_dump(gateway.clients))


async def _answer_metrics(gateway: Gateway) -> Message:
    families = await gateway.take_snapshot_of_metrics()
    return {"families": await gateway.run_in_worker(lambda: _dump_metrics(families))}


def _dump_metrics(families: Iterable[FamilySnapshot]) -> list[Any]:
    """Name, help, kind and samples of each metric, and those of this process; for a worker thread."""
    from ...network.metrics.prometheus_families import make_metric, read_process

    return [
        [each.name, each.documentation, each.type, [[one.name, one.labels, one.value] for one in each.samples]]
        for each in (*map(make_metric, families), *read_process())
    ]


_SHOWN: dict[str, Callable[[Gateway], Any]] = {
    "overview": _answer_overview,
    "ready": _answer_ready,
    "clients": _answer_clients,
    "metrics": _answer_metrics,
}
