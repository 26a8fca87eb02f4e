"""The fixtures, in a pytest of their own."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from stepdown.broker.faults.event_log import MOST_LINES
from stepdown.testing.pytest_plugin import FOR_OWN, INSTEAD_OF_MARKER, OPTIONS
from support.deadline import JOB_DEADLINE_S

SUITE = """
import os, threading
import pytest

prepared = []

def fill(kafka):
    prepared.append(1)
    kafka.produce("orders", b"prepared")

@pytest.mark.kafka(data=fill, config={"auto.create.topics.enable": False})
@pytest.mark.parametrize("number", range(3))
def test_begins_with_what_was_prepared_once(kafka, number):
    kafka.produce("orders", b"more")
    assert [record.value for record in kafka.records("orders")] == [b"prepared", b"more"]
    assert prepared.count(1) >= 1

@pytest.mark.parametrize("number", range({count}))
def test_is_clean(kafka, number):
    kafka.create_topic("orders")
    kafka.produce("orders", b"x")
    kafka.assert_produces("orders", b"x")

def test_a_cluster(kafka_cluster):
    kafka_cluster.create_topic("t")
    kafka_cluster.produce("t", b"x")
    kafka_cluster.cluster.kill(leader_of="t")
    kafka_cluster.clock.advance("10s")
    assert len(kafka_cluster.records("t")) == 1

@pytest.mark.kafka(brokers=2, data=fill)
def test_as_many_brokers_as_it_says(kafka):
    assert len(kafka.bootstrap.split(",")) == 2
    assert len(kafka.records("orders")) == 1

def test_a_process(kafka_proc):
    kafka_proc.produce("t", b"x")
    assert kafka_proc.records("t")[0].value == b"x"

def test_elsewhere(kafka_noproc):
    assert kafka_noproc.records("t")
"""


def run(folder: Path, suite: str, *options: str, errors: bool = False) -> str:
    """What pytest prints, or with `errors` what it prints to stderr."""
    done = start(folder, suite, *options)
    return done.stderr if errors else done.stdout


def start(folder: Path, suite: str, *options: str, new_session: bool = False) -> "subprocess.CompletedProcess[str]":
    """A pytest that has ended."""
    (folder / "test_it.py").write_text(suite)
    (folder / "tmp").mkdir(exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py", *options]
    environment = os.environ | {"TMPDIR": str(folder / "tmp"), "PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=JOB_DEADLINE_S,
        start_new_session=new_session,
    )
    assert not list((folder / "tmp").glob("stepdown-*")), "files are left"
    return done


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_each_test_has_a_broker_of_its_own(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Tests of `kafka_noproc` without an address were skipped, and a run that tested nothing was green."""
    told = run(tmp_path, SUITE.replace("{count}", "5"), *options)
    assert "11 passed, 1 error" in told, told
    assert "kafka_noproc needs --kafka-bootstrap HOST:PORT, or kafka_bootstrap in the ini file" in told, told


WRONG_MARKERS = {
    "confg={}": f"@pytest.mark.kafka takes {', '.join(sorted(OPTIONS))}, not confg; did you mean config?",
    "{}": f"@pytest.mark.kafka takes {', '.join(sorted(OPTIONS))}, not an argument without a name",
    "brokers='3'": "brokers is a number, not '3'",
    "brokers=None": "brokers is a number, not None",
    "racks='abc'": "racks is a list of names, not 'abc'",
    "data=3": "data is a folder, not 3",
    "config=['a=b']": "config is a dict of settings, not ['a=b']",
    "topics='t'": "topics is a dict of names and numbers of partitions, not 't'",
    "users=['a']": "users is a dict of names and passwords, not ['a']",
    "users={'a': None}": "users is a dict of names and passwords, and not each password is text",
    "security='SSH'": "security is one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, not 'SSH'",
    "topics={'t': '3'}": "topics is a dict of names and numbers of partitions, not {'t': '3'}",
    "users={'a': 'b'}": "users need a security: SSL, SASL_PLAINTEXT, SASL_SSL",
    "act_as='5.0'": "act_as: expected one of 0.10.2, 1.1, 2.8, 3.9, 4.0, 4.1, 4.4, found '5.0'",
    "http='yes'": "http is True or False, not 'yes'",
    "config={'num.partition': 1}": "config: num.partition: no such setting; did you mean num.partitions?",
    "brokers=2, config={'num.partition': 1}": "config: num.partition: no such setting; did you mean num.partitions?",
    "config={'log.retention.ms': '7 days'}": "config: log.retention.ms: expected a 64-bit integer of at least 1, or -1 "
    "for no limit, or a time such as 45s, 500ms or 1h30m (of ms, s, m, h, d, w), found '7 days'",
    "topics={'orders': 0}": "topics: topic orders cannot be made: at least 1 partition expected, or -1 for the default "
    "number, found 0",
    "brokers=2, topics={'a.b': 1, 'a_b': 1}": "topics: topic a_b cannot be made: topic 'a_b' has the same name in "
    "metrics as the existing topic 'a.b'",
}
"""The arguments, and what is said of them."""


