"""The page of the census: its first screen answers, and browsers show it without errors on wide and narrow screens."""

import html
import json
import re
import shutil
import subprocess
from datetime import date, timedelta
from pathlib import Path

import pytest
from stepdown.pipeline.census.report import (
    _sum_by_period_and_topic,
    _sum_days_by_period,
    write_report,
    write_report_page,
)
from stepdown.pipeline.census.report_summary import SummaryScope, size_text
from support.deadline import DEADLINE_S

MB = 1_000_000
LONG = "a-topic-with-a-long-name.and-more.of-it.than-a-narrow-screen-has-in-one-line"


def formats(topic: str, magic: int, codec: str, batches: int, records: int | None, size: int) -> dict[str, object]:
    row = {"topic": topic, "magic": magic, "codec": codec, "batches": batches, "records": records, "bytes": size}
    return row | {"unopened_batches": batches if records is None else 0}


def topic(name: str, size: int, share: float, fill: float, zstd: int) -> dict[str, object]:
    row = {"topic": name, "bytes": size, "converted_share": share, "batch_fill": fill}
    return row | {"records_a_batch": 50.0, "zstd_bytes": zstd}


def skewed(name: str, skew: float) -> dict[str, object]:
    return {"topic": name, "partitions": 3, "most_records": 100, "mean_records": 100 / skew, "skew": skew}


TABLES: dict[str, list[dict[str, object]]] = {
    "formats": [
        formats("orders", 2, "zstd", 100, 5000, 40 * MB),
        formats(LONG, 2, "none", 20, 60, MB),
        formats("old", 1, "gzip", 7, None, 2 * MB),
    ],
    "topics": [
        topic("orders", 40 * MB, 0.0, 0.9, 40 * MB),
        topic(LONG, MB, 1.0, 0.05, 0),
        topic("old", 2 * MB, 0.0, 0.5, 0),
    ],
    "kafka_4": [
        {"topic": name, "magic_0_bytes": 0, "magic_1_bytes": old, "magic_2_bytes": new, "refused_bytes": refused}
        for name, old, new, refused in (("orders", 0, 40 * MB, 0), (LONG, 0, MB, MB), ("old", 2 * MB, 0, 2 * MB))
    ],
    "partitions": [skewed("orders", 1.25), skewed(LONG, 2.5), skewed("old", 1.0)],
    "days": [
        {"day": date(2026, 3, day), "topic": name, "batches": 5, "records": 20, "bytes": day * MB}
        for day in range(1, 11)
        for name in ("orders", "old")
    ],
}
ABOUT = SummaryScope(place="s3://bucket/kafka", segments=12, bytes=43 * MB, magic=1)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HARNESS = """<!doctype html><meta charset=utf-8><iframe width={width} height=900 srcdoc="{page}"></iframe><pre></pre>
<script>
onload = () => {{
  const page = document.querySelector('iframe').contentDocument, body = page.documentElement;
  const size = (element) => element.getBoundingClientRect();
  document.querySelector('pre').textContent = JSON.stringify({{
    width: body.clientWidth, needed: body.scrollWidth,
    answers: [...page.querySelectorAll('.answers section')].map((each) => size(each).bottom),
    smallest: Math.min(...[...page.querySelectorAll('h1,h2,p,b,td,th')]
      .map((each) => parseFloat(page.defaultView.getComputedStyle(each).fontSize))),
    pictures: [...page.querySelectorAll('svg')].map((each) => size(each).width / each.viewBox.baseVal.width),
  }});
}};
</script>"""


@pytest.fixture
def page(tmp_path: Path) -> str:
    write_report(str(tmp_path), TABLES, ABOUT)
    return (tmp_path / "report.html").read_text()


def cards(page: str) -> dict[str, tuple[str, str]]:
    """Figure and sentence by question."""
    found = re.findall(r"<section><h2>(.*?)</h2><b>(.*?)</b><p>(.*?)</p></section>", page)
    return {html.unescape(question).split("?")[0]: (figure, html.unescape(about)) for question, figure, about in found}


def test_the_first_screen_answers_what_people_ask(page: str) -> None:
    found = cards(page)
    figure, about = found["What is here"]
    assert figure == "43.0 MB"
    assert "3 topics, 9 partitions, 12 segments, 127 batches" in about
    figure, about = found["Who pays for down-conversion (clients that read magic 1)"]
    assert figure == "1.0 MB", "without zstd, which is refused and not converted"
    assert f"{LONG} (1.0 MB)" in about
    assert found["What can old clients not read"][0] == "40.0 MB"
    figure, about = found["What would Kafka 4 refuse"]
    assert figure == "3.0 MB"
    assert "goes on serving magic 0 and 1 as they are, in old (2.0 MB)" in about
    assert LONG in found["How full are batches, how even are partitions"][1]
    assert "2.50 times the mean" in found["How full are batches, how even are partitions"][1]
    figure, about = found["How does it grow"]
    assert figure == "11.0 MB a day"
    assert "10 days, 2026-03-01 to 2026-03-10" in about


