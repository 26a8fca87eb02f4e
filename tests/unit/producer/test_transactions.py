"""Transactions of a producer before scripted coordinators: order of requests, errors, fencing, timeouts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
from stepdown.config import ConfigError
from stepdown.producer import (
    Fenced,
    GroupMetadata,
    OffsetAndMetadata,
    Producer,
    ProducerError,
    RecordTooLarge,
    Timeout,
    TransactionAborted,
    WrongState,
)
from stepdown.producer.transactions.state import NEXT, TransactionManagerState, TransactionStateMachine
from stepdown.protocol.api import ApiKey
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.records.batch import RecordBatch
from support.coordinating import COORDINATOR, Coordinators
from support.deadline import DEADLINE_S, MOMENT_S
from support.producing import Asked, Cluster, Stage, producing

T = TypeVar("T")
GROUP = GroupMetadata(group_id="g", generation=4, member_id="m")


@asynccontextmanager
async def transacting(
    setup: Any = None, *, init: bool = True, **settings: Any
) -> AsyncIterator[tuple[Stage, Coordinators]]:
    """A producer with a transactional id; it has its producer id already unless `init` is False."""
    coordinators = Coordinators()

    def both(cluster: Cluster) -> None:
        cluster.other = coordinators
        if setup is not None:
            setup(cluster)

    given = {"transactional_id": "tx", "enable_idempotence": True, "retry_backoff_ms": 100} | settings
    async with producing(both, **given) as stage:
        if init:
            await during(stage, stage.producer.init_transactions())
        yield stage, coordinators


async def during(stage: Stage, call: Awaitable[T], limit_ms: int = 10_000, *, answering: bool = True) -> T:
    """The result of a call; time goes on, and Produce requests are answered, until it has one."""
    task = asyncio.ensure_future(call)
    for _ in range(limit_ms // 10):
        await stage.advance(0 if not task.done() and stage.cluster.open else 10)
        for asked in list(stage.cluster.open) if answering else []:
            asked.answer()
        if task.done():
            break
    return await asyncio.wait_for(task, MOMENT_S)


def header(asked: Asked) -> tuple[int, int, int, bool]:
    [batch] = asked.batches.values()
    assert isinstance(batch, RecordBatch)
    return batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.is_transactional


async def test_a_transaction_asks_in_kafkas_order() -> None:
    async with transacting() as (stage, coordinators):
        producer = stage.producer
        producer.begin_transaction()
        delivery = producer.send("t", b"v")
        [asked] = await stage.produced()
        assert header(asked) == (5, 0, 0, True)
        assert asked.request.transactional_id == "tx"
        asked.answer()
        assert (await delivery).offset == 0
        await during(stage, producer.commit_transaction())
        assert coordinators.names == ["FIND_COORDINATOR", "INIT_PRODUCER_ID", "ADD_PARTITIONS_TO_TXN", "END_TXN"]
        [found] = coordinators.of(ApiKey.FIND_COORDINATOR)
        assert (found.key_type, found.coordinator_keys) == (1, ("tx",))
        assert set(coordinators.nodes[1:]) == {COORDINATOR}
        assert coordinators.of(ApiKey.END_TXN)[0].committed


async def test_nothing_goes_to_a_partition_before_it_is_added() -> None:
    async with transacting() as (stage, coordinators):
        coordinators.held = {ApiKey.ADD_PARTITIONS_TO_TXN}
        stage.producer.begin_transaction()
        stage.producer.send("t", b"v")
        assert await stage.produced(1000) == []
        coordinators.release()
        assert len(await stage.produced()) == 1


async def test_a_partition_is_added_once_per_transaction() -> None:
    async with transacting(lambda cluster: cluster.topics.update(t=2)) as (stage, coordinators):
        for _ in range(2):
            stage.producer.begin_transaction()
            for partition in (0, 1, 0, 1):
                await during(stage, stage.producer.send("t", b"v", partition=partition))
            await during(stage, stage.producer.commit_transaction())
        added = coordinators.of(ApiKey.ADD_PARTITIONS_TO_TXN)
        topics = [[list(topic.partitions) for topic in request.v3_and_below_topics] for request in added]
        assert topics == [[[0]], [[1]], [[0]], [[1]]]


async def test_sequences_run_on_over_transactions() -> None:
    async with transacting() as (stage, _):
        for number in range(3):
            stage.producer.begin_transaction()
            stage.producer.send("t", b"v")
            [asked] = await stage.produced()
            assert header(asked) == (5, 0, number, True)
            asked.answer()
            await during(stage, stage.producer.commit_transaction())


async def test_an_empty_transaction_sends_no_end() -> None:
    async with transacting() as (stage, coordinators):
        stage.producer.begin_transaction()
        await during(stage, stage.producer.commit_transaction())
        stage.producer.begin_transaction()
        await during(stage, stage.producer.abort_transaction())
        assert coordinators.names == ["FIND_COORDINATOR", "INIT_PRODUCER_ID"]


async def test_a_commit_lets_nothing_linger_and_waits_for_every_record() -> None:
    async with transacting(linger_ms=60_000, delivery_timeout_ms=200_000) as (stage, coordinators):
        stage.producer.begin_transaction()
        stage.producer.send("t", b"v")
        assert await stage.produced(1000) == []
        commit = asyncio.ensure_future(stage.producer.commit_transaction())
        [asked] = await stage.produced()
        assert coordinators.of(ApiKey.END_TXN) == []
        asked.answer()
        await during(stage, commit)
        assert coordinators.names[-1] == "END_TXN"


async def test_a_commit_waits_for_records_whose_topic_is_not_known_yet() -> None:
    async with transacting(lambda cluster: cluster.topics.clear()) as (stage, _):
        stage.producer.begin_transaction()
        delivery = stage.producer.send("late", b"v")
        commit = asyncio.ensure_future(stage.producer.commit_transaction())
        await stage.advance(200)
        stage.cluster.topics["late"] = 1
        await during(stage, commit)
        assert (await delivery).offset == 0


async def test_a_commit_waits_for_a_cancelled_record_that_is_in_line_too() -> None:
    """It asked again and again, and never let the loop go on."""
    async with transacting(lambda cluster: cluster.topics.clear()) as (stage, _):
        stage.producer.begin_transaction()
        stage.producer.send("t", b"v").cancel()
        commit = asyncio.ensure_future(stage.producer.commit_transaction())
        await stage.advance()
        stage.cluster.topics["t"] = 1
        await during(stage, commit)
        assert stage.cluster.log["t", 0] == [b"v"]


async def test_an_abort_drops_what_was_not_sent_and_waits_for_what_was() -> None:
    async with transacting(batch_size=1, max_in_flight_requests_per_connection=1) as (stage, coordinators):
        stage.producer.begin_transaction()
        first, second = stage.producer.send("t", b"1" * 80), stage.producer.send("t", b"2" * 80)
        [asked] = await stage.produced()
        abort = asyncio.ensure_future(stage.producer.abort_transaction())
        await stage.advance(50)
        assert coordinators.of(ApiKey.END_TXN) == []
        with pytest.raises(TransactionAborted):
            await second
        asked.answer()
        await during(stage, abort)
        assert (await first).offset == 0
        assert not coordinators.of(ApiKey.END_TXN)[0].committed
        stage.producer.begin_transaction()


async def test_offsets_go_to_both_coordinators() -> None:
    async with transacting() as (stage, coordinators):
        stage.producer.begin_transaction()
        offsets = {("in", 0): 7, ("in", 1): OffsetAndMetadata(offset=9, leader_epoch=3, metadata="x")}
        await during(stage, stage.producer.send_offsets_to_transaction(offsets, GROUP))
        await during(stage, stage.producer.commit_transaction())
        assert coordinators.names[2:] == ["ADD_OFFSETS_TO_TXN", "FIND_COORDINATOR", "TXN_OFFSET_COMMIT", "END_TXN"]
        assert coordinators.of(ApiKey.FIND_COORDINATOR)[1].key_type == 0
        [request] = coordinators.of(ApiKey.TXN_OFFSET_COMMIT)
        assert (request.group_id, request.generation_id, request.member_id) == ("g", 4, "m")
        [topic] = request.topics
        found = [(p.partition_index, p.committed_offset, p.committed_leader_epoch) for p in topic.partitions]
        assert found == [(0, 7, -1), (1, 9, 3)]


async def test_an_old_group_coordinator_that_cannot_fence_a_member_ends_the_producer() -> None:
    def old(cluster: Cluster) -> None:
        cluster.spoken = dict(cluster.spoken) | {int(ApiKey.TXN_OFFSET_COMMIT): (0, 2)}

    async with transacting(old) as (stage, _):
        stage.producer.begin_transaction()
        with pytest.raises(ProducerError, match="TXN_OFFSET_COMMIT v3") as caught:
            await during(stage, stage.producer.send_offsets_to_transaction({("in", 0): 7}, GROUP))
        assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION


RETRIED = [
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NETWORK_EXCEPTION,
]
TRANSACTIONAL = [
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.END_TXN,
]


async def whole_transaction(stage: Stage) -> None:
    await during(stage, stage.producer.init_transactions())
    stage.producer.begin_transaction()
    await during(stage, stage.producer.send("t", b"v"))
    await during(stage, stage.producer.send_offsets_to_transaction({("in", 0): 7}, "g"))
    await during(stage, stage.producer.commit_transaction())


@pytest.mark.parametrize("code", RETRIED, ids=lambda code: code.name)
@pytest.mark.parametrize("key", TRANSACTIONAL, ids=lambda key: key.name)
async def test_what_may_pass_is_asked_again(key: ApiKey, code: ErrorCode) -> None:
    async with transacting(init=False) as (stage, coordinators):
        coordinators.codes[key] = [code, code]
        await whole_transaction(stage)
        assert len(coordinators.of(key)) == 3
        moved = code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NETWORK_EXCEPTION)
        assert len(coordinators.of(ApiKey.FIND_COORDINATOR)) == 2 + 2 * moved


@pytest.mark.parametrize("code", [ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH], ids=lambda c: c.name)
@pytest.mark.parametrize("key", TRANSACTIONAL, ids=lambda key: key.name)
async def test_a_fenced_producer_is_at_its_end(key: ApiKey, code: ErrorCode) -> None:
    async with transacting(init=False) as (stage, coordinators):
        coordinators.codes[key] = [code]
        with pytest.raises(Fenced) as caught:
            await whole_transaction(stage)
        assert caught.value.code is ErrorCode.PRODUCER_FENCED
        for call in (stage.producer.init_transactions, stage.producer.commit_transaction):
            with pytest.raises(Fenced):
                await during(stage, call())
        with pytest.raises(Fenced):
            stage.producer.begin_transaction()
        with pytest.raises(Fenced):
            await stage.producer.send("t", b"v")


ABORTABLE = [
    (ApiKey.ADD_PARTITIONS_TO_TXN, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    (ApiKey.ADD_PARTITIONS_TO_TXN, ErrorCode.UNKNOWN_SERVER_ERROR),
    (ApiKey.ADD_PARTITIONS_TO_TXN, ErrorCode.TRANSACTION_ABORTABLE),
    (ApiKey.ADD_OFFSETS_TO_TXN, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    (ApiKey.TXN_OFFSET_COMMIT, ErrorCode.ILLEGAL_GENERATION),
    (ApiKey.TXN_OFFSET_COMMIT, ErrorCode.FENCED_INSTANCE_ID),
    (ApiKey.END_TXN, ErrorCode.TRANSACTION_ABORTABLE),
]


@pytest.mark.parametrize(("key", "code"), ABORTABLE, ids=lambda value: value.name)
async def test_after_some_errors_the_transaction_can_only_be_aborted(key: ApiKey, code: ErrorCode) -> None:
    async with transacting() as (stage, coordinators):
        coordinators.codes[key] = [code]
        producer = stage.producer
        producer.begin_transaction()
        with pytest.raises(ProducerError) as caught:
            await during(stage, producer.send("t", b"v"))
            await during(stage, producer.send_offsets_to_transaction({("in", 0): 7}, "g"))
            await during(stage, producer.commit_transaction())
        assert caught.value.code is code
        for refused in (producer.commit_transaction, producer.init_transactions):
            with pytest.raises(ProducerError):
                await refused()
        with pytest.raises(ProducerError):
            await producer.send("t", b"v")
        await during(stage, producer.abort_transaction())
        assert len(coordinators.of(ApiKey.INIT_PRODUCER_ID)) == 1
        producer.begin_transaction()
        await during(stage, producer.send("t", b"again"))
        await during(stage, producer.commit_transaction())


FATAL = [
    (ApiKey.FIND_COORDINATOR, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    (ApiKey.INIT_PRODUCER_ID, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    (ApiKey.ADD_PARTITIONS_TO_TXN, ErrorCode.INVALID_TXN_STATE),
    (ApiKey.ADD_OFFSETS_TO_TXN, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    (ApiKey.TXN_OFFSET_COMMIT, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
    (ApiKey.END_TXN, ErrorCode.INVALID_TXN_STATE),
]


@pytest.mark.parametrize(("key", "code"), FATAL, ids=lambda value: value.name)
async def test_after_others_the_producer_is_at_its_end(key: ApiKey, code: ErrorCode) -> None:
    async with transacting(init=False) as (stage, coordinators):
        coordinators.codes[key] = [code]
        with pytest.raises(ProducerError) as caught:
            await whole_transaction(stage)
        assert caught.value.code is code
        with pytest.raises(ProducerError):
            await during(stage, stage.producer.abort_transaction())


async def test_a_refused_transactional_id_may_be_tried_again_once_it_has_rights() -> None:
    async with transacting(init=False) as (stage, coordinators):
        coordinators.codes[ApiKey.INIT_PRODUCER_ID] = [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
        with pytest.raises(ProducerError):
            await during(stage, stage.producer.init_transactions())
        await whole_transaction(stage)


async def test_the_first_added_partition_is_tried_again_quickly_behind_another_transaction() -> None:
    async with transacting() as (stage, coordinators):
        coordinators.codes[ApiKey.ADD_PARTITIONS_TO_TXN] = [ErrorCode.CONCURRENT_TRANSACTIONS]
        stage.producer.begin_transaction()
        stage.producer.send("t", b"v")
        assert await stage.produced(19) == []
        assert len(await stage.produced(1)) == 1


async def test_a_failed_record_makes_the_commit_fail_and_an_abort_raises_the_epoch() -> None:
    async with transacting(batch_size=1) as (stage, coordinators):
        producer = stage.producer
        producer.begin_transaction()
        # The broker knows the producer, so that several batches may be in flight.
        assert producer._call_source is not None
        producer._call_source.sequences.entry_of(("t", 0)).known_id = 5
        delivery, behind = producer.send("t", b"1" * 80), producer.send("t", b"2" * 80)
        first, second = await stage.produced()
        first.answer(ErrorCode.INVALID_RECORD)
        with pytest.raises(ProducerError):
            await delivery
        assert await stage.produced() == [second]
        second.answer(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        # It takes the lower number, since the one before it was refused.
        [again] = await stage.produced(200)
        assert header(again) == (5, 0, 0, True)
        again.answer()
        await behind
        with pytest.raises(ProducerError, match="INVALID_RECORD"):
            await producer.commit_transaction()
        await during(stage, producer.abort_transaction())
        assert coordinators.names[-2:] == ["END_TXN", "INIT_PRODUCER_ID"]
        bump = coordinators.of(ApiKey.INIT_PRODUCER_ID)[1]
        assert (bump.producer_id, bump.producer_epoch) == (5, 0)
        producer.begin_transaction()
        producer.send("t", b"3")
        [asked] = await stage.produced()
        assert header(asked) == (5, 1, 0, True)


async def test_an_old_coordinator_that_raises_no_epoch_gets_just_the_abort() -> None:
    def old(cluster: Cluster) -> None:
        cluster.spoken = dict(cluster.spoken) | {int(ApiKey.INIT_PRODUCER_ID): (0, 2)}

    async with transacting(old) as (stage, coordinators):
        stage.producer.begin_transaction()
        delivery = stage.producer.send("t", b"1")
        [asked] = await stage.produced()
        asked.answer(ErrorCode.INVALID_RECORD)
        with pytest.raises(ProducerError):
            await delivery
        await during(stage, stage.producer.abort_transaction())
        assert coordinators.names[-1] == "END_TXN"


async def test_a_lost_sequence_is_fatal_where_no_epoch_can_be_raised() -> None:
    def old(cluster: Cluster) -> None:
        cluster.spoken = dict(cluster.spoken) | {int(ApiKey.INIT_PRODUCER_ID): (0, 2)}

    async with transacting(old) as (stage, coordinators):
        coordinators.codes[ApiKey.END_TXN] = [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
        stage.producer.begin_transaction()
        await during(stage, stage.producer.send("t", b"1"))
        with pytest.raises(ProducerError):
            await during(stage, stage.producer.commit_transaction())
        with pytest.raises(ProducerError):
            await during(stage, stage.producer.abort_transaction())


@pytest.mark.parametrize("where", [ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.END_TXN], ids=lambda key: key.name)
async def test_a_producer_that_the_coordinator_forgot_starts_anew(where: ApiKey) -> None:
    async with transacting() as (stage, coordinators):
        coordinators.codes[where] = [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
        producer = stage.producer
        producer.begin_transaction()
        with pytest.raises(ProducerError):
            await during(stage, producer.send("t", b"1"))
            await during(stage, producer.commit_transaction())
        await during(stage, producer.abort_transaction())
        assert coordinators.names[-1] == "INIT_PRODUCER_ID"
        producer.begin_transaction()
        await during(stage, producer.send("t", b"2"))
        await during(stage, producer.commit_transaction())


async def test_an_abort_goes_on_when_a_partition_cannot_be_added_any_more() -> None:
    async with transacting() as (stage, coordinators):
        coordinators.held = {ApiKey.ADD_PARTITIONS_TO_TXN}
        coordinators.codes[ApiKey.ADD_PARTITIONS_TO_TXN] = [ErrorCode.TRANSACTION_ABORTABLE]
        stage.producer.begin_transaction()
        stage.producer.send("t", b"v")
        await stage.advance()
        abort = asyncio.ensure_future(stage.producer.abort_transaction())
        await stage.advance()
        coordinators.release()
        await during(stage, abort)
        stage.producer.begin_transaction()


async def test_an_abort_does_not_wait_for_offsets_that_nobody_takes() -> None:
    async with transacting(max_block_ms=1000) as (stage, coordinators):
        coordinators.codes[ApiKey.TXN_OFFSET_COMMIT] = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 1000
        producer = stage.producer
        producer.begin_transaction()
        with pytest.raises(Timeout):
            await during(stage, producer.send_offsets_to_transaction({("missing", 0): 7}, GROUP))
        await during(stage, producer.abort_transaction(), limit_ms=500)
        assert coordinators.names[-1] == "END_TXN"
        producer.begin_transaction()


@pytest.mark.parametrize("key", [ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.TXN_OFFSET_COMMIT], ids=lambda key: key.name)
async def test_an_abort_drops_offsets_that_are_on_their_way(key: ApiKey) -> None:
    async with transacting() as (stage, coordinators):
        coordinators.held = {key}
        coordinators.codes[ApiKey.TXN_OFFSET_COMMIT] = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        stage.producer.begin_transaction()
        offsets = asyncio.ensure_future(stage.producer.send_offsets_to_transaction({("missing", 0): 7}, GROUP))
        await stage.advance()
        abort = asyncio.ensure_future(stage.producer.abort_transaction())
        await stage.advance()
        coordinators.release()
        await during(stage, abort)
        assert coordinators.names[-2:] == [key.name, "END_TXN"]
        with pytest.raises(TransactionAborted):
            await offsets


async def test_an_abort_that_the_coordinator_knows_nothing_of_starts_anew_too() -> None:
    async with transacting() as (stage, coordinators):
        stage.producer.begin_transaction()
        await during(stage, stage.producer.send("t", b"1"))
        coordinators.codes[ApiKey.END_TXN] = [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
        await during(stage, stage.producer.abort_transaction())
        assert coordinators.names[-2:] == ["END_TXN", "INIT_PRODUCER_ID"]
        stage.producer.begin_transaction()


async def test_a_record_that_expired_after_it_was_sent_can_only_be_aborted() -> None:
    settings = {"delivery_timeout_ms": 3000, "request_timeout_ms": 1000, "linger_ms": 0}
    async with transacting(**settings) as (stage, coordinators):
        producer = stage.producer
        producer.begin_transaction()
        delivery = producer.send("t", b"1")
        for _ in range(30):
            for asked in await stage.produced(100):
                asked.drop()
        with pytest.raises(Timeout):
            await delivery
        with pytest.raises(Timeout):
            await producer.commit_transaction()
        await during(stage, producer.abort_transaction())
        assert coordinators.names[-2:] == ["END_TXN", "INIT_PRODUCER_ID"]


async def test_a_record_too_large_to_send_spoils_the_transaction() -> None:
    async with transacting() as (stage, _):
        stage.producer.begin_transaction()
        with pytest.raises(RecordTooLarge):
            await stage.producer.send("t", b"v" * 2_000_000)
        with pytest.raises(RecordTooLarge):
            await stage.producer.commit_transaction()
        await during(stage, stage.producer.abort_transaction())


async def test_a_call_that_takes_too_long_has_to_be_made_again() -> None:
    async with transacting(max_block_ms=1000) as (stage, coordinators):
        producer = stage.producer
        producer.begin_transaction()
        await during(stage, producer.send("t", b"1"))
        coordinators.held = {ApiKey.END_TXN}
        with pytest.raises(Timeout):
            await during(stage, producer.commit_transaction())
        with pytest.raises(WrongState):
            await producer.abort_transaction()
        with pytest.raises(WrongState):
            producer.begin_transaction()
        with pytest.raises(WrongState):
            producer.send("t", b"2")
        coordinators.release()
        await stage.advance()
        with pytest.raises(WrongState, match="commit_transaction"):
            producer.begin_transaction()
        await producer.commit_transaction()
        producer.begin_transaction()
        assert len(coordinators.of(ApiKey.END_TXN)) == 1


async def test_what_belongs_to_no_transaction_is_refused() -> None:
    async with transacting(init=False) as (stage, _):
        producer = stage.producer
        with pytest.raises(WrongState):
            producer.begin_transaction()
        with pytest.raises(WrongState):
            producer.send("t", b"v")
        await during(stage, producer.init_transactions())
        with pytest.raises(WrongState):
            producer.send("t", b"v")
        for call in (producer.commit_transaction, producer.abort_transaction, producer.init_transactions):
            with pytest.raises(WrongState):
                await call()
        with pytest.raises(WrongState):
            await producer.send_offsets_to_transaction({("in", 0): 1}, "g")
    async with producing() as stage:
        with pytest.raises(WrongState, match=r"transactional\.id"):
            await stage.producer.init_transactions()


WRONG_OFFSETS: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "no partition": ({"in": 1}, GROUP, TypeError, r"by \(topic, partition\), found 'in'"),
    "no mapping": ([("in", 0, 1)], GROUP, TypeError, "a mapping"),
    "a partition of text": ({("in", "0"): 1}, GROUP, TypeError, "a partition is an int"),
    "an offset of text": ({("in", 0): "1"}, GROUP, TypeError, "is an int or an OffsetAndMetadata"),
    "a negative offset": ({("in", 0): -1}, GROUP, ValueError, "negative"),
    "a large offset": ({("in", 0): 1 << 63}, GROUP, ValueError, "64-bit"),
    "no group": ({("in", 0): 1}, None, TypeError, "a group is its name or a GroupMetadata"),
}


@pytest.mark.parametrize("name", WRONG_OFFSETS)
async def test_offsets_that_no_request_can_hold_are_told_at_once_and_the_transaction_goes_on(name: str) -> None:
    """The request was made again and again, and the transaction never ended."""
    offsets, group, error, text = WRONG_OFFSETS[name]
    async with transacting() as (stage, coordinators):
        stage.producer.begin_transaction()
        with pytest.raises(error, match=text):
            await stage.producer.send_offsets_to_transaction(offsets, group)
        stage.producer.send("t", b"v")
        await during(stage, stage.producer.commit_transaction())
        assert len(coordinators.of(ApiKey.END_TXN)) == 1


async def test_the_block_commits_and_an_exception_in_it_aborts() -> None:
    async with transacting() as (stage, coordinators):

        async def block(fails: bool) -> None:
            async with stage.producer.transaction():
                await stage.producer.send("t", b"v")
                if fails:
                    raise LookupError

        await during(stage, block(False))
        with pytest.raises(LookupError):
            await during(stage, block(True))
        assert [request.committed for request in coordinators.of(ApiKey.END_TXN)] == [True, False]


async def test_closing_aborts_what_is_open() -> None:
    async with transacting() as (stage, coordinators):
        stage.producer.begin_transaction()
        delivery = stage.producer.send("t", b"v")
        await during(stage, stage.producer.close())
        assert (await delivery).offset == 0
        assert [request.committed for request in coordinators.of(ApiKey.END_TXN)] == [False]


async def test_closing_does_not_wait_for_an_id_that_did_not_come() -> None:
    async with transacting(init=False, max_block_ms=1000) as (stage, coordinators):
        coordinators.held = {ApiKey.FIND_COORDINATOR}
        with pytest.raises(Timeout):
            await during(stage, stage.producer.init_transactions())
        await asyncio.wait_for(stage.producer.close(), DEADLINE_S)


async def test_closing_waits_for_a_commit_that_took_too_long() -> None:
    async with transacting(max_block_ms=1000) as (stage, coordinators):
        stage.producer.begin_transaction()
        await during(stage, stage.producer.send("t", b"v"))
        coordinators.held = {ApiKey.END_TXN}
        with pytest.raises(Timeout):
            await during(stage, stage.producer.commit_transaction())
        closing = asyncio.ensure_future(stage.producer.close())
        await stage.advance(100)
        assert not closing.done()
        coordinators.release()
        await during(stage, closing)
        assert [request.committed for request in coordinators.of(ApiKey.END_TXN)] == [True]


async def test_a_coordinator_that_cannot_be_reached_is_looked_up_again() -> None:
    async with transacting() as (stage, coordinators):
        stage.producer.begin_transaction()
        await during(stage, stage.producer.send("t", b"v"))
        stage.cluster.unready.add(COORDINATOR)
        coordinators.node_id = COORDINATOR + 1
        commit = asyncio.ensure_future(stage.producer.commit_transaction())
        for _ in range(3):
            await stage.advance(600)
            stage.producer._wakeup.schedule_pass()
        await during(stage, commit)
        assert coordinators.nodes[-1] == COORDINATOR + 1


async def test_the_calls_are_timed() -> None:
    async with transacting(init=False) as (stage, _):
        await whole_transaction(stage)
        metrics = stage.producer.metrics()
        assert all(metrics[f"txn-{call}-time-ns-total"] > 0 for call in ("init", "begin", "send-offsets", "commit"))


def test_the_states_follow_each_other_as_the_table_says() -> None:
    for state, following in NEXT.items():
        for target in TransactionManagerState:
            machine = TransactionStateMachine()
            machine.state = state
            if target in following or target is TransactionManagerState.FATAL_ERROR:
                machine.transition_to(target, ProducerError("x"))
                assert machine.state is target
            else:
                with pytest.raises(WrongState):
                    machine.transition_to(target)


@pytest.mark.parametrize("more", [{"enable_idempotence": False}, {"acks": "1"}, {"retries": 0}], ids=str)
def test_transactions_need_idempotence(more: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"transactional\.id"):
        Producer("127.0.0.1:1", transactional_id="tx", **more)


def test_the_client_is_named_after_its_transactions() -> None:
    assert Producer("127.0.0.1:1", transactional_id="tx").settings.client_id == "producer-tx"
    with pytest.raises(ConfigError):
        Producer("127.0.0.1:1", **{"transactional.id": ""})
