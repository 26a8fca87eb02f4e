"""librdkafka's own tests, from Debian's source package: built when first needed, and kept in `build/librdkafka`.

Where the sources or what builds them cannot be had the test skips and says so; with `CI=true` that is a failure.
"""

import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from stepdown.bench.servers.kafka import join_paths

from .deadline import JOB_DEADLINE_S
from .java_build import JVM_OPTIONS
from .maven import REPOSITORY_ROOT, build_lock, class_path, skip_or_fail

BUILD = REPOSITORY_ROOT / "build" / "librdkafka"
SUITE = "sid"
"""Of Debian: its newest librdkafka."""
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
NEEDED = ("apt-get", "make", "gcc", "g++", "bash", "stdbuf")
BROKER_VERSION = "3.9.1"
"""In the environment: its program frees what its option -V says, and aborts."""
RUNNER = "test-runner"
LOGIN = '--command-config "$KAFKA_PATH/client.properties"'
SCRIPTS = {
    "kafka-topics.sh": f"org.apache.kafka.tools.TopicCommand {LOGIN}",
    "kafka-acls.sh": f"kafka.admin.AclCommand {LOGIN}",
    "kafka-run-class.sh": "",
}
"""Kafka's, which some tests run; the last one runs what it is given."""
CLUSTER = {
    "num.partitions": "4",
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "group.initial.rebalance.delay.ms": "3000",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "connections.max.reauth.ms": "30000",
}
"""As librdkafka's authors set up Kafka for them: three brokers, ACLs for who asks for some. But their sessions expire
after 10 s, with which 0093_holb_consumer mostly fails, with Kafka 3.9.1 as well: librdkafka holds back the login that
renews a session while a JoinGroup waits, for 10 s there, and gives it up after the 3 s of its `socket.timeout.ms`."""
SUMMARY = re.compile(r"^\|\S* (\d{4}_\w+) +\| +(\w+) \| +[\d.]+s \S*\|(?:\S* (.*?)\x1b.*)?$", re.MULTILINE)
OTHER_RUN = re.compile("negative test flags|TESTS_SKIP")
"""What the suite says of tests without a broker, and of those that are run apart."""
ALONE = ("0033", "0049", "0068", "0075", "0076", "0081", "0088", "0094")
"""0033 deletes topics that its consumer, which creates topics, asks for at the same moment: beside others a deleted one
comes again and fails it. 0081 makes topics of hundreds of partitions, for which a cluster in one process stands still;
the others break their connections, and those of the tests beside them."""
LONG = ("0142",)
"""Whose quick form does nothing."""
PATIENCE = {"test.timeout.multiplier": "2"}
"""As librdkafka's own runs have it."""


class Outcomes(NamedTuple):
    """The names of tests, of those skipped with the reason that the suite gives, and what it printed."""

    passed: frozenset[str]
    failed: frozenset[str]
    skipped: Mapping[str, str]
    printed: str


def librdkafka_suite() -> Path:
    """The folder of its tests, with their program."""
    missing = [tool for tool in NEEDED if shutil.which(tool) is None]
    if missing:
        skip_or_fail(f"librdkafka's tests cannot be built without {', '.join(missing)}")
    with build_lock("librdkafka"):
        folders = [found.parent for found in BUILD.glob(f"*/tests/{RUNNER}")]
        return folders[0] if folders else _built(_unpacked(_downloaded())) / "tests"


def run_suite(
    folder: Path, settings: Mapping[str, str], java: Mapping[str, str], work: Path, *, hanging: str = ""
) -> Outcomes:
    """Those tests that need a broker, most in their quick form; some one by one, after the others.

    `settings`: of the client. `java`: the same for Kafka's scripts. `hanging`: the number of a test that may wait until
    its time is over, which ends the run that it is in.
    """
    conf = work / "test.conf"
    conf.write_text(_lines({**settings, **PATIENCE}))
    environment = {
        "LD_LIBRARY_PATH": "../src:../src-cpp",
        "RDKAFKA_TEST_CONF": str(conf),
        "TEST_KAFKA_VERSION": BROKER_VERSION,
        "KAFKA_PATH": str(_kafka_scripts(work, java)),
        "BROKERS": java["bootstrap.servers"],
    }
    together = {"TESTS_SKIP": ",".join((*ALONE, *LONG, *filter(None, [hanging])))}
    runs = [
        _run(folder, work / "together.out", ["-Q", "-E", "-p3"], environment | together),
        _run(folder, work / "alone.out", ["-Q", "-p1"], environment | {"TESTS": ",".join(ALONE)}),
        _run(folder, work / "long.out", ["-p1"], environment | {"TESTS": ",".join(LONG)}),
    ]
    if hanging:
        runs.append(_run(folder, work / "hanging.out", ["-Q", "-p1"], environment | {"TESTS": hanging}))
    return Outcomes(
        frozenset().union(*(run.passed for run in runs)),
        frozenset().union(*(run.failed for run in runs)),
        {name: why for run in runs for name, why in run.skipped.items()},
        "".join(run.printed for run in runs),
    )


