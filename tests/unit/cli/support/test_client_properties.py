from pathlib import Path

import pytest
from stepdown.cli.support.client_properties import load_security, security_properties
from stepdown.cli.support.failures import CommandFailure
from stepdown.client.security.settings import SaslSettings

LOGIN = 'sasl.jaas.config=a.ScramLoginModule required username="alice" password="a\\\\"b";'


def test_security_is_taken_and_the_rest_left_out(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512 \n{LOGIN}\nacks=1\ngroup.id=g\n")
    security = load_security(security_properties(file))
    assert security is not None
    assert security.tls is None
    assert security.sasl == SaslSettings(mechanism="SCRAM-SHA-512", username="alice", password='a"b')


def test_no_file_is_no_security() -> None:
    assert load_security(security_properties(None)) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("security.protocol=SASL_SSL", "sasl.jaas.config"),
        ("security.protocol=SSL\nssl.truststore.type=JKS", "ssl.truststore.type.*PEM"),
        ("security.protocol=SSL\nssl.truststore.location=absent.pem", "ssl.truststore.location"),
        ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER", "commands support PLAIN and SCRAM"),
        ("security.protocl=SSL", "security.protocol"),
        ("sasl.username=\\u00", "four hexadecimal digits"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text(text)
    with pytest.raises(CommandFailure, match=told):
        load_security(security_properties(file))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandFailure, match=r"absent: No such file"):
        security_properties(tmp_path / "absent")
