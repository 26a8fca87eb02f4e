"""The tables: each a frame of a few rows, computed in batch.

Percentiles are exact (`percentile`): approximate ones were no faster here and up to 1.1 % off at p999. A figure is the
median of its runs' rounds; what lies between is told by the least and the most.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.functions import expr as _sql

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Row = dict[str, Any]

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
_MILLISECOND_US = 1000
_MEGABYTE = 1e6


def throughput(lines: "DataFrame") -> "DataFrame":
    """Megabytes a second by chunk size, KIP-283's table: unconverted is the last row of a server."""
    rounds = lines.where("kind = 'round' AND bench = 'chunks'").selectExpr(
        "concat_ws(' ', server, version) AS server",
        "`case`['chunk_bytes'] AS chunk_bytes",
        "run",
        "`values`['mb_per_s'] AS mb_per_s",
        "`values`['mb_per_cpu_s'] AS mb_per_cpu_s",
    )
    grouped = rounds.groupBy("server", "chunk_bytes").agg(*_spread("mb_per_s"), *_spread("mb_per_cpu_s"), *_counts())
    return grouped.orderBy("server", _sql("coalesce(try_cast(chunk_bytes AS bigint), 9223372036854775807)"))


def memory(lines: "DataFrame") -> "DataFrame":
    """Peak memory by config, KIP-283's test, beside the budget's limit and the size of the fetch; bytes."""
    samples = lines.where("kind = 'sample'").selectExpr(
        "coalesce(config, run) AS config", "run", "coalesce(round, 0) AS round", "metric", "value",
        "CAST(`case`['fetch_bytes'] AS bigint) AS fetch_bytes",
    )  # fmt: skip
    by_round = samples.groupBy("config", "run", "round").agg(
        _sql("max(fetch_bytes)").alias("fetch_bytes"),
        _most("rss_bytes").alias("peak_rss_bytes"),
        _sql("max(value) FILTER (WHERE metric IN ('budget_peak_bytes', 'budget_in_use_bytes'))").alias("budget_peak"),
        _most("budget_limit_bytes").alias("budget_limit_bytes"),
    )
    grouped = by_round.groupBy("config").agg(
        _sql("max(fetch_bytes)").alias("fetch_bytes"),
        _sql("max(budget_limit_bytes)").alias("budget_limit_bytes"),
        _sql("max(budget_peak)").alias("budget_peak_bytes"),
        *_spread("peak_rss_bytes"),
        *_counts(),
    )
    rounds = lines.where("kind = 'round' AND bench = 'memory'")
    above_idle = rounds.groupBy("config").agg(
        _sql("percentile(`values`['above_idle_bytes'], 0.5)").alias("above_idle_bytes")
    )
    return grouped.join(above_idle, "config", "left").orderBy("config")


def memory_over_time(lines: "DataFrame") -> "DataFrame":
    """The samples that are drawn: config, run, round, metric, seconds since the round began, value."""
    return lines.where(
        "kind = 'sample' AND metric IN ('rss_bytes', 'budget_in_use_bytes', 'budget_limit_bytes')"
    ).selectExpr(
        "coalesce(config, run) AS config", "run", "coalesce(round, 0) AS round", "metric",
        "coalesce(t_s, (unix_micros(ts) - min(unix_micros(ts)) OVER (PARTITION BY run, config)) / 1e6) AS t_s", "value",
    ).orderBy("config", "run", "round", "metric", "t_s")  # fmt: skip


def latency(lines: "DataFrame") -> "DataFrame":
    """Exact percentiles of latency by config, kind and client in the order they were measured, KIP-480's table.

    The least and the most of p99 are those of single runs.
    """
    events = lines.where("kind IN ('fetch', 'produce')").selectExpr(
        "coalesce(config, run) AS config", "kind", "coalesce(client, '') AS client", "run", "ts", "latency_us", "bytes"
    )
    keys = ["config", "kind", "client"]
    by_run = events.groupBy(*keys, "run").agg(_sql(f"percentile(latency_us, 0.99) / {_MILLISECOND_US}").alias("p99"))
    spread = by_run.groupBy(*keys).agg(
        _sql("min(p99)").alias("p99_least_ms"), _sql("max(p99)").alias("p99_most_ms"), _sql("count(*)").alias("runs")
    )
    shares = ", ".join(map(str, PERCENTILES.values()))
    overall = events.groupBy(*keys).agg(
        _sql("min(ts)").alias("began"),
        _sql("count(*)").alias("requests"),
        _sql(f"CAST(sum(bytes) AS double) / {_MEGABYTE}").alias("megabytes"),
        _sql(f"percentile(latency_us, array({shares}))").alias("percentiles"),
    )
    times = [f"percentiles[{at}] / {_MILLISECOND_US} AS {name}_ms" for at, name in enumerate(PERCENTILES)]
    ordered = overall.join(spread, keys).orderBy("kind", "began", "config", "client")
    return ordered.selectExpr(*keys, "requests", "runs", "megabytes", *times, "p99_least_ms", "p99_most_ms")


def with_ratios(rows: Sequence[Row], baseline: str | None = None) -> list[Row]:
    """The rows of `latency`, each with the ratios of its percentiles to those of the baseline's row of its kind.

    `baseline` is a config; None: the first of each kind. Where the baseline has several clients the same one is
    compared; where it has no row to compare with, ratios are None.
    """
    return [row | _ratios(row, _base_of(row, rows, baseline)) for row in rows]


def _base_of(row: Row, rows: Sequence[Row], baseline: str | None) -> Row | None:
    of_kind = [each for each in rows if each["kind"] == row["kind"]]
    wanted = of_kind[0]["config"] if baseline is None else baseline
    candidates = [each for each in of_kind if each["config"] == wanted]
    same_client = [each for each in candidates if each["client"] == row["client"]]
    if same_client:
        return same_client[0]
    return candidates[0] if len(candidates) == 1 else None


def _ratios(row: Row, base: Row | None) -> Row:
    return {
        f"{name}_ratio": row[f"{name}_ms"] / base[f"{name}_ms"] if base and base[f"{name}_ms"] else None
        for name in PERCENTILES
    }


def machines(lines: "DataFrame") -> "DataFrame":
    """What the runs were measured on, with the load average when they began."""
    found = lines.where("machine IS NOT NULL").selectExpr(
        "run", "machine['cpu'] AS cpu", "machine['cores'] AS cores", "machine['memory_bytes'] AS memory_bytes",
        "machine['kernel'] AS kernel", "machine['python'] AS python", "machine['load_average'] AS load_average",
    )  # fmt: skip
    return found.distinct().orderBy("run")


def _spread(name: str) -> "list[Column]":
    """Median, least and most of a column."""
    return [
        _sql(f"percentile({name}, 0.5)").alias(name),
        _sql(f"min({name})").alias(f"{name}_least"),
        _sql(f"max({name})").alias(f"{name}_most"),
    ]


def _counts() -> "list[Column]":
    return [_sql("count(*)").alias("rounds"), _sql("count(DISTINCT run)").alias("runs")]


def _most(metric: str) -> "Column":
    return _sql(f"max(value) FILTER (WHERE metric = '{metric}')")
