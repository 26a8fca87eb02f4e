"""What README shows is what happens: its programs and commands are run, and what it says they print is compared."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaConsumer
from stepdown.bench.servers.process import Process
from support.broker import Stepdown
from support.readme import ROOT, blocks, commands

ADDRESS = "127.0.0.1:9092"
LISTENING = re.compile(r"listening on (\S+:\d+), http (\S+:\d+)")
PROGRAMS = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Stepdown]:
    with Stepdown(tmp_path / "broker") as running:
        yield running


class Serving:
    """A command of README that goes on, on free ports, from `folder`."""

    def __init__(self, command: str, folder: Path, **environment: str) -> None:
        arguments = ["env", "-C", str(folder), *(f"{name}={value}" for name, value in environment.items())]
        arguments += [sys.executable, "-m", *command.split()]
        self._process = Process(arguments, folder / "serving.err", pipe_stdout=True)

    def __enter__(self) -> tuple[str, str]:
        """Return the addresses of Kafka and of HTTP."""
        assert self._process.popen.stdout is not None
        ready = LISTENING.search(self._process.popen.stdout.readline().decode())
        assert ready is not None, self._process.log_tail
        return ready[1], ready[2]

    def __exit__(self, *fault: object) -> None:
        assert self._process.stop() == 0, self._process.log_tail


def run(command: str, folder: Path, bootstrap: str = ADDRESS) -> str:
    """Return what it prints, run by a shell from `folder`."""
    environment = PROGRAMS | {"STEPDOWN_BOOTSTRAP": bootstrap}
    shell = ["bash", "-e", "-o", "pipefail", "-c", command]
    done = subprocess.run(shell, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_old_client_reads_what_a_modern_one_wrote(broker: Stepdown, tmp_path: Path) -> None:
    program = next(block for block in blocks("python") if "KafkaConsumer" in block).replace(ADDRESS, broker.address)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == next(block for block in blocks("text") if block.startswith("0 b'")), done.stderr


def test_records_go_through_the_commands(broker: Stepdown, tmp_path: Path) -> None:
    (shown,) = (block for block in blocks("sh") if "printf" in block)
    assert run(shown, tmp_path, broker.address) == "0 0 k1=v1\n0 1 k2=null\n"


def test_a_broker_for_a_test_comes_from_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_orders.py").write_text(next(block for block in blocks("python") if "(kafka)" in block))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert "1 passed" in done.stdout, done.stdout


def test_an_appliance_is_behind_the_gateway_and_in_the_report(broker: Stepdown, tmp_path: Path) -> None:
    gateway, report = commands("stepdown gateway")
    here = gateway.replace("kafka-1:9092,kafka-2:9092", broker.address)
    here = here.replace("0.0.0.0:9092", "0.0.0.0:0").replace("127.0.0.1:9464", "127.0.0.1:0")
    here = here.replace("gateway.example", "127.0.0.1")
    with Serving(here, tmp_path, STEPDOWN_GATEWAY_FIRST_PORT="0") as (address, http):
        reached = address.replace("0.0.0.0", "127.0.0.1")
        appliance = KafkaConsumer(bootstrap_servers=reached, api_version=(0, 9), client_id="appliance")
        assert appliance.topics() == set()
        appliance.close()
        assert "appliance" in run(report.replace("127.0.0.1:9464", http), tmp_path)


def test_an_old_directory_is_served_adopted_and_exported(tmp_path: Path) -> None:
    with Stepdown(tmp_path) as before:
        run("printf 'one\\ntwo\\n' | stepdown produce orders", tmp_path, before.address)
    shutil.rmtree(before.log_dir / "__cluster_metadata-0")  # as of ZooKeeper's time
    before.log_dir.rename(tmp_path / "old-data")
    serve, export, preview = commands("stepdown serve")
    with Serving(f"{serve} --listen 127.0.0.1:0 --http 127.0.0.1:0", tmp_path) as (address, _):
        assert "settings.unknown" in run("stepdown topics describe orders", tmp_path, address)
        run(export, tmp_path, address)
        assert "would delete 0 records" in run(preview, tmp_path, address)
        run(preview.replace(" --dry-run", ""), tmp_path, address)
        assert "settings.unknown" not in run("stepdown topics describe orders", tmp_path, address)
    lines = (tmp_path / "orders.jsonl").read_text().splitlines()
    assert [json.loads(line)["value"] for line in lines] == ["one", "two"]


def test_what_is_installed_from_a_clone_is_an_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    shown = re.findall(r"pip install '\.\[(\w+)\]'", (ROOT / "README.md").read_text())
    assert shown and set(shown) <= extras.keys()
