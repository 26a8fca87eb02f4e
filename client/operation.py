"""An operation on a cluster, without I/O: a generator that yields what to ask whom and takes the response.

The fronts carry operations out: `BlockingClient` and `AsyncClient`, by what `Cluster` knows.
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
"""What a coordinator is of (FindCoordinator)."""
CONTROLLER: Literal["controller"] = "controller"


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The broker of a group or a transactional id. Any broker is asked first, unless it is to be `looked_up_first`."""

    name: str
    key_type: int = GROUP
    looked_up_first: bool = False


Target: TypeAlias = int | Coordinator | Literal["controller"] | None
"""A node by its id, a coordinator, the controller, or any broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request to send; `make_request` builds it for the newest version that both sides speak, `within` these.

    `error_of` finds the code in the response by which a target says that it is the wrong one.
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
    """Time to let pass before the next step."""

    ms: int


Operation: TypeAlias = Generator[Ask | Pause, Any, T]


def operation_of_ask(ask: Ask) -> Operation[Any]:
    """The response to one request."""
    return (yield ask)


def ask(request: Any, to: Target = None, within: VersionRange = ANY_VERSION) -> Operation[Any]:
    """The response to a request that is the same in all versions."""
    key = ApiKey(spec_of_request(request).key)
    return operation_of_ask(Ask(key=key, make_request=lambda version: request, to=to, within=within))
