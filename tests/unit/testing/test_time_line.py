"""The last events of a log for people: no more than a screen, and not what clients repeat."""

from typing import Any

from stepdown.testing.time_line import MOST_CHARACTERS, MOST_LINES, time_line


def request(at_ms: int, api: str, answer: list[str] | None, faults: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"event": "request", "at_ms": at_ms, "api": api, "answer": answer, "faults": list(faults), "line": api}


def other(at_ms: int, line: str) -> dict[str, Any]:
    return {"event": "other", "at_ms": at_ms, "line": line}


def test_times_count_back_from_the_last_event() -> None:
    events = [other(1000, "the clock stands"), request(2500, "Produce", []), other(3000, "the clock runs")]
    assert time_line(events) == ["   -2.000 s  the clock stands", "   -0.500 s  Produce", "    0.000 s  the clock runs"]


def test_what_clients_repeat_is_shown_only_where_something_came_of_it() -> None:
    events = [request(at, api, []) for at in range(50) for api in ("Fetch", "Heartbeat")]
    events += [request(60, "Fetch", None), request(61, "Heartbeat", ["REBALANCE_IN_PROGRESS"])]
    events += [request(62, "Fetch", [], (1,)), *(request(at, "Metadata", []) for at in range(63, 66))]
    assert [line.split("  ")[-1] for line in time_line(events)] == [
        "Fetch",
        "Heartbeat",
        "Fetch",
        "Metadata (3 times)",
    ]


def test_no_more_than_a_screen_is_shown() -> None:
    lines = time_line([other(number, f"{number} {'x' * 1000}") for number in range(500)])
    assert lines[0] == f"({500 - MOST_LINES} earlier lines: kafka.requests.lines())"
    assert len(lines) == MOST_LINES + 1
    assert max(map(len, lines)) < MOST_CHARACTERS + 20
    assert time_line([]) == []
