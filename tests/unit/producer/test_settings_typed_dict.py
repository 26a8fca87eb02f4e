"""mypy, as a user runs it, refuses a setting that is misspelt or of a wrong type, and takes those that are right."""

import subprocess
import sys
from pathlib import Path

import pytest
import stepdown

SAMPLE = """
from stepdown.producer import Producer

Producer("localhost:9092", linger_ms=5, acks="all", compression="lz4", enable_idempotence=True)
Producer(["localhost:9092"], configs={"batch.size": 65536})
Producer("localhost:9092", linger="5")  # unknown
Producer("localhost:9092", linger_ms="5")  # type
Producer("localhost:9092", acks=2)  # value
Producer("localhost:9092", compression="brotli")  # value
Producer("localhost:9092", lingr_ms=5)  # unknown


async def send(producer: Producer) -> int:
    producer.send("t", b"v", partition="0")  # type
    return (await producer.send("t", b"v", key=b"k")).offset
"""


@pytest.mark.lengthy
def test_mypy_refuses_wrong_settings(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="the quick tests do not install it")
    (tmp_path / "sample.py").write_text(SAMPLE)
    (tmp_path / "stepdown").symlink_to(Path(stepdown.__file__).parent)
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--ignore-missing-imports", "sample.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    wrong = [number for number, line in enumerate(SAMPLE.splitlines(), 1) if "  # " in line]
    told = [int(line.split(":")[1]) for line in run.stdout.splitlines() if ": error:" in line]
    assert sorted(set(told)) == wrong, run.stdout + run.stderr
