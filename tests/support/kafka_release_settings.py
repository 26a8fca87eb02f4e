"""Writes config/tables/release_table.py from the jars of Kafka's brokers: `python -m support.kafka_release_settings` in
tests/.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from stepdown.config.keys.key import Key, Status
from stepdown.config.keys.value_types import render
from stepdown.config.tables.all_keys import BROKER_KEYS, TOPIC_KEYS

from .clients_raw import string
from .java_oracle import java_oracle_for
from .kafka_releases import LAST_OF_LINE
from .maven import REPOSITORY_ROOT, class_path

TABLE = REPOSITORY_ROOT / "config" / "tables" / "release_table.py"
RELEASES = ("0.10.2", "1.1", "2.8", "3.9", "4.0", "4.1", "4.4")
"""What a broker may act as."""

SCALA = {"0.10.2": "2.11", "1.1": "2.12"}
"""The version in the name of a jar, where it is not 2.13."""

COMPARED_WITH = "3.9"
WITHOUT_SETTING = {"group.initial.rebalance.delay.ms": "0"}
"""What brokers did before they had a setting, where that is not its default."""
NOT_FELT = {
    "node.id": "the broker's own",
    "listeners": "the same address in two spellings",
    "listener.security.protocol.map": "the same map in another order",
    "ssl.enabled.protocols": "TLS 1.0 and 1.1 are not spoken here",
    "group.consumer.assignors": "the same assignors by their short names",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "how soon after its time a transaction ends",
    "delete.topic.enable": "0.10.2 lets such a request time out, which no test wants to wait for",
}
"""Settings whose defaults differ between releases and that are left alone, with the reason."""

HEAD = '''\
"""Defaults of Kafka's releases, written by tests/support/kafka_release_settings.py from their jars. Do not edit.

A test fails when a jar says something else. `release_defaults.py` reads this.
"""

DEFAULTS = """\\
{defaults}
"""
"""Broker settings whose default is not that of 3.9 in all releases, `-` where it is, or there is no such setting."""

TOPIC_SETTINGS = """\\
{topics}
"""
"""Topic settings that not all releases have: `yes` where one has it, else `-`."""
'''


@dataclass(frozen=True, slots=True)
class ReleaseSettings:
    """The settings of one release and their defaults as text, "" for none."""

    broker: dict[str, str] = field(default_factory=dict)
    topic: dict[str, str] = field(default_factory=dict)


def settings_of(release: str) -> ReleaseSettings:
    """What the jar of this release of Kafka's broker says."""
    jar = f"org.apache.kafka:kafka_{SCALA.get(release, '2.13')}:{LAST_OF_LINE[release]}"
    jars = os.pathsep.join(map(str, class_path(jar)))
    found = ReleaseSettings()
    for line in java_oracle_for("api_ranges").call("SettingDefaults.ofJars", string(jars)).decode().splitlines():
        kind, _, setting = line.partition(" ")
        name, _, default = setting.partition("=")
        (found.broker if kind == "broker" else found.topic)[name] = default
    return found


def table() -> str:
    """The text of the module."""
    releases = {release: settings_of(release) for release in RELEASES}
    topics = {
        name: ["yes" if name in settings.topic else "-" for settings in releases.values()]
        for name in TOPIC_KEYS
        if any(name in settings.topic for settings in releases.values())
    }
    return HEAD.format(
        defaults=_text({key.name: cells for key in BROKER_KEYS.values() if (cells := _defaults(key, releases))}),
        topics=_text({name: cells for name, cells in topics.items() if "-" in cells}),
    )


def _defaults(key: Key, releases: Mapping[str, ReleaseSettings]) -> list[str]:
    """The default in each release; none where all have the same, or nobody feels it."""
    if key.status is not Status.ACTED_ON or key.name in NOT_FELT:
        return []
    cells = [
        _accepted(key, settings.broker[key.name]) if key.name in settings.broker else WITHOUT_SETTING.get(key.name, "-")
        for settings in releases.values()
    ]
    before = releases[COMPARED_WITH].broker.get(key.name)
    if before is None or set(cells) <= {before, "-"}:
        return []
    assert render(key.default) == before, f"{key.name} has another default here than in {COMPARED_WITH}"
    return ["-" if cell == before else cell for cell in cells]


def _accepted(key: Key, default: str) -> str:
    """The default, without items of a list that stand for what is not here."""
    return ",".join(item for item in default.split(",") if _is_accepted(key, item))


def _is_accepted(key: Key, text: str) -> bool:
    try:
        key.value_of(text)
    except ValueError:
        return False
    return True


def _text(cells: Mapping[str, list[str]]) -> str:
    rows = [["setting", *RELEASES], *([name, *values] for name, values in cells.items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


if __name__ == "__main__":
    TABLE.write_text(table())
