"""`hook`: a function of the test decides."""

import traceback
from dataclasses import dataclass
from typing import Any, ClassVar

from ....network.answerer import CloseConnection
from ....protocol.api import API
from ....protocol.errors import ApiError
from ....protocol.messages.produce import ProduceResponse
from ..armed_fault_state import ArmedFaultState
from ..fault import Fault, field_with_parser
from ..field_parsers import parse_positive
from ..passing_request import PassingRequest
from ..request_hook import CLOSE, PASS, SILENCE, Hook, HookedRequest, parse_async_function, run_hook


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFault(Fault):
    """What an async function of Python decides: a response, PASS, CLOSE or SILENCE."""

    kind: ClassVar[str] = "hook"
    times: int | None = field_with_parser(parse_positive, None)
    function: Hook = field_with_parser(parse_async_function)

    async def act_before(self, request: PassingRequest, state: ArmedFaultState) -> Any | None:
        """The function's response, None to go on. Raises: CloseConnection, also when the function fails."""
        try:
            outcome = await run_hook(self.function, request.call.key, _make_hooked_request(request))
        except CloseConnection:
            raise  # what the broker does with acks 0
        except Exception:
            state.failure = state.failure or traceback.format_exc()
            raise CloseConnection("a hook failed") from None
        if outcome is SILENCE:
            await request.hold_until(state.released)
        if outcome in (SILENCE, CLOSE):
            raise CloseConnection("a hook closes the connection")
        return None if outcome is PASS else outcome


def _make_hooked_request(request: PassingRequest) -> HookedRequest:
    call = request.call

    async def handle() -> Any:
        try:
            response = await request.handle()
        except ApiError as error:
            return request.refuse(error)
        return ProduceResponse() if response is None else response  # with acks 0 it is not sent

    return HookedRequest(
        broker=request.services.cluster.node_id,
        api=API[call.key].name,
        version=call.version,
        client_id=call.client_id,
        connection=str(call.peer),
        body=call.request,
        _handle=handle,
        _refuse=request.refuse,
    )
