"""The topics of `stepdown.topics`, made at the start where they are missing."""

import logging

from ..protocol.errors import ApiError
from .services import Services

DEFAULTS = [-1, -1]
"""Numbers of partitions and replicas: -1 is the broker's default."""

log = logging.getLogger(__name__)


async def create_topics_of_settings(services: Services) -> None:
    """Creates the topics of `stepdown.topics` that are missing; an error is logged, and does not stop the broker."""
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
