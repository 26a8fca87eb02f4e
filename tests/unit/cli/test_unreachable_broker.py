"""Where nobody answers, every command that asks a broker says so, with the same sentence."""

import json
import re
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from stepdown.cli.clients import report_page
from stepdown.cli.support import command_client
from stepdown.testing import control_client
from support.command import Finished, run_command
from support.command_tree import LEAVES, options_of
from support.deadline import DEADLINE_S, MOMENT_S
from support.silent_broker import SilentBroker

NEEDED: dict[str, tuple[object, ...]] = {
    "topics create": ("t",),
    "topics describe": ("t",),
    "topics delete": ("t",),
    "topics alter": ("t", "-p", 2),
    "topics adopt": ("--defaults",),
    "groups describe": ("g",),
    "groups delete": ("g",),
    "groups reset-offsets": ("g", "--to-earliest"),
    "transactions describe": ("t",),
    "transactions abort": ("t",),
    "acls add": ("--principal", "User:a", "--operation", "read", "--topic", "t"),
    "acls remove": ("--topic", "t"),
    "users set": ("u",),
    "users remove": ("u",),
    "offsets": ("t",),
    "delete-records": ("t", "--before", "end"),
    "configs describe": ("topic=t",),
    "configs alter": ("topic=t", "-c", "retention.ms=1"),
    "reassign execute": ("plan.json",),
    "reassign verify": ("plan.json",),
    "produce": ("t",),
    "consume": ("t", "-e"),
    "producer-perf": ("-t", "t"),
    "faults arm": ("error",),
    "faults wait": (1,),
    "faults release": (1,),
    "faults remove": (1,),
    "faults do": ("sync",),
    "clock advance": ("1s",),
}
"""What a command line has to hold."""
ASKED = {"--bootstrap-server": "broker", "--control": "control port", "--http": "http port"}
"""What is asked, by the option that names its address."""
SIGNALS = 5
MAIN_THREAD = threading.main_thread().ident or 0
ASKING = {words: option for option in ASKED for words in LEAVES if option in options_of(words)}


@pytest.fixture
def address() -> Iterator[str]:
    """Nobody listens there, and nobody else can take it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that NEEDED names."""
    monkeypatch.chdir(tmp_path)
    moved = {"topic": "t", "partition": 0, "replicas": [1]}
    Path("plan.json").write_text(json.dumps({"version": 1, "partitions": [moved]}))


def ask(words: tuple[str, ...], address: str) -> Finished:
    return run_command(*words, *NEEDED.get(" ".join(words), ()), ASKING[words], address, stdin=b"line\n")


def wait_for(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every command wait so long for an answer."""
    for module in (command_client, report_page, control_client):
        monkeypatch.setattr(module, "TIMEOUT_S", seconds)
    monkeypatch.setattr(control_client, "LOOK_S", seconds)


SILENCES = {f"{' '.join(words)}, silent at once": (words, False) for words in ASKING} | {
    f"{' '.join(words)}, silent after ApiVersions": (words, True)
    for words, option in ASKING.items()
    if option == "--bootstrap-server"
}
walk_silences = pytest.mark.parametrize(("words", "greets"), SILENCES.values(), ids=SILENCES)
walk_commands = pytest.mark.parametrize("words", ASKING, ids=" ".join)


@walk_commands
@pytest.mark.usefixtures("plan")
def test_who_does_not_answer_is_named_at_once(words: tuple[str, ...], address: str) -> None:
    """`producer-perf` waited a minute for each record."""
    ended = ask(words, address)
    said = f"stepdown: no {ASKED[ASKING[words]]} answers at {address}: Connection refused\n  "
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr.startswith(said) and ended.stderr.count("\n") == 2


def test_where_nobody_answers_a_gateway_may_have_to_be_too(address: str) -> None:
    """At the port that a gateway had closed it said "Start one with `stepdown serve`"."""
    told = ask(("topics", "list"), address).stderr
    assert "Start one" not in told
    assert "a gateway opens the port of a broker when that is there" in told


@walk_commands
@pytest.mark.usefixtures("plan")
def test_who_hangs_up_is_named(words: tuple[str, ...]) -> None:
    """The control port was said to be in a state of a protocol."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            client, _ = server.accept()
            client.recv(1)
            client.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        ended = ask(words, address)
        thread.join()
    said = rf"stepdown: .*{address}.*(clos|[Rr]eset).*\n  .*\n"
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert re.fullmatch(said, ended.stderr), ended.stderr


@walk_silences
@pytest.mark.usefixtures("plan")
def test_who_stays_silent_is_named_after_a_while(
    words: tuple[str, ...], greets: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands of the control port waited eleven minutes."""
    wait_for(MOMENT_S, monkeypatch)
    with SilentBroker(greets=greets) as broker:
        ended = ask(words, broker.address)
    said = rf"stepdown: .*{broker.address}.*( in time|no answer in \d.*)\n(  .*\n)?"
    assert (ended.exit_code, ended.stdout, broker.waited_on) == (1, "", 0)
    assert re.fullmatch(said, ended.stderr), ended.stderr


@walk_silences
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
@pytest.mark.usefixtures("plan")
def test_a_signal_ends_the_wait(
    words: tuple[str, ...], greets: bool, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`produce` waited on for half a minute.

    A signal that comes just before a system call that waits does not end it: several come, which count as one.
    """
    ended = threading.Event()
    caught: list[int] = []

    def end_process(number: int, frame: object) -> None:
        caught.append(number)
        if len(caught) == 1:
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    def send_signals() -> None:
        for _ in range(SIGNALS):
            signal.pthread_kill(MAIN_THREAD, number)
            if ended.wait(MOMENT_S):
                break

    wait_for(10 * DEADLINE_S, monkeypatch)
    before = signal.signal(number, end_process)
    try:
        with SilentBroker(greets=greets, on_wait=send_signals) as broker:
            told = ask(words, broker.address)
            ended.set()
    finally:
        signal.signal(number, before)
    assert (told.exit_code, told.stdout, told.stderr) == (128 + number, "", "")
    assert broker.waited_on == 0


def test_every_command_that_asks_a_broker_takes_its_security() -> None:
    """`producer-perf` took none."""
    asking = [words for words, option in ASKING.items() if option == "--bootstrap-server"]
    assert [words for words in asking if "--command-config" not in options_of(words)] == []
