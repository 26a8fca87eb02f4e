"""docs/testing-with-stepdown.md: every recipe runs as it stands there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stepdown.testing.running import Running

PAGE = (Path(__file__).parents[2] / "docs" / "testing-with-stepdown.md").read_text()
RECIPES = re.findall(r"```python\n(.*?)```", PAGE, re.S)
(SCRIPT,) = re.findall(r"```sh\n(.*?)```", PAGE, re.S)


def test_every_recipe_is_a_test_that_passes(tmp_path: Path) -> None:
    assert len(re.findall(r"^## \d+\. ", PAGE, re.M)) == 12
    for number, recipe in enumerate(RECIPES, 1):
        (tmp_path / f"test_recipe_{number}.py").write_text(recipe)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTEST_ADDOPTS": ""}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout
    tests = sum(len(re.findall(r"^def test_", recipe, re.M)) for recipe in RECIPES)
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) >= tests


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_control_port_is_used_by_curl() -> None:
    running = Running(config={"stepdown.control.listen": "127.0.0.1:0"})
    with running:
        environment = os.environ | {"CONTROL": running.control_address}
        done = subprocess.run(["sh", "-e", "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert '"now_ms"' in done.stdout and '"unfired"' in done.stdout
