"""The image's own steps, run as a script in a clean prefix and started as the image starts."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from stepdown.bench.servers.ports import free_port
from support.clients_raw import Raw, wait_until
from support.deadline import DEADLINE_S
from support.docker_files import DOCKER, dockerfile, exec_form, image_environment

ROOT = DOCKER.parent
NOBODY = 65534


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first stage leaves in /opt/stepdown; built from a copy of what .dockerignore lets through."""
    folder = tmp_path_factory.mktemp("image")
    folder.parent.chmod(0o755)
    folder.chmod(0o755)
    source, built = folder / "src", folder / "opt"
    ignored = [line for line in (ROOT / ".dockerignore").read_text().split() if line]
    patterns = [pattern.rpartition("/")[2] for pattern in ignored]
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*patterns), symlinks=True)
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "PYTHON": _python_for_all()}
    environ |= {name: os.environ[name] for name in os.environ if name.startswith("PIP_") or name.endswith("_proxy")}
    subprocess.run([source / "docker/build.sh", built], env=environ, check=True, cwd="/")
    shutil.copy(DOCKER / "healthcheck.py", built / "healthcheck.py")
    return built


class Container:
    """The image's process, as far as one can be had without an engine: its environment, command and user."""

    def __init__(self, prefix: Path, home: Path) -> None:
        home.mkdir()
        home.chmod(0o777)
        for parent in home.parents[:3]:
            parent.chmod(parent.stat().st_mode | 0o055)
        self.port, http = free_port(), free_port()
        self.environ = image_environment() | {
            "PATH": f"{prefix}/bin:/usr/bin:/bin",
            "KAFKA_LISTENERS": f"PLAINTEXT://127.0.0.1:{self.port}",
            "KAFKA_ADVERTISED_LISTENERS": f"PLAINTEXT://127.0.0.1:{self.port}",
            "KAFKA_LOG_DIRS": str(home / "data"),
            "STEPDOWN_HTTP_LISTEN": f"127.0.0.1:{http}",
        }
        command = [*exec_form(dockerfile("ENTRYPOINT")[0]), *exec_form(dockerfile("CMD")[0])]
        self.process = subprocess.Popen(
            [str(prefix / "bin" / command[0]), *command[1:]],
            env=self.environ,
            cwd="/",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            user=_other_user(prefix),
        )

    def healthcheck(self, prefix: Path) -> int:
        check = exec_form(dockerfile("HEALTHCHECK")[0])
        script = prefix / Path(check[1]).name
        done = subprocess.run([str(prefix / "bin" / check[0]), str(script)], env=self.environ, capture_output=True)
        return done.returncode


@pytest.fixture
def container(prefix: Path, tmp_path: Path) -> Iterator[Container]:
    started = Container(prefix, tmp_path / "home")
    yield started
    started.process.kill()
    started.process.communicate()


def test_the_image_has_the_compiled_kernel_and_no_installer(prefix: Path) -> None:
    script = "from stepdown.protocol.records import kernel; print(kernel.COMPILED)"
    done = subprocess.run([prefix / "bin/python", "-c", script], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout == "True\n"
    assert subprocess.run([prefix / "bin/python", "-m", "pip"], capture_output=True).returncode != 0


def test_a_container_serves_is_healthy_and_stops_cleanly(container: Container, prefix: Path) -> None:
    assert container.process.stdout is not None
    assert container.process.stdout.readline().startswith(f"stepdown listening on 127.0.0.1:{container.port}")
    wait_until(lambda: container.healthcheck(prefix) == 0, "the health check is content")
    with Raw(f"127.0.0.1:{container.port}") as client:
        assert client.brokers() == [f"127.0.0.1:{container.port}"]
        assert client.create_topic("orders") == 0
    container.process.send_signal(signal.SIGTERM)
    _, log = container.process.communicate(timeout=DEADLINE_S)
    assert container.process.returncode == 0, log
    assert (Path(container.environ["KAFKA_LOG_DIRS"]) / "orders-0").is_dir()


def test_a_broker_that_is_gone_is_not_healthy(container: Container, prefix: Path) -> None:
    assert container.process.stdout is not None
    container.process.stdout.readline()
    container.process.kill()
    container.process.wait()
    assert container.healthcheck(prefix) == 1


def _python_for_all() -> str:
    """The system's Python if an image could be built with it, since other users can run it; else our own."""
    script = (
        "import ensurepip, pathlib, sys, sysconfig; assert sys.version_info >= (3, 11);"
        "assert pathlib.Path(sysconfig.get_paths()['include'], 'Python.h').exists()"
    )
    system = "/usr/bin/python3"
    try:
        usable = subprocess.run([system, "-c", script], capture_output=True).returncode == 0
    except OSError:
        usable = False
    return system if usable else sys.executable


def _other_user(prefix: Path) -> int | None:
    """Nobody, as far as this machine lets nobody run this Python; None: the tests' own user."""
    if os.getuid() != 0:
        return None
    try:
        subprocess.run([prefix / "bin/python", "-c", ""], user=NOBODY, check=True, cwd="/")
    except (OSError, subprocess.CalledProcessError):
        return None
    return NOBODY
