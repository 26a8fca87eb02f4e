"""docs/client.md: its example runs, and it names every method of the admin clients."""

import asyncio
import inspect
import re
from pathlib import Path

import pytest
from stepdown.client import Admin
from support.running import running_broker

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "client.md").read_text()


async def test_the_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    async with running_broker(tmp_path / "data") as broker:
        text = example.replace("127.0.0.1:9092", str(broker.address))
        await asyncio.to_thread(exec, compile(text, "docs/client.md", "exec"), {})
    assert capsys.readouterr().out.splitlines()[:2] == ["invoices created", "['invoices']"]


def test_every_method_is_named() -> None:
    methods = {name for name, value in vars(Admin).items() if inspect.isfunction(value) and name != "__init__"}
    assert methods == set(re.findall(r"`(\w+)`", PAGE.split("| | |")[1].split("\n\n")[0]))
