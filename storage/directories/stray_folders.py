"""The warning about a folder that was renamed to `-stray`: the reason, and how to read its records again."""

import logging
from uuid import UUID

from ..files.checkpoint_file import TopicPartition
from ..files.file_names import MAX_TOPIC_LENGTH
from ..files.partition_metadata import FILE_NAME, encode_uuid

_INTERNAL_PREFIX = "__"
_FOUND = ".found"

_logger = logging.getLogger(__name__)


def warn_of_stray(path: str, new_name: str, key: TopicPartition, topic_id: UUID | None, cause: str) -> None:
    """Logs that `path` was renamed to `new_name`. `cause` is the reason; "" means that the metadata do not know it."""
    of_id = "no topic id" if topic_id is None else f"topic id {encode_uuid(topic_id)}"
    why = cause or "the metadata do not know it"
    _logger.warning("%s (%s) is kept as %s and not served: %s. %s", path, of_id, new_name, why, _hint(key, topic_id))


def _hint(key: TopicPartition, topic_id: UUID | None) -> str:
    topic, partition = key
    if topic.startswith(_INTERNAL_PREFIX):
        return "What an internal topic has cannot be served under another name"
    without_id = "" if topic_id is None else f", without its {FILE_NAME}"
    name = f"{topic[: MAX_TOPIC_LENGTH - len(_FOUND)]}{_FOUND}-{partition}"
    return (
        f"To read its records, stop the broker and rename the folder for a topic that does not exist, such as {name}"
        f"{without_id}: it is then taken over"
    )
