"""The integration tests of franz-go, as its authors wrote them, against a running stepdown.

They come through the Go module proxy. Those about share groups, SCRAM and very old brokers skip by themselves.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.broker import Stepdown
from support.maven import skip_or_fail

pytestmark = pytest.mark.slow

FRANZ_GO = "github.com/twmb/franz-go@v1.22.2"
SKIPPED = re.compile(r"Test\w*(Share|SCRAM|BrokerTooOld)\w*")
SUITE_TIMEOUT_S = 1500
PROPERTIES = {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    "group.coordinator.rebalance.protocols": "classic,consumer",
}


def go(arguments: Sequence[str], folder: Path, **environment: str) -> str:
    """What it printed, to stdout and stderr, however it ended."""
    command = ["go", *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SUITE_TIMEOUT_S,
        check=False,
    )
    return done.stdout


@pytest.fixture
def franz_go(tmp_path: Path) -> Path:
    """The folder of its sources, which cannot be written to."""
    if shutil.which("go") is None:
        skip_or_fail("Go is not installed")
    printed = go(["mod", "download", "-json", FRANZ_GO], tmp_path)
    try:
        return Path(json.loads(printed)["Dir"])
    except (ValueError, KeyError):
        skip_or_fail(f"{FRANZ_GO} cannot be had: {printed[-500:]}")
        raise


def test_franz_go_passes_its_own_tests(franz_go: Path, tmp_path: Path) -> None:
    """Groups of all balancers and of both protocols, transactions with rebalances in between, and all else of kgo."""
    with Stepdown(tmp_path, properties=PROPERTIES) as broker:
        printed = go(
            ["test", "-count=1", "-v", f"-timeout={SUITE_TIMEOUT_S}s", "./pkg/kgo"],
            franz_go,
            KGO_SEEDS=broker.address,
            KGO_TEST_RF="1",
            KGO_TEST_RECORDS="20000",
            KGO_LOG_LEVEL="none",
        )
    outcomes = re.findall(r"^--- (PASS|FAIL|SKIP): (\w+)", printed, re.MULTILINE)
    failed = [name for outcome, name in outcomes if outcome == "FAIL"]
    passed = {name for outcome, name in outcomes if outcome == "PASS"}
    skipped = [name for outcome, name in outcomes if outcome == "SKIP"]
    assert not failed, printed[-8000:]
    assert {"TestGroupETL", "TestTxnEtl"} <= passed, printed[-8000:]
    assert all(SKIPPED.fullmatch(name) for name in skipped), " ".join(skipped)
