"""A member of a classic group, and its JoinGroup and SyncGroup that wait for an answer."""

import asyncio
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from ....protocol.errors import ErrorCode
from ....protocol.messages.join_group import JoinGroupRequestProtocol, JoinGroupResponse
from ....protocol.messages.sync_group import SyncGroupResponse

JoinAnswer = asyncio.Future[JoinGroupResponse]
SyncAnswer = asyncio.Future[SyncGroupResponse]


class ClassicMember:
    """`protocols`: in the member's order of preference. `is_new`: its first JoinGroup is not answered yet."""

    __slots__ = (
        "assignment",
        "awaiting_join",
        "awaiting_sync",
        "client_host",
        "client_id",
        "instance_id",
        "is_new",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
    )

    def __init__(
        self,
        member_id: str,
        *,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: Sequence[JoinGroupRequestProtocol],
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocols = tuple(protocols)
        self.assignment = assignment
        self.is_new = False
        self.awaiting_join: JoinAnswer | None = None
        self.awaiting_sync: SyncAnswer | None = None

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    @property
    def protocol_names(self) -> frozenset[str]:
        return frozenset(protocol.name for protocol in self.protocols)

    def metadata(self, protocol_name: str | None) -> bytes:
        """The metadata that the member sent for a protocol; b"" if it does not support it."""
        return next((bytes(each.metadata) for each in self.protocols if each.name == protocol_name), b"")

    def vote(self, candidates: AbstractSet[str]) -> str:
        """The member's first choice of `candidates`, of which it knows at least one."""
        return next(protocol.name for protocol in self.protocols if protocol.name in candidates)

    def has_protocols(self, protocols: Sequence[JoinGroupRequestProtocol]) -> bool:
        return self.protocols == tuple(protocols)

    @property
    def is_alive_without_heartbeat(self) -> bool:
        """Whether a JoinGroup or SyncGroup of the member is parked. False for a new member, whose join may time out."""
        return not self.is_new and (self.awaiting_join is not None or self.awaiting_sync is not None)

    def answer_sync(self, response: SyncGroupResponse) -> bool:
        """Returns whether a SyncGroup was parked."""
        answer, self.awaiting_sync = self.awaiting_sync, None
        if answer is not None and not answer.done():
            answer.set_result(response)
        return answer is not None


def join_error(code: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    return JoinGroupResponse(error_code=code, protocol_name=None, member_id=member_id)


def sync_error(code: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=code)
