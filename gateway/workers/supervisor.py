"""The parent of several workers: it owns the HTTP port and the numbers of the other ports, starts workers, and starts
another one where one has ended.
"""

import asyncio
import logging
from collections.abc import Sequence

from ...config import Given, HostPort
from ...network.admission.password_delays import PasswordDelays
from ...network.admission.peer_log_limit import PeerLogLimit
from ...network.clock import Clock, LoopClock
from ...network.listener import address_in_bind_errors
from ...network.metrics.instruments import Instruments
from ...network.page.page_access import PageAccess
from ...network.turn import Turns
from ...network.worker_threads import WorkerThreads
from ..allow_list import EndedEntriesWarnings
from ..gateway_metrics import make_failed_logins_counter
from ..gateways_in_front import make_gateway_id
from ..report_file import ReportFile
from ..settings import GatewaySettings
from .shared_ports import SharedPorts
from .worker import encode_settings
from .worker_messages import Message
from .worker_pages import WorkerPages
from .worker_process import WorkerLost, WorkerProcess

SOON_S = 10.0
"""A worker that has served for less ended soon: the next one waits."""
LEAST_DELAY_MS, MOST_DELAY_MS = 500, 30_000
GRACE_MS = 5_000
"""What a worker may take to end, beyond the time that it may answer requests."""

log = logging.getLogger(__name__)


class StartFailed(Exception):
    """A worker ended before it served anybody, and has said why; `status` is the status that it ended with."""

    def __init__(self, status: int) -> None:
        super().__init__(f"a worker ended with status {status}")
        self.status = status


