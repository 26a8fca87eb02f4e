"""Security settings that cannot be used end in a sentence with the setting, before anything listens."""

from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.config import ConfigError, load
from stepdown.config.keys.key import Key
from stepdown.config.tables.security import LISTENERS
from stepdown.protocol.errors import DiskFault
from support.certificates import Authority
from support.secure import secure_settings

NASTY = ("", "?", "RULE:", "RULE:(/x/", "RULE:a/b/Z", "-1", "9" * 40, "true", "(", "file:///", "a" * 5000, "é,")
RULES = (
    "RULE:^CN=(.*$/$1/",
    "RULE:^CN=(.*?),$",
    "DEFAULT,RULE:x",
    "RULE:^(?<name>a)/$1/",
    "RULE:^[a-z&&[^b]]++/$1/",
    "default",
)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


async def start(tmp_path: Path, settings: dict[str, str]) -> str:
    """What stops the start; "" when nothing does. Raises what would be a traceback."""
    texts = {"log.dirs": str(tmp_path / "data"), **settings}
    try:
        loaded = load(overrides=[f"{key}={text}" for key, text in texts.items()])
        broker = Broker(loaded.settings, loaded.layers)
        await broker.start()
    except ConfigError as fault:
        return fault.report()
    except (DiskFault, OSError) as fault:
        return str(fault)
    await broker.stop()
    return ""


@pytest.mark.parametrize("rules", RULES)
async def test_rules_for_principals_that_cannot_be_used_are_named(
    tmp_path: Path, authority: Authority, rules: str
) -> None:
    """A bad rule of ssl.principal.mapping.rules ended in a traceback."""
    reason = await start(tmp_path, secure_settings(authority) | {"ssl.principal.mapping.rules": rules})
    assert "ssl.principal.mapping.rules" in reason


@pytest.mark.lengthy
@pytest.mark.parametrize("key", LISTENERS, ids=lambda key: str(key.name))
async def test_no_value_of_a_security_setting_ends_in_a_traceback(
    tmp_path: Path, authority: Authority, key: Key
) -> None:
    for text in NASTY:
        reason = await start(tmp_path, secure_settings(authority) | {key.name: text})
        assert "Traceback" not in reason
