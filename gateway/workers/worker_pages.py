"""The pages of a gateway with several workers: what each of them answers, put together."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar

from ...network.clients.client_exchange import join_reports
from ...network.clients.client_report import ClientReport
from ...network.http.clients_page import render_report
from ...network.http.server import HttpServer, Page
from ...network.metrics.instruments import FamilySnapshot, Instruments
from ...network.page.client_rows import ClientRows
from ...network.page.page_access import PageAccess
from ...network.page.page_query import PageQuery
from ...network.page.page_site import PageSite
from ...network.page.problem import Problem
from ...network.page.stalled_clients import find_clients_stuck_on_zstd
from ...network.turn import Turns
from ...network.worker_threads import WorkerThreads
from ...protocol.errors import ApiError, ErrorCode
from ..gateway import health_page, unready_page
from ..settings import GatewaySettings
from .worker_messages import Message
from .worker_process import ANSWER_S, READY_S, WorkerLost, WorkerProcess, WorkerSilent

T = TypeVar("T")
LABEL = "worker"
SUMS = ("counts", "traffic")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPages:
    """`list_workers` gives those that serve clients; `is_stopping`, whether they are about to end."""

    settings: GatewaySettings
    list_workers: Callable[[], Iterable[WorkerProcess]]
    is_stopping: Callable[[], bool]
    instruments: Instruments
    turns: Turns
    threads: WorkerThreads
    access: PageAccess

    def make_http(self) -> HttpServer:
        """As that of a gateway which is one process."""
        network = self.settings.network
        views = {"overview": self.overview, "clients": self.list_clients}
        site = PageSite(lambda: views, self.access) if network.stepdown_page_enabled else None
        pages = {"/metrics": self.show_metrics, "/healthz": health_page, "/readyz": self.readiness_page}
        return HttpServer(pages, {"/clients": self.show_clients}, self.access, fallback=site)

    async def show_metrics(self) -> Page:
        """Labels each sample with the number of its worker, so that a restarted worker resets only its own counters."""
        answers = await self._ask_all_workers("metrics")
        families = {number: answer["families"] for number, answer in answers.items()}
        own = await self.instruments.take_snapshot(self.turns.begin())
        return await self.threads.run(lambda: _render_joined_metrics(own, families))

    async def readiness_page(self) -> Page:
        """Ready if at least one worker is ready and all answer.

        A worker that does not answer makes the gateway unready, because the kernel still gives it connections.
        """
        if self.is_stopping():
            return unready_page("shutting down")
        answers, silent = await self._ask_whether_ready()
        if silent:
            return unready_page(_describe_silence(silent))
        pages = [Page(body=answer["text"].encode(), status=HTTPStatus(answer["status"])) for answer in answers.values()]
        ready = [page for page in pages if page.status == HTTPStatus.OK]
        return next(iter((*ready, *pages)), unready_page("no worker is there"))

    async def show_clients(self) -> Page:
        return Page(body=await self.make_report(), content_type="application/json")

    async def make_report(self) -> bytes:
        """The text of /clients."""
        report = await self._read_joined_report()
        return await self.threads.run(lambda: render_report(report.make_document_maker()))

    async def list_clients(self, query: PageQuery) -> dict[str, Any]:
        """The view `clients`. Raises: QueryFault."""
        return await ClientRows(await self._read_joined_report(), self.threads.run).show(query)

    async def overview(self, query: PageQuery) -> dict[str, Any]:
        """The view `overview`: what is counted is added up, the rest is that of one worker. Raises: ApiError."""
        able, silent = await self._ask_whether_ready()
        overviews = list((await _ask_workers(able, "overview", ANSWER_S))[0].values())
        if not overviews:
            why = _describe_silence(silent) if silent else "no worker is there; the next one is about to start"
            raise ApiError(why, ErrorCode.BROKER_NOT_AVAILABLE)
        joined = dict(max(overviews, key=lambda each: (each["is_ready"], len(each["brokers"]))))
        for name in SUMS:
            joined[name] = {key: sum(each[name][key] for each in overviews) for key in joined[name]}
        if silent:
            joined["is_ready"] = False
            joined["problems"] = [*joined["problems"], _make_problem(silent)]
        report = await self._read_joined_report()
        joined["counts"]["clients"] = len(report)
        stalled = find_clients_stuck_on_zstd(report, joined["now_ms"])
        of_cluster = [each for each in joined["problems"] if each["what"] != stalled.what]
        joined["problems"] = [*of_cluster, *([stalled.document()] if stalled.count else [])]
        joined["kafka_4_refuses"] = await self.threads.run(report.make_refused_clients_counter())
        joined["started_ms"] = min(each["started_ms"] for each in overviews)
        joined["requests"] = _sum_durations_by_api(row for each in overviews for row in each["requests"])
        joined["memory"] = [
            _sum_memory_rows(rows) for rows in zip(*(each["memory"] for each in overviews), strict=True)
        ]
        return joined

    async def _read_joined_report(self) -> ClientReport:
        documents = list((await self._ask_all_workers("clients")).values())
        most_clients = self.settings.network.stepdown_client_report_max_clients
        return await self.threads.run(lambda: join_reports(documents, most_clients, self.settings.cluster_for_commands))

    async def _ask_whether_ready(self) -> tuple[dict[WorkerProcess, Message], list[str]]:
        """What each worker says, and the names of those that are silent."""
        return await _ask_workers(self.list_workers(), "ready", READY_S)

    async def _ask_all_workers(self, question: str) -> dict[int, Message]:
        """The answers by the numbers of the workers; one that is silent, or ends meanwhile, has none."""
        able, _ = await self._ask_whether_ready()
        answers, _ = await _ask_workers(able, question, ANSWER_S)
        return {worker.number: answer for worker, answer in answers.items()}


async def _ask_workers(
    workers: Iterable[WorkerProcess], question: str, timeout_s: float
) -> tuple[dict[WorkerProcess, Message], list[str]]:
    """The answers, and the names of workers without one in time; one that ends meanwhile has neither."""
    answers: dict[WorkerProcess, Message] = {}
    silent: list[str] = []

    async def ask(worker: WorkerProcess) -> None:
        try:
            answers[worker] = await worker.ask(question, timeout_s=timeout_s)
        except WorkerSilent:
            silent.append(str(worker))
        except WorkerLost:
            pass

    await asyncio.gather(*map(ask, workers))
    return answers, sorted(silent)


def _describe_silence(silent: Iterable[str]) -> str:
    return f"no answer from {', '.join(silent)}"


def _render_joined_metrics(own: Iterable[FamilySnapshot], families_of_workers: Mapping[int, list[Any]]) -> Page:
    """The metrics of the supervisor, `own`, and of the workers: one family of each name."""
    from ...network.metrics.prometheus_families import CONTENT_TYPE_LATEST, Metric, make_metric, render_text

    joined = {each.name: make_metric(each) for each in own}
    for worker, families in families_of_workers.items():
        for name, documentation, kind, samples in families:
            metric = joined.setdefault(name, Metric(name, documentation, kind))
            for sample, labels, value in samples:
                metric.add_sample(sample, {LABEL: str(worker), **labels}, value)
    return Page(body=render_text(joined.values()), content_type=CONTENT_TYPE_LATEST)


def _sum_durations_by_api(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    by_name: dict[str, dict[str, Any]] = {}
    for row in rows:
        known = by_name.get(row["api"])
        if known is None:
            by_name[row["api"]] = dict(row)
        else:
            known["count"] += row["count"]
            known["durations"] = [one + other for one, other in zip(known["durations"], row["durations"], strict=True)]
    return [by_name[name] for name in sorted(by_name)]


def _make_problem(silent: list[str]) -> dict[str, Any]:
    what = "worker that takes connections and does not answer"
    return Problem(what, "kill -9: another one takes its place").add_all(silent).document()


def _sum_memory_rows(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    parts = list(rows)
    return {
        "name": parts[0]["name"],
        "used_bytes": sum(each["used_bytes"] for each in parts),
        "limit_bytes": sum(each["limit_bytes"] for each in parts),
    }