def _run(folder: Path, output: Path, options: Sequence[str], environment: Mapping[str, str]) -> Outcomes:
    with output.open("w") as out:
        done = subprocess.run(
            ["stdbuf", "-oL", f"./{RUNNER}", "-L", "-K", *options],
            cwd=folder,
            env=os.environ | environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            timeout=JOB_DEADLINE_S,
            check=False,
        )
    printed = output.read_text(errors="replace")
    told = [match.groups() for match in SUMMARY.finditer(printed)]
    skipped = {name: why.strip() for name, state, why in told if state == "SKIPPED" and not OTHER_RUN.search(why)}
    passed, failed = (frozenset(name for name, state, _ in told if state == each) for each in ("PASSED", "FAILED"))
    assert told, f"no summary: {printed[-8000:]}"
    assert failed or done.returncode == 0, f"ended with {done.returncode}: {printed[-8000:]}"
    return Outcomes(passed, failed, skipped, printed)


def _downloaded() -> Path:
    """The archive of the sources. apt-get's own lists are left as they are: this one has its own."""
    work = BUILD / "apt"
    for folder in ("etc", "lists/partial", "cache/archives/partial"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    mirror = _mirror()
    text = f"Types: deb-src\nURIs: {mirror}\nSuites: {SUITE}\nComponents: main\nSigned-By: {KEYS}\n"
    (work / "etc" / "debian.sources").write_text(text)
    places = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": work / "etc",
        "Dir::State::lists": work / "lists",
        "Dir::Cache": work / "cache",
    }
    apt_get = ["apt-get", "-q", *(f"-o{key}={value}" for key, value in places.items())]
    for command in (["update"], ["source", "--download-only", "librdkafka"]):
        done = subprocess.run([*apt_get, *command], cwd=work, capture_output=True, text=True, check=False)
        if done.returncode:
            skip_or_fail(f"Debian's sources of librdkafka cannot be had: {done.stderr.strip()[-500:]}")
    (archive,) = work.glob("librdkafka_*.orig.tar.*")
    return archive


def _mirror() -> str:
    """Where this machine has Debian's packages from."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [uri for uri in done.stdout.split() if uri.rstrip("/").endswith("/debian")]
    if not found:
        skip_or_fail("librdkafka's tests come from Debian's source package, and this machine has no packages of Debian")
    return found[0]


def _unpacked(archive: Path) -> Path:
    """The folder of the sources, with nothing built in it."""
    version = archive.name.removesuffix(".gz").removesuffix(".xz").removesuffix(".orig.tar").removeprefix("librdkafka_")
    folder = BUILD / version
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(archive) as files:
        roots = {member.name.split("/")[0] for member in files.getmembers()}
        files.extractall(BUILD, filter="data")
    (root,) = roots
    (BUILD / root).rename(folder)
    return folder


def _built(folder: Path) -> Path:
    """The same folder. The library is built with what is here: it has to have TLS."""
    for command in (
        ["./configure", "--enable-ssl", "--disable-gssapi"],
        ["make", "-j2", "libs"],
        ["make", "-C", "tests", "-j2", RUNNER],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=JOB_DEADLINE_S, check=False)
        if done.returncode:
            skip_or_fail(f"librdkafka cannot be built, {command[0]} says: {(done.stdout + done.stderr)[-1000:]}")
    return folder


def _kafka_scripts(work: Path, settings: Mapping[str, str]) -> Path:
    """A folder with `bin` and `libs`, as Kafka's distribution has it; its scripts connect with these settings."""
    jars = class_path("org.apache.kafka:kafka-tools:3.9.1", "org.apache.kafka:kafka_2.13:3.9.1")
    for name in ("bin", "libs"):
        (work / "kafka" / name).mkdir(parents=True)
    for jar in jars:
        (work / "kafka" / "libs" / jar.name).symlink_to(jar)
    (work / "kafka" / "client.properties").write_text(_lines(settings))
    for name, main in SCRIPTS.items():
        script = work / "kafka" / "bin" / name
        options = f"{' '.join(JVM_OPTIONS)} -Xmx256m"
        script.write_text(f'#!/bin/sh\nexec java {options} -cp "$CLASSPATH:{join_paths(jars)}" {main} "$@"\n')
        script.chmod(0o755)
    return work / "kafka"


def _lines(settings: Mapping[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in settings.items())
