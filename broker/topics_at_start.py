"""The topics of `stepdown.topics`, made at the start where they are missing."""

from ..config.errors import ConfigError, Problem
from ..protocol.errors import ApiError
from .services import Services

SETTING = "stepdown.topics"
DEFAULTS = [-1, -1]
"""Numbers of partitions and replicas: -1 is the broker's default."""


async def create_topics_of_settings(services: Services) -> None:
    """Creates the topics of `stepdown.topics` that are missing. Raises: ConfigError with all that cannot be made."""
    if not services.settings.stepdown_topics:
        return
    from ..protocol.messages.create_topics import CreatableTopic
    from .handlers.create_topics import create_topic

    problems = []
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
            problems.append(Problem(key=SETTING, expected=f"topic {name} cannot be made: {error}"))
    if problems:
        raise ConfigError(problems)
