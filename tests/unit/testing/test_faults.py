"""Whatever can go wrong over HTTP, which is what the command line and scenarios have, Python has by name."""

from pathlib import Path

import pytest
from stepdown.broker.faults.control_operation import FIELDS_OF_CLUSTERS, PATHS_OF_CLUSTERS
from stepdown.broker.faults.kinds import KINDS
from stepdown.testing import running
from stepdown.testing.clock import Clock
from stepdown.testing.cluster import Cluster
from stepdown.testing.control_client import ControlFailed
from stepdown.testing.faults import AsyncFaults, Faults
from stepdown.testing.kafka import Kafka
from stepdown.testing.make_brokers import make_brokers

METHODS = {
    Clock: {"clock/pause": "pause", "clock/advance": "advance", "clock/resume": "resume"},
    Faults: {
        "segments/corrupt": "corrupt_segment",
        "producers/fence": "fence_producer",
        "markers/hold": "hold_markers",
        "markers/release": "release_markers",
    },
    Kafka: {
        "topics/create": "create_topic",
        "topics/delete": "delete_topic",
        "topics/describe": "partition",
        "coordinators/find": "coordinator",
        "groups/delete": "delete_group",
        "groups/wait": "wait_for_consumers",
        "reset": "reset",
    },
    Cluster: {
        **{f"brokers/{name}": name for name in ("stop", "kill", "start", "pause", "resume", "fence", "unfence")},
        **{f"followers/{name}": f"{name}_follower" for name in ("pause", "resume", "slow")},
        **{f"isr/{name}": f"{name}_isr" for name in ("shrink", "expand")},
        **{f"elections/{name}": f"{name}_elections" for name in ("hold", "release")},
        **{f"metadata/{name}": f"{name}_metadata" for name in ("hold", "release")},
        "leaders/move": "move_leader",
        "coordinators/move": "move_coordinator",
        "leaders/take": "take_leader",
        "leaders/bump-epoch": "bump_epoch",
        "leaders/elect": "elect",
    },
}


async def test_a_broker_alone_says_of_what_a_cluster_has_that_it_needs_several(tmp_path: Path) -> None:
    """`leader_of` was no field, and there was no `/leaders/move`: as if it were misspelt."""
    cluster = make_brokers(str(tmp_path), brokers=2, config={})
    await cluster.start()
    of_cluster = cluster.control.operations
    await cluster.stop()
    async with running() as kafka:
        listed = (await kafka.control.ask("GET", ""))["operations"]
        of_one = {(each["method"], each["path"].strip("/")): set(each.get("fields", ())) for each in listed}
        only = {path for method, path in of_cluster.keys() - of_one.keys()}
        fields = {field for name in of_one for field in set(of_cluster[name].fields or ()) - of_one[name]}
        assert (only, fields) == (PATHS_OF_CLUSTERS, FIELDS_OF_CLUSTERS)
        for path in only:
            with pytest.raises(ControlFailed, match=f"^{path} needs several brokers"):
                await kafka.control.ask("POST", path)
        for field in fields:
            with pytest.raises(ControlFailed, match=f"^{field} needs several brokers"):
                await kafka.control.ask("POST", "brokers/kill", {field: "orders"})


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_fault_is_a_method(kind: str) -> None:
    assert callable(getattr(Faults, kind))


async def test_each_kind_of_fault_can_be_awaited() -> None:
    async with running() as kafka:
        assert isinstance(kafka.faults, AsyncFaults)
        assert [kind for kind in KINDS if not callable(getattr(kafka.faults, kind, None))] == []


async def test_each_action_is_a_method(tmp_path: Path) -> None:
    brokers = make_brokers(str(tmp_path), brokers=2, config={})
    await brokers.start()
    named = {path: (room, name) for room, names in METHODS.items() for path, name in names.items()}
    asked = {path for method, path in brokers.control.operations if method == "POST" and not path.startswith("faults")}
    assert asked == set(named)
    assert [name for room, name in named.values() if not callable(getattr(room, name))] == []
    await brokers.stop()
