"""The wheel of `make wheel`, in an environment that has no compiler and no sources."""

import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from support.readme import README, blocks

pytestmark = pytest.mark.wheel
ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of a fresh environment with the newest wheel."""
    wheel = max(DIST.glob("stepdown-*.whl"), key=lambda path: path.stat().st_mtime)
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    without_compiler = {**os.environ, "CC": "/bin/false", "CXX": "/bin/false"}
    command = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", wheel]
    subprocess.run(command, check=True, env=without_compiler, cwd=folder)
    return folder / "bin"


def test_it_is_tagged_for_any_linux_of_its_c_library() -> None:
    wheel = max(DIST.glob("stepdown-*.whl"), key=lambda path: path.stat().st_mtime)
    assert "manylinux" in wheel.name
    assert f"cp{sys.version_info.major}{sys.version_info.minor}" in wheel.name


def test_its_modules_are_compiled(installed: Path, tmp_path: Path) -> None:
    tracked = subprocess.run(
        ["git", "grep", "-l", "^# cython:", "--", "*.py"], capture_output=True, text=True, cwd=ROOT
    )
    modules = ["stepdown." + path.removesuffix(".py").replace("/", ".") for path in tracked.stdout.split()]
    assert "stepdown.protocol.records.kernel.down" in modules
    program = (
        "import importlib, sys; print(*(importlib.import_module(name).__file__ for name in sys.argv[1:]), sep='\\n')"
    )
    found = subprocess.run(
        [installed / "python", "-c", program, *modules], capture_output=True, text=True, cwd=tmp_path
    )
    files = found.stdout.split()
    assert len(files) == len(modules), found.stderr
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    assert [file for file in files if not file.endswith(suffix)] == []


def test_it_serves_what_its_own_commands_write_and_read(installed: Path, tmp_path: Path) -> None:
    program = installed / "stepdown"
    serve = [program, "serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--log-dir", tmp_path / "data"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as broker:
        assert broker.stdout is not None
        address = broker.stdout.readline().split()[3].rstrip(",")
        where = ["--bootstrap-server", address]
        subprocess.run([program, "produce", "events", *where], input=b"one\ntwo\n", check=True, cwd=tmp_path)
        read = [program, "consume", "events", *where, "--from-beginning", "--until-end"]
        assert subprocess.run(read, check=True, capture_output=True, cwd=tmp_path).stdout == b"one\ntwo\n"
        broker.terminate()
    assert broker.returncode == 0


def test_the_program_of_readme_needs_what_readme_names(installed: Path, tmp_path: Path) -> None:
    """It ended with a missing lz4, cramjam and xxhash in an environment of its own."""
    (named,) = re.findall(r"`pip install (aiokafka [^`]+)`", README)
    program = next(block for block in blocks("python") if "KafkaConsumer" in block)
    folder = tmp_path / "environment"
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", *named.split()], check=True)
    serve = [installed / "stepdown", "serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    with subprocess.Popen([*serve, "--log-dir", tmp_path / "data"], stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        address = broker.stdout.readline().split()[3].rstrip(",")
        command = [folder / "bin" / "python", "-c", program.replace("127.0.0.1:9092", address)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        broker.terminate()
    assert done.stdout == "0 b'event 0'\n1 b'event 1'\n2 b'event 2'\n", done.stderr


MYPY = """
[mypy]
strict = true
[mypy-kafka.*,aiokafka.*]
ignore_missing_imports = true
"""


def test_the_recipes_for_tests_have_types(installed: Path, tmp_path: Path) -> None:
    """`stepdown.running()` was Any to mypy, and misspelt names of faults passed."""
    page = (ROOT / "docs" / "testing-with-stepdown.md").read_text()
    for number, recipe in enumerate(re.findall(r"```python\n(.*?)```", page, re.S)):
        (tmp_path / f"test_recipe_{number}.py").write_text(recipe)
    (tmp_path / "wrong.py").write_text(
        "import stepdown\nwith stepdown.running() as kafka:\n    kafka.faults.drop(topc='t')\n    kafka.produce(5)\n"
    )
    (tmp_path / "mypy.ini").write_text(MYPY)
    packages = installed.parent / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    (packages / "clients.pth").write_text(sysconfig.get_path("purelib"))  # the clients that the recipes use, and pytest
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--python-executable", installed / "python"]
    done = subprocess.run([*command, "."], cwd=tmp_path, capture_output=True, text=True)
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(errors) == 2 and all(line.startswith("wrong.py:") for line in errors), done.stdout + done.stderr
