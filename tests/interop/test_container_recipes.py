"""docs/testing-with-stepdown.md: the recipes for Testcontainers compile. Nothing here has docker to run them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.clients_go import go, require_go
from support.deadline import JOB_DEADLINE_S
from support.junit import compile_tests
from support.maven import REPOSITORY_ROOT, skip_or_fail
from support.thirty_tests import CONTAINERS

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "testing-with-stepdown.md").read_text()
GO_MODULE = "github.com/testcontainers/testcontainers-go@v0.38.0"
PYTHON_PACKAGE = "testcontainers==4.13.3"


def recipe(language: str) -> str:
    (found,) = re.findall(rf"```{language} fragment\n(.*?testcontainers.*?)```", PAGE, re.S)
    return str(found)


@pytest.mark.java
def test_the_recipe_in_java_compiles(tmp_path: Path) -> None:
    folder = tmp_path / "recipe-with-containers"
    folder.mkdir()
    (folder / "StepdownContainer.java").write_text(recipe("java"))
    assert (compile_tests(folder, CONTAINERS)[0] / "StepdownContainer.class").is_file()


def test_the_recipe_in_go_compiles(tmp_path: Path) -> None:
    require_go()
    (tmp_path / "orders_test.go").write_text(recipe("go"))
    (tmp_path / "go.mod").write_text("module orders\n\ngo 1.26.0\n")
    printed = go(["get", GO_MODULE], tmp_path)
    if "testcontainers-go v0.38.0" not in (tmp_path / "go.mod").read_text():
        skip_or_fail(f"{GO_MODULE} cannot be had: {printed[-500:]}")
    go(["mod", "tidy"], tmp_path)
    assert go(["vet", "."], tmp_path) == ""


def test_the_recipe_in_python_has_its_types(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(packages), PYTHON_PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=JOB_DEADLINE_S, check=False)
    if done.returncode:
        skip_or_fail(f"pip cannot get {PYTHON_PACKAGE}: {done.stderr[-500:]}")
    (packages / "typing_extensions.py").unlink()  # mypy has its own
    (packages / "stepdown").symlink_to(REPOSITORY_ROOT)
    (tmp_path / "conftest.py").write_text(recipe("python"))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "conftest.py"],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(packages)},
        capture_output=True,
        text=True,
        timeout=JOB_DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
