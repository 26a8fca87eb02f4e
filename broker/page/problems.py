"""Problems of a broker, each with a command or setting that helps."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...network.clients.software import GUESS, Software
from ...network.loop_watch import OTHER
from ...network.turn import Turn

if TYPE_CHECKING:
    from ..services import Services

MOST_NAMES = 10


@dataclass(slots=True)
class Problem:
    """A problem of `count` things; `names` has the first of them."""

    what: str
    help: str
    count: int = 0
    names: list[str] = field(default_factory=list)

    def add(self, name: str, count: int = 1) -> None:
        self.count += count
        if len(self.names) < MOST_NAMES:
            self.names.append(name)

    def document(self) -> dict[str, Any]:
        """The problem as the overview shows it."""
        return {"what": self.what, "count": self.count, "names": self.names, "help": self.help}


async def find_problems(services: "Services", turn: Turn) -> list[dict[str, Any]]:
    """The problems of the broker, as documents."""
    found = [
        *await _check_topics(services, turn),
        _check_directories(services),
        _check_clients(services),
        _check_loop(services),
        _check_waiting(services),
    ]
    return [problem.document() for problem in found if problem.count]


async def _check_topics(services: "Services", turn: Turn) -> Iterable[Problem]:
    offline = Problem("partitions without a leader", "stepdown topics describe TOPIC, and the log of the broker")
    behind = Problem("partitions with replicas that are not in sync", "stepdown topics describe TOPIC")
    unknown = Problem(
        "topics whose settings are not known, nothing of them is deleted or compacted",
        "stepdown topics adopt TOPIC --defaults --dry-run, see docs/directories.md",
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


def _check_clients(services: "Services") -> Problem:
    old = Problem(
        "requests in versions that Kafka 3.9 marks deprecated, by software", "stepdown clients --http HOST:PORT"
    )
    by_software: dict[str, int] = {}
    for (*_, name, version), count in services.metrics.deprecated_requests.rows():
        told = Software(name.removesuffix(GUESS), version.removesuffix(GUESS), is_guess=name.endswith(GUESS))
        if not told.is_own:
            by_software[str(told)] = by_software.get(str(told), 0) + int(count)
    for software, count in sorted(by_software.items(), key=lambda item: -item[1]):
        old.add(software, count)
    return old


def _check_loop(services: "Services") -> Problem:
    held = Problem("times that a request held the event loop for 100 ms", "grep 'event loop was held' in the log")
    for (api,), count in services.metrics.loop_held.rows():
        if api != OTHER:
            held.add(api, int(count))
    return held


def _check_waiting(services: "Services") -> Problem:
    waiting = Problem("chunks that wait for conversion memory", "raise stepdown.conversion.memory.bytes")
    if services.conversion_budget.waiting_count:
        waiting.add("conversion", services.conversion_budget.waiting_count)
    return waiting
