"""The objects that all parts of a broker share: settings, clock, metrics, memory budget, threads, logs, metadata image.

Each room gets this object, and the rooms that it needs; `broker.py` puts them together.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import ParamSpec, TypeVar

from ..config import BrokerSettings
from ..network.admission.answer_budget import AnswerBudget
from ..network.admission.long_requests import LongRequests
from ..network.admission.peer_log_limit import PeerLogLimit
from ..network.admission.shared_by_connections import make_unread_answers_budget
from ..network.clients.client_report import ClientReport
from ..network.clock import Clock, LoopClock
from ..network.converted_piece import ConversionMemory
from ..network.log_line_limit import LogLineLimit
from ..network.memory_budget import MemoryBudget
from ..network.output_buffer_pool import BufferPool
from ..network.turn import Turns
from ..network.worker_threads import WorkerThreads
from ..protocol.errors import ApiError, ErrorCode
from ..protocol.records.layout import Codec
from ..storage.directories.log_manager import LogManager
from ..storage.files.files import Files
from ..storage.log.log import AppendInfo, Log
from ..storage.log.offset_lookup import TimestampOffset
from ..storage.validation.append_rules import AppendRules
from ..storage.validation.prepared_append import PreparedAppend
from .dispatch.control_handle import ControlHandle
from .dispatch.interceptor import Interceptor
from .dispatch.request_watcher import RequestWatcher
from .fetch.session import FetchSessions
from .maintenance.file_faults import FileFaults
from .maintenance.first_deletion_delay import FirstDeletionDelay
from .metadata.image import MetadataImage, Topic
from .metadata.partition import Partition
from .metrics.metrics import Metrics
from .produce.topic_append_rules import make_append_rules
from .quotas.client_quotas import ClientQuotas
from .quotas.usage_metrics import QuotaUsage
from .scheduling.purgatory import Purgatory
from .scheduling.round_faults import RoundFaults
from .security.authorization.authorizer import Authorizer

log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

SLOW_REQUEST_MS = 1_000
"""How much later than at the least rate a large request may arrive while others wait for its memory."""
DEFAULT_NODE_ID = 1
MOST_WORKERS = 4
LONG_FETCHES_AT_ONCE = 4
LONG_REQUESTS_AT_ONCE = 4
LONG_ANSWERS_SHARE = 2
"""Long answers that clients have not read yet may take half as much memory as requests, in addition to those."""
CONVERSION_BUFFERS_SHARE = 2
"""Half of the conversion memory can be claimed for buffers.

