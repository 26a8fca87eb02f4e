"""The programs of docs/security.md, and `stepdown serve --tls --user` that they need."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.clients import Message, Span
from support.clients_java import JAVA_3_9
from support.command import run_command
from support.deadline import DEADLINE_S

PAGE = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
PROGRAMS = dict(re.findall(r"<!-- program: ([\w-]+) -->\n```python\n(.*?)```", PAGE, re.S))
USER, PASSWORD = "alice", 'se"cr\\xet,=ä'


class Serving:
    """`stepdown serve` with options, in a folder."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "stepdown", "serve", "--listen", "127.0.0.1:0", "--log-dir", "data", *options]
        self.log = folder / "log"
        with self.log.open("w") as log:
            self._process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self._process.stdout is not None
        found = re.search(r"listening on (\S+),", self._process.stdout.readline())
        assert found, self.log.read_text()
        self.address = found[1]

    def __enter__(self) -> "Serving":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        assert self._process.wait(DEADLINE_S) == 0
        assert PASSWORD not in self.log.read_text()


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    with Serving(tmp_path, "--tls", "--user", "alice:secret") as serving:
        yield serving


def run(name: str, address: str, folder: Path) -> None:
    program = PROGRAMS[name].replace("127.0.0.1:9092", address)
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_client_comes_in_after_one_line(serving: Serving, tmp_path: Path) -> None:
    run("one-line", serving.address, tmp_path)


def test_a_scram_user_is_made_by_an_admin_client(tmp_path: Path) -> None:
    with Serving(tmp_path) as serving:
        run("scram", serving.address, tmp_path)
        (metadata,) = (tmp_path / "data" / "__cluster_metadata-0").glob("*.log")
        assert b"bob" in metadata.read_bytes()
        assert b"secret of bob" not in metadata.read_bytes()


def test_every_program_of_the_page_is_run() -> None:
    assert set(PROGRAMS) == {"one-line", "scram"}
    assert PAGE.count("```python") == len(PROGRAMS)


@pytest.mark.parametrize("tls", [["--tls"], []], ids=["SASL_SSL", "SASL_PLAINTEXT"])
def test_the_commands_take_the_properties_as_they_are(tmp_path: Path, tls: list[str]) -> None:
    def told(command: str, stdin: bytes = b"") -> str:
        file = tmp_path / "stepdown-security" / "client.properties"
        done = run_command(*command.split(), "-b", serving.address, "--command-config", file, stdin=stdin)
        assert done.exit_code == 0, done.stderr
        return done.stdout

    with Serving(tmp_path, *tls, "--user", f"{USER}:{PASSWORD}") as serving:
        told("topics create orders -p 2")
        told("produce orders", b"a\nb\n")
        assert sorted(told("consume orders --until-end").split()) == ["a", "b"]
        assert sorted(told("consume orders -n 2 --from-beginning -g readers").split()) == ["a", "b"]
        assert "readers" in told("groups list")
        assert told("transactions list --json") == "[]\n"
        told("users set bob", b"secret of bob\n")
        assert [user["user"] for user in json.loads(told("users list --json"))] == [USER, USER, "bob"]
        told("users remove bob")
        assert "bob" not in told("users list")


def test_a_cluster_listens_the_same_way(tmp_path: Path) -> None:
    with Serving(tmp_path, "--brokers", "3", "--tls", "--user", f"{USER}:{PASSWORD}") as serving:
        file = tmp_path / "stepdown-security" / "client.properties"
        for number, address in enumerate(serving.address.split(",")):
            done = run_command("topics", "create", f"t-{number}", "-b", address, "--command-config", file)
            assert done.exit_code == 0, done.stderr
        assert len(serving.address.split(",")) == 3


@pytest.mark.java
@pytest.mark.parametrize("tls", [["--tls"], []], ids=["SASL_SSL", "SASL_PLAINTEXT"])
def test_javas_client_takes_the_properties_as_they_are(tmp_path: Path, tls: list[str]) -> None:
    with Serving(tmp_path, *tls, "--user", f"{USER}:{PASSWORD}") as serving:
        settings = {}
        for line in (tmp_path / "stepdown-security" / "client.properties").read_text().splitlines():
            name, _, text = line.partition("=")
            settings[name.replace(".", "_")] = re.sub(
                r"\\(?:u([0-9a-f]{4})|(.))", lambda found: chr(int(found[1], 16)) if found[1] else found[2], text
            )
        message = Message(key=None, value=b"x" * 1000)
        JAVA_3_9.produce(serving.address, "in", "t", 0, [message], "none", **settings)
        [received] = JAVA_3_9.consume(serving.address, "out", [Span(topic="t", count=1)], **settings)
        assert received.message.value == message.value
