"""Topics whose settings are unknown: they were taken over from folders, and the settings were in ZooKeeper or
elsewhere.

Such a topic gets overrides that delete and compact nothing. They are Kafka's own settings, so that Kafka keeps the
records, too, and `stepdown.settings.unknown` beside them, which Kafka ignores. The topic is served like any other.
AlterConfigs, which replaces all settings of a topic, ends this; IncrementalAlterConfigs keeps what it does not name.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ...protocol.plural import plural

if TYPE_CHECKING:
    from .image import Topic

MARKER = "stepdown.settings.unknown"
KEEP_EVERYTHING: Mapping[str, str] = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    MARKER: "true",
}
NAMES_SHOWN = 5

log = logging.getLogger(__name__)


def warn_of_unadopted_topics(topics: Iterable["Topic"]) -> None:
    """One line for all topics that wait for their settings, at every start."""
    waiting = sorted(topic.name for topic in topics if topic.settings.stepdown_settings_unknown)
    if waiting:
        more = ", …" if len(waiting) > NAMES_SHOWN else ""
        log.warning(
            "the settings of %s are not known (%s%s): nothing of them is deleted or compacted until "
            "`stepdown topics adopt` says what they are; `stepdown topics adopt --help` shows how",
            plural(len(waiting), "topic"), ", ".join(waiting[:NAMES_SHOWN]), more,
        )  # fmt: skip
