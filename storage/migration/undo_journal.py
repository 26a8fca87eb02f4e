"""`stepdown-migration.json` in each log directory: the changes that a plan makes there, written before any of them.

    {"version": 1, "plan": sha256 of the plan, "broker": 1,
     "meta_properties": base64 of the file as it was,
     "names": […],               all names in the directory
     "had_lock": true,
     "set_aside": {"a-0": "a-0.….-stray"},     folders that are renamed
     "topic_ids": ["a-0"]}       folders that get a partition.metadata

It is all that undoing the plan needs, even half way through applying it or after Kafka has started.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...protocol.errors import DiskFault
from ..files.file_names import is_plain_name
from ..files.files import Files
from .directory_survey import JOURNAL

VERSION = 1
MOST_BYTES = 1 << 28


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoJournal:
    """The state of one log directory before the plan, and the plan's changes in it."""

    plan: str
    broker_id: int
    meta_properties: bytes
    names: frozenset[str]
    had_lock: bool
    set_aside: Mapping[str, str] = field(default_factory=dict)
    topic_ids: frozenset[str] = frozenset()


def write_journal(files: Files, directory: str, journal: UndoJournal) -> None:
    """Raises: DiskFault."""
    document = {
        "version": VERSION,
        "plan": journal.plan,
        "broker": journal.broker_id,
        "meta_properties": b64encode(journal.meta_properties).decode(),
        "names": sorted(journal.names),
        "had_lock": journal.had_lock,
        "set_aside": dict(journal.set_aside),
        "topic_ids": sorted(journal.topic_ids),
    }
    files.replace(f"{directory}/{JOURNAL}", json.dumps(document, indent=1).encode())


def read_journal(files: Files, directory: str) -> UndoJournal | None:
    """Reads the journal; None if no plan was applied. Raises: DiskFault."""
    path = f"{directory}/{JOURNAL}"
    data = files.read_whole(path, MOST_BYTES)
    if data is None:
        return None
    try:
        return _decode(json.loads(data))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        raise DiskFault(f"{path} cannot be read ({fault!r}): put a good copy in its place") from fault


def _decode(fields: Any) -> UndoJournal:
    if fields["version"] != VERSION:
        raise ValueError(f"version {VERSION} expected, found {fields['version']}")
    set_aside = {str(old): str(new) for old, new in fields["set_aside"].items()}
    topic_ids = frozenset(map(str, fields["topic_ids"]))
    for name in (*set_aside.keys(), *set_aside.values(), *topic_ids):
        if not is_plain_name(name):
            raise ValueError(f"{name!r:.100} names nothing within the directory")
    return UndoJournal(
        plan=str(fields["plan"]),
        broker_id=int(fields["broker"]),
        meta_properties=b64decode(fields["meta_properties"], validate=True),
        names=frozenset(map(str, fields["names"])),
        had_lock=bool(fields["had_lock"]),
        set_aside=set_aside,
        topic_ids=topic_ids,
    )
