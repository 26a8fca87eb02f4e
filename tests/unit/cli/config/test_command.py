import json
from pathlib import Path

import pytest
from stepdown.cli.config.settings_table import markdown
from stepdown.config.tables.all_keys import BROKER_KEYS, TOPIC_KEYS
from support.command import run_command

PAGE = Path(__file__).parents[4] / "docs" / "configuration.md"


def test_the_page_on_settings_is_what_the_table_says() -> None:
    """If this fails, run `stepdown config --markdown > docs/configuration.md`."""
    assert PAGE.read_text() == markdown()


def test_every_key_is_printed_with_type_default_and_doc() -> None:
    printed = run_command("config").stdout
    for key in (*BROKER_KEYS.values(), *TOPIC_KEYS.values()):
        assert (f"\n{key.name}\n    {key.kind.label}, default " in printed) != key.internal


def test_json_has_every_key_with_what_may_change() -> None:
    rows = json.loads(run_command("config", "--json").stdout)
    by_name = {(row["scope"], row["name"]): row for row in rows}
    assert by_name["broker", "num.partitions"]["dynamic"] == "read-only"
    assert by_name["broker", "log.retention.ms"]["dynamic"] == "cluster-wide"
    assert by_name["topic", "cleanup.policy"]["default"] == ["delete"]
    assert by_name["topic", "segment.ms"]["broker_defaults"] == ["log.roll.ms", "log.roll.hours"]
    assert not by_name["broker", "zookeeper.connect"]["acted_on"]


def test_single_keys_can_be_asked_for() -> None:
    told = run_command("config", "log.dirs", "retention.ms").stdout
    assert [line for line in told.splitlines() if line and not line.startswith(" ")] == ["log.dirs", "retention.ms"]
    assert [row["name"] for row in json.loads(run_command("config", "--json", "log.dirs").stdout)] == ["log.dirs"]


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_key_that_is_not_there_names_those_near_it(form: list[str]) -> None:
    told = run_command("config", *form, "log.dir.")
    assert told.exit_code == 1
    assert "there is no setting log.dir." in told.stderr
    assert "log.dirs" in told.stderr
