"""The producer's own distribution: built, installed alone in a fresh environment, and the programs of its page run."""

import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.broker import Stepdown

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "distributions" / "producer"
PROGRAMS = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.S)
MOST_BYTES, MOST_IMPORT_S = 20_000_000, 0.15

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of an environment that has the wheel and nothing else."""
    wheels, environment = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, HERE / "build.py", wheels], check=True)
    venv.create(environment, with_pip=True)
    [wheel] = wheels.glob("stepdown_producer-*.whl")
    found = environment / "bin" / "python"
    subprocess.run([found, "-m", "pip", "install", "--quiet", "--no-index", wheel], check=True)
    return found


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stepdown]:
    with Stepdown(tmp_path_factory.mktemp("broker")) as broker:
        broker.create_topic("events")
        yield broker


def run(python: Path, program: str) -> str:
    done = subprocess.run([python, "-I", "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_small_and_holds_no_broker(python: Path) -> None:
    [package] = python.parents[1].glob("lib/python*/site-packages/stepdown")
    assert sum(path.stat().st_size for path in package.rglob("*") if path.is_file()) < MOST_BYTES
    assert {path.name for path in package.iterdir() if path.is_dir()} - {"__pycache__"} == {
        "producer",
        "protocol",
        "config",
    }


def test_its_import_takes_little_time(python: Path) -> None:
    program = "import time; began = time.process_time(); import stepdown.producer; print(time.process_time() - began)"
    assert min(float(run(python, program)) for _ in range(5)) < MOST_IMPORT_S


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_the_programs_of_its_page_run(python: Path, broker: Stepdown, number: int) -> None:
    assert "localhost:9092" in PROGRAMS[number]
    run(python, PROGRAMS[number].replace("localhost:9092", broker.address))


def test_what_is_sent_goes_the_compiled_way(python: Path) -> None:
    assert run(python, "from stepdown.producer import fast_path; print(fast_path.COMPILED)") == "True\n"


def test_a_codec_that_is_not_installed_is_told_when_it_is_asked_for(python: Path) -> None:
    program = "from stepdown.producer import Producer; Producer('127.0.0.1:1', compression='lz4')"
    done = subprocess.run([python, "-I", "-c", program], capture_output=True, text=True)
    assert "pip install 'stepdown-producer[compression]'" in done.stderr
