"""franz-go's own tests of its client, from the Go module proxy."""

import json
import re
from pathlib import Path

from .clients_go import go, require_go
from .deadline import JOB_DEADLINE_S
from .maven import skip_or_fail

FRANZ_GO = "github.com/twmb/franz-go@v1.22.2"


def franz_go_suite(work: Path) -> Path:
    """The folder of its sources, which cannot be written to."""
    require_go()
    printed = go(["mod", "download", "-json", FRANZ_GO], work)
    try:
        return Path(json.loads(printed)["Dir"])
    except (ValueError, KeyError):
        skip_or_fail(f"{FRANZ_GO} cannot be had: {printed[-500:]}")
        raise


def run_kgo(folder: Path, address: str, *, records: int, skip: str = "^$", **environment: str) -> str:
    """What the tests of kgo printed; topics have one replica, `records` is how many the long ones write."""
    return go(
        ["test", "-count=1", "-v", f"-skip={skip}", f"-timeout={JOB_DEADLINE_S}s", "./pkg/kgo"],
        folder,
        KGO_SEEDS=address,
        KGO_TEST_RF="1",
        KGO_TEST_RECORDS=str(records),
        KGO_LOG_LEVEL="none",
        **environment,
    )


def outcomes(printed: str, outcome: str) -> set[str]:
    """The Go tests that ended so: "PASS", "FAIL" or "SKIP"."""
    return set(re.findall(rf"^--- {outcome}: (\w+)", printed, re.MULTILINE))