def test_an_empty_place_has_answers_as_well(tmp_path: Path) -> None:
    empty: dict[str, list[dict[str, object]]] = {name: [] for name in TABLES}
    write_report(str(tmp_path), empty, SummaryScope(place="here", segments=0, bytes=0, magic=1))
    found = cards((tmp_path / "report.html").read_text())
    assert [figure for figure, _ in found.values()] == ["0 B", "Nothing", "Nobody", "Nothing", "Nothing", "-", "-"]


def test_damage_is_counted_by_kind_and_named(tmp_path: Path) -> None:
    damage = {"firstOffset": 3, "endOffset": 5, "file": "f", "position": 0, "bytes": None, "reason": "<gone>"}
    rows = [
        {"topic": "orders", "partition": partition, "kind": kind} | damage
        for partition, kind in ((0, "missing"), (0, "corrupt"), (4, "missing"))
    ]
    write_report(str(tmp_path), TABLES | {"damage": rows}, ABOUT)
    page = (tmp_path / "report.html").read_text()
    assert cards(page)["What is damaged or missing"] == (
        "3 damages",
        "1 corrupt, 2 missing; in orders-0, orders-4. See the table below.",
    )
    assert page.count("&lt;gone&gt;") == 3
    assert page.count("<svg") == 4
    assert "<script" not in page


def test_partitions_that_begin_with_magic_0_have_no_times_in_kafka_4(tmp_path: Path) -> None:
    row = {"topic": "ancient", "magic_0_bytes": MB, "magic_1_bytes": 0, "magic_2_bytes": 0, "refused_bytes": MB}
    write_report_page(tmp_path / "page.html", TABLES | {"kafka_4": [row]}, ABOUT)
    _, about = cards((tmp_path / "page.html").read_text())["What would Kafka 4 refuse"]
    assert "It finds no offset by time in partitions that begin with magic 0: ancient." in about
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize(
    ("days", "periods", "first"),
    [(100, 100, "2020-01-01"), (101, 4, "2020-01"), (3000, 99, "2020-01"), (9000, 25, "2020")],
)
def test_many_days_are_drawn_as_months_or_years(days: int, periods: int, first: str) -> None:
    """A picture of 3,000 days had 3,000 bars."""
    start = date(2020, 1, 1)
    rows = [
        {"day": start + timedelta(days=day), "topic": name, "batches": 1, "records": None, "bytes": 2}
        for day in range(days)
        for name in ("a", "b")
    ]
    drawn, shown = _sum_by_period_and_topic(rows), _sum_days_by_period("days", [*rows, {**rows[0], "day": None}])
    assert len(drawn) == 2 * periods
    assert (drawn[0]["day"], drawn[0]["topic"], drawn[1]["topic"]) == (first, "a", "b")
    assert sum(int(str(row["bytes"])) for row in drawn) == 4 * days
    assert [row["day"] for row in shown[:1]] == [first]
    assert shown[-1] == {"day": "none", "topics": 1, "batches": 1, "records": 0, "bytes": 2}
    assert len(shown) <= periods + 1


def test_of_a_table_of_thousands_the_first_rows_are_shown(tmp_path: Path) -> None:
    rows = [skewed(f"topic-{number}", 1.0) for number in range(1000)]
    write_report_page(tmp_path / "page.html", TABLES | {"partitions": rows}, ABOUT)
    page = (tmp_path / "page.html").read_text()
    assert page.count("<td>topic-") == 300
    assert "700 more rows are not shown." in page


def test_where_all_is_zstd_nobody_pays(tmp_path: Path) -> None:
    """The page said that a broker converts all of it."""
    tables = TABLES | {"topics": [topic("orders", 40 * MB, 0.0, 0.9, 40 * MB)]}
    write_report(str(tmp_path), tables, ABOUT)
    figure, about = cards((tmp_path / "report.html").read_text())[
        "Who pays for down-conversion (clients that read magic 1)"
    ]
    assert (figure, "zstd, which is refused and not converted" in about) == ("Nobody", True)


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2.5e12, "2.5 TB")])
def test_sizes_are_what_a_person_reads(size: float, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 400])
def test_a_browser_shows_it_without_errors_and_without_scrolling_aside(page: str, width: int, tmp_path: Path) -> None:
    if CHROMIUM is None:
        pytest.skip("no chromium: apt-get install chromium")
    harness = tmp_path / "harness.html"
    harness.write_text(HARNESS.format(width=width, page=html.escape(page, quote=True)))
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile", "--dump-dom"]
    done = subprocess.run(
        [CHROMIUM, *options, "--enable-logging=stderr", "--window-size=1400,1000", harness.as_uri()],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
    )
    assert "CONSOLE" not in done.stderr, done.stderr
    seen = json.loads(html.unescape(re.findall(r"<pre>(.*?)</pre>", done.stdout)[-1]))
    assert seen["needed"] <= seen["width"]
    assert seen["smallest"] >= 12
    assert all(scale >= 0.8 for scale in seen["pictures"]), seen["pictures"]
    assert len(seen["answers"]) == 7
    if width == 1280:
        assert max(seen["answers"]) <= 900  # of a window of that height
