"""Fixtures for pytest, which finds them by the entry point `pytest11`.

| fixture | scope | what it is |
|---|---|---|
| `kafka` | a test | a clean broker in this process; `@pytest.mark.kafka(config={…}, data=…, act_as=…)` says more |
| `kafka_cluster` | a test | the same with three brokers |
| `kafka_async`, `kafka_cluster_async` | a test | the same two, awaited: for any plugin that runs coroutines |
| `kafka_proc` | the session | `stepdown serve` as a process; `--kafka-security SASL_SSL` has it ask who comes |
| `kafka_noproc` | the session | one that runs elsewhere, at `--kafka-bootstrap HOST:PORT` |

Its control port is named by `--kafka-control HOST:PORT`, with `--kafka-token`. With `--kafka-act-as 4.4` the brokers
of all other fixtures act as that release. All of these may stand in the ini file, as `kafka_bootstrap` and so on.

`data` is a log directory, or a function that is given a `Kafka` once and fills it; tests get copies of their own.
Nothing of a broker is imported before a test asks for one. A test that fails, or that ^C ends, shows what its brokers
did last.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .async_kafka import AsyncKafka
    from .kafka import Kafka
    from .templates import Templates

MARKER = (
    "kafka(brokers=1, racks=(), config={}, topics={}, data=None, security='PLAINTEXT', users={}, act_as=None, "
    "http=False): what the fixtures `kafka` and `kafka_cluster` begin with"
)
NOPROC = {
    "bootstrap": "HOST:PORT of the Kafka of the fixture `kafka_noproc`.",
    "control": "HOST:PORT of its control port, where it is stepdown's.",
    "token": "The token of its control port.",
}
SECURITY = (
    "Security protocol of the fixture `kafka_proc`: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL; users log in as alice."
)
ACT_AS = "Release of Kafka that the brokers of the fixtures act as, such as 4.4, where a test does not say another one."
OWN = frozenset({"kafka", "kafka_cluster"})
SHARED = frozenset({"kafka_proc", "kafka_noproc"})
BROKERS = OWN | SHARED
FOR_OWN = "@pytest.mark.kafka is for the fixtures kafka, kafka_cluster, kafka_async and kafka_cluster_async"
INSTEAD_OF_MARKER = {
    "kafka_noproc": "kafka_noproc is a Kafka that was started elsewhere, with its own settings",
    "kafka_proc": "kafka_proc is one for the session: --kafka-security and --kafka-act-as say how it begins",
}
"""The hint for a test that has the marker, but only this fixture."""
INTERRUPTED = pytest.StashKey[list[tuple[str, str]]]()
"""The last events of brokers in a test that ^C ended."""
UNFIRED = pytest.StashKey[list[tuple[str, str]]]()
"""The same of a test whose faults never fired: its brokers are gone when pytest reports that."""
OPTIONS = frozenset({"act_as", "brokers", "config", "data", "http", "racks", "security", "topics", "users"})


def pytest_addoption(parser: pytest.Parser) -> None:
    for name, what in NOPROC.items():
        parser.addoption(f"--kafka-{name}", help=what)
        parser.addini(f"kafka_{name}", what, default="")
    parser.addoption("--kafka-security", help=SECURITY)
    parser.addini("kafka_security", SECURITY, default="PLAINTEXT")
    parser.addoption("--kafka-act-as", help=ACT_AS)
    parser.addini("kafka_act_as", ACT_AS, default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    _skip_assert_rewriting(config)
    for option, check in CHECKS.items():
        name, given = _option_name_and_value(config, option)
        try:
            if given:
                check(given)
        except ValueError as wrong:
            raise pytest.UsageError(f"{name}: {wrong}") from None


def _option_name_and_value(config: pytest.Config, option: str) -> tuple[str, str]:
    """Returns the name and value of an option, from the command line, or else from the ini file."""
    name = f"--kafka-{option}"
    if given := config.getoption(name):
        return name, str(given)
    name = f"kafka_{option.replace('-', '_')}"
    return name, str(config.getini(name))


def _option_value(config: pytest.Config, option: str) -> str:
    return _option_name_and_value(config, option)[1]


def _check_security(given: str) -> None:
    if given != "PLAINTEXT":
        from .security.secured_listener import check_protocol

        check_protocol(given)


def _check_release(given: str) -> None:
    from ..config.tables.stepdown import RELEASES

    if given not in RELEASES:
        raise ValueError(f"expected one of {', '.join(RELEASES)}, found {given!r}")


def _check_addresses(given: str) -> None:
    from ..config.keys.endpoints import parse_host_port

    for each in given.split(","):
        try:
            parse_host_port(each)
        except ValueError as expected:
            raise ValueError(f"expected {expected}, found {each!r}") from None


def _check_address(given: str) -> None:
    if "," in given:
        raise ValueError(f"expected one HOST:PORT, found {given!r}")
    _check_addresses(given)


CHECKS: Mapping[str, Callable[[str], None]] = {
    "security": _check_security,
    "act-as": _check_release,
    "bootstrap": _check_addresses,
    "control": _check_address,
}
"""Checks of option values before the first test; they raise ValueError."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    try:
        yield
    except KeyboardInterrupt:
        item.config.stash[INTERRUPTED] = _describe_last_events(item)
        raise


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Shows the last events of brokers in a test that ^C ended, since pytest has no report on it."""
    for title, text in config.stash.get(INTERRUPTED, []):
        terminalreporter.section(title, "-")
        terminalreporter.write_line(text)


def _skip_assert_rewriting(config: pytest.Config) -> None:
    """Keeps pytest from rewriting the asserts of this package, which it does for every module installed with a plugin.
    Without cached bytecode that takes seconds before the first test with a broker. There is no public way.
    """
    hook = config.pluginmanager.rewrite_hook
    getattr(hook, "_must_rewrite", set()).discard(__name__.partition(".")[0])
    getattr(hook, "_marked_for_rewrite_cache", {}).clear()


@pytest.fixture(scope="session")
def _kafka_templates() -> Iterator[Templates]:
    from .templates import Templates

    templates = Templates()
    yield templates
    templates.close()


@pytest.fixture
def kafka(request: pytest.FixtureRequest, _kafka_templates: Templates) -> Iterator[Kafka]:
    """A clean broker, with what the marker `kafka` asks for."""
    yield from _run_brokers(request, _kafka_templates, 1)


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest, _kafka_templates: Templates) -> Iterator[Kafka]:
    """A clean cluster of three brokers, or as many as the marker says."""
    yield from _run_brokers(request, _kafka_templates, 3)


@pytest.fixture
def kafka_async(kafka: Kafka) -> AsyncKafka:
    """`kafka` for a test that is a coroutine: every call is awaited."""
    return kafka.awaited


@pytest.fixture
def kafka_cluster_async(kafka_cluster: Kafka) -> AsyncKafka:
    """`kafka_cluster` for a test that is a coroutine."""
    return kafka_cluster.awaited


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Ends the traceback of a failure at the test's own line, and adds the last events of brokers."""
    if call.excinfo is not None and not item.config.getoption("fulltrace"):
        _shorten_traceback(call.excinfo.value)
    report = yield
    if report.failed:
        at_end = item.stash.get(UNFIRED, [])
        report.sections += _describe_last_events(item) if report.when == "call" else at_end
    return report


