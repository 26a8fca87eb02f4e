"""Problems of a broker, each with a command or setting that helps."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ...network.page.problem import Problem
from ...network.page.stalled_clients import find_clients_stuck_on_zstd
from ...network.turn import Turn
from ...protocol.api import API, ApiKey
from ...protocol.plural import plural
from .fault_control import find_control_without_token

if TYPE_CHECKING:
    from ..services import Services

LATELY_MS = 600_000
HOLD_HELP = (
    "grep 'event loop was held' in the log: it names client and function. All clients waited that long: look at the "
    "disk if it is a function of files, else report the line as a fault of stepdown"
)


async def find_problems(services: "Services", turn: Turn) -> list[dict[str, Any]]:
    """The problems of the broker, as documents."""
    found = [
        *await _check_topics(services, turn),
        _check_directories(services),
        await _check_clients(services, turn),
        *_check_loop(services),
        find_clients_stuck_on_zstd(services.clients, services.clock.now_ms()),
        _check_waiting(services),
        *await _check_control(services),
    ]
    return [problem.document() for problem in found if problem.count]


async def _check_topics(services: "Services", turn: Turn) -> Iterable[Problem]:
    offline = Problem(
        "partitions without a leader", "stepdown topics describe TOPIC, and the log of the broker", "topics"
    )
    behind = Problem("partitions with replicas that are not in sync", "stepdown topics describe TOPIC", "topics")
    unknown = Problem(
        "topics whose settings are not known, nothing of them is deleted or compacted",
        "stepdown topics adopt TOPIC --defaults --dry-run, see docs/directories.md",
        "topics",
    )
    for topic in tuple(services.cluster.topics.values()):
        if topic.settings.stepdown_settings_unknown:
            unknown.add(topic.name)
        for partition in tuple(topic.partitions.values()):
            place = f"{partition.topic_name}-{partition.index}"
            if services.cluster.leader_of(partition) < 0:
                offline.add(place)
            elif len(partition.isr) < len(partition.replicas):
                behind.add(place)
            await turn.next()
    return offline, behind, unknown


def _check_directories(services: "Services") -> Problem:
    failing = Problem("log directories that fail", "df -h, dmesg and the log of the broker; mend the disk, start again")
    for path in sorted(services.log_manager.failing_directories()):
        failing.add(path)
    return failing


async def _check_clients(services: "Services", turn: Turn) -> Problem:
    old = Problem(
        "requests in deprecated versions, most of which Kafka 4 does not answer, by client",
        "stepdown clients --http HOST:PORT",
        "clients",
        needs_action=False,
    )
    counts = []
    for client in services.clients:
        asked = client.requests.items()
        count = sum(count for (key, version), count in asked if API[ApiKey(key)].is_deprecated(version))
        if count and not client.software.is_stepdown:
            name = client.client_id or "(no client id)"
            counts.append((count, f"{name} ({client.software}), {plural(count, 'request')}"))
        await turn.next()
    for count, name in sorted(counts, reverse=True):
        old.add(name, count)
    return old


def _check_loop(services: "Services") -> Iterable[Problem]:
    """A problem for each API whose requests held the loop lately, by the latest of them."""
    now_ms = services.clock.now_ms()
    for api, hold in sorted(services.loop_holds.items()):
        if now_ms - hold.at_ms < LATELY_MS:
            at = f"{datetime.fromtimestamp(hold.at_ms / 1000, UTC):%H:%M:%S} UTC"
            name = API[ApiKey[api]].name
            yield Problem(f"a request ({name}) held the event loop for {hold.held_ms} ms, at {at}", HOLD_HELP, count=1)


def _check_waiting(services: "Services") -> Problem:
    waiting = Problem("chunks that wait for conversion memory", "raise stepdown.conversion.memory.bytes")
    if services.conversion_budget.waiting_count:
        waiting.add("conversion", services.conversion_budget.waiting_count)
    return waiting


async def _check_control(services: "Services") -> Iterable[Problem]:
    """What a test does to the broker; without its fields where the control port asks for a token."""
    armed = Problem("armed faults", "stepdown faults reset", "faults")
    stands = Problem("clock that stands", "stepdown clock resume", "faults")
    if services.control is not None:
        _, found = await services.control.handle("GET", "faults", {})
        for each in found["faults"]:
            if each["state"] == "armed":
                armed.add(_name_fault(each["fault"]) if find_control_without_token(services) else f"fault {each['id']}")
        _, clock = await services.control.handle("GET", "clock", {})
        if clock["paused"]:
            stands.add("clock")
    return armed, stands


def _name_fault(fields: dict[str, Any]) -> str:
    """As on the command line."""
    return " ".join(f"{name}={_write_value(value)}" for name, value in fields.items())


def _write_value(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)
