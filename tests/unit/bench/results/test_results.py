"""What a journal writes and keeps (docs/benchmarks.md)."""

import io
import json
from dataclasses import fields

from stepdown.bench.results.results import (
    Event,
    Journal,
    Result,
    Sample,
    medians_of,
    ratio,
    settings_that_differ,
    time_of,
)

COMMON = {"schema", "kind", "run", "ts", "bench", "config", "round"}


def a_round(server: str = "stepdown", number: int = 1, readers: int = 1, **values: float) -> Result:
    return Result(
        kind="round",
        bench="fetch",
        case={"readers": readers},
        server=server,
        version="1",
        round=number,
        values=values,
    )


def a_sample() -> Sample:
    return Sample(
        bench="memory",
        case={"readers": 1},
        server="kafka",
        version="3.9.1",
        round=1,
        t_s=0.5,
        metric="rss_bytes",
        value=3.0,
    )


def an_event() -> Event:
    return Event(
        kind="fetch",
        bench="fetch",
        config="stepdown 1: readers=1",
        round=1,
        partitions=12,
        rate=0,
        client="fetch-v2",
        latency_us=70,
        bytes=1000,
        ts=time_of(0),
    )


def test_a_result_is_a_line_that_is_complete_in_itself() -> None:
    out = io.StringIO()
    Journal(out).note(a_round(mb_per_s=2.0))
    row = json.loads(out.getvalue())
    assert set(row) == COMMON | {"case", "server", "version", "values", "machine"}
    assert row["config"] == "stepdown 1: readers=1"
    assert {"cores", "cpu", "memory_bytes", "kernel", "python", "load_average"} == set(row["machine"])


def test_a_sample_is_one_figure_a_line() -> None:
    out = io.StringIO()
    journal = Journal(out)
    journal.note_sample(a_sample())
    row = json.loads(out.getvalue())
    assert set(row) == COMMON | {"case", "server", "version", "t_s", "metric", "value"}
    assert (row["metric"], row["value"], row["run"]) == ("rss_bytes", 3.0, journal.run)


def test_events_go_to_their_own_file() -> None:
    results, events = io.StringIO(), io.StringIO()
    journal = Journal(results, events=events)
    journal.note_events([an_event(), an_event()])
    rows = [json.loads(line) for line in events.getvalue().splitlines()]
    assert len(rows) == 2 and results.getvalue() == ""
    assert set(rows[0]) == COMMON | {"partitions", "rate", "client", "latency_us", "bytes"}
    assert rows[0]["ts"] == "1970-01-01T00:00:00.000+00:00"


def test_nobody_asked_for_events() -> None:
    out = io.StringIO()
    journal = Journal(out)
    journal.note_events([an_event()])
    assert not journal.wants_events and out.getvalue() == ""


def test_a_case_ends_with_medians_and_the_ratio_of_them() -> None:
    journal = Journal()
    for number, ours, theirs in ((1, 10.0, 4.0), (2, 30.0, 5.0), (3, 20.0, 90.0)):
        journal.note(a_round("stepdown", number, mb_per_s=ours))
        journal.note(a_round("kafka", number, mb_per_s=theirs))
    journal.note(a_round("stepdown", 1, readers=8, mb_per_s=1000.0))
    found = journal.conclude("fetch", {"readers": 1})
    assert [result.values["mb_per_s"] for result in found] == [20.0, 5.0, 4.0]
    assert [result.kind for result in found] == ["median", "median", "ratio"]
    assert (found[2].server, found[2].version) == ("stepdown/kafka", "1/1")


def test_without_a_peer_there_is_no_ratio() -> None:
    journal = Journal()
    journal.note(a_round(mb_per_s=1.0))
    assert [result.kind for result in journal.conclude("fetch", {"readers": 1})] == ["median"]


def test_a_median_is_of_what_all_rounds_have() -> None:
    assert medians_of([a_round(a=1.0, b=2.0), a_round(a=3.0)]) == {"a": 2.0}


def test_a_ratio_leaves_out_what_would_be_divided_by_nothing() -> None:
    assert ratio(a_round(a=1.0, b=2.0, ours=1.0), a_round(a=0.0, b=4.0, theirs=1.0)).values == {"b": 0.5}


def test_settings_that_tell_cases_apart() -> None:
    assert settings_that_differ([a_round(readers=1), a_round(readers=8)]) == ["readers"]
    assert settings_that_differ([a_round()]) == ["readers"]


def test_all_lines_share_the_columns_that_readers_group_by() -> None:
    for shape in (Result, Sample, Event):
        assert {"kind", "bench", "round", "ts"} <= {field.name for field in fields(shape)}
