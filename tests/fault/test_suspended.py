"""The process stands still for longer than sessions and transactions last (SIGSTOP, a laptop that slept).

Nobody is expelled for it, nothing aborted, nothing written twice.
"""

import asyncio
import os
import signal
from pathlib import Path

import pytest
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.heartbeat import HeartbeatRequest
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stepdown.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from support.broker import Stepdown
from support.client import RawClient
from support.fetching import fetch, fetched, read
from support.transactions import TransactionalClient

SESSION_MS = 6000
SUSPENDED_S = 60
MEMBERS = 20
TRANSACTION_MS = 20_000


class Member:
    """The only member of its group, which keeps sending heartbeats whether or not they are answered."""

    def __init__(self, number: int, client: RawClient) -> None:
        self.group, self.client = f"g{number}", client
        self.heartbeat = HeartbeatRequest(group_id="", generation_id=0, member_id="")

    async def join(self) -> None:
        protocol = JoinGroupRequestProtocol(name="range", metadata=b"")
        joined = await self.client.send(
            JoinGroupRequest(
                group_id=self.group,
                session_timeout_ms=SESSION_MS,
                rebalance_timeout_ms=SESSION_MS,
                member_id="",
                protocol_type="consumer",
                protocols=(protocol,),
            ),
            2,
        )
        assert joined.error_code == 0
        member = {"group_id": self.group, "generation_id": joined.generation_id, "member_id": joined.member_id}
        mine = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"all")
        assert (await self.client.send(SyncGroupRequest(**member, assignments=(mine,)), 0)).error_code == 0
        self.heartbeat = HeartbeatRequest(**member)


@pytest.mark.slow
async def test_members_transactions_and_fetches_outlive_a_broker_that_stood_still(tmp_path: Path) -> None:
    with Stepdown(tmp_path, properties={"group.initial.rebalance.delay.ms": "0"}) as broker:
        broker.create_topic("t")
        host, port = broker.address.rsplit(":", 1)
        members = [Member(number, await RawClient.connect(host, int(port))) for number in range(MEMBERS)]
        for member in members:
            await member.join()
        producer, reader = [await RawClient.connect(host, int(port)) for _ in range(2)]
        transaction = TransactionalClient(producer)
        while (await transaction.init(timeout_ms=TRANSACTION_MS)).error_code:
            continue  # the coordinator is not there yet
        assert await transaction.add("t", 0) == [ErrorCode.NONE]
        assert await transaction.produce("t", 0, b"once") == ErrorCode.NONE
        parked = fetch("t", max_wait_ms=SESSION_MS, min_bytes=1 << 20)
        waiting = await reader.begin(parked, 4)
        os.kill(broker.pid, signal.SIGSTOP)
        sent = []
        try:
            for _ in range(SUSPENDED_S):
                await asyncio.sleep(1)
                sent += [(member, await member.client.begin(member.heartbeat, 0)) for member in members]
            ending = asyncio.create_task(transaction.end(commit=True))
            await asyncio.sleep(0)
        finally:
            os.kill(broker.pid, signal.SIGCONT)
        codes = [(await member.client.finish(member.heartbeat, 0, number)).error_code for member, number in sent]
        assert set(codes) == {ErrorCode.NONE}
        assert await ending == ErrorCode.NONE
        for member in members:
            assert (await member.client.send(member.heartbeat, 0)).error_code == ErrorCode.NONE
        assert not (await reader.finish(parked, 4, waiting)).responses[0].partitions[0].error_code
        committed = await fetched(reader, fetch("t", isolation_level=1, min_bytes=1, max_wait_ms=5_000), 4)
        assert not committed.aborted_transactions
        assert [value for *_, value in read(committed.records)].count(b"once") == 1
