"""Benchmark runs to tables, pictures and a page: one small run of each kind, checked by hand."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from stepdown.pipeline.bench_report.job import REPORT, followed_lines, make_report, take_new_files
from stepdown.pipeline.bench_report.result_lines import read_lines
from stepdown.pipeline.failures import BadUsage, PipelineFailure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MACHINE = {"cores": 2, "cpu": "x", "memory_bytes": 1, "kernel": "k", "python": "3.11", "load_average": 0.5}


def line(kind: str, config: str, run: str = "r1", **fields: object) -> dict[str, object]:
    return {"schema": 1, "kind": kind, "run": run, "ts": "2026-11-21T15:00:00.120+00:00", "config": config, **fields}


def chunk_round(size: object, rate: float, number: int) -> dict[str, object]:
    values = {"mb_per_s": rate, "mb_per_cpu_s": 2 * rate}
    case = {"chunk_bytes": size}
    return line(
        "round", f"stepdown 1: chunk_bytes={size}", bench="chunks", round=number, case=case, server="stepdown",
        version="1", values=values, machine=MACHINE,
    )  # fmt: skip


def events(config: str, client: str, latencies_us: list[int], run: str = "r1") -> Iterator[dict[str, object]]:
    kind = client.partition("-")[0]
    for latency in latencies_us:
        yield line(kind, config, run, client=client, partitions=1, rate=0, latency_us=latency, bytes=1_000_000, round=1)


def a_run() -> list[dict[str, object]]:
    sample = {"bench": "memory", "round": 1, "case": {"fetch_bytes": 5000}}
    return [
        *(
            chunk_round(size, rate, number)
            for size in (131072, 16384, "unconverted")
            for number, rate in ((1, 10.0), (2, 30.0))
        ),
        *(
            line("sample", "m", metric="rss_bytes", value=value, t_s=value / 100, **sample)
            for value in (100.0, 900.0, 300.0)
        ),
        line("sample", "m", metric="budget_limit_bytes", value=800.0, t_s=0.0, **sample),
        line("round", "m", bench="memory", round=1, case={"fetch_bytes": 5000}, values={"above_idle_bytes": 7.0}),
        *events("base", "produce-v3", list(range(1, 1001))),
        *events("other", "produce-v3", list(range(2, 2002, 2))),
    ]


def write(folder: Path, lines: list[dict[str, object]], name: str = "run.jsonl") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps(each) + "\n" for each in lines))
    return folder


def tables_of(spark: "SparkSession", place: Path, out: Path, **options: Any) -> dict[str, list[dict[str, Any]]]:
    return {
        section.title: list(section.rows) for section in make_report(read_lines(spark, [str(place)]), out, **options)
    }


def test_a_run_becomes_the_tables_of_the_proposals(spark: "SparkSession", tmp_path: Path) -> None:
    tables = tables_of(spark, write(tmp_path / "in", a_run()), tmp_path / "out")
    chunks = tables["throughput by chunk size"]
    assert [row["chunk_bytes"] for row in chunks] == ["16384", "131072", "unconverted"]
    assert [chunks[0][f"mb_per_s{which}"] for which in ("", "_least", "_most")] == [20.0, 10.0, 30.0]
    (memory,) = tables["peak memory"]
    assert (memory["peak_rss_bytes"], memory["budget_limit_bytes"]) == (900.0, 800.0)
    assert (memory["fetch_bytes"], memory["above_idle_bytes"]) == (5000, 7.0)
    base, other = tables["latency"]
    assert base["p50_ms"] == pytest.approx(0.5005)  # exact: between the 500th and the 501st of 1000
    assert base["p999_ms"] == pytest.approx(0.999001)
    assert (other["config"], other["requests"], other["p99_ratio"]) == ("other", 1000, pytest.approx(2.0))
    assert tables["machines"][0]["load_average"] == "0.5"
    page = (tmp_path / "out" / REPORT).read_text()
    assert page.count("<svg") == 3 and "load average" in page
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"throughput.png", "memory.png", "latency.png", "latency.parquet", "peak-memory.parquet"} <= files
    assert spark.read.parquet(str(tmp_path / "out" / "latency.parquet")).count() == 2


def test_parquet_with_no_more_than_events_does_as_well(spark: "SparkSession", tmp_path: Path) -> None:
    rows = [(1000 * n, "fetch", "c", "one", "fetch-v2") for n in range(1, 11)]
    frame = spark.createDataFrame(rows, "latency_us bigint, kind string, config string, run string, client string")
    frame.coalesce(1).write.parquet(str(tmp_path / "events"))
    tables = tables_of(spark, tmp_path / "events", tmp_path / "out", baseline="c")
    assert list(tables) == ["latency"]
    assert tables["latency"][0]["p50_ms"] == pytest.approx(5.5)
    with pytest.raises(BadUsage, match="no run has the config 'x'"):
        tables_of(spark, tmp_path / "events", tmp_path / "out", baseline="x")


def test_followed_files_are_taken_once_each(spark: "SparkSession", tmp_path: Path) -> None:
    folder, out = write(tmp_path / "in", list(events("a", "fetch-v2", [1, 2, 3]))), tmp_path / "out"
    assert take_new_files(spark, str(folder), out) == 3
    assert take_new_files(spark, str(folder), out) == 0
    write(folder, list(events("b", "fetch-v2", [4], run="r2")), "later.jsonl")
    assert take_new_files(spark, str(folder), out) == 1
    (latency,) = (s for s in make_report(followed_lines(spark, out), out) if s.title == "latency")
    assert [(row["config"], row["requests"]) for row in latency.rows] == [("a", 3), ("b", 1)]


@pytest.mark.parametrize("text", ["{no json\n", '{"kind": "round"}\n', '{"run": "r"}\n', '{"kind": "fetch"}\n'])
def test_a_line_that_is_none_is_named_by_its_file(spark: "SparkSession", tmp_path: Path, text: str) -> None:
    folder = write(tmp_path / "in", list(events("a", "fetch-v2", [1])))
    (folder / "bad.jsonl").write_text(text)
    with pytest.raises(PipelineFailure, match=r"bad\.jsonl: a line that is no result, sample or event"):
        read_lines(spark, [str(folder)])


def test_what_is_not_there_is_bad_usage(spark: "SparkSession", tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match="no such file or folder"):
        read_lines(spark, [str(tmp_path / "none")])
    with pytest.raises(BadUsage, match=r"holds no \.jsonl"):
        read_lines(spark, [str(tmp_path)])
