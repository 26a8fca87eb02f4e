"""Fixtures that any room's tests may ask for."""

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from support.java_oracle import JavaOracle, java_oracle_for
from support.schedule import LongestFirst, place_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEEDS = "hypothesis is missing; the tests of stepdown need more than [testing]: pip install -e '.[test]'"
FOLDER = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Processes of tests have a folder for temporary files that goes with the tests: killed ones leave theirs there.

    Workers of xdist have that of the process that starts them. ^C ends processes of tests also where the tests run in
    the background of a shell, which has them ignore it: one waited for it without end.
    """
    _configure_hypothesis(config)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput"):
        return
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())  # `tmp_path` stays for who looks at failures
    folder = config.stash[FOLDER] = tempfile.mkdtemp(prefix="stepdown-tests-")
    os.environ["TMPDIR"] = tempfile.tempdir = folder


def _configure_hypothesis(config: pytest.Config) -> None:
    """Raises: UsageError where it is not installed, as with `[testing]` alone."""
    try:
        from hypothesis import HealthCheck, settings
    except ModuleNotFoundError:
        raise pytest.UsageError(NEEDS) from None
    # A busy machine is no fault of an example.
    settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("any machine")
    # Told when a failing example is shown, which it would hide. pyproject.toml is read where there is no hypothesis.
    too_large = "ignore:Generating overly large repr:hypothesis.errors.HypothesisWarning"
    config.addinivalue_line("filterwarnings", too_large)


def pytest_unconfigure(config: pytest.Config) -> None:
    if FOLDER in config.stash:
        shutil.rmtree(config.stash[FOLDER], ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that ask for Spark; those of long files come first."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    places = {path: place_of(path) for path in {item.path for item in items}}
    items.sort(key=lambda item: places[item.path])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LongestFirst | None:
    """With `--dist loadfile`: files stay together, the longest first."""
    return LongestFirst(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def java_oracle() -> Callable[..., JavaOracle]:
    """Return `java_oracle(room)`: Kafka's own classes behind `call(command, payload)`; skips where Java is missing."""
    return java_oracle_for


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """A local Spark with both data sources, and with the jars for Kafka and Delta where they can be had."""
    from support.spark import start_spark

    session = start_spark(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
