"""The brokers of a plan whose directories are on this machine.

The same paths may be those of other brokers on other machines: `meta.properties` says whose they are.
"""

from collections.abc import Iterator

from ..directories.meta_properties import read_meta_properties
from ..files.files import Files
from .directory_survey import PlannedBroker, RefusedDirectory
from .migration_plan import MigrationPlan


def local_brokers(files: Files, plan: MigrationPlan) -> list[PlannedBroker]:
    """Raises: RefusedDirectory where there are none, or a directory is of another broker; DiskFault."""
    found = [broker for broker in plan.brokers.values() if _is_here(files, plan, broker)]
    if not found:
        raise RefusedDirectory("no directory of the plan is on this machine")
    return found


def _is_here(files: Files, plan: MigrationPlan, broker: PlannedBroker) -> bool:
    paths = [directory.path for directory in broker.directories]
    owners = dict(_owners(files, paths))
    if not owners:
        return False
    others = {path for other in plan.brokers.values() if other is not broker for path in _paths(other)}
    if all(owner != broker.broker_id and path in others for path, owner in owners.items()):
        return False
    for path in paths:
        if owners.get(path) != broker.broker_id:
            whose = f"is of broker {owners[path]}" if path in owners else "is not there"
            raise RefusedDirectory(f"{path} should be of broker {broker.broker_id} by the plan, and {whose}")
    return True


def _paths(broker: PlannedBroker) -> list[str]:
    return [directory.path for directory in broker.directories]


def _owners(files: Files, paths: list[str]) -> Iterator[tuple[str, int]]:
    for path in paths:
        meta = read_meta_properties(files, path)
        if meta is not None:
            yield path, meta.node_id
