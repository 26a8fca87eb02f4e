"""The loop that sends: metadata when it is due, a producer id when it is missing, then one Produce request per node.

One pass, `run_once`: lines move up -> id -> nodes ready -> drain -> expire -> send -> metadata. It returns how long
nothing is to be done unless something happens. It touches no socket and no clock, so tests drive it by hand.
Source: Kafka 3.9, Sender.runOnce and sendProducerData.
"""

from collections.abc import Callable
from functools import partial

from ...config import HostPort
from ...protocol.api import ApiKey
from ...protocol.errors import ErrorCode, PeerFault
from ...protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ...protocol.messages.produce import LeaderIdAndEpoch, PartitionProduceResponse, ProduceResponse
from ...protocol.records.layout import CURRENT_MAGIC, MAGIC_V0, MAGIC_V1, Codec
from ...protocol.records.record import Buffer
from ..accumulator.append import Appender
from ..accumulator.producer_batch import Batch, TopicPartition
from ..accumulator.record_accumulator import Accumulator
from ..errors import ProducerError, code_of, error_of
from ..metrics.metrics import Note, ProducerMetrics
from ..network.metadata import Leader, Metadata
from ..settings import ProducerSettings
from .network_client import Answer, NetworkClient, VersionRanges, common_version
from .produce_request_template import Written
from .produce_requests import ProduceRequests
from .produce_results import Result, Results
from .producer_id import Caller
from .wake_up import WakeUp

MAGIC_V2_SINCE, MAGIC_V1_SINCE, ZSTD_SINCE = 3, 2, 7
"""Versions of Produce."""
# A member of an enumeration is found by a search each time.
_PRODUCE, _ZSTD = ApiKey.PRODUCE, Codec.ZSTD


