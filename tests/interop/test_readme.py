"""What README shows is what happens: its programs and commands are run, and what it says they print is compared."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.broker import Stepdown

README = (Path(__file__).parents[2] / "README.md").read_text()
ADDRESS = "127.0.0.1:9092"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Stepdown]:
    with Stepdown(tmp_path / "broker") as running:
        yield running


def test_an_old_client_reads_what_a_modern_one_wrote(broker: Stepdown, tmp_path: Path) -> None:
    program = next(block for block in blocks("python") if "KafkaConsumer" in block).replace(ADDRESS, broker.address)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == next(block for block in blocks("text") if block.startswith("0 b'")), done.stderr


def test_records_go_through_the_commands(broker: Stepdown, tmp_path: Path) -> None:
    (commands,) = blocks("sh")
    here = commands.replace("produce ", f"produce -b {broker.address} ").replace(
        "consume ", f"consume -b {broker.address} "
    )
    programs = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-e", "-c", here], capture_output=True, text=True, cwd=tmp_path, env=programs)
    assert done.stdout == "0 0 k1=v1\n0 1 k2=null\n", done.stderr


def test_a_broker_for_a_test_comes_from_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_orders.py").write_text(next(block for block in blocks("python") if "(kafka)" in block))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert "1 passed" in done.stdout, done.stdout
