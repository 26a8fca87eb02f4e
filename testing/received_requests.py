"""The requests that brokers got from clients, and how they answered."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from ..config.similar_names import suggest
from ..protocol.api import API
from .blocking_front import BlockingFront, NameSuggestions, blocking
from .control_client import ControlClient


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`answer`: names of error codes, [] for success, None without a response. `at_ms`: time of the broker's clock."""

    at_ms: int
    broker: int
    api: str
    version: int
    client_id: str
    software: str
    size_bytes: int
    is_deprecated: bool
    answer: Sequence[str] | None
    faults: Sequence[int]
    line: str


APIS = tuple(spec.name for spec in API.values())
NAMES = tuple(field.name for field in fields(Request))


class AsyncRequests(NameSuggestions):
    """The requests in order of arrival, without those of the test object itself."""

    def __init__(self, control: ControlClient) -> None:
        self._control = control

    async def all(self) -> list[Request]:
        """Returns the requests so far."""
        found = await self._control.ask("GET", "requests")
        return [Request(**{name: shown[name] for name in NAMES}) for shown in found["requests"]]

    async def of(self, api: str, *, client_id: str | None = None) -> list[Request]:
        """Returns the requests of an API, from one client or from all. Raises: ValueError for an unknown API."""
        if api not in APIS:
            raise ValueError(f"there is no API {api!r}{suggest(api, APIS)}")
        return [each for each in await self.all() if each.api == api and client_id in (None, each.client_id)]

    async def clear(self) -> None:
        """Forgets all requests."""
        await self._control.ask("DELETE", "events")

    async def lines(self) -> list[str]:
        """Returns the whole event log for people: requests, faults, the clock, elections, groups."""
        return [event["line"] for event in (await self._control.ask("GET", "events"))["events"]]

    async def assert_none_deprecated(self) -> None:
        """Raises: AssertionError naming requests in versions that Kafka 4 does not serve any more (KIP-896)."""
        found = sorted({(each.api, each.version, each.client_id) for each in await self.all() if each.is_deprecated})
        shown = ", ".join(f"{api} v{version} from {client or '-'}" for api, version, client in found)
        assert not found, f"deprecated: {shown}"


class Requests(BlockingFront[AsyncRequests]):
    """The same, blocking; iterating it yields `all()`."""

    all = blocking(AsyncRequests.all)
    of = blocking(AsyncRequests.of)
    clear = blocking(AsyncRequests.clear)
    lines = blocking(AsyncRequests.lines)
    assert_none_deprecated = blocking(AsyncRequests.assert_none_deprecated)

    def __iter__(self) -> Iterator[Request]:
        return iter(self.all())
