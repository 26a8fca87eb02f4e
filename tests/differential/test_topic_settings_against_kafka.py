"""Settings of topics at the ends of their ranges: what `stepdown migrate plan` keeps Kafka 4 opens a log with, and what
Kafka takes is kept as it is."""

import os
from collections.abc import Callable

import pytest
from stepdown.config import TOPIC_KEYS
from stepdown.storage.migration.plan_making import drop_unreadable_settings
from stepdown.storage.migration.release_preparation import INDEX_BYTES, RELEASES, ReleasePreparation
from support.clients_raw import blob, string
from support.java_oracle import JavaOracle
from support.maven import class_path

pytestmark = pytest.mark.java

VALUES = (
    "", "-2147483649", "-3", "-2", "-1", "0", "1", "3", "4", "12", "14", "1048575", "1048576", "2147483647",
    "2147483648", "9223372036854775807", "9223372036854775808", "0.5", "1.0", "1.5", "-0.1", "NaN", "1e3", "1_000",
    "+5", " 7 ", "0x10", "true", "TRUE", "yes", "delete", "compact", "compact,delete", " compact , delete ",
    "compact,compact", "keep", "producer", "uncompressed", "zstd", "gzip", "none", "GZIP", "CreateTime",
    "LogAppendTime", "Never", "*", "0:1,1:2", "x", "0.9.0", "2.8-IV1", "4.0", "${file:/a:b}",
)  # fmt: skip


RAISED = ((INDEX_BYTES, "12"), ("segment.bytes", "1048576"))
"""Where Kafka opens no index of less; in releases of 4 after the first."""


@pytest.mark.parametrize(("release", "version"), [("4.0", "4.0.1"), ("4.4", "4.4.0")])
def test_kafka_takes_what_a_plan_keeps_and_a_plan_keeps_what_kafka_takes(
    java_oracle: Callable[..., JavaOracle], release: str, version: str
) -> None:
    rows = [(name, value) for name in TOPIC_KEYS if not name.startswith("stepdown.") for value in VALUES]
    kept = []
    for name, value in rows:
        limits = ReleasePreparation(release=RELEASES[release])
        kept.append(drop_unreadable_settings("a", limits.adapt_topic_configs("a", {name: value}), []).get(name))
    raw = refusals(java_oracle, version, rows)
    planned = refusals(java_oracle, version, [(name, value or "") for (name, _), value in zip(rows, kept, strict=True)])
    removed = RELEASES[release].removed
    faults = []
    for (name, value), of_plan, refused, planned_refused in zip(rows, kept, raw, planned, strict=True):
        if name in removed:
            assert of_plan is None, name
        elif of_plan is not None and planned_refused:
            faults.append(f"{name}={value} is kept as {of_plan}: {planned_refused}")
        elif not refused and of_plan != value and (name, of_plan) not in RAISED and value != "NaN":
            faults.append(f"{name}={value} becomes {of_plan}, and Kafka takes it")
    assert not faults, "\n".join(faults)


def refusals(java_oracle: Callable[..., JavaOracle], version: str, rows: list[tuple[str, str]]) -> list[str]:
    jars = os.pathsep.join(map(str, class_path(f"org.apache.kafka:kafka_2.13:{version}")))
    lines = "\n".join(f"{name}={value}" for name, value in rows)
    answer = java_oracle("api_ranges").call("TopicSettings.refusals", string(jars) + blob(lines.encode()))
    return answer.decode().removesuffix("\n").split("\n")
