"""docs/testing-with-stepdown.md: every recipe runs as it stands there."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from stepdown.bench.servers.ports import free_port
from stepdown.config import load
from stepdown.testing.running_brokers import Running
from stepdown.testing.scenarios.runner import run
from stepdown.testing.scenarios.scenario import parse
from support.clients_go import SOURCES as GO_CLIENTS
from support.clients_go import go, require_go
from support.deadline import DEADLINE_S, JOB_DEADLINE_S
from support.junit import compile_tests, run_tests
from support.maven import REPOSITORY_ROOT, skip_or_fail

PAGE = (Path(__file__).parents[2] / "docs" / "testing-with-stepdown.md").read_text()
RECIPES = re.findall(r"```python\n(.*?)```", PAGE, re.S)
(SCRIPT,) = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
(NODE,) = re.findall(r"```js\n(.*?)```", PAGE, re.S)
(GO,) = re.findall(r"```go\n(.*?)```", PAGE, re.S)
(JAVA,) = re.findall(r"```java\n(.*?)```", PAGE, re.S)
PACKAGES = REPOSITORY_ROOT / "distributions"
WITH_STEPDOWN = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
(COMPOSE, ACTIONS), (SCENARIO,) = map(yaml.safe_load, BLOCKS[:2]), BLOCKS[2:]


def test_every_recipe_is_a_test_that_passes(tmp_path: Path) -> None:
    for number, recipe in enumerate(RECIPES, 1):
        (tmp_path / f"test_recipe_{number}.py").write_text(recipe)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=JOB_DEADLINE_S,
    )
    assert done.returncode == 0, done.stdout
    tests = sum(len(re.findall(r"^(?:async )?def test_", recipe, re.M)) for recipe in RECIPES)
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) >= tests


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_control_port_is_used_by_curl() -> None:
    running = Running(config={"stepdown.control.listen": "127.0.0.1:0"})
    with running:
        environment = os.environ | {"CONTROL": running.control_address}
        done = subprocess.run(
            ["sh", "-e", "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=DEADLINE_S
        )
    assert done.returncode == 0, done.stderr
    assert '"now_ms"' in done.stdout and '"unfired"' in done.stdout


def test_node_runs_its_recipe(tmp_path: Path) -> None:
    if shutil.which("node") is None:
        skip_or_fail("Node is not installed")
    (tmp_path / "orders.test.js").write_text(NODE)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "stepdown").symlink_to(PACKAGES / "node")
    done = subprocess.run(
        ["node", "--test"], cwd=tmp_path, env=WITH_STEPDOWN, capture_output=True, text=True, timeout=DEADLINE_S
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"pass 2\b", done.stdout)


@pytest.mark.java
def test_junit_runs_its_recipe(tmp_path: Path) -> None:
    (tmp_path / "OrdersTest.java").write_text(JAVA)
    printed = run_tests(compile_tests(tmp_path), WITH_STEPDOWN)
    assert "1 tests successful" in printed, printed


def test_go_runs_its_recipe(tmp_path: Path) -> None:
    require_go()
    (tmp_path / "orders_test.go").write_text(GO)
    for name in ("go.mod", "go.sum"):  # franz-go, as the tests have it anyway
        shutil.copy(GO_CLIENTS / name, tmp_path)
    go(["mod", "edit", "-require=stepdown@v0.0.0", f"-replace=stepdown={PACKAGES / 'go'}"], tmp_path)
    printed = go(["test", "-count=1", "-v"], tmp_path, **WITH_STEPDOWN)
    assert "--- PASS: TestAMovedLeaderIsNoFailure" in printed, printed


def test_the_settings_for_compose_are_settings() -> None:
    settings = load(None, COMPOSE["services"]["kafka"]["environment"]).settings
    assert str(settings.stepdown_control_listen) == "0.0.0.0:9100"
    assert settings.stepdown_control_token == "for-tests"


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_step_for_actions_starts_a_broker(tmp_path: Path) -> None:
    (step,) = (each["run"] for each in ACTIONS["jobs"]["test"]["steps"] if "serve" in each.get("run", ""))
    kafka, control = free_port(), free_port()
    environment = WITH_STEPDOWN | {
        "KAFKA": f"127.0.0.1:{kafka}",
        "CONTROL": f"127.0.0.1:{control}",
        "RUNNER_TEMP": str(tmp_path),
    }
    try:
        done = subprocess.run(
            ["sh", "-e", "-c", f"{step}\necho $! > {tmp_path}/pid"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
        assert done.returncode == 0, done.stderr + (tmp_path / "kafka.log").read_text()
        assert '"faults"' in done.stdout
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGTERM)


async def test_the_scenario_goes_as_expected() -> None:
    result = await run(parse(SCENARIO, "the page"))
    assert result.failure == "", "\n".join(result.lines)
