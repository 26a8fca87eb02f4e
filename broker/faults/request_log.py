"""The log of all requests with their answers, and between them faults, moves of the clock, elections and groups."""

from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

MOST_EVENTS = 100_000


@dataclass(slots=True, kw_only=True)
class RequestEvent:
    """A request. `answer`: the error codes by name, [] for success; None while there is none, or when none came.
    `topics`: the first that it names."""

    at_ms: int
    broker: int
    api: str
    version: int
    client_id: str
    software: str
    size_bytes: int
    is_deprecated: bool
    topics: list[str] = field(default_factory=list)
    answer: list[str] | None = None
    faults: list[int] = field(default_factory=list)

    @property
    def line(self) -> str:
        """For people; the same in each run."""
        answer = "no answer" if self.answer is None else ", ".join(self.answer) or "ok"
        faults = "".join(f" [{name}]" for name in self.faults)
        return f"broker {self.broker} {self.about}: {answer}{faults}"

    @property
    def about(self) -> str:
        """What was asked, and by whom."""
        topics = f" of {', '.join(self.topics)}" if self.topics else ""
        return f"{self.api} v{self.version}{topics} from {self.client_id or '-'}"

    def to_json(self) -> dict[str, Any]:
        return {"event": "request", **asdict(self), "line": self.line}


@dataclass(slots=True, kw_only=True)
class OtherEvent:
    """Anything else, as a line. `event`: election, group (its line may have ids that nobody can foresee) or other."""

    at_ms: int
    line: str
    event: str = "other"

    def to_json(self) -> dict[str, Any]:
        return {"event": self.event, "at_ms": self.at_ms, "line": self.line}


Event = RequestEvent | OtherEvent


class RequestLog:
    """The last events of a broker or of a cluster."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque(maxlen=MOST_EVENTS)

    def add(self, event: Event) -> None:
        self._events.append(event)

    def clear(self) -> None:
        self._events.clear()

    def __iter__(self) -> Iterator[Event]:
        return iter(tuple(self._events))

    def requests(self) -> Iterator[RequestEvent]:
        return (event for event in self if isinstance(event, RequestEvent))
