"""Whatever can go wrong over HTTP, which is what the command line and scenarios have, Python has by name."""

from pathlib import Path

import pytest
from stepdown.broker.faults.kinds import KINDS
from stepdown.testing import running
from stepdown.testing.clock import Clock
from stepdown.testing.cluster import Cluster
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
