"""The .properties files that Kafka's releases bring, from 0.8 to 4, start a broker as they are."""

import re
from pathlib import Path

import pytest
from stepdown.config import ConfigError, load
from stepdown.config.unknown_keys import OF_OTHER_RELEASES
from support.command import run_command

VECTORS = Path(__file__).parents[2] / "vectors" / "config" / "kafka-stock-properties.txt"
STOCK = dict(re.findall(r"^\[(.*)\]\n(.*?)\n\n", VECTORS.read_text() + "\n\n", re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("name", STOCK)
def test_a_stock_file_is_taken_and_what_has_no_effect_is_quiet(name: str, tmp_path: Path) -> None:
    """share.coordinator.state.topic.min.isr of Kafka 4 was refused, and a controller.properties for its listeners."""
    file = tmp_path / "stock.properties"
    file.write_text(STOCK[name])
    loaded = load(file)
    assert loaded.settings.listeners
    assert loaded.without_effect
    aloud = {remark.key for remark in loaded.remarks if not remark.is_quiet}
    assert aloud <= {"port", "process.roles", "log.cleanup.interval.mins"}
    assert ("process.roles" in aloud) == ("process.roles=controller\n" in STOCK[name])


def test_who_starts_by_a_controllers_file_is_told_where_clients_are_served(tmp_path: Path) -> None:
    file = tmp_path / "controller.properties"
    file.write_text("process.roles=controller\ncontroller.listener.names=C\nlisteners=C://:9093\n")
    loaded = load(file)
    assert [str(each) for each in loaded.settings.listeners] == ["PLAINTEXT://127.0.0.1:9092"]
    assert "who are served at PLAINTEXT://127.0.0.1:9092" in loaded.warnings[0]
    own = load(file, overrides=["listeners=PLAINTEXT://127.0.0.1:1"])
    assert [str(each) for each in own.settings.listeners] == ["PLAINTEXT://127.0.0.1:1"]


@pytest.mark.parametrize("key", OF_OTHER_RELEASES)
def test_a_setting_of_another_release_has_no_effect(key: str) -> None:
    (remark,) = load(overrides=[f"{key}=1"]).without_effect
    assert remark.text == f"is a setting of Kafka {OF_OTHER_RELEASES[key]} and has no effect"


def test_the_authorizer_of_zookeepers_time_is_taken() -> None:
    loaded = load(overrides=["authorizer.class.name=kafka.security.auth.SimpleAclAuthorizer"])
    assert loaded.settings.authorizer_class_name


def test_a_class_that_checks_tokens_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"jwt.validator.class.*no Java class can be used"):
        load(overrides=["listener.name.a.oauthbearer.sasl.oauthbearer.jwt.validator.class=com.example.Strict"])


def test_each_setting_of_a_file_is_explained(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=3\nnum.io.threads=8\nssl.provider=x\nshare.coordinator.threads=1\n")
    told = run_command("config", "--explain", file)
    assert told.exit_code == 0
    assert told.stdout.splitlines() == [
        "taken, and told at the start: 1",
        *(line for line in told.stdout.splitlines() if ":3: ssl.provider is accepted but has no effect." in line),
        "without effect: 2",
        *(line for line in told.stdout.splitlines() if ":2: num.io.threads is accepted but has no effect." in line),
        f"  {file}:4: share.coordinator.threads is a setting of Kafka 4 and has no effect",
        "takes effect: 1",
        f"  {file}:1: num.partitions  (default 1)",
    ]


def test_what_stops_a_start_is_explained_with_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.prtitions=3\nnum.io.threads=8\n")
    told = run_command("config", "--explain", file)
    assert told.exit_code == 2
    assert f"stops the start: 1\n  {file}:1: num.prtitions no such setting\nwithout effect: 1\n" in told.stdout


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    told = run_command("config", "--explain", tmp_path / "nothing")
    assert (told.exit_code, told.stdout) == (2, "")
    assert "cannot read the configuration file: No such file" in told.stderr


def test_a_setting_that_gives_way_to_another_is_without_effect(tmp_path: Path) -> None:
    """It was listed among those that take effect, though the other counted."""
    file = tmp_path / "server.properties"
    file.write_text("log.retention.hours=1\nlog.retention.ms=5\nnum.io.threads=8\n")
    told = run_command("config", "--explain", file).stdout
    assert f"  {file}:1: log.retention.hours gives way to log.retention.ms on line 2\n" in told
    assert told.endswith(f"takes effect: 1\n  {file}:2: log.retention.ms  (default none)\n")
    assert "Not acted on yet" not in told


def test_a_file_may_have_keys_of_vendors_and_plugins(tmp_path: Path) -> None:
    """One such key stopped the start, where Kafka warns of it."""
    file = tmp_path / "server.properties"
    file.write_text("this.is.odd=1\nnum.partitions=3\n")
    loaded = load(file)
    assert (loaded.settings.num_partitions, [each.key for each in loaded.without_effect]) == (3, ["this.is.odd"])
    with pytest.raises(ConfigError, match=r"this.is.odd: no such setting"):
        load(overrides=["this.is.odd=1"])
    for near in ("log.retention.hour=1", "retention.ms=1"):
        file.write_text(f"{near}\n")
        with pytest.raises(ConfigError, match=near.partition("=")[0]):
            load(file)