def test_what_is_wrong_with_a_marker_is_said_in_a_sentence_with_its_place(tmp_path: Path) -> None:
    """It stood below forty lines of frames of pytest and of the plugin."""
    tests = [
        f"@pytest.mark.kafka({given})\ndef test_{number}(kafka): pass\n" for number, given in enumerate(WRONG_MARKERS)
    ]
    told = run(tmp_path, "import pytest\n" + "".join(tests))
    shown = re.findall(r"ERROR at setup of test_\d+ _+\n(.*)\n(?=_|=)", told)
    assert shown == [f"test_it.py:{2 + 2 * number}: {said}" for number, said in enumerate(WRONG_MARKERS.values())], told


@pytest.mark.parametrize("in_ini_file", [False, True], ids=["option", "ini file"])
@pytest.mark.parametrize(
    "option, given, said",
    [
        ("security", "SASL", "security is one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, not 'SASL'"),
        ("act-as", "5.0", "expected one of 0.10.2, 1.1, 2.8, 3.9, 4.0, 4.1, 4.4, found '5.0'"),
        ("bootstrap", "a:1,b", "expected HOST:PORT with a port up to 65535, found 'b'"),
        ("control", "a:1,b:2", "expected one HOST:PORT, found 'a:1,b:2'"),
    ],
)
def test_a_wrong_option_is_refused_before_the_first_test(
    tmp_path: Path, option: str, given: str, said: str, in_ini_file: bool
) -> None:
    """A mistyped security was given to clients, which waited for ever, and a wrong address was a traceback."""
    name = f"kafka_{option.replace('-', '_')}" if in_ini_file else f"--kafka-{option}"
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{name} = {given}\n" if in_ini_file else "[pytest]\n")
    told = run(tmp_path, "def test(): pass\n", *([] if in_ini_file else [f"{name}={given}"]), errors=True)
    assert told.strip() == f"ERROR: {name}: {said}"


WITHOUT_CRYPTOGRAPHY = """
import sys
sys.modules["cryptography"] = None
import pytest

@pytest.mark.kafka(security="SASL_SSL")
def test_own(kafka): pass

def test_process(kafka_proc): pass
"""


def test_tls_without_cryptography_says_what_to_install(tmp_path: Path) -> None:
    """It was a traceback of seventy lines."""
    told = run(tmp_path, WITHOUT_CRYPTOGRAPHY, "--kafka-security=SSL")
    needs = "needs certificates: pip install './stepdown[security]', or cryptography alone"
    assert re.findall(r"ERROR at setup of \w+ _+\n(.*)\n(?=_|=)", told) == [
        f'test_it.py:6: security="SASL_SSL" {needs}',
        f'security="SSL" {needs}',
    ], told


def test_a_control_port_where_nobody_listens_is_named(tmp_path: Path) -> None:
    """An empty test passed, and a traceback through the event loop named neither address nor option."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        told = run(
            tmp_path, "def test(kafka_noproc): pass\n", f"--kafka-bootstrap={address}", f"--kafka-control={address}"
        )
    shown = told.partition("ERROR at setup of test _")[2].splitlines()
    assert shown[1] == f"--kafka-control {address}: no control port answers at {address}: Connection refused", told
    assert shown[2].startswith("==="), told


PAGES = """
from urllib.request import urlopen
import pytest

