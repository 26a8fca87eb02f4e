"""An operation on a cluster, without I/O: a generator that yields requests with their targets and takes responses.

`BlockingClient` and `AsyncClient` run operations; `Cluster` finds the brokers for them.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from ..config.keys.endpoints import HostPort
from ..protocol.api import API, ApiKey, spec_of_request
from ..protocol.errors import ErrorCode
from .errors import UnsupportedVersion
from .versions import ANY_VERSION, VersionRange, VersionRanges, common_version

T = TypeVar("T")
TopicPartition = tuple[str, int]
GROUP, TRANSACTION = 0, 1
"""The key types of FindCoordinator."""
CONTROLLER: Literal["controller"] = "controller"


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The coordinator of a group or transactional id. Without `looked_up_first` any broker is asked first."""

    name: str
    key_type: int = GROUP
    looked_up_first: bool = False


Target: TypeAlias = int | Coordinator | Literal["controller"] | None
"""A node by its id, a coordinator, the controller, or any broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request to send. `make_request` builds it for the newest version in the range `within` that both sides speak.

    `error_of` returns the error code of the response; it shows whether the request went to the wrong broker.
    """

    key: ApiKey
    make_request: Callable[[int], Any]
    to: Target = None
    within: VersionRange = ANY_VERSION
    error_of: Callable[[Any], int] = lambda response: getattr(response, "error_code", 0)
    timeout_s: float | None = None

    @property
    def name(self) -> str:
        return API[self.key].name

    def version_for(self, versions: VersionRanges, address: HostPort) -> int:
        """The version to ask a broker of these `versions` in. Raises: UnsupportedVersion."""
        version = common_version(self.key, versions, self.within)
        if version is None:
            low, high = self.within
            wanted = self.name if self.within == ANY_VERSION else f"{self.name} v{low} to v{high}"
            raise UnsupportedVersion(f"the broker at {address} does not offer {wanted}", ErrorCode.UNSUPPORTED_VERSION)
        return version


@dataclass(frozen=True, slots=True)
class Pause:
    """A step: wait before the next one."""

    ms: int


Operation: TypeAlias = Generator[Ask | Pause, Any, T]


def operation_of_ask(ask: Ask) -> Operation[Any]:
    """An operation of one request; returns the response."""
    return (yield ask)


def ask(request: Any, to: Target = None, within: VersionRange = ANY_VERSION) -> Operation[Any]:
    """An operation of one request that is the same in all versions; returns the response."""
    key = ApiKey(spec_of_request(request).key)
    return operation_of_ask(Ask(key=key, make_request=lambda version: request, to=to, within=within))
