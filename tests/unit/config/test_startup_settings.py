from collections.abc import Callable
from pathlib import Path

import pytest
from stepdown.config import ConfigError, Given, Origin, load, settings_of

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_properties(text: str) -> Path:
        path = tmp_path / "server.properties"
        path.write_text(text)
        return path

    return write_properties


def problems_of(
    path: Path | None = None, environ: dict[str, str] | None = None, overrides: tuple[str, ...] = ()
) -> str:
    with pytest.raises(ConfigError) as refused:
        load(path, environ or {}, overrides)
    return "\n".join(str(problem) for problem in refused.value.problems)


def test_options_win_over_flags_flags_over_variables_and_variables_over_the_file(write: Write) -> None:
    path = write("num.partitions=2\nbroker.id=2\nbroker.rack=file\nfetch.max.bytes=2000")
    environ = {"KAFKA_NUM_PARTITIONS": "3", "KAFKA_BROKER_ID": "3", "KAFKA_BROKER_RACK": "variable"}
    flags = [Given(key, "4", Origin("option --x")) for key in ("num.partitions", "broker.id")]
    settings = load(path, environ, ["num.partitions=5"], flags).settings
    found = (settings.num_partitions, settings.broker_id, settings.broker_rack, settings.fetch_max_bytes)
    assert found == (5, 4, "variable", 2000)


def test_a_key_of_kafkas_without_effect_costs_one_quiet_remark(write: Write) -> None:
    loaded = load(write("\nzookeeper.connect=localhost:2181"))
    (remark,) = loaded.without_effect
    assert loaded.warnings == ()
    assert str(remark).endswith(
        "server.properties:2: zookeeper.connect is accepted but has no effect. There is no ZooKeeper."
    )


def test_a_wrong_value_is_told_with_file_line_key_expected_and_found(write: Write) -> None:
    path = write("# first\n\nnum.partitions = none")
    assert problems_of(path) == f"{path}:3: num.partitions: expected a 32-bit integer of at least 1, found 'none'"


def test_a_typo_is_told_with_the_nearest_key(write: Write) -> None:
    path = write("log.retention.hour=1")
    assert problems_of(path) == f"{path}:1: log.retention.hour: no such setting; did you mean log.retention.hours?"


def test_every_problem_is_told_at_once(write: Write) -> None:
    told = problems_of(write("num.partitions=0\nnum.prtitions=1"), {"KAFKA_LISTENERS": "9092"}, ("x", "broker.id=a"))
    for words in (
        ":1: num.partitions",
        ":2: num.prtitions",
        "KAFKA_LISTENERS",
        "option -c or -o: x: expected KEY=VALUE",
        "'a'",
    ):
        assert words in told
    assert len(told.splitlines()) == 5


def test_a_setting_of_topics_tells_the_brokers_key() -> None:
    assert "the broker's default is log.retention.ms" in problems_of(overrides=("retention.ms=1",))


def test_a_key_of_a_plugin_or_a_listener_is_let_pass() -> None:
    loaded = load(overrides=["listener.name.inside.num.network.threads=1", "confluent.metrics.x=1"])
    assert [len(loaded.warnings), len(loaded.without_effect)] == [1, 1]


def test_a_key_that_kafka_removed_names_the_one_that_took_its_place() -> None:
    (warning,) = load(overrides=["host.name=localhost"]).warnings
    assert warning.endswith("use listeners")


def test_a_variable_that_only_looks_like_a_setting_is_let_pass_with_a_warning() -> None:
    """Kubernetes gives KAFKA_SERVICE_HOST and KAFKA_PORT to containers beside a service called kafka."""
    assert len(load(None, {"KAFKA_SERVICE_HOST": "10.0.0.1", "KAFKA_PORT": "tcp://10.0.0.1:9092"}).remarks) == 2


def test_a_variable_with_a_typo_is_refused() -> None:
    assert problems_of(None, {"KAFKA_LOG_DIRZ": "/x"}).endswith("did you mean log.dirs?")


def test_a_long_wrong_value_is_cut() -> None:
    assert len(problems_of(overrides=("num.partitions=" + "x" * 10_000,))) < 400


