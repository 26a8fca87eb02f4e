"""The SASL authentication of one connection: its mechanism, its tokens, the resulting principal and its lifetime.

    HANDSHAKE --SaslHandshake--> TOKENS --last token--> DONE --SaslHandshake again (KIP-368)--> TOKENS …

Anything else, and any refusal, ends in FAILED. Source: Kafka 3.9 `SaslServerAuthenticator`.
"""

from collections.abc import Callable, Mapping
from enum import Enum, auto

from ..clock import Clock
from ..principal import USER_TYPE, KafkaPrincipal
from .mechanism import Mechanism, Refused, quote_for_log

LEAST_REAUTHENTICATION_MS = 1_000
"""A SaslHandshake sooner than this after the last re-authentication is refused, as an ordinary request."""


class SaslState(Enum):
    HANDSHAKE = auto()
    TOKENS = auto()
    DONE = auto()
    FAILED = auto()


class SaslExchange:
    """`takes_bare_tokens`: after SaslHandshake v0 tokens come without a request around them.

    `refusal`: why it has FAILED. `principal`: who the client is, once it is DONE.
    """

    def __init__(
        self,
        mechanisms: Callable[[], Mapping[str, Callable[[], Mechanism]]],
        max_session_ms: Mapping[str, int],
        clock: Clock,
    ) -> None:
        """`mechanisms` returns the current ones, which may change before a client logs in again."""
        self.state = SaslState.HANDSHAKE
        self.principal: KafkaPrincipal | None = None
        self.refusal: str | None = None
        self.takes_bare_tokens = False
        self.mechanism = ""
        self._mechanisms = mechanisms
        self._max_session_ms = max_session_ms
        self._clock = clock
        self._running: Mechanism | None = None
        self._expires_ms: int | None = None
        self._reauthenticated_ms: int | None = None
        self._wrong_mechanism: tuple[str, str] | None = None

    @property
    def enabled_mechanisms(self) -> tuple[str, ...]:
        """The names of the mechanisms, as SaslHandshake returns them."""
        return tuple(self._mechanisms())

    @property
    def has_expired(self) -> bool:
        return self._expires_ms is not None and self._clock.monotonic_ms() >= self._expires_ms

    def try_begin_reauthentication(self) -> bool:
        """Begins a re-authentication if a SaslHandshake may begin one now. Returns whether it did."""
        now_ms = self._clock.monotonic_ms()
        if self._expires_ms is None or (
            self._reauthenticated_ms is not None and now_ms - self._reauthenticated_ms < LEAST_REAUTHENTICATION_MS
        ):
            return False
        self._reauthenticated_ms = now_ms
        self.state = SaslState.HANDSHAKE
        return True

    def begin(self, mechanism: str, *, bare_tokens: bool) -> bool:
        """Begins a login by the mechanism that the client has chosen; returns False if it is not enabled."""
        make = self._mechanisms().get(mechanism)
        if make is None:
            self.fail(f"the mechanism {quote_for_log(mechanism)} is not enabled")
            return False
        if self.principal is not None and mechanism != self.mechanism:
            told = (
                f"SASL mechanism '{mechanism}' requested by client is not supported for re-authentication of "
                f"mechanism '{self.mechanism}'"
            )
            self._wrong_mechanism = (f"{mechanism} after {self.mechanism}", told)
        self.mechanism = self.mechanism or mechanism
        self.takes_bare_tokens = bare_tokens
        self._running = make()
        self.state = SaslState.TOKENS
        return True

    def step(self, token: bytes | memoryview) -> tuple[bytes, int]:
        """Returns the answer to a token and, after the last token, the session's lifetime in ms; 0: it has no end.

        Raises: Refused; its `told` is the answer to the client.
        """
        running = self._running
        assert running is not None
        try:
            if self._wrong_mechanism is not None:
                raise Refused(*self._wrong_mechanism)
            if len(token) > running.most_bytes:
                raise Refused(f"a message of {len(token)} bytes, {running.most_bytes} is the most")
            answer = running.step(bytes(token))
            if running.user is None:
                return answer, 0
            return answer, self._complete(running.user, running.expires_ms)
        except Refused as refusal:
            again = "re-authentication" if self.principal is not None else "authentication"
            generic = f"Authentication failed during {again} due to invalid credentials with SASL mechanism "
            refusal.told = refusal.told or generic + self.mechanism
            self.fail(str(refusal))
            raise

    def _complete(self, user: str, expires_ms: int | None) -> int:
        found = KafkaPrincipal(USER_TYPE, user)
        if self.principal is not None and found != self.principal:
            before = f"{self.principal.type}.{self.principal.name}"
            told = f"Cannot change principals during re-authentication from {before}: {found.type}.{found.name}"
            raise Refused(f"{quote_for_log(user)} after {quote_for_log(self.principal.name)}", told)
        most_ms = self._max_session_ms.get(self.mechanism, 0)
        lifetimes = [most_ms] if most_ms > 0 else []
        if expires_ms is not None:
            lifetimes.append(max(0, expires_ms - self._clock.now_ms()))
        lifetime_ms = min(lifetimes, default=0)
        self._expires_ms = self._clock.monotonic_ms() + lifetime_ms if lifetimes else None
        self.principal, self.state, self._running = found, SaslState.DONE, None
        return lifetime_ms

    def fail(self, why: str) -> None:
        """Keeps the text only: the exception would keep what the client sent."""
        self.state, self.refusal, self._running = SaslState.FAILED, why, None
