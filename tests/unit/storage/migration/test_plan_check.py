"""A plan in the hands of a person: whatever it became, it is applied and undone, or refused with a sentence."""

import json
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from stepdown.protocol.errors import DiskFault
from stepdown.storage.migration.directory_survey import RefusedDirectory
from stepdown.storage.migration.plan_document import MalformedPlan
from support.migrating import Migration, cluster_of, write_directory, write_replica

SCRAM = "salt=a2V5,stored_key=a2V5,server_key=a2V5,iterations=4096"
RULE = {"principal": r"User:CN=a\,b", "permissionType": "Allow", "operation": "Read", "host": "*"}
NODES = {
    "/config/topics/orders": {"config": {"retention.ms": "1000"}},
    "/config/users/alice": {"config": {"SCRAM-SHA-256": SCRAM, "SCRAM-SHA-512": SCRAM, "producer_byte_rate": "1e-7"}},
    "/config/users/<default>/clients/<default>": {"config": {"consumer_byte_rate": "1e16"}},
    "/kafka-acl/Topic/orders": {"acls": [RULE]},
    "/config/brokers/1": {"config": {"log.cleaner.threads": "2"}},
    "/config/brokers/<default>": {"config": {"log.retention.ms": "${file:/secrets:retention}"}},
}


@pytest.fixture
def migration(tmp_path: Path) -> Migration:
    """Two brokers, the first with two directories; a topic of two partitions, whose last epochs are 3."""
    disks = {1: [write_directory(tmp_path / name, 1) for name in ("a", "b")], 2: [write_directory(tmp_path / "2", 2)]}
    for disk, index in ((disks[1][0], 0), (disks[1][1], 1), (disks[2][0], 0)):
        write_replica(disk, "orders", index, epochs=[(3, 0)])
    nodes = {path: json.dumps(value).encode() for path, value in NODES.items()}
    found = Migration(tmp_path, disks, cluster_of({"orders": [([1, 2], 1, 3, [1, 2]), ([1], 1, 3, [1])]}, nodes))
    found.plan()
    return found


def edit(migration: Migration, change: Any) -> None:
    plan = yaml.safe_load(migration.path.read_text())
    change(plan)
    migration.path.write_text(yaml.safe_dump(plan))


def test_what_zookeeper_had_is_the_same_when_the_plan_is_read(migration: Migration) -> None:
    """Fault: YAML took the rate 1e-07 for a text, and apply refused the plan."""
    state = migration.read().state
    assert migration.cluster is not None
    assert state.client_quotas == migration.cluster.quotas
    assert state.scram_credentials == migration.cluster.passwords
    assert len(state.scram_credentials) == 2
    assert [each.principal for each in state.acls] == [r"User:CN=a\,b"]
    assert state.cluster_configs == {"log.retention.ms": "${file:/secrets:retention}"}


NONSENSE = (
    None, -1, 0, 1 << 31, 1 << 63, 10**30, "x", "", True, 1.5, float("nan"), [], {}, [1], [[1]], [{}], {"a": 1},
    "..", "/", ["../x-1"], "a b",
)  # fmt: skip


def data_of(migration: Migration) -> dict[str, bytes]:
    return {path: data for path, (data, _) in migration.contents().items()}


