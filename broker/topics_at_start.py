"""The topics of `stepdown.topics`, made at the start where they are missing."""

import logging

from ..protocol.errors import ApiError
from .services import Services

DEFAULTS = [-1, -1]
"""Partitions and replicas as the broker's settings have them."""

log = logging.getLogger(__name__)


async def create_missing_topics(services: Services) -> None:
    """Makes those that are not there. What cannot be made is said in the log, and the broker serves all the same."""
    if not services.settings.stepdown_topics:
        return
    from ..protocol.messages.create_topics import CreatableTopic
    from .handlers.create_topics import create_topic

    for text in services.settings.stepdown_topics.split(","):
        name, *numbers = text.strip().split(":")
        if name in services.cluster.topics:
            continue
        partitions, replicas = [int(each) for each in numbers] + DEFAULTS[len(numbers) :]
        try:
            await create_topic(
                services, CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas)
            )
        except ApiError as error:
            log.error("topic %s of stepdown.topics cannot be made: %s", name, error)
