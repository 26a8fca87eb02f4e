"""The HTML report."""

from pathlib import Path

import pytest
from stepdown.bench.results.results import Journal, Result, Sample
from stepdown.cli.bench.html_report import PLOTTED, write_report

pytest.importorskip("matplotlib")


def a_journal(bench: str) -> Journal:
    journal = Journal()
    for readers in (1, 8):
        case = {"readers": readers}
        for server, value in (("stepdown", 3.0), ("kafka", 1.5)):
            values = dict.fromkeys(PLOTTED[bench], value)
            journal.note(
                Result(kind="round", bench=bench, case=case, server=server, version="1", round=1, values=values)
            )
        journal.conclude(bench, case)
    return journal


@pytest.mark.parametrize("bench", PLOTTED)
def test_every_bench_has_its_picture_and_a_table_of_medians_and_ratios(bench: str, tmp_path: Path) -> None:
    write_report(a_journal(bench), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count("<svg") == 1
    assert page.count("<!-- readers 8 -->") == len(PLOTTED[bench])
    assert page.count("<td>stepdown 1<td>") == page.count("<td>kafka 1<td>") == 2
    assert page.count("<tr><td>") == 6
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", "")


def test_memory_is_drawn_over_time(tmp_path: Path) -> None:
    journal = a_journal("memory")
    for number in range(3):
        for metric in ("rss_bytes", "budget_in_use_bytes"):
            journal.note_sample(
                Sample(
                    bench="memory",
                    case={"readers": 1},
                    server="stepdown",
                    version="1",
                    round=1,
                    t_s=number / 20,
                    metric=metric,
                    value=number * 1e6,
                )
            )
    write_report(journal, tmp_path / "report.html")
    assert "<!-- conversion memory in use -->" in (tmp_path / "report.html").read_text()