def test_a_key_given_twice_in_a_file_counts_as_it_was_given_last_and_warns(write: Write) -> None:
    loaded = load(write("num.partitions=2\nnum.partitions=3"))
    assert loaded.settings.num_partitions == 3
    assert loaded.warnings[0].endswith(":2: num.partitions was already set on line 1; the later value counts")


def test_a_file_that_is_missing_or_broken_is_a_problem(write: Write, tmp_path: Path) -> None:
    assert "No such file" in problems_of(tmp_path / "nothing")
    assert ":1: a: expected four hexadecimal digits" in problems_of(write(r"a=\u12"))


def test_an_empty_value_is_none_where_there_is_no_default() -> None:
    settings = settings_of({"advertised.listeners": "", "log.dirs": "", "log.dir": "/x"})
    assert settings.log_dirs == ("/x",)
    assert settings.advertised_listeners == settings.listeners


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (("broker.id=1", "node.id=2"), "node.id: expected the same number as broker.id, which is 1"),
        (("log.dirs=/a, /a",), "log.dirs: expected each directory once"),
        (("log.dirs=,",), "log.dirs: expected at least one directory"),
        (("listeners=SSL://:9092",), "ssl.keystore.location: expected a file with the key and certificate"),
        (("listeners=",), "listeners: expected at least one listener"),
        (("listeners=C://:1", "controller.listener.names=C"), "that is not the controller's"),
        (("advertised.listeners=PLAINTEXT://0.0.0.0:1",), "hosts that clients can connect to"),
        (("advertised.listeners=SSL://h:1",), "names out of listeners (PLAINTEXT)"),
        (("inter.broker.listener.name=X",), "a name out of advertised.listeners (PLAINTEXT)"),
        (("queued.max.request.bytes=5",), "-1, or at least socket.request.max.bytes, which is 104857600"),
        (("max.connections.per.ip=0",), "at least 1 unless max.connections.per.ip.overrides is set"),
        (("max.connections.per.ip.overrides=x",), "ADDRESS:NUMBER pairs"),
        (("stepdown.http.listen=9100",), "such as HOST:PORT"),
        (("stepdown.http.listen=h:70000",), "a port up to 65535"),
        (("log.retention.ms=0",), "of at least 1, or -1 for no limit"),
        (("log.cleaner.min.compaction.lag.ms=2", "log.cleaner.max.compaction.lag.ms=1"), "at most log.cleaner.max"),
        (("log.cleaner.threads=128",), "more than 1 MiB for each of log.cleaner.threads"),
        (("group.consumer.session.timeout.ms=44999",), "45000 to 60000, the bounds of group.consumer.min"),
        (("group.consumer.heartbeat.interval.ms=15001",), "5000 to 15000, the bounds of group.consumer.min"),
        (("group.consumer.min.session.timeout.ms=60001",), "at least group.consumer.min.session.timeout.ms"),
        (("compression.type=brotli",), "one of uncompressed, zstd, lz4, snappy, gzip, producer"),
        (("inter.broker.protocol.version=4.0",), "naming a Kafka release from 0.8.0 to 3.9"),
    ],
)
def test_values_that_contradict_or_cannot_be_served_are_refused(overrides: tuple[str, ...], expected: str) -> None:
    assert expected in problems_of(overrides=overrides)


def test_listeners_that_share_a_port_are_named() -> None:
    """`Address already in use` was said, as of another process."""
    names = "listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT"
    told = problems_of(overrides=(names, "listeners=A://127.0.0.1:9092,B://127.0.0.1:9092"))
    assert "expected a port of its own for each listener (A and B share one)" in told
    load(overrides=(names, "listeners=A://127.0.0.1:0,B://127.0.0.1:0"))


def test_a_listener_on_every_address_advertises_no_host() -> None:
    (advertised,) = settings_of({"listeners": "PLAINTEXT://0.0.0.0:9092"}).advertised_listeners
    assert (advertised.host, advertised.port) == ("", 9092)


def test_node_id_and_broker_id_are_one_setting() -> None:
    assert [settings_of({key: "7"}).broker_id for key in ("node.id", "broker.id")] == [7, 7]


@pytest.mark.parametrize("release", ["3.9", "2.8.1", "0.10.0", "0.11.0.3", "3.0-IV1", "0.10.1-IV2"])
def test_a_release_may_be_named_with_or_without_its_details(release: str) -> None:
    assert load(overrides=[f"log.message.format.version={release}"]).without_effect