def _describe_last_events(item: pytest.Item) -> list[tuple[str, str]]:
    """Returns a title and a text for each broker fixture of the test that has events."""
    used = BROKERS.intersection(getattr(item, "fixturenames", ()))
    told = {name: _read_last_events(item, name) for name in sorted(used)}
    return [(f"{name}: what happened last", text) for name, text in told.items() if text]


def _shorten_traceback(failure: BaseException) -> None:
    """Removes the frames of this package after the test's last frame, if the failure is meant for the test."""
    package = __name__.partition(".")[0]
    is_own = type(failure).__module__.partition(".")[0] == package
    if not is_own and not isinstance(failure, AssertionError) and not _was_raised_by(failure, __package__ or ""):
        return
    if is_own:
        failure.__cause__, failure.__suppress_context__ = None, True
    found, last, entered = failure.__traceback__, None, False
    while found is not None:
        room = str(found.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if room == package:
            entered = True
        elif room not in sys.stdlib_module_names:
            last, entered = found, False
        found = found.tb_next
    if last is not None and entered:
        last.tb_next = None


def _was_raised_by(failure: BaseException, room: str) -> bool:
    *_, (frame, _) = traceback.walk_tb(failure.__traceback__)
    return str(frame.f_globals.get("__name__", "")).startswith(f"{room}.")


def _read_last_events(item: pytest.Item, name: str) -> str:
    from .control_client import ControlFailed

    control = getattr(getattr(item, "funcargs", {}).get(name), "control", None)  # others may have such a fixture, too
    try:
        return "" if control is None else "\n".join(control.ask("GET", "events/last")["lines"])
    except (ControlFailed, OSError) as fault:
        return str(fault)


def _run_brokers(request: pytest.FixtureRequest, templates: Templates, brokers: int) -> Iterator[Kafka]:
    from ..config import ConfigError
    from .running_brokers import running

    wanted = {"brokers": brokers, "act_as": _option_value(request.config, "act-as") or None, **_marker_options(request)}
    if callable(wanted.get("data")):
        wanted["data"] = templates.directory(wanted["data"], wanted["brokers"])
    with ExitStack() as stack:
        with _fail_with_message(ValueError, _place_of(request)):
            ready = running(**wanted)
        with _fail_with_message((ConfigError, ModuleNotFoundError), _place_of(request)):
            broker = stack.enter_context(ready)
        yield broker
        if not _is_interrupted(request):
            _check_faults(request, broker)


@pytest.fixture(autouse=True)
def _end_test_of_shared_kafka(request: pytest.FixtureRequest) -> Iterator[None]:
    """Resets faults, clock and stopped brokers of shared fixtures at the end of each test."""
    yield
    from .control_client import ControlFailed

    for name in () if _is_interrupted(request) else SHARED.intersection(request.fixturenames):
        broker = request.getfixturevalue(name)
        if broker.has_control:
            with _fail_with_message((AssertionError, ControlFailed, ConnectionError)):
                try:
                    _check_faults(request, broker)
                finally:
                    broker.end_test()


def _check_faults(request: pytest.FixtureRequest, broker: Kafka) -> None:
    """Fails the test for faults that never fired, and keeps its last events for the report."""
    with _fail_with_message(AssertionError):
        try:
            broker.faults.assert_fired()
        except AssertionError:
            request.node.stash[UNFIRED] = _describe_last_events(request.node)
            raise


def _is_interrupted(request: pytest.FixtureRequest) -> bool:
    """Whether ^C or pytest.exit ended the run in this test: a failing teardown would hide that."""
    return request.session.exitstatus == pytest.ExitCode.INTERRUPTED


@pytest.fixture(autouse=True)
def _check_marker(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test with a wrong marker `kafka`, or with one that no fixture of the test reads."""
    wanted = _marker_options(request)
    shared = sorted(SHARED.intersection(request.fixturenames))
    if wanted and shared and not OWN.intersection(request.fixturenames):
        pytest.fail(f"{_place_of(request)}{FOR_OWN}; {INSTEAD_OF_MARKER[shared[-1]]}", pytrace=False)
    yield
    # Not sooner: a fixture may be asked for by name. The marker of a module or a class is for some of its tests.
    is_its_own = any(marker.name == "kafka" and marker.kwargs for marker in request.node.own_markers)
    if is_its_own and not BROKERS.intersection(request.fixturenames) and not _is_interrupted(request):
        pytest.fail(f"{_place_of(request)}{FOR_OWN}; this test has none of them", pytrace=False)


@contextmanager
def _fail_with_message(kinds: type[Exception] | tuple[type[Exception], ...], place: str = "") -> Iterator[None]:
    """Turns exceptions of these kinds into a failure with the message alone: their frames are all of pytest."""
    try:
        yield
    except kinds as fault:
        raise pytest.fail.Exception(place + str(fault), pytrace=False) from None


def _place_of(request: pytest.FixtureRequest) -> str:
    """Returns "FILE:LINE: " of the test, for a message on its marker."""
    file, line, _ = request.node.location
    return f"{file}:{line + 1}: " if line is not None else f"{file}: "


@pytest.fixture(scope="session")
def kafka_proc(request: pytest.FixtureRequest) -> Iterator[Kafka]:
    """One broker process for the session: tests share its topics and groups."""
    from .process import RunningProcess

    security, act_as = (_option_value(request.config, option) for option in ("security", "act-as"))
    with ExitStack() as stack:
        with _fail_with_message((RuntimeError, ModuleNotFoundError)):
            broker = stack.enter_context(RunningProcess(security=security or "PLAINTEXT", act_as=act_as))
        yield broker


@pytest.fixture(scope="session")
def kafka_noproc(request: pytest.FixtureRequest) -> Iterator[Kafka]:
    """A Kafka, or stepdown, that runs elsewhere; it is an error where none is named."""
    from .control_client import ControlFailed, HttpControl
    from .elsewhere import connect

    bootstrap, control, token = (_option_value(request.config, option) for option in NOPROC)
    place = f"{_option_name_and_value(request.config, 'control')[0]} {control}: "
    if not bootstrap:
        pytest.fail("kafka_noproc needs --kafka-bootstrap HOST:PORT, or kafka_bootstrap in the ini file", pytrace=False)
    with connect(bootstrap, HttpControl(control, token) if control else None) as broker:
        if control:
            with _fail_with_message((ControlFailed, ConnectionError), place):
                broker.control.ask("GET", "clock")
        yield broker


def _marker_options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Returns the options of the markers; the closest one wins. Unknown ones fail the test."""
    wanted: dict[str, Any] = {}
    for marker in request.node.iter_markers("kafka"):
        unknown = marker.kwargs.keys() - OPTIONS
        if unknown or marker.args:
            found = ", ".join(sorted(unknown)) or "an argument without a name"
            told = f"@pytest.mark.kafka takes {', '.join(sorted(OPTIONS))}, not {found}{_suggest_option(unknown)}"
            pytest.fail(_place_of(request) + told, pytrace=False)
        wanted = {**marker.kwargs, **wanted}
    return wanted


def _suggest_option(unknown: Iterable[str]) -> str:
    from ..config.similar_names import suggest

    return next(filter(None, (suggest(name, sorted(OPTIONS)) for name in sorted(unknown))), "")
