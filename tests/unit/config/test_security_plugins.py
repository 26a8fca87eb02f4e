"""Settings by which a class decides who gets in."""

import pytest
from stepdown.config import ConfigError, load
from stepdown.config.keys.key import Status
from stepdown.config.security_plugins import SECURITY_PLUGINS
from stepdown.config.tables.all_keys import BROKER_KEYS
from stepdown.config.tables.security import DEFAULT_PRINCIPAL_BUILDER, KEYS

PREFIXES = ("", "listener.name.external.", "listener.name.external.scram-sha-256.")


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("key", SECURITY_PLUGINS)
def test_a_class_that_would_decide_who_gets_in_stops_the_start(key: str, prefix: str) -> None:
    """It was taken with a warning, and all got in whom it would have refused."""
    with pytest.raises(ConfigError, match=f"{prefix}{key}.*no Java class can be used"):
        load(overrides=[f"{prefix}{key}=com.example.Strict"])


def test_the_default_of_kafka_is_taken() -> None:
    assert load(overrides=[f"principal.builder.class={DEFAULT_PRINCIPAL_BUILDER}"]).settings


@pytest.mark.parametrize("key", [key.name for key in KEYS if key.status is Status.ACCEPTED])
def test_no_setting_of_security_without_effect_is_taken_in_silence(key: str) -> None:
    default = BROKER_KEYS[key].default
    text = ",".join(default) if isinstance(default, tuple) else str(1 if default is None else default)
    try:
        warnings = load(overrides=[f"{key}={text}"]).warnings
    except ConfigError as fault:
        assert key in str(fault)
    else:
        assert any(f"{key} is accepted but has no effect" in each for each in warnings)


@pytest.mark.parametrize("key", ["sasl.login.class", "ssl.provider", "sasl.kerberos.service.name", "ssl.made.up"])
def test_nor_is_one_of_a_listener(key: str) -> None:
    name = f"listener.name.external.{key}"
    assert any(name in each and "has no effect" in each for each in load(overrides=[f"{name}=x"]).warnings)