@pytest.mark.kafka(http=True)
def test_has_a_page(kafka, kafka_proc):
    for each in (kafka, kafka_proc):
        assert urlopen(each.page).status == 200
"""


def test_brokers_of_fixtures_have_a_page(tmp_path: Path) -> None:
    """The marker refused `http`, and the process did not tell where its page is."""
    assert "1 passed" in run(tmp_path, PAGES)


WRONG_USES = """
import pytest

def test_type(kafka):
    kafka.produce("orders", {"id": 1})

def test_type_of_partitions(kafka):
    kafka.create_topic("orders", partitions="3")

def test_stopped(kafka):
    kafka.cluster.stop(1)
    kafka.produce("orders", "x", timeout=0)

kept = []

def test_keeps(kafka):
    kept.append(kafka)

def test_uses_what_ended():
    kept[0].produce("orders", "x")
"""


def test_a_wrong_use_is_told_at_the_line_of_the_test(tmp_path: Path) -> None:
    """What was said stood below frames of this package and of asyncio, and below the exceptions that caused it."""
    told = run(tmp_path, WRONG_USES, "--show-capture=no")
    assert "keys and values are bytes, text or None, not {'id': 1}" in told, told
    assert "partitions is a number, not '3'" in told, told
    assert "AsyncKafka.produce came after that" in told, told
    assert not re.search(r"(testing|client)/\w+\.py:\d+|asyncio/|direct cause|During handling", told), told


LOADED = """
import sys
import pytest
before = set(sys.modules)
import stepdown.testing.pytest_plugin
print(*sorted(set(sys.modules) - before))
"""


def test_a_project_that_uses_no_fixture_loads_two_packages_and_the_plugin() -> None:
    """The plugin imported the whole broker, 360 modules, at the start of every pytest where stepdown is installed."""
    told = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, timeout=JOB_DEADLINE_S)
    assert told.stdout.split() == ["stepdown", "stepdown.testing", "stepdown.testing.pytest_plugin"], told.stderr


NAMES = """
import stepdown.testing.running_brokers
from stepdown import running, testing
assert testing.running is running
print(*(name for name in testing.__all__ if type(getattr(testing, name)) is type(testing)))
"""


def test_no_module_hides_a_name_of_the_package() -> None:
    """`stepdown.testing.running` was the module of that name once something had imported it first."""
    told = subprocess.run([sys.executable, "-c", NAMES], capture_output=True, text=True, timeout=JOB_DEADLINE_S)
    assert (told.stdout.split(), told.returncode) == ([], 0), told.stderr


ACTING = """
import socket, struct
import pytest

def oldest_fetch(kafka):
    host, _, port = kafka.bootstrap.split(",")[0].rpartition(":")
    with socket.create_connection((host, int(port))) as sock:
        sock.sendall(bytes.fromhex("0000000a00120000000000010000"))
        key, oldest, _ = struct.unpack_from(">hhh", sock.recv(4096), 20)
    assert key == 1
    return oldest

def test_by_the_option(kafka, kafka_proc, kafka_cluster):
    assert [oldest_fetch(each) for each in (kafka, kafka_proc, kafka_cluster)] == [4, 4, 4]

@pytest.mark.kafka(act_as="2.8")
def test_by_the_marker(kafka):
    assert oldest_fetch(kafka) == 0
"""


def test_brokers_act_as_the_release_that_is_asked_for(tmp_path: Path) -> None:
    """A pinned client met a broker that answers everything."""
    told = run(tmp_path, ACTING, "--kafka-act-as", "4.4")
    assert "2 passed" in told, told


SHARED = """
def test_arms_and_forgets(kafka_proc):
    kafka_proc.faults.error("Heartbeat", 27)
    kafka_proc.clock.pause()
    kafka_proc.create_topic("t")

