"""Bars, what is held against them, and the page about it."""

from collections.abc import Mapping

import pytest
from stepdown.bench.reference.full_run import TITLES, summary
from stepdown.bench.reference.target_values import BARS, Target, judge
from stepdown.bench.results.results import Journal, Kind, Result, Value

FASTER = Target(work="fetch", bench="fetch", value="mb_per_s", bound=1.5, where={"codec": "none"})
SMALL = Target(work="memory", bench="memory", value="above_idle_bytes", bound=32.0, is_ratio=False, is_most=True)


def found(kind: Kind, server: str, value: float, *, bench: str = "fetch", name: str = "mb_per_s") -> Result:
    case: Mapping[str, Value] = {"codec": "none", "readers": 1, "giant_bytes": 0}
    return Result(kind=kind, bench=bench, case=case, server=server, version="1", values={name: value})


@pytest.mark.parametrize(("ratio", "verdict"), [(1.5, "met"), (1.49, "missed")])
def test_a_ratio_is_held_against_a_least_value(ratio: float, verdict: str) -> None:
    results = [found("median", "stepdown", 3.0), found("median", "kafka", 2.0), found("ratio", "both", ratio)]
    (judged,) = judge([FASTER], results)
    assert (judged.ours, judged.theirs, judged.ratio, judged.verdict) == (3.0, 2.0, ratio, verdict)


@pytest.mark.parametrize(("value", "verdict"), [(32.0, "met"), (32.5, "missed")])
def test_what_stands_by_itself_is_held_against_a_most_value(value: float, verdict: str) -> None:
    (judged,) = judge([SMALL], [found("median", "stepdown", value, bench="memory", name="above_idle_bytes")])
    assert (judged.ours, judged.ratio, judged.verdict) == (value, None, verdict)


def test_without_a_peer_a_ratio_was_not_measured() -> None:
    (judged,) = judge([FASTER], [found("median", "stepdown", 3.0)])
    assert (judged.ours, judged.verdict) == (3.0, "not measured")


def test_another_case_is_not_looked_at() -> None:
    other = Target(work="fetch", bench="fetch", value="mb_per_s", bound=1.5, where={"codec": "lz4"})
    (judged,) = judge([other], [found("median", "stepdown", 3.0), found("ratio", "both", 2.0)])
    assert (judged.ours, judged.verdict) == (None, "not measured")


def test_every_bar_has_a_row_that_says_whether_it_is_met() -> None:
    page = summary(Journal())
    assert f"0 of {len(BARS)} bars met" in page
    assert page.count("**not measured**") == len(BARS)


def test_every_figure_of_a_bar_has_a_name() -> None:
    assert {bar.value for bar in BARS} <= set(TITLES)


def test_the_case_is_told_where_a_bar_looks_at_many() -> None:
    journal = Journal()
    journal.note(found("median", "stepdown", 1 << 20, bench="memory", name="above_idle_bytes"))
    assert "| memory above idle: none, 1 reader | MiB | 1 |  |  | ≤ 32 | met |" in summary(journal)
