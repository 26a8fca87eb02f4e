"""kafka-python's own integration tests, from the source distribution that PyPI has."""

import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

from .deadline import JOB_DEADLINE_S
from .maven import skip_or_fail

KAFKA_PYTHON = "kafka-python==3.0.12"
OPTIONS = ("-p", "no:cacheprovider", "-o", "addopts=")


def kafka_python_suite(work: Path) -> Path:
    """The folder of its sources, with what its tests import and its source distribution leaves out."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "--dest", str(work)]
    done = subprocess.run([*command, KAFKA_PYTHON], capture_output=True, text=True, check=False)
    if done.returncode:
        skip_or_fail(f"pip cannot get {KAFKA_PYTHON}: {done.stderr.strip()}")
    (archive,) = work.glob("kafka*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(work, filter="data")
    (folder,) = (each for each in work.iterdir() if each.is_dir())
    (folder / "test" / "__init__.py").touch()
    (folder / "test" / "service.py").write_text(
        "class ExternalService:\n    def __init__(self, *place): pass\n    def dump_logs(self): pass\n\n\n"
        "class SpawnedService: pass\n"
    )
    return folder


def run_tests(
    folder: Path, names: Sequence[str], release: str, *options: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """What pytest did with the modules of these names; their clients speak as those of a `release` of Kafka do."""
    tests = [f"test/integration/test_{name}_integration.py" for name in names]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-v", *OPTIONS, *options, *tests],
        cwd=folder,
        env=os.environ | {"KAFKA_VERSION": release, "KAFKA_ROOT": str(folder), "PYTEST_ADDOPTS": ""} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=JOB_DEADLINE_S,
        check=False,
    )
