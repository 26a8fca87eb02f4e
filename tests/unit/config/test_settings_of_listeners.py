"""Settings of one listener that would have no effect: `listener.name.<name>.<key>`."""

from pathlib import Path

import pytest
from stepdown.config import ConfigError, load
from stepdown.config.alterations import with_dynamic_values
from stepdown.config.layered_values import Layers
from stepdown.config.listener_security import JAAS, LIMITS
from stepdown.config.tables.security import LISTENERS

KEYS = [f"plain.{JAAS}", *LIMITS, *(key.name for key in LISTENERS if key.name != JAAS)]
"""All that a listener may have for itself."""
OF_TLS = [key for key in KEYS if key.startswith("ssl.")]
OF_SASL = [key for key in KEYS if not key.startswith("ssl.") and key not in LIMITS]


def problems_of(*overrides: str) -> str:
    with pytest.raises(ConfigError) as fault:
        load(overrides=overrides)
    return str(fault.value)


@pytest.mark.parametrize("key", KEYS)
def test_capitals_in_a_setting_of_a_listener_stop_the_start(key: str) -> None:
    """`listener.name.SSL.ssl.client.auth=required` was taken without a word, and clients needed no certificate."""
    small = f"listener.name.plaintext.{key}"
    for written in (f"listener.name.PLAINTEXT.{key}", f"listener.name.plaintext.{key.title()}"):
        assert f"{written}: has no effect in capitals: write {small}" in problems_of(f"{written}=1")
        with pytest.raises(ConfigError, match="has no effect in capitals"):
            with_dynamic_values(Layers(), broker={written: "1"})


@pytest.mark.parametrize("key", KEYS)
def test_a_setting_of_a_listener_that_there_is_not_stops_the_start(key: str) -> None:
    """It was taken without a word, so that a listener whose name was misspelt there was without its protection."""
    assert "there is no listener PLAINTXT in listeners" in problems_of(f"listener.name.plaintxt.{key}=1")


@pytest.mark.parametrize(
    ("key", "protocol"),
    [(key, protocol) for key in OF_TLS for protocol in ("PLAINTEXT", "SASL_PLAINTEXT")]
    + [(key, protocol) for key in OF_SASL for protocol in ("PLAINTEXT", "SSL")],
)
def test_a_setting_for_which_the_protocol_of_its_listener_has_no_use_is_named(key: str, protocol: str) -> None:
    """`ssl.client.auth=required` of a listener without TLS was listed as taking effect."""
    name = f"listener.name.a.{key}"
    (warning,) = load(
        overrides=[
            "listeners=A://:1",
            f"listener.security.protocol.map=A:{protocol}",
            "ssl.keystore.location=x",
            "sasl.enabled.mechanisms=SCRAM-SHA-256",
            f"{name}=1",
        ]
    ).warnings
    assert warning.endswith(f"{name} has no effect: listener A speaks {protocol}")


def test_a_setting_of_a_listener_that_a_later_source_replaced_is_named(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("listeners=SSL://:1\nssl.keystore.location=x\nlistener.name.ssl.ssl.client.auth=none\n")
    assert not load(file).warnings
    (warning,) = load(file, overrides=["listeners=PLAINTEXT://:1"]).warnings
    assert "listener.name.ssl.ssl.client.auth has no effect: no listener SSL is opened" in warning


@pytest.mark.parametrize("roles", ["broker,controller", "controller"])
def test_settings_of_the_controllers_listener_are_taken_and_named(roles: str) -> None:
    listeners = "C://:2" if roles == "controller" else "PLAINTEXT://:1,C://:2"
    warnings = load(
        overrides=[
            f"process.roles={roles}",
            f"listeners={listeners}",
            "controller.listener.names=C",
            "listener.name.c.ssl.client.auth=none",
        ]
    ).warnings
    assert any("listener.name.c.ssl.client.auth has no effect: no listener C is opened" in each for each in warnings)


def test_client_authentication_that_is_not_for_sasl_ssl_is_named() -> None:
    """`ssl.client.auth=required` does nothing there without the listener's prefix (KIP-684), and nobody said so."""
    given = ["listeners=SASL_SSL://:1,SSL://:2", "ssl.keystore.location=x", "ssl.truststore.location=x"]
    given += ["sasl.enabled.mechanisms=SCRAM-SHA-256", "ssl.client.auth=required"]
    (warning,) = load(overrides=given).warnings
    assert "has no effect at listener SASL_SSL, which speaks SASL_SSL: for it write listener.name.sasl_ssl." in warning
    assert not load(overrides=[*given, "listener.name.sasl_ssl.ssl.client.auth=required"]).warnings
