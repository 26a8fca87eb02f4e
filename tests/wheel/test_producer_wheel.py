"""The producer alone, of `make wheel-producer`, in an environment that has nothing else."""

import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.broker import BrokerProcess, Stepdown

pytestmark = pytest.mark.wheel
ROOT = Path(__file__).parents[2]
MOST_BYTES, MOST_MODULES = 20_000_000, 300
MODULES = "import sys; before = set(sys.modules); import stepdown.producer; print(*set(sys.modules) - before)"

EACH_CODEC = """
import asyncio, sys
from stepdown.producer import Producer

async def main():
    for codec in sys.argv[2:]:
        async with Producer(sys.argv[1], compression=codec) as producer:
            print((await producer.send("codecs", b"v" * 1000)).offset)

asyncio.run(main())
"""


def environment(folder: Path, extra: str = "") -> Path:
    """Python of a fresh environment that has the newest wheel, what it asks for, and no installer."""
    wheel = max((ROOT / "dist").glob("stepdown_producer-*.whl"), key=lambda path: path.stat().st_mtime)
    venv.create(folder)
    python = folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", f"{wheel}{extra}"]
    subprocess.run(install, check=True, cwd=folder)
    return python


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("environment"))


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    broker = Stepdown(tmp_path_factory.mktemp("broker"))
    broker.start()
    yield broker
    broker.stop()


def installed_bytes(python: Path) -> int:
    [packages] = (python.parents[1] / "lib").glob("python*/site-packages")
    return sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())


def test_it_is_small_and_has_no_broker(python: Path, tmp_path: Path) -> None:
    taken = installed_bytes(python)
    print(f"{taken / 1e6:.1f} MB")
    assert taken < MOST_BYTES
    [package] = python.parents[1].glob("lib/python*/site-packages/stepdown")
    rooms = {path.name for path in package.iterdir() if path.is_dir()} - {"__pycache__"}
    assert rooms == {"producer", "protocol", "config"}
    assert subprocess.run([python, "-c", "import stepdown.broker"], capture_output=True, cwd=tmp_path).returncode == 1


def test_it_imports_little(python: Path, tmp_path: Path) -> None:
    """How many milliseconds that takes is measured by `make times`."""
    run = subprocess.run([python, "-c", MODULES], capture_output=True, check=True, cwd=tmp_path, text=True)
    modules = run.stdout.split()
    print(len(modules))
    assert len(modules) <= MOST_MODULES
    assert not {"h11", "rich", "typer", "prometheus_client", "re2"} & set(modules)


def programs() -> list[str]:
    text = (ROOT / "distributions" / "producer" / "README.md").read_text()
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("program", programs(), ids=["send and wait", "send many"])
def test_the_programs_of_its_page_run(python: Path, broker: BrokerProcess, tmp_path: Path, program: str) -> None:
    assert "localhost:9092" in program
    program = program.replace("localhost:9092", broker.address)
    run = subprocess.run([python, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0 and not run.stderr, run.stderr


def test_what_is_sent_goes_the_compiled_way(python: Path, tmp_path: Path) -> None:
    program = "from stepdown.producer import delivery, fast_send; print(delivery.COMPILED and fast_send.COMPILED)"
    assert subprocess.run([python, "-c", program], capture_output=True, text=True, cwd=tmp_path).stdout == "True\n"


def test_a_codec_that_is_not_installed_is_told_when_it_is_asked_for(python: Path, tmp_path: Path) -> None:
    program = "from stepdown.producer import Producer; Producer('127.0.0.1:1', compression='lz4')"
    run = subprocess.run([python, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert "pip install 'stepdown-producer[compression]'" in run.stderr


def test_with_compression_it_has_every_codec(broker: BrokerProcess, tmp_path: Path) -> None:
    python = environment(tmp_path / "environment", "[compression]")
    print(f"{installed_bytes(python) / 1e6:.1f} MB")
    broker.create_topic("codecs")
    arguments = [broker.address, "gzip", "snappy", "lz4", "zstd"]
    run = subprocess.run([python, "-c", EACH_CODEC, *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert run.stdout.split() == ["0", "1", "2", "3"] and not run.stderr, run.stderr