def test_the_next_one_is_not_hit(kafka_proc):
    assert list(kafka_proc.faults) == []
    assert kafka_proc.control.ask("GET", "clock")["paused"] is False
    kafka_proc.delete_topic("t")
"""


def test_faults_and_clock_of_the_shared_process_end_with_their_test(tmp_path: Path) -> None:
    """A fault was neither checked nor removed: it failed a later test, or none. A clock that stood went on standing.

    What never fired was shown as a Python dict, and that calls of the test meet no faults was said nowhere. Then it
    came without what the brokers did last."""
    told = run(tmp_path, SHARED)
    assert "2 passed, 1 error" in told, told
    assert "kafka_proc: what happened last" in told and "  fault 1 armed: error REBALANCE_IN_PROGRESS, api=H" in told
    shown = told.partition("ERROR at teardown")[2].partition("Captured")[0]
    said = "armed and never fired (say optional=True if that is right): error REBALANCE_IN_PROGRESS, api=Heartbeat, "
    own = "The test's own calls, such as kafka.produce, meet no faults: send with your client"
    assert shown.splitlines()[1] == f"{said}no request came near it. {own}", shown


FAILING = """
async def consume(kafka):
    await kafka.create_topic("t")
    await kafka.produce("t", b"x")
    await kafka.clock.advance("5s")
    return await kafka.records("t")

def test_fails(kafka_async):
    import asyncio
    from confluent_kafka import Producer
    assert len(asyncio.run(consume(kafka_async))) == 1
    Producer({"bootstrap.servers": kafka_async.bootstrap}).list_topics()
    assert False

async def wait(kafka):
    kafka.wait_for_group("nobody", timeout=0)

def test_blocks(kafka):
    import asyncio
    asyncio.run(wait(kafka))

def test_passes(kafka):
    kafka.clock.advance("7s")

def test_has_a_cluster(kafka_cluster):
    from confluent_kafka import Consumer
    kafka_cluster.create_topic("t")
    member = Consumer({"bootstrap.servers": kafka_cluster.bootstrap, "group.id": "shop", "log_level": 0})
    member.subscribe(["t"])
    while not member.assignment():
        member.poll(0.02)
    member.close()
    kafka_cluster.wait_for_group("shop", "Empty")
    kafka_cluster.cluster.kill(leader_of="t")
    kafka_cluster.clock.advance("10s")
    kafka_cluster.wait_for_leader("t", broker=9, timeout=0)
"""


@pytest.mark.parametrize("options", [(), ("-v",), ("--tb=short",)], ids=" ".join)
def test_a_failure_shows_what_the_brokers_did_last(tmp_path: Path, options: tuple[str, ...]) -> None:
    """One had to know that there is a log, and to print it in the test. JoinGroup named assignors as its topics."""
    told = run(tmp_path, FAILING, *options)
    assert "3 failed, 1 passed" in told, told
    assert "group 'shop': generation 1 has 1 member" in told and "group 'shop': empty at generation 2" in told, told
    assert re.search(r"broker (\d) is fenced", told) and re.search(r"t-0 is led by \d in epoch 1, ISR", told), told
    assert re.search(r"JoinGroup v\d+ from rdkafka", told), "assignors are no topics"
    assert "kafka: what happened last" in told and "the clock moves on by 5 s" in told
    assert "broker 1 Metadata v" in told and "by 7 s" not in told
    assert "there is no group nobody after 0 s; expected: Stable. This call held the event loop" in told
    sections = re.findall(r"what happened last -+\n((?:(?: *-?[\d.]+ s  |\(\d+ more).*\n)+)", told)
    assert sections and all(len(lines.splitlines()) <= MOST_LINES + 1 for lines in sections), told


AT_ITS_LINE = """
def wait_for_it(kafka):
    kafka.wait_for_group("nobody", timeout=0)  # the last line

def test_waits(kafka):
    wait_for_it(kafka)

def test_arms_for_another_topic(kafka):
    kafka.create_topic("orders")
    kafka.create_topic("audit")
    kafka.faults.error("Produce", 7, topic="audit")
    from confluent_kafka import Producer
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "client.id": "app"})
    producer.produce("orders", b"x")
    producer.flush()
