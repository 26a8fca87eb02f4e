"""Appends a request's records to partitions: prepares them (in the loop, or in a worker thread if that takes longer),
appends them, and wakes waiting requests. Refused records are counted here, by reason and topic.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from ...protocol.errors import ApiError, ErrorCode, RecordTooLarge
from ...protocol.records.layout import (
    LEGACY_ATTRIBUTES_OFFSET,
    LOW_ATTRIBUTES_OFFSET,
    MAGIC_OFFSET,
    MAGIC_V2,
)
from ...storage.log.log import AppendInfo
from ...storage.validation.append_rules import AppendRules
from ...storage.validation.errors import ChecksumMismatch, InvalidBatch, Reason, RecordErrors
from ...storage.validation.prepared_append import PreparedAppend
from ...storage.validation.record_sets import prepare, prepare_inline, working_bytes
from ..metrics.metrics import codec_label

if TYPE_CHECKING:
    from ..core import Core
    from ..metadata.image import Topic
    from ..metadata.partition import Partition
    from ..metrics.metrics import Metrics


# Failures that producers handle; they are no fault of the broker's (Kafka: `ReplicaManager.appendToLocalLog`).
EXPECTED_FAILURES = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.KAFKA_STORAGE_ERROR,
)


Check = Callable[[], None]
"""Raises an ApiError to refuse the records; called in the same turn of the loop as the append."""


class AppendJob(NamedTuple):
    """Records for one partition that a worker thread prepares before the append."""

    topic: "Topic"
    partition: "Partition"
    records: memoryview
    check: Check | None


class RequestAppend:
    """Appends one request's records to its partitions, and adds up what their conversions took.

    `seconds` and `temporary_bytes` are 0 when nothing was converted.
    """

    __slots__ = ("_core", "_now_ms", "seconds", "temporary_bytes")

    def __init__(self, core: "Core") -> None:
        self._core = core
        self._now_ms = core.clock.now_ms()
        self.seconds = 0.0
        self.temporary_bytes = 0

    def try_append_inline(
        self, topic: "Topic", partition: "Partition", records: memoryview, check: Check | None
    ) -> AppendInfo | None:
        """Appends the records and wakes waiting requests; None where preparing them would hold the event loop too long.

        Raises: ApiError; `RecordErrors` is one that names single records.
        """
        core = self._core
        rules = topic.append_rules or core.append_rules_of(topic)
        began = perf_counter()
        try:
            prepared = prepare_inline(records, rules, now_ms=self._now_ms)
        except ApiError as refusal:
            _count_refusal(core.metrics, topic, records, refusal)
            raise
        if prepared is None:
            return None
        self.temporary_bytes += prepared.temporary_bytes
        if prepared.conversions:
            self._count_conversions(topic, records, prepared, perf_counter() - began)
        if check is not None:
            check()
        return core.append(partition, prepared)

    async def prepare_in_worker_and_append(self, jobs: Sequence[AppendJob]) -> list[AppendInfo | Exception]:
        """Appends the records of each job, after one worker thread has prepared them all."""
        core = self._core
        works = [(job.records, core.append_rules_of(job.topic)) for job in jobs]
        with await core.conversion_budget.claim(working_bytes(works)):
            made = await core.run_in_worker(_prepare_each, works, core.clock.now_ms())
        return [self._append_job(job, *done) for job, done in zip(jobs, made, strict=True)]

    def _append_job(self, job: AppendJob, made: PreparedAppend | Exception, seconds: float) -> AppendInfo | Exception:
        core = self._core
        if isinstance(made, Exception):
            if isinstance(made, ApiError):
                _count_refusal(core.metrics, job.topic, job.records, made)
            return made
        self.temporary_bytes += made.temporary_bytes
        if made.conversions:
            self._count_conversions(job.topic, job.records, made, seconds)
        try:
            if job.check is not None:
                job.check()
            return core.append(job.partition, made)
        except Exception as error:  # the other jobs go on; this one's result is the error
            return error

    def _count_conversions(self, topic: "Topic", records: memoryview, prepared: PreparedAppend, seconds: float) -> None:
        self.seconds += seconds
        metrics = self._core.metrics
        metrics.produce_conversions.of(topic.name).add(prepared.conversions)
        magic = records[MAGIC_OFFSET]
        attributes = records[LOW_ATTRIBUTES_OFFSET if magic == MAGIC_V2 else LEGACY_ATTRIBUTES_OFFSET]
        kept = prepared.head[LOW_ATTRIBUTES_OFFSET]
        metrics.up_conversions.of(str(magic), codec_label(attributes), codec_label(kept)).add(prepared.conversions)


_Prepared = tuple[PreparedAppend | Exception, float]
"""The prepared records of one job, or the exception, and the seconds that preparing took."""


def _prepare_each(works: Sequence[tuple[memoryview, AppendRules]], now_ms: int) -> list[_Prepared]:
    made: list[_Prepared] = []
    for records, rules in works:
        began = perf_counter()
        try:
            made.append((prepare(records, rules, now_ms=now_ms), perf_counter() - began))
        except Exception as error:  # as in `_append_job`
            made.append((error, 0.0))
    return made


def _count_refusal(metrics: "Metrics", topic: "Topic", records: memoryview, refusal: ApiError) -> None:
    if isinstance(refusal, RecordTooLarge):
        metrics.bytes_rejected.of(topic.name).add(len(records))
    elif isinstance(refusal, RecordErrors):
        metrics.invalid_records.of(Reason.NO_KEY.value).add(refusal.keyless)
    elif isinstance(refusal, InvalidBatch | ChecksumMismatch):
        metrics.invalid_records.of(refusal.reason.value).add()
