"""Logging in on a connection that calls back: does what the steps of a login (`stepdown.client`) say."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, Protocol

from ...client.errors import AuthenticationFailed as LoginRefused
from ...client.security.login import LoginRequest, RawSaslToken, log_in
from ...client.security.settings import SaslSettings, TokenProvider
from ...client.versions import VersionRanges
from ...protocol.api import ApiKey
from ..errors import AuthenticationFailed
from ..sender.network_interface import NetworkAnswer


class LoginConnection(Protocol):
    """What a login asks of its connection."""

    def send(
        self, key: ApiKey, version: int, request: Any, done: Callable[[NetworkAnswer], None], *, answered: bool
    ) -> None:
        """Sends a request, see `Connection`."""

    def send_bare(self, token: bytes, done: Callable[[bytes], None]) -> None:
        """Sends a token with its size in front; `done` gets what comes back in the same form."""


class Login:
    """One login. `done` gets None and how long it is good for in ms (0: for ever), or why it failed."""

    def __init__(
        self, sasl: SaslSettings, carrier: LoginConnection, done: Callable[[AuthenticationFailed | None, int], None]
    ) -> None:
        self._sasl, self._carrier, self._done = sasl, carrier, done
        self._asking: asyncio.Task[str] | None = None  # for a token

    def start(self, versions: VersionRanges) -> None:
        """`versions`: what the broker said before the login."""
        self._steps = log_in(self._sasl, versions)
        self._take_next_step(lambda: next(self._steps))

    def _take_next_step(self, take_step: Callable[[], Any]) -> None:
        try:
            step = take_step()
        except StopIteration as end:
            self._done(None, end.value)
        except LoginRefused as fault:
            self._done(AuthenticationFailed(str(fault), fault.error_code), 0)
        else:
            self._do_step(step)

    def _do_step(self, step: Any) -> None:
        if isinstance(step, LoginRequest):
            self._carrier.send(step.key, step.version, step.request, self._handle_answer, answered=True)
        elif isinstance(step, RawSaslToken):
            self._carrier.send_bare(step.token, lambda token: self._take_next_step(lambda: self._steps.send(token)))
        else:
            self._asking = asyncio.get_running_loop().create_task(_ask_for_token(step))
            self._asking.add_done_callback(self._handle_token)

    def _handle_answer(self, answer: NetworkAnswer) -> None:
        if answer.response is not None:
            self._take_next_step(lambda: self._steps.send(answer.response))

    def _handle_token(self, asked: asyncio.Task[str]) -> None:
        fault = RuntimeError("cancelled") if asked.cancelled() else asked.exception()
        self._take_next_step(
            lambda: self._steps.throw(fault) if fault is not None else self._steps.send(asked.result())
        )


async def _ask_for_token(provider: TokenProvider) -> str:
    token = provider()
    return await token if inspect.isawaitable(token) else token
