"""What the gateway's settings may say, and that every fault is named at once."""

import os
from pathlib import Path

import pytest
from stepdown.cli.gateway.command_line import reload_settings
from stepdown.config import ConfigError, Given, Origin
from stepdown.gateway.setting_keys import KEYS, LISTENER
from stepdown.gateway.setting_sources import list_settings_for_restart, read_sources
from stepdown.gateway.settings import GatewaySettings, divide_memory_by_workers, load_settings, make_settings
from stepdown.gateway.settings_without_effect import describe_settings_without_effect
from support.gateway import gateway_to

PAGE = Path(__file__).parents[3] / "docs" / "gateway.md"
UPSTREAM = Given("upstream.bootstrap.servers", "kafka-1:9092", Origin("the command line"))


def given(name: str, text: str) -> Given:
    return Given(name, text, Origin("the test"))


def test_a_file_is_nested_or_has_dots(tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text("listen: 127.0.0.1:9100\nupstream:\n  bootstrap.servers: [a:1, b:2]\nmax.connections: 7\n")
    settings = load_settings(file, {}, ())
    assert [str(each) for each in settings.bootstrap] == ["a:1", "b:2"]
    assert (settings.first_port, settings.network.max_connections) == (9101, 7)


def test_variables_win_over_the_file_and_options_over_both(tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text("advertised.host: file\ndrain.timeout.ms: 1\nupstream.bootstrap.servers: file:1\n")
    environ = {"STEPDOWN_GATEWAY_DRAIN_TIMEOUT_MS": "2", "STEPDOWN_GATEWAY_UPSTREAM_BOOTSTRAP_SERVERS": "variable:1"}
    settings = load_settings(file, environ, [UPSTREAM])
    assert (settings.advertised_host, settings.drain_ms, str(settings.bootstrap[0])) == ("file", 2, "kafka-1:9092")


def test_every_fault_is_named_at_once(tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(
        "listen: 0.0.0.0:9092\nfirst.prot: 1\ndrain.timeout.ms: soon\nbrokers: [one]\n"
        "security.protocol: SASL_SSL\nupstream.sasl.mechanisms: PLAIN\nsocket.request.max.bytes: much\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_settings(file, {}, ())
    named = {problem.key for problem in caught.value.problems}
    assert named >= {
        *("first.prot", "drain.timeout.ms", "brokers", "security.protocol", "upstream.sasl.mechanisms"),
        *("socket.request.max.bytes", "advertised.host", "upstream.bootstrap.servers"),
    }
    assert "did you mean first.port?" in caught.value.report()


def test_a_name_that_lacks_two_letters_is_known() -> None:
    """`address` was told no name; its neighbours were."""
    with pytest.raises(ConfigError, match=r"did you mean addresses\?"):
        make_settings([UPSTREAM, given("address", "single")])


def test_a_relay_that_would_log_in_is_told_what_to_say(tmp_path: Path) -> None:
    """Three problems were named, one of which was about mechanisms that nobody had asked for."""
    file = tmp_path / "gateway.yaml"
    file.write_text("security.protocol: SASL_PLAINTEXT\nupstream.security.protocol: SASL_SSL\nbrokers: [1=a:1]\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(file, {}, [UPSTREAM])
    told = {problem.key: problem.expected for problem in caught.value.problems}
    assert told.keys() == {"upstream.sasl.jaas.config", "security.protocol"}
    assert told["security.protocol"].endswith("as SASL_PLAINTEXT: expected PLAINTEXT here")
    assert told["upstream.sasl.jaas.config"].endswith("upstream.security.protocol=SSL, and brokers")


@pytest.mark.parametrize("text", ["a: [", "- a", "1"])
def test_what_is_no_settings_file_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match="expected"):
        load_settings(file, {}, ())


def load_example(number: int, folder: Path) -> GatewaySettings:
    """The settings of an example of the page."""
    file = folder / "gateway.yaml"
    file.write_text(PAGE.read_text().split("```yaml\n")[number].split("```")[0])
    return load_settings(file, {}, ())


def test_the_example_of_the_page_is_good(tmp_path: Path) -> None:
    assert load_example(1, tmp_path).swaps


def test_the_smallest_example_of_swap_is_whole(tmp_path: Path) -> None:
    """The page had none for a cluster without TLS."""
    settings = load_example(3, tmp_path)
    assert (settings.swaps, settings.lends_its_login) == (True, False)


def test_the_example_of_clients_that_log_in_is_whole(tmp_path: Path) -> None:
    """The page named the users alone, and the gateway asked for the mechanisms."""
    sasl = load_example(4, tmp_path).network.listener_security[LISTENER].sasl
    assert sasl is not None
    assert sasl.mechanisms == ("PLAIN",)


def test_the_page_has_every_setting_with_its_default() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    for name in KEYS:
        assert any(f"`{name}`" in row for row in rows), name


async def test_settings_that_are_read_again_take_the_place_of_those_before(caplog: pytest.LogCaptureFixture) -> None:
    """The log said that the settings were read again, and not which of them had changed."""
    caplog.set_level("INFO")
    gateway = gateway_to("127.0.0.1:1", allow="10.0.0.0/8")
    await reload_settings(
        gateway, [], lambda: [given("allow", "127.0.0.0/8"), given("drain.timeout.ms", "5"), UPSTREAM]
    )
    assert (gateway._allowed.refusal_delay_ms("127.0.0.1"), gateway._allowed.refusal_delay_ms("10.0.0.1") > 0) == (
        0,
        True,
    )
    assert gateway.settings.drain_ms == 5
    assert "changed since the start, and in force: allow, drain.timeout.ms" in caplog.text


async def test_what_waits_for_a_restart_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """The log said that the settings were read again, and not that some of them did not count."""
    before = [UPSTREAM, given("workers", "1"), given("report", "/tmp/a"), given("allow", "10.0.0.0/8")]
    after = [UPSTREAM, given("workers", "1"), given("max.connections", "5"), given("logins.a.sasl.username", "a")]
    assert list_settings_for_restart(before, after) == ["max.connections", "report"]
    gateway = gateway_to("127.0.0.1:1")
    await reload_settings(gateway, [UPSTREAM], lambda: [UPSTREAM, given("max.connections", "5")])
    assert "changed, and in force after a restart: max.connections" in caplog.text


async def test_settings_that_are_wrong_change_nothing(caplog: pytest.LogCaptureFixture) -> None:
    gateway = gateway_to("127.0.0.1:1", allow="10.0.0.0/8")
    await reload_settings(gateway, [], lambda: [UPSTREAM, given("allow", "somewhere")])
    assert gateway._allowed.refusal_delay_ms("10.0.0.1") == 0
    assert "the settings stay as they were: the test: allow: expected NETWORK" in caplog.text


@pytest.mark.parametrize("text", ["0", "-1", "65", "many", "1.5", "9999999999"])
def test_a_number_of_workers_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected auto, or a number from 1 to 64"):
        make_settings([UPSTREAM, given("workers", text)])


def test_workers_divide_the_memory() -> None:
    settings = make_settings([UPSTREAM, given("workers", "4"), given("answer.memory.bytes", str(8 << 20))])
    part = divide_memory_by_workers(settings)
    assert part.answer_memory_bytes == 2 << 20
    whole = settings.network.stepdown_request_memory_bytes
    assert part.network.stepdown_request_memory_bytes == whole // 4
    with pytest.raises(ConfigError, match="expected 1048576 for each of 9 workers"):
        make_settings([UPSTREAM, given("workers", "9"), given("answer.memory.bytes", str(8 << 20))])


def test_auto_is_a_worker_for_each_processor() -> None:
    assert make_settings([UPSTREAM, given("workers", "auto")]).workers == min(64, len(os.sched_getaffinity(0)))


@pytest.mark.parametrize(
    "password",
    [
        "@SEKRET",
        "%SEKRET",
        "*SEKRET",
        "!SEKRET",
        "`SEKRET",
        "a: SEKRET",
        '"SEKRET',
        "{SEKRET: x}",
        "[SEKRET, d]",
        "|SEKRET",
    ],
)
@pytest.mark.parametrize(
    "key", ["upstream.sasl.password", "stepdown.page.password", "logins.a.sasl.password", "ssl.keystore.password"]
)
def test_a_secret_that_yaml_does_not_take_for_text_is_not_shown(tmp_path: Path, key: str, password: str) -> None:
    """The message quoted the line of the file with the password in it, on stderr and in the log."""
    file = tmp_path / "gateway.yaml"
    file.write_text(f"listen: 127.0.0.1:0\n{key}: {password}\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(file, {}, [UPSTREAM])
    assert "quotes" in str(caught.value)
    assert "SEKRET" not in str(caught.value)


@pytest.mark.parametrize("text", ["010203", "no", "1_000", "~", "null", "1e3", "2026-11-29", "0x10", "true"])
def test_values_are_taken_as_they_are_written(tmp_path: Path, text: str) -> None:
    """The password 010203 became 4227, as YAML has octal numbers."""
    file = tmp_path / "gateway.yaml"
    file.write_text(f"stepdown.page.password: {text}\n")
    assert load_settings(file, {}, [UPSTREAM]).network.stepdown_page_password == text


def test_client_certificates_are_asked_for_beside_logins(tmp_path: Path) -> None:
    """`ssl.client.auth` was without effect with SASL_SSL, as in Kafka, which has several listeners."""
    texts = {
        "authentication": "swap",
        "upstream.security.protocol": "SASL_PLAINTEXT",
        "upstream.sasl.username": "a",
        "upstream.sasl.password": "b",
        "security.protocol": "SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.gateway.plain.sasl.jaas.config": 'x.PlainLoginModule required user_a="b";',
        "ssl.keystore.location": "own.pem",
        "ssl.truststore.location": "trusted.pem",
        "ssl.client.auth": "required",
    }
    settings = make_settings([UPSTREAM, *(given(name, text) for name, text in texts.items())])
    tls = settings.network.listener_security["GATEWAY"].tls
    assert tls is not None
    assert tls.client_auth == "required"


@pytest.mark.parametrize(
    ("text", "name", "lines"),
    [
        ("workers: 1\nreport: a\nworkers: 2\n", "workers", "1 and 3"),
        ("upstream:\n  sasl.username: a\nupstream.sasl.username: b\n", "upstream.sasl.username", "2 and 3"),
        ("upstream:\n  sasl.username: a\nupstream:\n  sasl.password: b\n", "upstream", "1 and 3"),
    ],
)
def test_a_setting_that_is_there_twice_is_refused(text: str, name: str, lines: str, tmp_path: Path) -> None:
    """The last one counted, in silence."""
    file = tmp_path / "gateway.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_settings(file, {}, [UPSTREAM])
    assert [str(each) for each in caught.value.problems] == [f"{file}: {name}: expected once, not in lines {lines}"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot read the settings: No such file or directory"),
        (b"\xff", "expected YAML, as UTF-8 without control characters"),
        (b"a: \x01", "expected YAML, as UTF-8 without control characters"),
    ],
    ids=["missing", "not UTF-8", "control character"],
)
def test_a_file_that_cannot_be_read_is_named_once(content: bytes | None, why: str, tmp_path: Path) -> None:
    """It said "[Errno 2] No such file or directory" and the file's name again."""
    file = tmp_path / "gateway.yaml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_sources(file, {}, ())
    assert [str(each) for each in caught.value.problems] == [f"{file}: {why}"]


def test_without_anything_the_option_is_named_that_is_needed() -> None:
    """It named a setting alone, also to those who had no file."""
    with pytest.raises(ConfigError, match=r"give --upstream, or upstream\.bootstrap\.servers in a file"):
        make_settings(())


def test_a_section_that_is_given_a_value_is_told_from_a_name_that_there_is_not() -> None:
    """`upstream: HOST:PORT`, as of the option, was no such setting, though the file in docs begins with it."""
    with pytest.raises(ConfigError, match=r"upstream: a section of settings, such as upstream\.bootstrap\.servers"):
        make_settings([given("upstream", "127.0.0.1:9092")])


@pytest.mark.parametrize(("addresses", "named"), [("single", ["first.port"]), ("ports", ["advertised.port"])])
def test_settings_for_other_addresses_are_named(addresses: str, named: list[str]) -> None:
    """`first.port` was taken in silence where all brokers have one address."""
    texts = [UPSTREAM, given("addresses", addresses), given("first.port", "9100"), given("advertised.port", "9092")]
    lines = describe_settings_without_effect(texts, make_settings(texts))
    assert lines == [f"{name} has no effect with addresses={addresses}" for name in named]


def test_tls_and_logins_of_a_side_without_them_are_named() -> None:
    """Of the cluster's side logins were named, and of the clients' side nothing."""
    names = ("listener.name.gateway.plain.sasl.jaas.config", "sasl.enabled.mechanisms", "ssl.client.auth")
    values = ('x.PlainLoginModule required user_a="b";', "PLAIN", "required")
    texts = [*SWAP[:2], given("upstream.security.protocol", "SASL_PLAINTEXT"), given("upstream.sasl.username", "a")]
    texts += [SWAP[3], given("upstream.ssl.enabled.protocols", "TLSv1.3"), *map(given, names, values)]
    assert describe_settings_without_effect(texts, make_settings(texts)) == [
        *(f"{name} has no effect with security.protocol=PLAINTEXT" for name in names),
        "upstream.ssl.enabled.protocols has no effect with upstream.security.protocol=SASL_PLAINTEXT",
    ]


@pytest.mark.parametrize(("protocol", "option"), [("PLAINTEXT", ""), ("SSL", " --command-config FILE")])
def test_advice_names_the_option_for_a_login_or_tls(protocol: str, option: str) -> None:
    """The command that it advised could not log in."""
    settings = make_settings([UPSTREAM, given("upstream.security.protocol", protocol)])
    assert settings.cluster_for_commands == f"kafka-1:9092{option}"


def test_a_login_of_another_mechanism_is_told_so(tmp_path: Path) -> None:
    """It wanted a PlainLoginModule, and did not name `sasl.mechanism`, which was missing, nor the file."""
    file = tmp_path / "gateway.yaml"
    file.write_text('upstream.sasl.jaas.config: x.ScramLoginModule required username="a" password="b";\n')
    with pytest.raises(ConfigError, match=r"with sasl\.mechanism=PLAIN") as caught:
        load_settings(file, {}, [UPSTREAM, given("upstream.security.protocol", "SASL_SSL")])
    assert caught.value.problems[0].origin.place == str(file)


def test_a_login_without_a_protocol_that_has_logins_is_named() -> None:
    """It was good, though nobody would have logged in."""
    texts = [UPSTREAM, given("upstream.sasl.mechanism", "PLAIN"), given("upstream.sasl.username", "u")]
    assert describe_settings_without_effect(texts, make_settings(texts)) == [
        f"upstream.sasl.{name} has no effect with upstream.security.protocol=PLAINTEXT"
        for name in ("mechanism", "username")
    ]


@pytest.mark.parametrize("host", ["gw.example:9092", "127.0.0.1:9092", "[::1]:9092", "[::1]", "gw/", "a b"])
def test_an_advertised_host_with_a_port_is_refused(host: str) -> None:
    """Brokers were said to be at [gw.example:9092]:28294."""
    with pytest.raises(ConfigError, match=r"advertised\.host: expected a host without a port"):
        make_settings([UPSTREAM, given("advertised.host", host)])


def test_an_advertised_host_may_be_an_address() -> None:
    assert make_settings([UPSTREAM, given("advertised.host", "::1")]).advertised_host == "::1"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("# as of a broker\nlisten=127.0.0.1:9092\n", "this is a properties file (NAME=VALUE): expected YAML"),
        ("ssl:\n\tprotocol: TLS\n", "line 2, column 1 is not; it has a tab, in place of which YAML takes spaces"),
    ],
    ids=["properties", "tab"],
)
def test_what_is_not_yaml_is_called_what_it_is(text: str, why: str, tmp_path: Path) -> None:
    """A properties file was told "expected names and values", a tab to be put in quotes."""
    file = tmp_path / "gateway.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_sources(file, {}, ())
    assert why in str(caught.value)


def test_parts_of_one_prefix_may_be_nested_and_have_dots(tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text("upstream:\n  ssl: {protocol: TLS}\nupstream.ssl: {truststore.location: a}\n")
    assert [each.key for each in read_sources(file, {}, ())] == [
        "upstream.ssl.protocol",
        "upstream.ssl.truststore.location",
    ]


SWAP = [
    UPSTREAM,
    given("authentication", "swap"),
    given("upstream.security.protocol", "SASL_SSL"),
    given("upstream.sasl.password", "b"),
]


@pytest.mark.parametrize(
    ("more", "names"),
    [
        (("upstream.sasl.mechanism", "SCRAM-SHA256"), ["upstream.sasl.mechanism", "upstream.sasl.jaas.config"]),
        (("upstream.sasl.mechanism", "PLAIN"), ["upstream.sasl.jaas.config"]),
    ],
)
def test_a_fault_of_the_login_is_no_second_fault(more: tuple[str, str], names: list[str]) -> None:
    """The protocol, which was there, was said to be missing."""
    with pytest.raises(ConfigError) as caught:
        make_settings([*SWAP, given(*more)])
    assert [each.key for each in caught.value.problems] == names


def test_a_wrong_value_of_client_auth_is_named_once() -> None:
    """It was named again, by a name that nobody had written."""
    with pytest.raises(ConfigError) as caught:
        make_settings([UPSTREAM, given("ssl.client.auth", "maybe")])
    assert [each.key for each in caught.value.problems] == ["ssl.client.auth"]


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        ({"listen": "127.0.0.1:29700", "first.port": "29699", "brokers": "1=a:1"}, "first.port"),
        ({"listen": "127.0.0.1:29700", "http": "127.0.0.1:29702", "brokers": "0=a:1,1=b:1"}, "first.port"),
        ({"listen": "127.0.0.1:29700", "http": "127.0.0.1:29700"}, "http"),
    ],
)
def test_a_port_that_two_things_would_have_is_refused(texts: dict[str, str], name: str) -> None:
    """It was found when the port was to be opened, and then in the log alone."""
    with pytest.raises(ConfigError) as caught:
        make_settings([UPSTREAM, *(given(*each) for each in texts.items())])
    assert [each.key for each in caught.value.problems] == [name]


def test_a_misspelt_name_of_the_upstream_is_one_fault() -> None:
    """It was named twice: as a setting that there is not, and as one that was missing."""
    with pytest.raises(ConfigError) as caught:
        make_settings([given("upstream.bootstrap.server", "kafka-1:9092")])
    assert [each.nearest for each in caught.value.problems] == ["upstream.bootstrap.servers"]


def test_the_first_port_is_described_as_the_page_does() -> None:
    """It was to be "a 32-bit integer from -1 to 65535", and the page had 0 and up."""
    with pytest.raises(ConfigError, match="from 0 to 65535, or -1"):
        make_settings([UPSTREAM, given("first.port", "65536")])
    assert "-1: the port after that of `listen`" in next(
        line for line in PAGE.read_text().splitlines() if line.startswith("| `first.port`")
    )
