"""`stepdown gateway --check` names every fault, also of the files that the settings name."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.certificates import Authority
from support.command import Finished, run_command

SETTINGS = """
upstream:
  bootstrap.servers: [127.0.0.1:1]
  security.protocol: SSL
  ssl.truststore.location: {upstream}
security.protocol: SSL
ssl.keystore.type: PEM
ssl.keystore.location: {own}
ssl.truststore.type: PEM
ssl.truststore.location: {trusted}
ssl.client.auth: required
allow: [10.0.0.0/8, 10.1.0.0/16 until 2020-06-30]
"""


def check(folder: Path, more: str = "", **files: object) -> Finished:
    file = folder / "gateway.yaml"
    file.write_text(SETTINGS.format(**files) + more)
    return run_command("gateway", "--check", file)


def test_good_files_are_good(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    told = check(tmp_path, upstream=authority.file, own=authority.issue("own"), trusted=authority.file)
    assert (told.exit_code, told.stdout) == (0, "the settings are good; the cluster was not asked\n"), told.stderr
    assert "allow: 10.1.0.0/16 until 2020-06-30 has ended" in told.stderr


def test_certificates_that_have_ended_are_named_with_their_date(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    own = authority.issue("own", ends=datetime(2020, 6, 30, tzinfo=UTC))
    towards_cluster = f"upstream.ssl.keystore.location: {own}\n"
    told = check(tmp_path, towards_cluster, upstream=authority.file, own=own, trusted=authority.file)
    assert told.exit_code == 0, told.stderr
    assert re.findall(rf"{own}: the certificate of CN=own,.* ended on (\S+)", told.stderr) == ["2020-06-30"] * 2
    assert told.stderr.count(" ended on ") == 2


def test_every_file_that_cannot_be_used_is_named_at_once(tmp_path: Path) -> None:
    """It opened those of the cluster's side alone, and said that the settings were good."""
    (tmp_path / "trusted.pem").write_text("nothing of use")
    told = check(
        tmp_path, "nonsense: 1\n", upstream=tmp_path / "a", own=tmp_path / "b", trusted=tmp_path / "trusted.pem"
    )
    assert (told.exit_code, told.stdout) == (2, "")
    said = [
        "4 problems",
        "nonsense: the gateway has no such setting",
        "upstream.ssl.truststore.location: expected PEM that can be used: No such file or directory",
        f"ssl.keystore.location: {tmp_path / 'b'} cannot be used: No such file or directory",
        f"ssl.truststore.location: {tmp_path / 'trusted.pem'} cannot be used: ",
    ]
    assert [text for text in said if text not in told.stderr] == []


def test_options_alone_are_enough_for_every_address_of_this_machine(tmp_path: Path) -> None:
    """The host that clients connect to could be given by a file or a variable only."""
    options = ("--upstream", "127.0.0.1:1", "--listen", "0.0.0.0:9092")
    told = run_command("gateway", "--check", *options)
    assert "since `listen` names none: give --advertised-host" in told.stderr
    assert run_command("gateway", "--check", *options, "--advertised-host", "localhost").exit_code == 0


def test_a_setting_without_effect_and_a_report_without_a_folder_are_told(tmp_path: Path) -> None:
    """Both were good."""
    file = tmp_path / "gateway.yaml"
    settings = "upstream.bootstrap.servers: 127.0.0.1:1\naddresses: single\nfirst.port: 9100\n"
    file.write_text(settings)
    assert "first.port has no effect with addresses=single" in run_command("gateway", "--check", file).stderr
    file.write_text(f"{settings}report: {tmp_path / 'none' / 'report.json'}\n")
    assert f"report: {tmp_path / 'none'} is no folder" in run_command("gateway", "--check", file).stderr