"""


def test_a_failure_ends_at_the_line_of_the_test_and_says_what_came_near(tmp_path: Path) -> None:
    """The last lines shown were the package's own, and "never fired" named nothing that came."""
    told = run(tmp_path, AT_ITS_LINE)
    assert "1 failed, 1 passed, 1 error" in told, told
    assert "# the last line" in told and "there is no group nobody" in told, told
    failure = told.partition("test_waits")[2].partition("Captured")[0]
    assert not re.search(r"testing/\w+\.py:\d+", failure), failure
    assert re.search(r"what came near: Produce v\d+ of orders from app", told), told
    assert "kafka: what happened last" in told.partition("ERROR at teardown")[2].partition("= FAILURES =")[0], told
    assert "loop_thread.py" in run(tmp_path, AT_ITS_LINE, "--full-trace")


INSTALLED = """
import sys

def test_has_a_broker(kafka):
    rewritten = [name for name, module in sys.modules.items()
                 if name.startswith("stepdown.") and "AssertionRewritingHook" in str(module.__spec__)]
    assert set(rewritten) <= {"stepdown.testing", "stepdown.testing.pytest_plugin"}
"""


def test_pytest_does_not_rewrite_the_brokers_asserts(tmp_path: Path) -> None:
    """It rewrote five hundred modules of an installed package before the first test."""
    (tmp_path / "as_installed.py").write_text("import pytest; pytest.register_assert_rewrite('stepdown')")
    told = run(tmp_path, INSTALLED, "-p", "as_installed")
    assert "1 passed" in told, told


IGNORED_MARKERS = """
import pytest

@pytest.mark.kafka(security="SSL", brokers=3)
def test_session(kafka_proc): pass

@pytest.mark.kafka(broker=3)
def test_misspelt(kafka_proc): pass

@pytest.mark.kafka(brokers=3)
def test_elsewhere(kafka_noproc): pass

@pytest.mark.kafka(brokers=3)
def test_nothing(): pass

@pytest.mark.kafka(brokers=1)
def test_by_name(request):
    request.getfixturevalue("kafka")

@pytest.mark.kafka
def test_of_others(): pass
"""


def test_a_marker_that_nothing_reads_is_an_error(tmp_path: Path) -> None:
    """It was ignored without a word: a client with TLS waited for a broker without."""
    told = run(tmp_path, IGNORED_MARKERS, "--kafka-bootstrap=127.0.0.1:1")
    assert "3 passed, 4 errors" in told, told
    shown = re.findall(r"ERROR at \w+ of test_\w+ _+\n(.*)\n(?=_|=)", told)
    takes = f"@pytest.mark.kafka takes {', '.join(sorted(OPTIONS))}, not broker; did you mean brokers?"
    assert shown == [
        f"test_it.py:4: {FOR_OWN}; {INSTEAD_OF_MARKER['kafka_proc']}",
        f"test_it.py:7: {takes}",
        f"test_it.py:10: {FOR_OWN}; {INSTEAD_OF_MARKER['kafka_noproc']}",
        f"test_it.py:13: {FOR_OWN}; this test has none of them",
    ], told


HANGING = """
import os, pathlib, signal, threading

def test_hangs({fixture}):
    {fixture}.faults.black_hole(api="Produce")
    os.killpg(os.getpgrp(), signal.SIGINT)
    threading.Event().wait()
"""


@pytest.mark.parametrize("fixture", ["kafka", "kafka_proc"])
def test_an_interrupted_run_ends_as_pytest_does_and_shows_what_brokers_did_last(tmp_path: Path, fixture: str) -> None:
    """The process took the terminal's ^C as well: 74 lines of Python, exit code 1, and nothing of what brokers did."""
    done = start(tmp_path, HANGING.replace("{fixture}", fixture), new_session=True)
    assert done.returncode == pytest.ExitCode.INTERRUPTED, done.stdout + done.stderr
    assert f"{fixture}: what happened last" in done.stdout and "fault 1 armed: black_hole" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr and "Error" not in done.stdout, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("no tests ran in " + done.stdout.rstrip().rpartition(" ")[2]), done.stdout
