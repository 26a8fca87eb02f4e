"""Every `stepdown bench` with the smallest settings, against a stepdown that it starts."""

import json
from pathlib import Path

import pytest
from support.command import run_command

SMALL = ("--partitions", 2, "--records", 20, "--giant", "--giant-bytes", 9999)
SHORT = ("--rounds", 1, "--seconds", 0.1, "--warm-up", 0)
SMALLEST: dict[str, tuple[object, ...]] = {
    "memory": (
        "--partitions",
        2,
        "--records",
        20,
        "--readers",
        "1,2",
        "--versions",
        2,
        "--giant",
        "--giant-bytes",
        9999,
    ),
    "convert": ("--versions", "2,4", "--partitions", 1, *SHORT),
    "fetch": ("--sizes", 1000, "--codecs", "lz4", "--versions", 0, "--readers", 2, "--partitions", 1, *SHORT),
    "chunks": ("--chunk-bytes", 16384, *SHORT),
    "produce": ("--batch-bytes", 2000, "--magics", "1,2", *SHORT),
    "mixed": ("--old-readers", 1, *SHORT),
    "start": ("--partitions", 1, "--rounds", 1),
}


@pytest.mark.parametrize("name", SMALLEST)
def test_it_measures_and_prints_results_as_json_lines(name: str, tmp_path: Path) -> None:
    data, journal = tmp_path / "new" / "data", tmp_path / "other" / "events.jsonl"
    options = (*SMALLEST[name], "--json", "--folder", data, "--events", journal)
    finished = run_command("bench", name, *options)
    assert finished.exit_code == 0, finished.stderr
    rows = [json.loads(line) for line in finished.stdout.splitlines()]
    medians = [row for row in rows if row["kind"] == "median"]
    assert medians and {row["bench"] for row in rows} == {name}
    assert all(row["values"] for row in medians)
    assert not any(row["values"].get("readers_lost") for row in medians)
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    assert bool(events) == (name not in ("memory", "start"))
    assert {row["kind"] for row in events} <= {"fetch", "produce"}
    assert not any(data.iterdir())


@pytest.mark.parametrize("name", ["memory", "convert", "produce"])
def test_loads_go_over_tls(name: str) -> None:
    options = [str(each) for each in SMALLEST[name]]
    finished = run_command("bench", name, *options, "--json", "--security", "SSL")
    assert finished.exit_code == 0, finished.stderr
    rows = [json.loads(line) for line in finished.stdout.splitlines()]
    assert rows and {row["case"]["security"] for row in rows} == {"SSL"}
    assert not any(row.get("values", {}).get("readers_lost") for row in rows)


@pytest.mark.slow
def test_the_reference_run_leaves_its_results_and_a_page_of_bars(tmp_path: Path) -> None:
    small = ("--many", 5, "--memory-partitions", 2, "--giant-bytes", 100_000)
    finished = run_command("bench", "reference", "--peer", "none", "--to", tmp_path / "results", *small, *SHORT)
    assert finished.exit_code == 0, finished.stderr
    results, page = sorted((tmp_path / "results").iterdir())
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert {row["bench"] for row in rows} == {"fetch", "produce", "mixed", "memory", "start"}
    assert "| memory above idle: gzip, 20 readers |" in page.read_text()
    assert "not converted, 1 kB" in page.read_text()


def test_a_table_is_shown_and_kept_as_a_report(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    finished = run_command("bench", "convert", *SMALLEST["convert"], "--html", tmp_path / "report.html")
    assert finished.exit_code == 0, finished.stderr
    assert "MB/CPU s" in finished.stdout
    assert "<svg" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("convert", "--codecs", "brotli"), "brotli"),
        (("convert", "--versions", "two"), "two"),
        (("memory", "--broker", "127.0.0.1:9092"), "--metrics"),
        (("convert", "--security", "TLS"), "PLAINTEXT or SSL"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: tuple[str, ...], told: str) -> None:
    finished = run_command("bench", *options)
    assert finished.exit_code == 2
    assert told in finished.stderr


def test_a_peer_that_is_not_known_is_named() -> None:
    finished = run_command("bench", "start", "--partitions", 0, "--rounds", 1, "--peer", "kafka:4.0.0")
    assert finished.exit_code == 1
    assert "kafka:4.0.0" in finished.stderr
