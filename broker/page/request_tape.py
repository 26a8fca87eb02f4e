"""The latest requests with their answers, for the view of requests.

A tape begins with the first query for its filter, keeps requests that pass the filter, and ends when no query has come
for a while: without queries a broker keeps nothing.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from time import perf_counter
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ...network.clients.seen_client import UNKNOWN
from ...network.clients.software import Software
from ...network.page.page_query import PageQuery, QueryFault
from ...network.peer import Peer
from ...protocol.api import API, ApiKey
from ...protocol.errors import error_name
from ..dispatch.call import TESTS_CLIENT_ID
from ..faults.error_responses import CODES
from ..faults.fault_fields import suggest_value
from ..faults.field_parsers import parse_apis
from ..faults.request_topics_and_groups import arrays_of_structs, topic_of
from ..quotas.token_bucket import TokenBucket

if TYPE_CHECKING:
    from ..dispatch.call import Call
    from ..services import Services

MOST_TAPES = 4
"""The most tapes, each with another filter; a new one replaces the least recently queried one."""
MOST_KEPT = 500
ROWS_A_SECOND = 500
"""Further requests are only counted: making a row takes a third of the time of a small request."""
UNWATCHED_S = 15
"""A tape ends this long after its last query."""
MOST_NAME = 200
MOST_TOPICS = 5
MOST_LOOKED_AT = 40
"""The most topics and partitions that are read of a request, or of its response: it may have 100,000."""
FETCHED, FORGOTTEN = "responses", "forgotten_topics_data"
"""Arrays of topics: of a fetch response, and of partitions that a fetch request removes from its session."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TapeFilter:
    """The name of an API, and texts that the client id and one of the topics have to contain; "" for any."""

    api: str
    client: str
    topic: str


class Tape:
    """Counts the requests that passed one filter, and the others; keeps the rows of the latest, with numbers."""

    def __init__(self, since_ms: int) -> None:
        self.since_ms = since_ms
        self.asked_s = 0.0
        self.count = self.others = 0
        self._rows: deque[Row] = deque(maxlen=MOST_KEPT)

    def add(self, row: Row) -> None:
        """Adds the row of the request that was counted last."""
        self._rows.append({"number": self.count, **row})

    def rows_after(self, number: int, limit: int) -> list[Row]:
        """The rows with a higher number, the latest first, `limit` at most."""
        return list(islice(takewhile(lambda row: row["number"] > number, reversed(self._rows)), limit))


