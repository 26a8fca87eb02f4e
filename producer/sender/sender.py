"""The loop that sends: requests for a producer id and of transactions, Produce requests, and Metadata when it is due.

One pass, `run_once`: waiting records are appended -> calls -> drain and send batches -> expire -> metadata -> flush.
Batches go by one request per node; while a node takes more, there is another round. The pass returns after how many ms
the next one is due, if nothing wakes it before. It touches no socket and no clock, so tests drive it by hand.
Source: Kafka 3.9, Sender.runOnce and sendProducerData.
"""

from collections.abc import Callable
from functools import partial

from ...client.versions import VersionRanges, common_version
from ...config.keys.endpoints import HostPort
from ...protocol.api import ApiKey
from ...protocol.errors import ErrorCode, PeerFault, code_of
from ...protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ...protocol.messages.produce import LeaderIdAndEpoch, PartitionProduceResponse, ProduceResponse
from ...protocol.records.layout import CURRENT_MAGIC, MAGIC_V0, MAGIC_V1, Codec
from ...protocol.records.record import Buffer
from ..accumulator.appender import Appender
from ..accumulator.producer_batch import Batch, TopicPartition
from ..accumulator.record_accumulator import Accumulator
from ..errors import ProducerError, error_of
from ..limited_log import LimitedLog
from ..metadata import Leader, Metadata
from ..metrics.metrics import Note, ProducerMetrics
from ..settings import ProducerSettings
from .call_source import CallSource
from .network_interface import NetworkAnswer, NetworkClient
from .produce_request_builder import ProduceRequestBuilder
from .produce_request_template import BatchAnswer
from .produce_results import PartitionResult, ProduceResultHandler
from .wake_up import PAUSE_MS, WakeUp

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
        appender: Appender,
        results: ProduceResultHandler,
        link: NetworkClient,
        meters: ProducerMetrics,
        log: LimitedLog,
        call_source: CallSource | None,
        now: Callable[[], int],
        wake_up: WakeUp,
    ) -> None:
        self._settings, self._metadata, self._accumulator = settings, metadata, accumulator
        self._appender, self._results, self._link, self._meters, self._log = appender, results, link, meters, log
        self._call_source, self._now, self._wake, self._go = (
            call_source,
            now,
            wake_up.schedule_pass,
            wake_up.run_pass_now,
        )
        self._asking_metadata = False
        self._keeps_order = settings.max_in_flight == 1
        self._builder = ProduceRequestBuilder(settings)
        self._versions: dict[int, tuple[VersionRanges, int | None]] = {}
        self._bootstrap = {-1 - index: address for index, address in enumerate(settings.bootstrap_servers)}

    def run_once(self, now_ms: int) -> int:
        """Makes one pass; returns after how many ms the next is due, 0: at once, if nothing wakes the loop before."""
        if self._link.fault is not None:
            self._stop_for_fault(self._link.fault)
            return self._link.flush_and_expire(now_ms)
        steps = (
            self._append_waiting,
            self._send_calls,
            self._send_batches,
            self._expire,
            self._send_metadata,
            self._link.flush_and_expire,
        )
        return min([self._run_step(step, now_ms) for step in steps])

    def _run_step(self, step: Callable[[int], int], now_ms: int) -> int:
        """Makes a step; returns after how many ms to make it again. One that fails keeps no other from being made."""
        try:
            return step(now_ms)
        except Exception as fault:
            self._log.log_fault(f"a step of the sender, {getattr(step, '__name__', step)},", fault)
            self._end_batches_after_fault(fault)
            return PAUSE_MS

    def _end_batches_after_fault(self, fault: Exception) -> None:
        """Ends the batches that the fault left where no answer and no pass would find them."""
        in_flight = [batch for batches in self._results.in_flight.values() for batch in batches]
        for batch in self._accumulator.find_orphans(in_flight):
            self._results.fail_for_fault(batch, fault)

    def _append_waiting(self, now_ms: int) -> int:
        self._appender.append_waiting(now_ms)
        return max(0, self._appender.next_max_block_deadline_ms() - now_ms)

    def _expire(self, now_ms: int) -> int:
        return max(0, self._results.expire(now_ms) - now_ms)

    # --- producer id, transactions -----------------------------------------------------------------------------------

    def _send_calls(self, now_ms: int) -> int:
        call_source = self._call_source
        if call_source is None:
            return 1 << 62
        try:
            return self._send_call(call_source, now_ms)
        finally:
            if call_source.fatal is not None:
                self._abort_all(call_source.fatal)

    def _send_call(self, call_source: CallSource, now_ms: int) -> int:
        call_source.prepare()
        call = call_source.next_call(now_ms)
        if call is None:
            return call_source.ms_to_next_call(now_ms)
        nodes = call.nodes or self._metadata.nodes or self._bootstrap
        for node_id in self._link.sort_by_load(nodes):
            if not self._link.ready(node_id, nodes[node_id], now_ms):
                continue
            version = common_version(call.key, self._link.versions(node_id), call.versions)
            if version is None:
                call_source.note_unsupported_version(call)
                return 0
            call_source.begin_call(now_ms)
            done = partial(self._deliver_answer, call.done)
            try:
                self._link.send(node_id, call.key, version, call.request(version), done, answered=True)
            except Exception as fault:
                self._log.log_fault(f"sending {call.key.name}", fault)
                done(NetworkAnswer(failure=ErrorCode.NETWORK_EXCEPTION))
            return 1 << 62
        call_source.note_no_ready_node(now_ms)
        return 1 << 62

    def _deliver_answer(self, done: Callable[[NetworkAnswer], None], answer: NetworkAnswer) -> None:
        try:
            done(answer)
        except Exception as fault:  # asked again as after a lost answer; else nothing would ever be
            self._log.log_fault("taking an answer", fault)
            done(NetworkAnswer(failure=ErrorCode.NETWORK_EXCEPTION))
        finally:
            self._wake()

    def _stop_for_fault(self, fault: ProducerError) -> None:
        """Fails every record with the fault: from now on no broker takes anything."""
        if self._call_source is not None:
            self._call_source.enter_fatal_error(fault)
        self._abort_all(fault)

    def _abort_all(self, error: ProducerError) -> None:
        self._appender.refuse_all(error)
        for batch in self._accumulator.take_all():
            self._results.fail(batch, error)

    # --- Produce ------------------------------------------------------------------------------------------------------

    def _send_batches(self, now_ms: int) -> int:
        """Sends while there are batches and nodes that take them; returns after how many ms to look again."""
        while (wait_ms := self._send_round(now_ms)) < 0:
            pass
        return wait_ms

    def _send_round(self, now_ms: int) -> int:
        """Sends a request to each ready node; returns -1 if one takes more, else after how many ms to look again."""
        ready = self._accumulator.ready(self._metadata, now_ms)
        if ready.leaderless:
            for topic in ready.leaderless:
                self._metadata.use(topic, now_ms)  # nothing may have been sent to it for so long that it was forgotten
            self._metadata.request_update()
        nodes = [node_id for node_id in ready.nodes if self._can_drain(node_id, now_ms)] if ready.nodes else []
        drained: dict[int, list[Batch]] = {}
        try:
            if nodes:
                self._accumulator.drain(nodes, now_ms, drained)
        finally:
            # Also what had been drained when something failed.
            takes_more = [self._send_to_node(node_id, batches, now_ms) for node_id, batches in drained.items()]
        return -1 if any(takes_more) else ready.next_check_ms

    def _send_to_node(self, node_id: int, batches: list[Batch], now_ms: int) -> bool:
        """Returns whether the node takes another request. Batches past `delivery.timeout.ms` are failed, not sent."""
        try:
            self._results.add_in_flight(batches)
            if late := [batch for batch in batches if batch.is_expired(now_ms, self._settings.delivery_timeout_ms)]:
                self._results.expire(now_ms)
                self._wake()  # for what waited behind them
            batches = [batch for batch in batches if not batch.is_done] if late else batches
            if not batches:
                return False
            self._send_request(node_id, batches, now_ms)
            return self._link.ready(node_id, self._metadata.nodes[node_id], now_ms)
        except Exception as fault:
            self._log.log_fault(f"a request to node {node_id}", fault)
            for batch in batches:
                self._results.fail_for_fault(batch, fault)
            self._wake()  # no answer will, and others may wait for what these held
            return False

    def _can_drain(self, node_id: int, now_ms: int) -> bool:
        address = self._metadata.nodes[node_id]
        can = not self._is_metadata_due(now_ms) and self._link.ready(node_id, address, now_ms)
        if not can and address in self._link.failures():
            self._metadata.request_update()  # it may lead no more
        if self._accumulator.watches_nodes:
            self._accumulator.update_node_latency_stats(node_id, now_ms, can_drain=can)
        return can

    def _is_metadata_due(self, now_ms: int) -> bool:
        """Kafka holds Produce requests back while a metadata request waits to be sent."""
        return not self._asking_metadata and self._metadata.ms_to_next_update(now_ms) == 0

    def _version_of_produce(self, node_id: int) -> int | None:
        spoken = self._link.versions(node_id)
        known = self._versions.get(node_id)
        if known is None or known[0] is not spoken:
            known = self._versions[node_id] = spoken, common_version(_PRODUCE, spoken)
        return known[1]

    def _send_request(self, node_id: int, batches: list[Batch], now_ms: int) -> None:
        version = self._version_of_produce(node_id)
        made = [
            (batch, records) for batch in batches if (records := self._records_of_batch(batch, version)) is not None
        ]
        if version is None or not made:
            return
        self._meters.count_request([_make_note(batch, len(records), now_ms) for batch, records in made], now_ms)
        sent = {batch.topic_partition: batch for batch, _ in made}
        done = partial(self._handle_produce_answer, sent, _magic_of_version(version))
        request = self._builder.build(made, version)
        self._link.send(node_id, _PRODUCE, version, request, done, answered=self._settings.acks != 0)
        if self._keeps_order:
            self._accumulator.muted.update(sent)

    def _records_of_batch(self, batch: Batch, version: int | None) -> Buffer | None:
        """The bytes for a broker of that Produce version; None when it cannot have them and the batch has failed."""
        if batch.fault is not None:
            self._log.log_fault(f"making a batch for {batch.topic}-{batch.partition}", batch.fault)
            self._results.fail_for_fault(batch, batch.fault)
            return None
        if version is None:
            fault = "the broker speaks no version of Produce that the producer does"
        elif batch.codec is _ZSTD and version < ZSTD_SINCE:
            fault = f"Produce v{version} has no zstd"
        elif batch.has_sequence and version < MAGIC_V2_SINCE:
            fault = f"Produce v{version} has no sequences: set enable.idempotence=false"
        else:
            try:
                return batch.to_bytes(_magic_of_version(version), self._settings.level)
            except (ValueError, PeerFault) as error:
                fault = str(error)
        where = f"{batch.topic}-{batch.partition}"
        self._results.fail(batch, error_of(ErrorCode.UNSUPPORTED_VERSION, f"{where} cannot be written to: {fault}"))
        return None

    def _handle_produce_answer(self, sent: dict[TopicPartition, Batch], magic: int, answer: NetworkAnswer) -> None:
        batches = list(sent.values())
        try:
            self._handle_answer(sent, magic, answer)
        except Exception as fault:
            self._log.log_fault("taking the answer to a Produce request", fault)
            for batch in batches:
                if batch in self._results.in_flight.get(batch.topic_partition, ()):
                    self._results.fail_for_fault(batch, fault)
            self._end_batches_after_fault(fault)
        if self._keeps_order:
            self._accumulator.muted.difference_update([batch.topic_partition for batch in batches])
        if answer.alone and self._accumulator.live:
            self._go()
        else:
            # Nothing is left to send: those who were told have their turn first, and what they send goes with the pass.
            self._wake()

    def _handle_answer(self, sent: dict[TopicPartition, Batch], magic: int, answer: NetworkAnswer) -> None:
        now_ms = self._now()
        if answer.failure is not None:
            failed = PartitionResult(code=answer.failure)
            for batch in sent.values():
                self._results.handle_failure(batch, failed, magic, now_ms)
        elif answer.response is None:
            for batch in sent.values():
                self._results.succeed(batch)
        elif answer.response.__class__ is BatchAnswer:
            base_offset, append_time, throttle_ms = answer.response
            self._meters.count_answer(answer.latency_ms, throttle_ms, now_ms)
            for batch in sent.values():
                self._results.succeed(batch, base_offset, append_time)
        else:
            self._meters.count_answer(answer.latency_ms, answer.response.throttle_time_ms, now_ms)
            self._handle_response(answer.response, sent, magic, now_ms)

    def _handle_response(
        self, response: ProduceResponse, sent: dict[TopicPartition, Batch], magic: int, now_ms: int
    ) -> None:
        for topic in response.responses:
            for partition in topic.partition_responses:
                batch = sent.pop((topic.name, partition.index), None)
                if batch is not None:
                    told = partition.current_leader
                    if told.leader_id >= 0 and told.leader_epoch >= 0:
                        self._learn_leader(batch, told, response)
                    if partition.error_code:
                        self._results.handle_failure(batch, _make_result(partition), magic, now_ms)
                    else:
                        self._results.succeed(batch, partition.base_offset, partition.log_append_time_ms)
        for batch in sent.values():
            missing = PartitionResult(code=ErrorCode.NETWORK_EXCEPTION, message="the answer leaves the partition out")
            self._results.handle_failure(batch, missing, magic, now_ms)

    def _learn_leader(self, batch: Batch, told: LeaderIdAndEpoch, response: ProduceResponse) -> None:
        nodes = {node.node_id: HostPort(node.host, node.port) for node in response.node_endpoints}
        leader = Leader(node_id=told.leader_id, epoch=told.leader_epoch)
        if self._metadata.learn_leader(batch.topic, batch.partition, leader, nodes):
            batch.note_leader_epoch(leader.epoch)

    # --- metadata -----------------------------------------------------------------------------------------------------

    def _send_metadata(self, now_ms: int) -> int:
        if self._asking_metadata:
            return 1 << 62
        due_ms = self._metadata.ms_to_next_update(now_ms)
        if due_ms:
            return due_ms
        nodes = self._metadata.nodes or self._bootstrap
        for node_id in self._link.sort_by_load(nodes):
            if not self._link.ready(node_id, nodes[node_id], now_ms):
                continue
            version = common_version(ApiKey.METADATA, self._link.versions(node_id))
            if version is None:
                continue
            topics = self._metadata.take_topics_to_ask(now_ms)
            asked = [MetadataRequestTopic(name=name) for name in topics]
            request = MetadataRequest(topics=asked, allow_auto_topic_creation=True)
            done = partial(self._handle_metadata, topics)
            self._link.send(node_id, ApiKey.METADATA, version, request, done, answered=True)
            self._asking_metadata = True
            return 1 << 62
        self._metadata.unreachable = self._link.failures()
        if self._metadata.unreachable and not self._metadata.nodes:
            self._log_unreachable()
        return 1 << 62

    def _log_unreachable(self) -> None:
        """Says why, once each of the bootstrap addresses has failed."""
        failures = self._metadata.unreachable
        servers = self._settings.bootstrap_servers
        if all(server in failures for server in servers):
            reasons = "; ".join(f"{server.host}:{server.port} ({failures[server]})" for server in servers)
            self._log.warning("unreachable", "no broker answers so far, which is tried again: %s", reasons)

    def _handle_metadata(self, topics: list[str], answer: NetworkAnswer) -> None:
        now_ms = self._now()
        self._asking_metadata = False
        try:
            if answer.response is None:
                self._metadata.note_failure(now_ms)
            else:
                self._metadata.update(answer.response, topics, now_ms)
        except Exception as fault:
            self._log.log_fault("taking metadata", fault)
            self._metadata.note_failure(now_ms)
        self._wake()


def _magic_of_version(version: int) -> int:
    if version >= MAGIC_V2_SINCE:
        return CURRENT_MAGIC
    return MAGIC_V1 if version >= MAGIC_V1_SINCE else MAGIC_V0


def _make_note(batch: Batch, size_bytes: int, now_ms: int) -> Note:
    buffer = batch.buffer
    queued_ms = now_ms - batch.created_ms
    return batch.topic, size_bytes, queued_ms, buffer.largest_bytes, buffer.count, batch.observed_ratio


def _make_result(partition: PartitionProduceResponse) -> PartitionResult:
    return PartitionResult(
        code=code_of(partition.error_code),
        base_offset=partition.base_offset,
        append_time=partition.log_append_time_ms,
        log_start_offset=partition.log_start_offset,
        message=partition.error_message,
        record_errors=partition.record_errors,
    )
