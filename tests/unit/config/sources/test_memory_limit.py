"""Which memory limit holds, and which budgets fit in it."""

from pathlib import Path

import pytest
from stepdown.config import load
from stepdown.config.sources.memory_limit import (
    BUDGETS,
    MIB,
    PARTITION_BYTES,
    PARTITIONS_KEY,
    SPARE_BYTES,
    memory_limit_bytes,
    shrink_budgets_to_limit,
)


def machine(root: Path, mebibytes: int, groups: str) -> Path:
    for name, text in {"meminfo": f"MemTotal: {mebibytes * 1024} kB\n", "self/cgroup": groups}.items():
        path = root / "proc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def limit(root: Path, path: str, text: str) -> None:
    file = root / "sys/fs/cgroup" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n")


def test_without_a_group_it_is_the_machine(tmp_path: Path) -> None:
    assert memory_limit_bytes(machine(tmp_path, 512, "0::/\n")) == 512 * MIB


def test_where_nothing_can_be_read_there_is_none(tmp_path: Path) -> None:
    assert memory_limit_bytes(tmp_path) is None


@pytest.mark.parametrize(
    ("groups", "path"),
    [
        ("0::/docker/abc\n", "docker/abc/memory.max"),
        ("0::/docker/abc\n", "docker/memory.max"),
        ("0::/docker/abc\n", "memory.max"),
        ("1:name=systemd:/\n0::/a\n", "unified/a/memory.max"),
        ("4:memory:/docker/abc\n", "memory/docker/abc/memory.limit_in_bytes"),
        ("4:cpu,memory:/docker/abc\n", "memory/memory.limit_in_bytes"),
    ],
)
def test_a_limit_of_the_group_or_of_one_above_it_holds(tmp_path: Path, groups: str, path: str) -> None:
    machine(tmp_path, 1024, groups)
    limit(tmp_path, path, str(96 * MIB))
    assert memory_limit_bytes(tmp_path) == 96 * MIB


def test_no_limit_is_none(tmp_path: Path) -> None:
    machine(tmp_path, 1024, "4:memory:/a\n0::/b\n")
    limit(tmp_path, "b/memory.max", "max")
    limit(tmp_path, "memory/a/memory.limit_in_bytes", "9223372036854771712")
    assert memory_limit_bytes(tmp_path) == 1024 * MIB


def test_defaults_stay_where_there_is_room() -> None:
    assert shrink_budgets_to_limit(4096 * MIB) == []
    assert [given.key for given in shrink_budgets_to_limit(1024 * MIB)] == [PARTITIONS_KEY]


@pytest.mark.parametrize("brokers", [1, 3])
@pytest.mark.parametrize("mebibytes", [32, 64, 96, 128, 256])
def test_budgets_fit_into_a_small_limit(mebibytes: int, brokers: int) -> None:
    settings = load(defaults=shrink_budgets_to_limit(mebibytes * MIB, brokers)).settings
    total = settings.stepdown_request_memory_bytes * 3 // 2 + settings.stepdown_conversion_memory_bytes
    total += settings.log_cleaner_dedupe_buffer_bytes + settings.stepdown_max_partitions * PARTITION_BYTES
    least = sum(budget.least_bytes for budget in BUDGETS) * 2 + SPARE_BYTES // 2
    assert total * brokers <= max(least * brokers, (mebibytes - 56) * MIB + SPARE_BYTES // 2)


def test_what_an_operator_sets_counts() -> None:
    wanted = ["stepdown.request.memory.bytes=50000000"]
    assert (
        load(overrides=wanted, defaults=shrink_budgets_to_limit(64 * MIB)).settings.stepdown_request_memory_bytes
        == 50_000_000
    )
