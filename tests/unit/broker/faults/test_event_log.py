"""The last events of a log for people: no more than a screen, and not what clients repeat."""

from stepdown.broker.faults.event_log import (
    END_OF_TEST,
    MOST_CHARACTERS,
    MOST_LINES,
    MOST_REQUESTS,
    REFUSAL,
    Event,
    OtherEvent,
    RequestEvent,
    time_line,
)


def request(at_ms: int, api: str, answer: list[str] | None, faults: tuple[int, ...] = ()) -> RequestEvent:
    return RequestEvent(
        at_ms=at_ms,
        broker=1,
        api=api,
        version=0,
        client_id="app",
        software="",
        size_bytes=0,
        is_deprecated=False,
        answer=answer,
        faults=list(faults),
    )


def other(at_ms: int, line: str) -> OtherEvent:
    return OtherEvent(at_ms=at_ms, line=line)


def shown(events: list[Event]) -> list[str]:
    """Without times."""
    return [line.split("  ")[-1] for line in time_line(events)]


def test_times_count_back_from_the_last_event() -> None:
    events = [other(1000, "the clock stands"), other(2500, "broker 1 is fenced"), other(3000, "the clock runs")]
    assert time_line(events) == [
        "   -2.000 s  the clock stands",
        "   -0.500 s  broker 1 is fenced",
        "    0.000 s  the clock runs",
    ]


def test_times_from_a_minute_on_are_as_people_read_them() -> None:
    """After a long move of the clock they were -691211.127 s."""
    moved = other(691_211_127, "the clock moves on by 8 d")
    assert time_line([other(0, "begin"), other(691_211_126 - 70_000, "x"), moved]) == [
        "-8 d 0:00:11  begin",
        "    -0:01:10  x",
        "     0.000 s  the clock moves on by 8 d",
    ]


def test_of_tests_that_share_a_broker_the_last_one_is_shown() -> None:
    """Lines of the test before came first, and were all that a short test showed."""
    events = [other(1, "of the first"), other(2, END_OF_TEST), other(3, "of the second")]
    assert shown(events) == ["of the second"]
    assert shown(events[:2]) == []


def test_what_clients_repeat_is_shown_only_where_something_came_of_it() -> None:
    events: list[Event] = [request(at, api, []) for at in range(50) for api in ("Fetch", "Heartbeat")]
    events += [request(60, "Fetch", None), request(61, "Heartbeat", ["REBALANCE_IN_PROGRESS"])]
    events += [request(62, "Fetch", [], (1,)), *(request(at, "Metadata", []) for at in range(63, 66))]
    assert shown(events) == [
        "broker 1 Fetch v0 from app: no answer",
        "broker 1 Heartbeat v0 from app: REBALANCE_IN_PROGRESS",
        "broker 1 Fetch v0 from app: ok [fault 1]",
        "broker 1 Metadata v0 from app: ok (3 times)",
    ]


def test_equal_refusals_are_one_line_whatever_clients_ask_between_them() -> None:
    events: list[Event] = []
    for at in range(3):
        events += [request(at, "SaslHandshake", []), OtherEvent(at_ms=at, line="broker 1 refused a", event=REFUSAL)]
    assert shown(events) == [
        "broker 1 SaslHandshake v0 from app: ok",
        "broker 1 refused a (3 times)",
        "broker 1 SaslHandshake v0 from app: ok (2 times)",
    ]


def test_no_more_than_a_screen_is_shown() -> None:
    lines = time_line([other(number, f"{number} {'x' * 1000}") for number in range(500)])
    assert lines[0] == f"({500 - MOST_LINES} more lines: kafka.requests.lines(), or GET /events, has all)"
    assert len(lines) == MOST_LINES + 1
    assert max(map(len, lines)) < MOST_CHARACTERS + 20
    assert time_line([]) == []


def test_requests_that_went_well_do_not_push_out_what_else_happened() -> None:
    """A producer and two brokers were the whole screen; the fault and the election before them were not on it."""
    told: list[Event] = [other(number, f"event {number}") for number in range(50)]
    told += [request(100 + number, ("Produce", "Metadata", "JoinGroup")[number % 3], []) for number in range(200)]
    lines = shown(told)[1:]
    assert len(lines) == MOST_LINES
    assert [line for line in lines if line.startswith("event")] == [
        f"event {number}" for number in range(50 - (MOST_LINES - MOST_REQUESTS), 50)
    ]


def test_requests_have_the_room_that_nothing_else_takes() -> None:
    told: list[Event] = [other(0, "broker 1 is fenced")]
    told += [request(1 + number, ("Produce", "Metadata", "JoinGroup")[number % 3], []) for number in range(200)]
    assert len(shown(told)) == MOST_LINES + 1
    assert shown(told)[1] == "broker 1 is fenced"
