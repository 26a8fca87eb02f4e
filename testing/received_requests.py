"""The requests that brokers got from clients, and how they answered."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from ..config.similar_names import nearest
from ..protocol.api import API
from .control_client import ControlClient


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`answer`: the names of the error codes, [] for success, None when none came. `at_ms` is by the broker's clock."""

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


class Requests:
    """In the order in which they came; those of the test object itself are left out."""

    def __init__(self, control: ControlClient) -> None:
        self._control = control

    def __iter__(self) -> Iterator[Request]:
        for shown in self._control.ask("GET", "requests")["requests"]:
            yield Request(**{name: shown[name] for name in NAMES})

    def of(self, api: str, *, client_id: str | None = None) -> list[Request]:
        """Those of an API, from one client or from all. Raises: ValueError for an API that there is not."""
        if api not in APIS:
            like = nearest(api, APIS)
            raise ValueError(f"there is no API {api!r}" + (f"; did you mean {like}?" if like else ""))
        return [each for each in self if each.api == api and client_id in (None, each.client_id)]

    def clear(self) -> None:
        """Forgets them."""
        self._control.ask("DELETE", "events")

    def lines(self) -> list[str]:
        """The whole log for people: requests, faults, the clock."""
        return [event["line"] for event in self._control.ask("GET", "events")["events"]]

    def assert_none_deprecated(self) -> None:
        """Raises: AssertionError naming requests in versions that Kafka 4 does not serve any more (KIP-896)."""
        found = sorted({(each.api, each.version, each.client_id) for each in self if each.is_deprecated})
        shown = ", ".join(f"{api} v{version} from {client or '-'}" for api, version, client in found)
        assert not found, f"deprecated: {shown}"
