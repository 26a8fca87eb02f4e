"""The log of all requests with their answers, and between them faults, moves of the clock, elections and groups."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from ...protocol.api import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages.fetch import FetchRequest
from ...protocol.messages.join_group import JoinGroupRequest
from ...protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from ...protocol.messages.produce import ProduceRequest
from ...protocol.messages.sync_group import SyncGroupRequest
from ...protocol.plural import MINUTE_MS, describe_duration

MOST_EVENTS = 100_000
MOST_LINES = 30
MOST_REQUESTS = 12
"""How many of these lines are left to requests that went well: else they push out faults and elections before them."""
MOST_CHARACTERS = 160
END_OF_TEST = "end of a test: faults are removed, the clock runs, every broker runs"
REFUSAL = "refusal"
"""A login or TLS handshake that failed. Clients try again and again, with requests in between."""
USUAL = frozenset({"Fetch", "Heartbeat", "ConsumerGroupHeartbeat"})
"""Requests that clients repeat; they are shown only if an error or a fault came of them."""
MOST_OFFSETS = 3
DAY_S = 86_400
SPECIAL_TIMESTAMPS = {-1: "latest", -2: "earliest", -3: "largest timestamp", -4: "earliest local", -5: "latest tiered"}
"""What ListOffsets asks for by numbers that are no times."""
NOT_YET = "not answered yet"
NO_LOGIN = "this listener asks for no login: @pytest.mark.kafka(security=…), or a client without SASL"
NO_CONSUMER_PROTOCOL = "KIP-848 is off here: act_as='4.0', or group.coordinator.rebalance.protocols"
NOTES = {
    (ApiKey.SASL_HANDSHAKE, ErrorCode.ILLEGAL_SASL_STATE): NO_LOGIN,
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.UNSUPPORTED_VERSION): NO_CONSUMER_PROTOCOL,
}


@dataclass(slots=True, kw_only=True)
class RequestEvent:
    """A request. `answer`: the error codes by name, [] for success; None if none was sent, or not yet.
    `pending`: what is said of it until there is an answer, "" when none comes any more. `topics`: the first that it
    names. `note`: what else the answer tells.
    """

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
    pending: str = ""
    note: str = ""
    faults: list[int] = field(default_factory=list)

    @property
    def line(self) -> str:
        """For people; the same in each run."""
        answer = self.pending or "no answer" if self.answer is None else ", ".join(self.answer) or "ok"
        faults = "".join(f" [fault {name}]" for name in self.faults)
        note = f" ({self.note})" if self.note else ""
        return f"broker {self.broker} {self.about}: {answer}{note}{faults}"

    @property
    def about(self) -> str:
        """What was asked, and by whom."""
        topics = f" of {', '.join(self.topics)}" if self.topics else ""
        return f"{self.api} v{self.version}{topics} from {self.client_id or '-'}"

    def to_json(self) -> dict[str, Any]:
        return {"event": "request", **asdict(self), "line": self.line}


@dataclass(slots=True, kw_only=True)
class OtherEvent:
    """Anything else, as a line. `event`: election, refusal, group (its line may have ids that nobody can foresee) or
    other.
    """

    at_ms: int
    line: str
    event: str = "other"

    def to_json(self) -> dict[str, Any]:
        return {"event": self.event, "at_ms": self.at_ms, "line": self.line}


Event = RequestEvent | OtherEvent


class EventLog:
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


def time_line(events: Iterable[Event]) -> list[str]:
    """The last events of the last test, in order, each with its time before the last one; a screen of them at most."""
    shown = [each for each in _of_last_test(events) if not _is_usual(each)]
    if not shown:
        return []
    last_ms = shown[-1].at_ms
    runs = _join_pairs(_group_equal(shown))
    kept = _choose_runs(runs)
    left_out = len(runs) - len(kept)
    times = [_format_time(same[0].at_ms - last_ms) for same in kept]
    width = max(map(len, times))
    lines = [f"{time:>{width}}  {_format_run(same)}" for time, same in zip(times, kept, strict=True)]
    return ([f"({left_out} more lines: kafka.requests.lines(), or GET /events, has all)"] if left_out else []) + lines


def _group_equal(events: Iterable[Event]) -> list[list[Event]]:
    """Runs of equal lines, in order; equal refusals are in one, whatever came between."""
    runs: list[list[Event]] = []
    refusals: dict[str, list[Event]] = {}
    for event in events:
        is_refusal = isinstance(event, OtherEvent) and event.event == REFUSAL
        same = refusals.get(event.line) if is_refusal else runs[-1] if runs else None
        if same is not None and same[0].line == event.line:
            same.append(event)
            continue
        runs.append([event])
        if is_refusal:
            refusals[event.line] = runs[-1]
    return runs


def _join_pairs(runs: Iterable[list[Event]]) -> list[list[Event]]:
    """Of two lines that alternate, as a client that tries again makes them, each is there once, with its number."""
    joined: list[list[Event]] = []
    for run in runs:
        joined.append(run)
        lines = [each[0].line for each in joined[-4:]]
        if len(lines) == 4 and lines[:2] == lines[2:]:
            second, first = joined.pop(), joined.pop()
            joined[-2] += first
            joined[-1] += second
    return joined


def _of_last_test(events: Iterable[Event]) -> list[Event]:
    """The events after the end of the test before; tests may share a broker."""
    found = list(events)
    ends = [at + 1 for at, each in enumerate(found) if isinstance(each, OtherEvent) and each.line == END_OF_TEST]
    return found[ends[-1] if ends else 0 :]


def _is_usual(event: Event) -> bool:
    return isinstance(event, RequestEvent) and event.api in USUAL and _went_well(event)


def _went_well(event: Event) -> bool:
    """Whether it is a request that no fault touched, and that had an answer without an error."""
    return isinstance(event, RequestEvent) and event.answer == [] and not event.faults


def _choose_runs(runs: list[list[Event]]) -> list[list[Event]]:
    """The last runs of equal lines that fit on a screen; requests that went well leave most of it to the others."""
    went_well = [at for at, (first, *_) in enumerate(runs) if _went_well(first)]
    others = [at for at, (first, *_) in enumerate(runs) if not _went_well(first)]
    others = others[-(MOST_LINES - min(len(went_well), MOST_REQUESTS)) :]
    went_well = went_well[-(MOST_LINES - len(others)) :]
    return [runs[at] for at in sorted(others + went_well)]


def _format_time(ms: int) -> str:
    """Such as "-0.351 s", and from a minute on "-0:01:10" or "-8 d 0:00:11"."""
    if abs(ms) < MINUTE_MS:
        return f"{ms / 1000:9.3f} s"
    days, rest_s = divmod(abs(ms) // 1000, DAY_S)
    return f"{'-' if ms < 0 else ''}{f'{days} d ' if days else ''}{timedelta(seconds=rest_s)}"


def _format_run(same: list[Event]) -> str:
    more = f" ({len(same)} times)" if len(same) > 1 else ""
    line = same[0].line
    cut = line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}…"
    return f"{cut}{more}"


def describe_wait(request: Any) -> str:
    """What a request that its handler does not answer at once waits for, where that is known."""
    match request:
        case FetchRequest(max_wait_ms=most_ms) if most_ms > 0:
            return f"waits for records, at most {describe_duration(most_ms)}"
        case JoinGroupRequest():
            return "waits for the other members of the group"
        case SyncGroupRequest():
            return "waits for the assignment, which the leader of the group sends"
        case ProduceRequest(acks=-1, timeout_ms=most_ms) if most_ms > 0:
            return f"waits for the in-sync replicas, at most {describe_duration(most_ms)}"
    return NOT_YET


def describe_answer(key: ApiKey, request: Any, response: Any | None) -> str:
    """A note on a response, "" where its error codes tell all."""
    if isinstance(request, ListOffsetsRequest) and isinstance(response, ListOffsetsResponse):
        return _describe_offsets(request, response)
    return NOTES.get((key, getattr(response, "error_code", ErrorCode.NONE)), "")


def _describe_offsets(request: ListOffsetsRequest, response: ListOffsetsResponse) -> str:
    asked = {
        (topic.name, each.partition_index): each.timestamp for topic in request.topics for each in topic.partitions
    }
    found = [
        f"{topic.name}-{each.partition_index} {_describe_asked_time(asked.get((topic.name, each.partition_index), 0))}"
        f" at {(each.old_style_offsets or [each.offset])[0]}"
        for topic in response.topics
        for each in topic.partitions
        if not each.error_code
    ]
    return ", ".join([*found[:MOST_OFFSETS], "…"] if len(found) > MOST_OFFSETS else found)


def _describe_asked_time(timestamp: int) -> str:
    """Such as "latest", or "from 2027-06-30T12:00:00.000Z"."""
    if timestamp < 0:
        return SPECIAL_TIMESTAMPS.get(timestamp, str(timestamp))
    try:
        return f"from {datetime.fromtimestamp(timestamp / 1000, UTC).isoformat(timespec='milliseconds')[:-6]}Z"
    except (OverflowError, ValueError):  # a time that no calendar of Python has
        return f"from {timestamp} ms"