@pytest.mark.parametrize(("text", "why"), [(None, "cannot be read: No such file"), ("{}", "holds no set of keys")])
def test_the_keys_of_tokens_are_opened(text: str | None, why: str, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    if text is not None:
        keys.write_text(text)
    file = tmp_path / "gateway.yaml"
    file.write_text(
        "upstream: {bootstrap.servers: 127.0.0.1:1, security.protocol: SASL_PLAINTEXT, sasl.username: a, "
        "sasl.password: b}\nauthentication: swap\nsecurity.protocol: SASL_PLAINTEXT\n"
        f"sasl.enabled.mechanisms: OAUTHBEARER\nsasl.oauthbearer.jwks.endpoint.url: file://{keys}\n"
        "sasl.oauthbearer.expected.audience: kafka\n"
    )
    told = run_command("gateway", "--check", file)
    assert told.exit_code == 2
    assert "sasl.oauthbearer.jwks.endpoint.url: " in told.stderr and why in told.stderr


LOGIN = (
    "upstream: {bootstrap.servers: 127.0.0.1:1, security.protocol: SASL_PLAINTEXT, sasl.username: a, sasl.password: b}"
)
USERS = (
    "security.protocol: SASL_PLAINTEXT\nsasl.enabled.mechanisms: PLAIN\nlistener.name.gateway.plain.sasl.jaas.config: "
    'org.apache.kafka.common.security.plain.PlainLoginModule required user_a="b";\n'
)


@pytest.mark.parametrize(("more", "is_told"), [("", True), ("allow: [10.0.0.0/8]\n", False), (USERS, False)])
def test_a_login_that_is_lent_to_everybody_is_told(tmp_path: Path, more: str, is_told: bool) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(f"{LOGIN}\nauthentication: swap\n{more}")
    told = run_command("gateway", "--check", file)
    assert told.exit_code == 0, told.stderr
    assert ("whoever reaches 127.0.0.1:9092 has the rights of the gateway's login" in told.stderr) == is_told


@pytest.mark.parametrize(("authentication", "is_told"), [("relay", True), ("swap", False)])
def test_whose_login_the_clients_have_is_told(tmp_path: Path, authentication: str, is_told: bool) -> None:
    """With `relay` the gateway's login was good, though it helps no client that has none."""
    file = tmp_path / "gateway.yaml"
    file.write_text(f"{LOGIN}\nauthentication: {authentication}\n")
    told = run_command("gateway", "--check", file)
    assert told.exit_code == 0, told.stderr
    assert ("each client logs in to the cluster itself" in told.stderr) == is_told


def test_a_client_certificate_is_no_lent_login(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    login = "authentication: swap\nupstream.security.protocol: SASL_SSL\nupstream.sasl: {username: a, password: b}\n"
    file = tmp_path / "gateway.yaml"
    settings = SETTINGS.replace("  security.protocol: SSL\n", "").replace("allow:", "# allow:")
    file.write_text(
        settings.format(upstream=authority.file, own=authority.issue("own"), trusted=authority.file) + login
    )
    told = run_command("gateway", "--check", file)
    assert (told.exit_code, "the gateway's login" in told.stderr) == (0, False), told.stderr


@pytest.mark.parametrize(
    ("more", "is_told"),
    [
        ("upstream.security.protocol: SSL\n", True),
        ("upstream.security.protocol: SSL\nallow: [10.0.0.0/8]\n", False),
        ("upstream.sasl: {username: a, password: b}\nupstream.security.protocol: SASL_SSL\n", False),
    ],
    ids=["open", "allow", "the cluster has logins"],
)
def test_a_certificate_that_is_lent_to_everybody_is_told(tmp_path: Path, more: str, is_told: bool) -> None:
    """With `relay` whoever reached the gateway was the user of its certificate at the cluster, without a word."""
    authority = Authority(tmp_path)
    own = authority.issue("own")
    file = tmp_path / "gateway.yaml"
    file.write_text(
        f"upstream.bootstrap.servers: 127.0.0.1:1\nbrokers: [1=127.0.0.1:1]\n"
        f"upstream.ssl.truststore.location: {authority.file}\nupstream.ssl.keystore.location: {own}\n{more}"
    )
    told = run_command("gateway", "--check", file)
    assert told.exit_code == 0, told.stderr
    assert ("whoever reaches 127.0.0.1:9092 has the rights of the gateway's certificate" in told.stderr) == is_told


def test_faults_of_files_and_ended_entries_are_named_beside_others(tmp_path: Path) -> None:
    """A missing file and an entry of `allow` that had ended were named once all other faults were mended."""
    wrong = "upstream.ssl.enabled.protocols: TLSv9\nssl.truststore.password: nonsense\nconnections.max.idle.ms: x\n"
    missing = {name: tmp_path / name for name in ("upstream", "own", "trusted")}
    told = check(tmp_path, wrong, **missing)
    assert told.exit_code == 2
    assert [name for name, path in missing.items() if str(path) not in told.stderr] == []
    assert "allow: 10.1.0.0/16 until 2020-06-30 has ended" in told.stderr


@pytest.mark.parametrize(
    ("option", "why"),
    [
        (("--liste", "127.0.0.1:9092"), "did you mean --listen?"),
        (("--worke", "2"), "unrecognized arguments: --worke\n"),  # which an option without help resembles
        (
            ("--workers", "2"),
            "workers has no option: it goes into GATEWAY.YAML, or into the variable STEPDOWN_GATEWAY_WORKERS",
        ),
        (("--first.port=9100",), "variable STEPDOWN_GATEWAY_FIRST_PORT"),
        (("--first-port=9100",), "variable STEPDOWN_GATEWAY_FIRST_PORT"),
        (("-o", "first.port=9100"), "STEPDOWN_GATEWAY_FIRST_PORT for first.port"),
        (("--port", "9100"), "its address is --listen HOST:PORT"),
        (("-b", "127.0.0.1:1"), "the cluster's brokers are --upstream HOST:PORT"),
        (("-c", "gateway.yaml"), "GATEWAY.YAML, which comes without one"),
    ],
)
def test_an_option_that_it_does_not_have_is_told_the_way(option: tuple[str, ...], why: str) -> None:
    """They were "unrecognized arguments", and of `--workers` a hidden option was suggested."""
    told = run_command("gateway", "--upstream", "127.0.0.1:1", *option)
    assert (told.exit_code, why in told.stderr) == (2, True), told.stderr


def test_an_address_in_place_of_a_file_is_taken_for_what_it_is(tmp_path: Path) -> None:
    """`gateway kafka-1:9092` could not be read: No such file or directory."""
    told = run_command("gateway", "--check", "kafka-1:9092")
    assert told.exit_code == 2
    assert "kafka-1:9092 is no file of settings: did you mean --upstream kafka-1:9092?" in told.stderr
    (file := tmp_path / "b:1").write_text("upstream.bootstrap.servers: kafka-1:9092\n")
    assert run_command("gateway", "--check", file).exit_code == 0
