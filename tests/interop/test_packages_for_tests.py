"""distributions/junit, go and node: their own tests, and what becomes of brokers whose program is killed."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from stepdown.bench.servers.kafka import join_paths
from stepdown.broker.http.openapi import OVER_HTTP
from support.clients_go import go, require_go
from support.deadline import DEADLINE_S, JOB_DEADLINE_S
from support.gateway_workers import children_of
from support.junit import RUNNING, RUNNING_6, SOURCES, compile_tests, run_tests
from support.maven import REPOSITORY_ROOT, require_java, skip_or_fail
from support.process_end import ending

PACKAGES = REPOSITORY_ROOT / "distributions"
OURS = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
IMAGE = "stepdown:of-this-test"
DOCKER = f"""#!/bin/sh
# In docker's place: what the container would run, at the ports that it would publish.
echo "$@" > "$0.asked"
while [ "$1" != {IMAGE} ]; do shift; done
shift
exec stepdown "$@"
"""
JAVA = """
public class Hold {
    public static void main(String[] arguments) throws Exception {
        System.out.println(stepdown.junit.Kafka.start(new stepdown.junit.Options()).bootstrap());
        Thread.sleep(Long.MAX_VALUE);
    }
}
"""
GO = """
package orders

import (
	"fmt"
	"stepdown"
	"testing"
	"time"
)

func TestHold(t *testing.T) {
	fmt.Println(stepdown.Start(t).Bootstrap)
	time.Sleep(time.Hour)
}
"""
NODE = """
const { startKafka } = require(process.argv[1]);
startKafka().then((kafka) => {
  console.log(kafka.bootstrap);
  setInterval(() => {}, 1e6);
});
"""


def require_node() -> None:
    if shutil.which("node") is None:
        skip_or_fail("Node is not installed")


@pytest.mark.java
@pytest.mark.parametrize(
    "coordinates",
    [pytest.param(RUNNING, id="JUnit 5"), pytest.param(RUNNING_6, id="JUnit 6", marks=pytest.mark.slow)],
)
def test_the_package_for_junit_passes_its_tests(coordinates: Sequence[str]) -> None:
    """It is compiled beside JUnit 5; Spring Boot 4 comes with JUnit 6."""
    printed = run_tests(compile_tests(SOURCES / "test", coordinates), os.environ | OURS)
    assert re.search(r"\[ +2\d tests successful", printed), printed


@pytest.mark.slow
@pytest.mark.java
def test_maven_builds_the_package_for_junit_and_runs_its_tests(tmp_path: Path) -> None:
    """As `mvn install` does, with what Maven fetches for that."""
    require_java()
    module = shutil.copytree(PACKAGES / "junit", tmp_path / "junit")
    done = subprocess.run(
        ["mvn", "-B", "-q", "package"],
        cwd=module,
        env=os.environ | OURS,
        capture_output=True,
        text=True,
        timeout=JOB_DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    for jar in ("stepdown-junit-0.1.0.jar", "stepdown-junit-0.1.0-sources.jar"):
        assert (module / "target" / jar).is_file()
    assert len(list((module / "target" / "surefire-reports").glob("*.xml"))) == 3


def test_the_package_for_go_passes_its_tests() -> None:
    require_go()
    printed = go(["test", "-count=1", "-v", "."], PACKAGES / "go", **OURS)
    assert re.search(r"^ok\s+stepdown", printed, re.M), printed
    assert len(re.findall(r"^--- PASS", printed, re.M)) == 8, printed


def test_the_package_for_node_passes_its_tests() -> None:
    require_node()
    done = subprocess.run(
        ["node", "--test"],
        cwd=PACKAGES / "node",
        env=os.environ | OURS,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"^# pass 10\b", done.stdout, re.M), done.stdout


def in_java(folder: Path) -> list[str]:
    (folder / "Hold.java").write_text(JAVA)
    return ["java", "-cp", join_paths(compile_tests(SOURCES / "test")), str(folder / "Hold.java")]


def in_go(folder: Path) -> list[str]:
    require_go()
    (folder / "go.mod").write_text(
        f"module orders\n\ngo 1.21\n\nrequire stepdown v0.0.0\n\nreplace stepdown => {PACKAGES / 'go'}\n"
    )
    (folder / "hold_test.go").write_text(GO)
    printed = go(["test", "-c", "-o", "hold"], folder)
    assert (folder / "hold").exists(), printed
    return [str(folder / "hold"), "-test.run=Hold"]


def in_node(folder: Path) -> list[str]:
    require_node()
    return ["node", "-e", NODE, str(PACKAGES / "node")]


@pytest.mark.parametrize("from_image", [False, True], ids=["from PATH", "from an image"])
@pytest.mark.parametrize(
    "program", [pytest.param(in_java, marks=pytest.mark.java, id="java"), pytest.param(in_go, id="go"), in_node]
)
def test_nothing_is_left_of_a_broker_whose_program_is_killed(
    program: Callable[[Path], list[str]], from_image: bool, tmp_path: Path
) -> None:
    environment = os.environ | OURS | {"TMPDIR": str(tmp_path)}
    docker = tmp_path / "docker"
    if from_image:
        docker.write_text(DOCKER)
        docker.chmod(0o755)
        environment |= {"STEPDOWN_IMAGE": IMAGE, "PATH": f"{tmp_path}{os.pathsep}{OURS['PATH']}"}
    command = program(tmp_path)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        host, _, port = process.stdout.readline().strip().rpartition(":")
        socket.create_connection((host, int(port)), DEADLINE_S).close()
        assert len(list(tmp_path.glob("stepdown-*"))) == 1
        (broker,) = children_of(process.pid)
        with ending(broker):
            process.kill()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), DEADLINE_S)
    assert list(tmp_path.glob("stepdown-*")) == []
    if from_image:
        asked = Path(f"{docker}.asked").read_text()
        assert asked.startswith("run --rm --interactive --env STEPDOWN_ACT_AS --publish 127.0.0.1:")


@pytest.mark.parametrize("file", ["junit/src/main/java/stepdown/junit/Faults.java", "go/faults.go", "node/faults.js"])
def test_each_package_arms_every_kind_of_fault(file: str) -> None:
    armed = re.findall(r"arm\(\"(\w+)\"", (PACKAGES / file).read_text())
    assert sorted(armed) == sorted(kind.kind for kind in OVER_HTTP)