The other half is for memory without a claim: promised slices of waiting partitions (350 bytes each), the codecs' state,
freed blocks that malloc keeps.
"""


class Core:
    """The parts of one broker that are made before any of its rooms."""

    def __init__(self, settings: BrokerSettings, clock: Clock | None, files: Files | None) -> None:
        self.settings = settings
        self.clock: Clock = clock or LoopClock()
        self.metrics = Metrics()
        self.clients = ClientReport(settings.stepdown_client_report_max_clients, self._time_of_request_ms)
        self.rounds = RoundFaults(self.clock, lambda work: self.metrics.round_faults.of(work).add())
        self.interceptors: list[Interceptor] = []
        self.request_watcher: RequestWatcher | None = None
        self.control: ControlHandle | None = None
        self.on_group_line: Callable[[str], object] = lambda line: None
        """Called with each log line about groups, also with those that the log's limit leaves out; for tests."""
        self.on_refusal: Callable[[str], object] = lambda line: None
        """Called with a line for each peer whose login or TLS handshake fails; for tests."""
        self.on_due: Callable[[str], object] = lambda line: None
        """Called with a line when retention has deleted records of a partition that this broker leads, and when a
        transaction has timed out; for tests."""
        self.authorizer: Authorizer | None = None
        self.quotas = ClientQuotas(
            self.clock,
            settings.quota_window_num,
            settings.quota_window_size_seconds,
            QuotaUsage(self.metrics),
        )
        self.sessions = FetchSessions(
            settings.max_incremental_fetch_session_cache_slots,
            self.metrics.session_evictions.add,
            self.clock.monotonic_ms,
        )
        self.turns = Turns(self.clock.monotonic_s)
        self.fetch_purgatory = Purgatory(self.clock)
        self.produce_purgatory = Purgatory(self.clock)
        self.long_fetches = asyncio.Semaphore(LONG_FETCHES_AT_ONCE)
        self.conversion_budget = MemoryBudget(
            settings.stepdown_conversion_memory_bytes // CONVERSION_BUFFERS_SHARE,
            self.metrics.conversion_wait.observe,
            clock=self.clock,
        )
        pool = settings.queued_max_request_bytes
        request_bytes = pool if pool > 0 else settings.stepdown_request_memory_bytes
        self.unread_answers = make_unread_answers_budget(self.clock, request_bytes)
        self.long_requests = LongRequests(LONG_REQUESTS_AT_ONCE, self.unread_answers)
        self.answer_memory = AnswerBudget(
            request_bytes // LONG_ANSWERS_SHARE, self.unread_answers, clock=self.clock, patience_ms=SLOW_REQUEST_MS
        )
        self.request_memory = MemoryBudget(
            request_bytes,
            self.metrics.request_memory_wait.add,
            clock=self.clock,
            patience_ms=SLOW_REQUEST_MS,
        )
        self.workers = WorkerThreads(min(MOST_WORKERS, os.cpu_count() or 1), "codec", self.clock)
        self.conversion_memory = ConversionMemory(self.conversion_budget, BufferPool(), self.workers)
        self.log_manager = LogManager.open_all(settings, files or Files(), self.clock)
        self.file_faults = FileFaults(self.clock, self.log_manager.files)
        self.failed_appends = LogLineLimit(self.clock)
        self.denials = PeerLogLimit(self.clock)
        self.has_failed = False
        self.on_failed: Callable[[], object] = lambda: None
        """Called when the broker has failed; its owner then stops it."""
        node_id = self.log_manager.identity.node_id
        self.cluster = MetadataImage(
            cluster_id=self.log_manager.cluster_id, node_id=DEFAULT_NODE_ID if node_id is None else node_id
        )
        with self.abandon_on_failure():
            self.first_deletion_delay = FirstDeletionDelay(self.clock, self.log_manager)

    def _time_of_request_ms(self, request_s: float) -> int:
        """The time of day when a request came, by `perf_counter`."""
        return self.clock.now_ms() - round((perf_counter() - request_s) * 1000)

    @contextmanager
    def abandon_on_failure(self) -> Iterator[None]:
        """Releases the log directories for another broker if the block, which makes the rest of this one, fails."""
        try:
            yield
        except BaseException:
            self.workers.shutdown()
            self.log_manager.abandon()
            raise

    def fail(self, reason: str) -> None:
        """Logs, once, why this broker cannot go on."""
        if not self.has_failed:
            self.has_failed = True
            log.critical("the broker cannot go on: %s", reason)
            self.on_failed()

    @property
    def zstd_to(self) -> Codec | None:
        """The codec that zstd is converted to for clients that cannot read it; None: they are refused."""
        name = self.settings.stepdown_downconversion_zstd
        return None if name == "error" else Codec[name.upper()]

    async def run_in_worker(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Returns `work(...)`, called in a worker thread: for work that would hold the event loop too long."""
        return await self.workers.run(lambda: work(*args, **kwargs))

    async def find_offset_by_time(self, log: Log, timestamp: int | None) -> TimestampOffset | None:
        """The first record at or after `timestamp`; with None, the one with the largest timestamp.

        A worker thread searches where a batch of possibly many records has to be read.
        Raises: CorruptRecord, InvalidRecord, DiskFault.
        """
        find = log.max_timestamp_offset if timestamp is None else partial(log.offset_for_timestamp, timestamp)
        return await self.run_in_worker(find) if log.is_lookup_costly(timestamp) else find()

    def append_rules_of(self, topic: Topic) -> AppendRules:
        """The rules that follow from the settings of a topic for appended records."""
        if topic.append_rules is None:
            topic.append_rules = make_append_rules(topic.settings, self.settings.stepdown_decompression_max_bytes)
        return topic.append_rules

    def append(self, partition: Partition, prepared: PreparedAppend) -> AppendInfo:
        """Appends to a partition that this broker leads, and wakes waiting requests. Raises as `Log.append`."""
        info = partition.append(prepared)
        if info.last_offset >= 0 and not info.duplicate:
            self.wake_waiting_requests(partition)
        return info

    async def await_replication(self, partition: Partition, end_offset: int, timeout_ms: int) -> None:
        """Returns when all before `end_offset` is committed.

        Raises: ApiError REQUEST_TIMED_OUT; NOT_LEADER_OR_FOLLOWER or KAFKA_STORAGE_ERROR.
        """

        def is_over(_: Hashable | None) -> bool:
            return partition.leader_id != self.cluster.node_id or partition.high_watermark >= end_offset

        in_time = is_over(None) or await self.produce_purgatory.wait([partition.key], is_over, timeout_ms)
        self.cluster.check_led_here(partition)
        if not in_time:
            place = f"{partition.topic_name}-{partition.index}"
            message = f"{place}: offset {end_offset} was not replicated within {timeout_ms} ms"
            raise ApiError(message, ErrorCode.REQUEST_TIMED_OUT)

    def wake_waiting_requests(self, partition: Partition) -> None:
        """Notifies waiting requests that a partition's high watermark or leader may have changed."""
        key = partition.key
        for purgatory in (self.fetch_purgatory, self.produce_purgatory):
            if key in purgatory.watched:
                purgatory.notify(key)