def places(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to each value within."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [above, *(place for key, each in pairs for place in places(each, (*above, key)))]


@pytest.mark.lengthy
@pytest.mark.parametrize("seed", range(2))
def test_no_edit_ends_in_anything_but_a_sentence(migration: Migration, seed: int) -> None:
    """Fault: numbers beyond int32, lists in the place of ids and odd names ended in a traceback."""
    dice, plan = Random(seed), yaml.safe_load(migration.path.read_text())
    before, refused = data_of(migration), 0
    for *above, last in places(plan)[1:]:
        changed = deepcopy(plan)
        parent = changed
        for key in above:
            parent = parent[key]
        parent[last] = dice.choice(NONSENSE)
        migration.path.write_text(yaml.safe_dump(changed))
        try:
            migration.apply()
            migration.undo()
        except DiskFault:
            refused += 1
        assert data_of(migration) == before, (above, last)
    assert refused > len(places(plan)) // 2


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda plan: plan.update(cluster_id="other"), "is of cluster"),
        (lambda plan: plan.update(metadata_version=99), "7 to 33 expected"),
        (lambda plan: plan.update(voters=[1, 1]), "each broker once"),
        (lambda plan: plan.update(kraft_version=2), "0 to 1 expected"),
        (lambda plan: plan.update(kraft_version=1, metadata_version=20), "metadata_version of 21 at least"),
        (lambda plan: plan["brokers"][1].update(port=0), "ports from 1"),
        (lambda plan: plan["brokers"][1].update(host="a,b"), "a host expected"),
        (lambda plan: plan["brokers"][1].update(host="host-2"), "host-2:9092 is the address of 2 listeners"),
        (lambda plan: plan["brokers"][1].update(set_aside=["orders"]), "the folder of a partition"),
        (lambda plan: plan["topics"].update(copy=plan["topics"]["orders"]), "have one id"),
        (lambda plan: plan["topics"]["orders"].update(id="A" * 22), "Kafka's own"),
        (lambda plan: plan["topics"].update({"a b": plan["topics"].pop("orders")}), "topics: "),
        (lambda plan: plan["topics"]["orders"]["partitions"][0].update(leader_epoch=3), "above 3"),
        (lambda plan: plan["topics"]["orders"]["partitions"][0].update(adding=[7]), "adding and removing"),
        (lambda plan: plan["topics"]["orders"]["partitions"][0].update(replicas=[1, 2, 1 << 31]), "broker ids up to"),
        (lambda plan: plan["topics"]["orders"]["configs"].update({"retention.ms": "7 days"}), "7 days"),
        (lambda plan: plan["topics"]["orders"]["configs"].update({"segment.bytes": "1000"}), "becomes 1048576"),
        (lambda plan: plan["topics"]["orders"]["configs"].update({"cleanup.policy": "keep"}), "cleanup.policy=keep"),
        (lambda plan: plan["acls"][0].__setitem__(5, "ANY"), "acls: a rule"),
        (lambda plan: plan["acls"][0].__setitem__(3, "alice"), "acls: a rule"),
        (lambda plan: plan["scram_credentials"][0].update(iterations=1 << 40), "iterations of alice"),
    ],
)
def test_what_kafka_would_not_start_with_is_refused(migration: Migration, change: Any, text: str) -> None:
    before = migration.contents()
    edit(migration, change)
    with pytest.raises(RefusedDirectory, match=text):
        migration.apply()
    assert migration.contents() == before


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda plan: plan.pop("cluster_id"), "cluster_id: a text in quotes"),
        (lambda plan: plan["brokers"][1].pop("host"), "host: a text in quotes"),
        (lambda plan: plan["topics"].update({7: plan["topics"].pop("orders")}), "topics: a text in quotes"),
        (lambda plan: plan["brokers"][1]["found"]["orders"][0].__setitem__(1, 2), "one of the 2 directories"),
        (lambda plan: plan["client_quotas"][0]["quotas"].update(producer_byte_rate="much"), "a rate expected"),
        (lambda plan: plan["scram_credentials"][0].pop("salt"), "salt and keys"),
    ],
)
def test_what_cannot_be_read_as_it_was_meant_is_refused(migration: Migration, change: Any, text: str) -> None:
    """Fault: a host or a cluster id that was left out became the text `None`."""
    edit(migration, change)
    with pytest.raises(MalformedPlan, match=text):
        migration.apply()


def test_undo_by_a_plan_with_lower_epochs_changes_nothing(migration: Migration) -> None:
    """It would forget the leader epochs from there on."""
    migration.apply()
    before = migration.contents()
    edit(migration, lambda plan: plan["topics"]["orders"]["partitions"][0].update(leader_epoch=1))
    with pytest.raises(RefusedDirectory, match="changed since it was applied"):
        migration.undo()
    assert migration.contents() == before
