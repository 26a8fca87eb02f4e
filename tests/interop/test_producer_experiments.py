"""The experiments that reproduce KIP-480, KIP-126 and KIP-91 run to their end, with settings of a moment."""

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support.broker import BrokerProcess

QUESTIONS = Path(__file__).resolve().parents[2] / "bench" / "questions"
SMALL = {
    "kip480": ["--partitions", "1", "3", "--linger", "0", "20", "--seconds", "0.2"],
    "kip126": ["--records", "3000"],
    "kip91": ["--timeout", "400", "--request-timeout", "200", "--records", "40", "--pause", "1"],
}


def experiment(name: str) -> ModuleType:
    path = QUESTIONS / f"producer_{name}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


async def printed(name: str, broker: BrokerProcess, capfd: pytest.CaptureFixture[str]) -> list[str]:
    await asyncio.to_thread(experiment(name).main, [broker.address, *SMALL[name]])
    return capfd.readouterr().out.splitlines()


async def test_sticking_is_compared_with_round_robin(broker: BrokerProcess, capfd: pytest.CaptureFixture[str]) -> None:
    lines = await printed("kip480", broker, capfd)
    assert sum(line.startswith(("no ", "yes ")) for line in lines) == 2 * 2 * 2 * 3


async def test_only_who_estimates_has_to_split(broker: BrokerProcess, capfd: pytest.CaptureFixture[str]) -> None:
    lines = await printed("kip126", broker, capfd)
    splits = {tuple(line[:25].split()): int(line.split("%")[1].split()[0]) for line in lines if "%" in line}
    assert splits["estimate", "noise"]
    assert not splits["assume", "1.0", "noise"]


async def test_every_record_is_reported(broker: BrokerProcess, capfd: pytest.CaptureFixture[str]) -> None:
    lines = [line.split() for line in await printed("kip91", broker, capfd) if line.startswith(("stall", "gone"))]
    assert len(lines) == 4
    for line in lines:
        written, expired = int(line[2]), int(line[3].rstrip(":"))
        assert written + expired == 40
        assert line[-1] == "0"