class Supervisor:
    """`command` starts a worker. `address`, `http_address` and the result of `start` mean the same as in `Gateway`."""

    def __init__(
        self, settings: GatewaySettings, given: Sequence[Given], command: Sequence[str], clock: Clock | None = None
    ) -> None:
        self.settings = settings
        self.address = self.http_address = HostPort("", 0)
        self.cluster_id: str | None = None
        self.release = ""
        self._port_fault = ""
        self.given = given
        self._given = self._latest_given = encode_settings(given)
        self._command = command
        self._clock = clock or LoopClock()
        self._gateway_id = make_gateway_id()
        self._ports = SharedPorts()
        self._workers: dict[int, WorkerProcess] = {}
        self._keeping: list[asyncio.Task[None]] = []
        self._is_stopping = False
        self._threads = WorkerThreads(1, "supervisor", self._clock)
        instruments = Instruments()
        instruments.gauge("stepdown_gateway_workers", "Processes that serve clients.", lambda: len(self._workers))
        self._ends = instruments.plain_counter("stepdown_gateway_worker_ends", "Workers that ended and were replaced.")
        self._ended_entries_warnings = EndedEntriesWarnings(settings.allowed, self._clock, instruments)
        pages = WorkerPages(
            settings=settings,
            list_workers=lambda: [each for each in self._workers.values() if each.is_serving],
            is_stopping=lambda: self._is_stopping,
            instruments=instruments,
            turns=Turns(self._clock.monotonic_s),
            threads=self._threads,
            access=self._make_page_access(instruments),
        )
        self._http = pages.make_http()
        self._report = ReportFile(settings.report, pages.make_report, self._clock, self._threads)

    def _make_page_access(self, instruments: Instruments) -> PageAccess:
        network = self.settings.network
        delay_ms = network.connection_failed_authentication_delay_ms
        failed = make_failed_logins_counter(instruments)
        delays = PasswordDelays(self._clock, delay_ms, failed, PeerLogLimit(self._clock))
        return PageAccess(network.stepdown_page_password or "", delays)

    @property
    def pids(self) -> list[int]:
        """The processes of the workers, by their numbers."""
        return [worker.pid for _, worker in sorted(self._workers.items())]

    async def start(self) -> str:
        """Returns when clients are served: "" if the cluster was reached, else why it was not.

        Raises: StartFailed, OSError when the HTTP address cannot be bound.
        """
        try:
            wanted = self.settings.http
            with address_in_bind_errors(wanted.host, wanted.port, "--http"):
                self.http_address = HostPort(*await self._http.start(wanted.host, wanted.port))
            first = await self._start_worker(0, is_first=True)
            fault: str = first["fault"]
            others = range(1, self.settings.workers)
            await asyncio.gather(*(self._start_worker(number, known_fault=fault) for number in others))
            self.cluster_id, self.release = first["cluster_id"], first["release"]
            self._port_fault = first["port_fault"]
            host, _, port = first["address"].rpartition(":")
            self.address = HostPort(host, int(port))
        except BaseException:
            await self.stop(drain_ms=0)
            raise
        self._report.start()
        self._ended_entries_warnings.start()
        self._keeping = [asyncio.create_task(self._restart_at_each_end(each)) for each in list(self._workers.values())]
        return fault

    def find_port_fault(self) -> str:
        """Why some broker had no port for clients at the start, "" if all had one."""
        return self._port_fault

    async def stop(self, drain_ms: int | None = None) -> None:
        """Has all workers stop, and waits for them."""
        self._is_stopping = True
        for task in self._keeping:
            task.cancel()
        await asyncio.gather(*self._keeping, return_exceptions=True)
        await self._report.stop()
        self._ended_entries_warnings.stop()
        most_ms = self.settings.drain_ms if drain_ms is None else drain_ms
        await asyncio.gather(*(self._stop_worker(each, most_ms) for each in list(self._workers.values())))
        await self._http.stop()
        self._ports.close()
        self._threads.shutdown()

    async def reload(self, settings: GatewaySettings, given: Sequence[Given]) -> None:
        """As of a `Gateway`, for all workers."""
        self.settings, self.given = settings, given
        self._ended_entries_warnings.replace(settings.allowed)
        self._latest_given = encode_settings(given)
        for worker in list(self._workers.values()):
            try:
                await worker.ask("reload", given=self._latest_given)
            except WorkerLost:
                continue  # the next one gets them as it starts

    async def _start_worker(self, number: int, *, is_first: bool = False, known_fault: str = "") -> Message:
        """`is_first`: of this gateway; it looks at what concerns all of them. `known_fault`: what that one has found
        wrong with the cluster. Raises: StartFailed, OSError."""
        worker = await WorkerProcess.start(number, self._command, self._ports)
        self._workers[number] = worker
        try:
            answer = await worker.ask(
                "start",
                timeout_s=None,
                given=self._given,
                is_first=is_first,
                known_fault=known_fault,
                gateway_id=self._gateway_id,
            )
            worker.is_serving = True
            if self._latest_given is not self._given:
                await worker.ask("reload", given=self._latest_given)
        except WorkerLost:
            del self._workers[number]
            raise StartFailed(await self._await_end(worker) or 1) from None
        return answer

    async def _stop_worker(self, worker: WorkerProcess, drain_ms: int) -> None:
        try:
            if drain_ms == 0:
                worker.kill()
            else:
                await worker.ask("stop")
            await self._await_end(worker, drain_ms)
        except WorkerLost:
            await self._await_end(worker)
        self._workers.pop(worker.number, None)

    async def _await_end(self, worker: WorkerProcess, more_ms: int = 0) -> int:
        """The status of a worker that is about to end; it is killed if it does not."""
        try:
            async with asyncio.timeout((more_ms + GRACE_MS) / 1000):
                return await worker.wait_for_end()
        except TimeoutError:
            worker.kill()
            return await worker.wait_for_end()

    async def _restart_at_each_end(self, worker: WorkerProcess) -> None:
        """Replaces a worker each time that it ends."""
        number, delay_ms, began_s = worker.number, LEAST_DELAY_MS, self._clock.monotonic_s()
        while True:
            current = self._workers.get(number)
            if current is not None:
                status = await current.wait_for_end()
                del self._workers[number]
                self._ends.add()
                log.error("worker %d (process %d) has ended with status %d", number, current.pid, status)
            if self._clock.monotonic_s() - began_s < SOON_S:
                log.warning("the next worker %d starts in %d ms", number, delay_ms)
                await self._clock.sleep(delay_ms)
                delay_ms = min(2 * delay_ms, MOST_DELAY_MS)
            else:
                delay_ms = LEAST_DELAY_MS
            began_s = self._clock.monotonic_s()
            try:
                await self._start_worker(number)
            except (StartFailed, OSError) as fault:
                log.error("worker %d did not start: %s", number, fault)
            else:
                log.info("worker %d is there again (process %d)", number, self._workers[number].pid)