class RequestTapes:
    """The view of requests. `now_s` runs on while a test has stopped the broker's clock."""

    def __init__(self, services: "Services", now_s: Callable[[], float] = perf_counter) -> None:
        self._services = services
        self._now_s = now_s
        self._tapes: dict[TapeFilter, Tape] = {}
        self._rows = TokenBucket(MOST_KEPT / ROWS_A_SECOND)

    async def show(self, query: PageQuery) -> dict[str, Any]:
        """The requests answered after the one with the number `after`. Raises: QueryFault."""
        wanted = TapeFilter(_read_api(query.text("api")), query.text("client"), query.text("topic"))
        after, limit = query.number("after", 0), query.limit
        tape = self._find_or_begin_tape(wanted)
        after = min(after, tape.count)
        rows = tape.rows_after(after, limit)
        missed = tape.count - after - len(rows) if after else 0
        return {
            "rows": rows,
            "since_ms": tape.since_ms,
            "total": tape.count,
            "missed": missed,
            "others": tape.others,
        }

    def _find_or_begin_tape(self, wanted: TapeFilter) -> Tape:
        """The tape with that filter, which begins now if there is none."""
        tape = self._tapes.pop(wanted, None) or Tape(self._services.clock.now_ms())
        tape.asked_s = self._services.clock.monotonic_s()
        self._tapes[wanted] = tape  # the latest is the last
        if len(self._tapes) > MOST_TAPES:
            del self._tapes[next(iter(self._tapes))]
        self._services.request_watcher = self
        return tape

    def note_answer(self, call: "Call", response: Any | None, took_s: float) -> None:
        """Adds the request to the tapes whose filters it passes."""
        self._drop_unwatched_tapes()
        if call.client_id == TESTS_CLIENT_ID:
            return
        passed = []
        for wanted, tape in self._tapes.items():
            if self._passes(wanted, call, response):
                tape.count += 1
                passed.append(tape)
            else:
                tape.others += 1
        now_ms = int(self._now_s() * 1000)
        if passed and self._rows.tokens(ROWS_A_SECOND, now_ms) >= 1:
            self._rows.record(1, ROWS_A_SECOND, now_ms)
            row = self._make_row(call, response, took_s)
            for tape in passed:
                tape.add(row)

    def _passes(self, wanted: TapeFilter, call: "Call", response: Any | None) -> bool:
        if wanted.api not in ("", API[call.key].name) or wanted.client not in call.client_id:
            return False
        return not wanted.topic or any(wanted.topic in name for name in self._name_topics(call, response))

    def _drop_unwatched_tapes(self) -> None:
        latest_s = self._services.clock.monotonic_s() - UNWATCHED_S
        while self._tapes and next(iter(self._tapes.values())).asked_s < latest_s:
            del self._tapes[next(iter(self._tapes))]
        if not self._tapes:
            self._services.request_watcher = None

    def _make_row(self, call: "Call", response: Any | None, took_s: float) -> Row:
        peer = call.peer
        return {
            "at_ms": self._services.clock.now_ms(),
            "api": API[call.key].name,
            "version": call.version,
            "client_id": call.client_id[:MOST_NAME],
            "software": str(_find_software(peer))[:MOST_NAME],
            "address": f"{peer.host}:{peer.port}",
            "principal": str(call.principal)[:MOST_NAME],
            "topics": self._name_topics(call, response),
            "request_bytes": call.request_bytes,
            "took_ms": round(took_s * 1000, 3),
            "waited_ms": round(call.waited_s * 1000, 3),
            "throttle_ms": call.throttle_ms,
            "errors": None if response is None else _name_errors(response),
        }

    def _name_topics(self, call: "Call", response: Any | None) -> list[str]:
        """The first topics of a request; of a fetch also those of its answer, since fetch sessions name them once."""
        parts = list(islice(_walk_structs(call.request), MOST_LOOKED_AT))
        if call.key is ApiKey.FETCH and response is not None:
            parts += islice(_walk_structs(response), MOST_LOOKED_AT)
        found: dict[str, None] = {}
        for array, part in parts:
            name = topic_of(part, self._find_topic) if "topic" in array or array == FETCHED else None
            if name is not None and len(found) < MOST_TOPICS:
                found[name[:MOST_NAME]] = None
        return list(found)

    def _find_topic(self, topic_id: UUID) -> str | None:
        topic = self._services.cluster.topic_of(topic_id)
        return None if topic is None else topic.name


def _find_software(peer: Peer) -> Software:
    """As it named itself, also in this request: the list of clients has it from the next one on."""
    if peer.software_name != UNKNOWN:
        return Software(peer.software_name, peer.software_version, is_guess=False)
    return peer.seen.software


def _read_api(name: str) -> str:
    """As it is written in the table, "" for any. Raises: QueryFault."""
    if not name:
        return ""
    try:
        (key,) = parse_apis(name)
    except ValueError as fault:
        raise QueryFault(f"api: expected {fault}, found {name!r}{suggest_value('api', name)}") from None
    return API[key].name


def _name_errors(response: Any) -> list[str]:
    """The error codes among the first parts of a response."""
    parts = islice(_walk_structs(response), MOST_LOOKED_AT)
    codes = {code for _, part in parts for name in CODES if (code := getattr(part, name, 0))}
    return [error_name(code) for code in sorted(codes)]


def _walk_structs(item: Any, array: str = "") -> Iterator[tuple[str, Any]]:
    """Yields a struct and all structs in it, each with the name of its array."""
    yield array, item
    for name, items in arrays_of_structs(item):
        if name != FORGOTTEN:
            for each in items:
                yield from _walk_structs(each, name)