class Sender:
    """Everything between the accumulator and the link."""

    def __init__(
        self,
        settings: ProducerSettings,
        metadata: Metadata,
        accumulator: Accumulator,
        intake: Appender,
        results: Results,
        link: NetworkClient,
        meters: ProducerMetrics,
        caller: Caller | None,
        now: Callable[[], int],
        pulse: WakeUp,
    ) -> None:
        self._settings, self._metadata, self._accumulator = settings, metadata, accumulator
        self._intake, self._results, self._link, self._meters = intake, results, link, meters
        self._caller, self._now, self._wake, self._go = caller, now, pulse.set, pulse.go
        self._asking_metadata = False
        self._requests = ProduceRequests(settings)
        self._versions: dict[int, tuple[VersionRanges, int | None]] = {}
        self._bootstrap = {-1 - index: address for index, address in enumerate(settings.bootstrap_servers)}

    def run_once(self, now_ms: int) -> int:
        """One pass; how many ms until the next, unless somebody wakes the loop. 0: at once."""
        if self._link.fault is not None:
            self._stop(self._link.fault)
            return self._link.tick(now_ms)
        self._intake.proceed(now_ms)
        calls_ms = self._send_calls(now_ms)
        if self._caller is not None and self._caller.fatal is not None:
            self._abort_all(self._caller.fatal)
        batches_ms = self._send_batches(now_ms)
        metadata_ms = self._send_metadata(now_ms)
        intake_ms = max(0, self._intake.next_deadline_ms() - now_ms)
        return min(calls_ms, batches_ms, metadata_ms, intake_ms, self._link.tick(now_ms))

    # --- producer id -------------------------------------------------------------------------------------------------

    def _send_calls(self, now_ms: int) -> int:
        caller = self._caller
        if caller is None:
            return 1 << 62
        caller.prepare()
        call = caller.next_call(now_ms)
        if call is None:
            return caller.next_call_ms(now_ms)
        nodes = call.nodes or self._metadata.nodes or self._bootstrap
        for node_id in self._link.least_loaded(nodes):
            if not self._link.ready(node_id, nodes[node_id], now_ms):
                continue
            version = common_version(call.key, self._link.versions(node_id), call.versions)
            if version is None:
                caller.unsupported(call)
                return 0
            caller.sent(now_ms)
            done = partial(self._called, call.done)
            self._link.send(node_id, call.key, version, call.request(version), done, answered=True)
            return 1 << 62
        caller.not_ready(now_ms)
        return 1 << 62

    def _called(self, done: Callable[[Answer], None], answer: Answer) -> None:
        done(answer)
        self._wake()

    def _stop(self, fault: ProducerError) -> None:
        """No broker takes anything, now and later: each record ends with why."""
        if self._caller is not None:
            self._caller.fail(fault)
        self._abort_all(fault)

    def _abort_all(self, error: ProducerError) -> None:
        self._intake.refuse_all(error)
        for batch in self._accumulator.take_all():
            self._results.fail(batch, error)

    # --- Produce ------------------------------------------------------------------------------------------------------

    def _send_batches(self, now_ms: int) -> int:
        """Sends while there is something to send and somebody to take it; when there will be, in ms."""
        while (wait_ms := self._send_round(now_ms)) < 0:
            pass
        return wait_ms

    def _send_round(self, now_ms: int) -> int:
        """One request to each node that is ready; -1 if one of them takes more, or when to look again."""
        ready = self._accumulator.ready(self._metadata, now_ms)
        if ready.leaderless:
            self._metadata.request_update()
        nodes = [node_id for node_id in ready.nodes if self._can_drain(node_id, now_ms)] if ready.nodes else []
        drained = self._accumulator.drain(nodes, now_ms) if nodes else {}
        for batches in drained.values():
            self._results.sent(batches)
        next_expiry_ms = self._results.expire(now_ms)
        takes_more = False
        for node_id, batches in drained.items():
            if batches := [batch for batch in batches if batch.outcome is None]:
                self._send_request(node_id, batches, now_ms)
                takes_more |= self._link.ready(node_id, self._metadata.nodes[node_id], now_ms)
        return -1 if takes_more else min(ready.next_check_ms, max(0, next_expiry_ms - now_ms))

    def _can_drain(self, node_id: int, now_ms: int) -> bool:
        address = self._metadata.nodes[node_id]
        can = not self._metadata_due(now_ms) and self._link.ready(node_id, address, now_ms)
        if self._accumulator.watches_nodes:
            self._accumulator.node_was_ready(node_id, now_ms, can_drain=can)
        return can

    def _metadata_due(self, now_ms: int) -> bool:
        """Kafka holds Produce requests back while a metadata request waits to be sent."""
        return not self._asking_metadata and self._metadata.update_due_ms(now_ms) == 0

    def _version_of_produce(self, node_id: int) -> int | None:
        spoken = self._link.versions(node_id)
        known = self._versions.get(node_id)
        if known is None or known[0] is not spoken:
            known = self._versions[node_id] = spoken, common_version(_PRODUCE, spoken)
        return known[1]

    def _send_request(self, node_id: int, batches: list[Batch], now_ms: int) -> None:
        version = self._version_of_produce(node_id)
        made = [(batch, records) for batch in batches if (records := self._records(batch, version)) is not None]
        if version is None or not made:
            return
        self._meters.request_sent([_note(batch, len(records), now_ms) for batch, records in made], now_ms)
        sent = {batch.topic_partition: batch for batch, _ in made}
        done = partial(self._answered, sent, _magic(version))
        request = self._requests.of(made, version)
        self._link.send(node_id, _PRODUCE, version, request, done, answered=self._settings.acks != 0)

    def _records(self, batch: Batch, version: int | None) -> Buffer | None:
        """The bytes for a broker of that Produce version; None when it cannot have them and the batch has failed."""
        if version is None:
            fault = "the broker speaks no version of Produce that the producer does"
        elif batch.codec is _ZSTD and version < ZSTD_SINCE:
            fault = f"Produce v{version} has no zstd"
        elif batch.has_sequence and version < MAGIC_V2_SINCE:
            fault = f"Produce v{version} has no sequences: set enable.idempotence=false"
        else:
            try:
                return batch.to_bytes(_magic(version), self._settings.level)
            except (ValueError, PeerFault) as error:
                fault = str(error)
        where = f"{batch.topic}-{batch.partition}"
        self._results.fail(batch, error_of(ErrorCode.UNSUPPORTED_VERSION, f"{where} cannot be written to: {fault}"))
        return None

    def _answered(self, sent: dict[TopicPartition, Batch], magic: int, answer: Answer) -> None:
        now_ms = self._now()
        if answer.failure is not None:
            failed = Result(code=answer.failure)
            for batch in sent.values():
                self._results.take(batch, failed, magic, now_ms)
        elif answer.response is None:
            for batch in sent.values():
                self._results.succeed(batch)
        elif answer.response.__class__ is Written:
            base_offset, append_time, throttle_ms = answer.response
            self._meters.answered(answer.latency_ms, throttle_ms, now_ms)
            for batch in sent.values():
                self._results.succeed(batch, base_offset, append_time)
        else:
            self._meters.answered(answer.latency_ms, answer.response.throttle_time_ms, now_ms)
            self._read(answer.response, sent, magic, now_ms)
        if answer.alone and self._accumulator.live:
            self._go()
        else:
            # Nothing is left to send: those who were told have their turn first, and what they send goes with the pass.
            self._wake()

    def _read(self, response: ProduceResponse, sent: dict[TopicPartition, Batch], magic: int, now_ms: int) -> None:
        for topic in response.responses:
            for partition in topic.partition_responses:
                batch = sent.pop((topic.name, partition.index), None)
                if batch is not None:
                    told = partition.current_leader
                    if told.leader_id >= 0 and told.leader_epoch >= 0:
                        self._learn_leader(batch, told, response)
                    if partition.error_code:
                        self._results.take(batch, _result(partition), magic, now_ms)
                    else:
                        self._results.succeed(batch, partition.base_offset, partition.log_append_time_ms)
        for batch in sent.values():
            missing = Result(code=ErrorCode.NETWORK_EXCEPTION, message="the answer leaves the partition out")
            self._results.take(batch, missing, magic, now_ms)

    def _learn_leader(self, batch: Batch, told: LeaderIdAndEpoch, response: ProduceResponse) -> None:
        nodes = {node.node_id: HostPort(node.host, node.port) for node in response.node_endpoints}
        leader = Leader(node_id=told.leader_id, epoch=told.leader_epoch)
        if self._metadata.learn_leader(batch.topic, batch.partition, leader, nodes):
            batch.saw_leader(leader.epoch)

    # --- metadata -----------------------------------------------------------------------------------------------------

    def _send_metadata(self, now_ms: int) -> int:
        if self._asking_metadata:
            return 1 << 62
        due_ms = self._metadata.update_due_ms(now_ms)
        if due_ms:
            return due_ms
        nodes = self._metadata.nodes or self._bootstrap
        for node_id in self._link.least_loaded(nodes):
            if not self._link.ready(node_id, nodes[node_id], now_ms):
                continue
            version = common_version(ApiKey.METADATA, self._link.versions(node_id))
            if version is None:
                continue
            topics = self._metadata.topics_to_ask(now_ms)
            asked = [MetadataRequestTopic(name=name) for name in topics]
            request = MetadataRequest(topics=asked, allow_auto_topic_creation=True)
            done = partial(self._metadata_answered, topics)
            self._link.send(node_id, ApiKey.METADATA, version, request, done, answered=True)
            self._asking_metadata = True
            return 1 << 62
        self._metadata.unreachable = self._link.failures()
        return 1 << 62

    def _metadata_answered(self, topics: list[str], answer: Answer) -> None:
        now_ms = self._now()
        self._asking_metadata = False
        if answer.response is None:
            self._metadata.failed_attempt(now_ms)
        else:
            self._metadata.update(answer.response, topics, now_ms)
        self._wake()


def _magic(version: int) -> int:
    if version >= MAGIC_V2_SINCE:
        return CURRENT_MAGIC
    return MAGIC_V1 if version >= MAGIC_V1_SINCE else MAGIC_V0


def _note(batch: Batch, size_bytes: int, now_ms: int) -> Note:
    buffer = batch.buffer
    queued_ms = now_ms - batch.created_ms
    return batch.topic, size_bytes, queued_ms, buffer.largest_bytes, buffer.count, batch.observed_ratio


def _result(partition: PartitionProduceResponse) -> Result:
    return Result(
        code=code_of(partition.error_code),
        base_offset=partition.base_offset,
        append_time=partition.log_append_time_ms,
        log_start_offset=partition.log_start_offset,
        message=partition.error_message,
        record_errors=partition.record_errors,
    )
