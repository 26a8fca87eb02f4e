"""Finds the brokers of a plan whose directories are on this machine.

Other machines may have the same paths for other brokers, so `meta.properties` decides to which broker a path belongs.
"""

from collections.abc import Iterator

from ..directories.meta_properties import FILE_NAME as META_PROPERTIES
from ..directories.meta_properties import read_meta_properties
from ..files.files import Files
from .directory_survey import PlannedBroker, RefusedDirectory
from .migration_plan import MigrationPlan


def find_local_brokers(files: Files, plan: MigrationPlan, *, needs_all: bool = True) -> list[PlannedBroker]:
    """The brokers that have a directory on this machine; with `needs_all` all their directories have to be here.

    Raises: RefusedDirectory if there are none, or a directory is of another broker or another user; DiskFault.
    """
    found = [broker for broker in plan.brokers.values() if _is_here(files, plan, broker, needs_all=needs_all)]
    if not found:
        raise RefusedDirectory("no directory of the plan is on this machine")
    for path in (f"{path}/{META_PROPERTIES}" for broker in found for path in _paths(broker)):
        if files.exists(path) and files.is_of_other_user(path):
            raise RefusedDirectory(
                f"{path} is of another user: run this as the user of the broker, since what is written here "
                "is for its eyes only"
            )
    return found


def _is_here(files: Files, plan: MigrationPlan, broker: PlannedBroker, *, needs_all: bool) -> bool:
    paths = [directory.path for directory in broker.directories]
    owners = dict(_owners(files, paths))
    if not owners:
        return False
    others = {path for other in plan.brokers.values() if other is not broker for path in _paths(other)}
    if all(owner != broker.broker_id and path in others for path, owner in owners.items()):
        return False
    for path in paths:
        if owners.get(path) != broker.broker_id and (needs_all or path in owners):
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
