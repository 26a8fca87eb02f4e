"""Settings from environment variables, as Kafka's official image maps them.

As in kafka.docker.KafkaDockerWrapper, KAFKA_ is dropped, the rest is converted to small letters, `_` to `.`, `__` to
`_` and `___` to `-`. Bitnami's image uses the prefix KAFKA_CFG_ instead, which begins no setting of Kafka. Variables
for the JVM or log4j are not settings. STEPDOWN_ becomes `stepdown.` in the same way, and CLUSTER_ID, with which the
image formats new directories, becomes `stepdown.cluster.id`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .origin import Given, Origin

IGNORED_VARIABLES = frozenset(
    (
        "KAFKA_VERSION",
        "KAFKA_HEAP_OPTS",
        "KAFKA_LOG4J_OPTS",
        "KAFKA_OPTS",
        "KAFKA_JMX_OPTS",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_GC_LOG_OPTS",
        "KAFKA_LOG4J_ROOT_LOGLEVEL",
        "KAFKA_LOG4J_LOGGERS",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL",
        "KAFKA_JMX_HOSTNAME",
        "STEPDOWN_BOOTSTRAP",
        "STEPDOWN_COMMAND_CONFIG",
        "STEPDOWN_TRACEBACK",
    )
)
"""Variables that Kafka's image does not write into server.properties, and those of stepdown's commands."""

_IGNORED_PREFIXES = ("KAFKA_JMX_", "KAFKA_LOG4J_", "KAFKA_HOME", "KAFKA_CLASSPATH")
_PREFIXES = ("KAFKA_", "STEPDOWN_")


def settings_from(environ: Mapping[str, str]) -> Iterator[Given]:
    """The settings in the variables, in the order of the variables' names."""
    for variable in sorted(environ):
        key = key_of_variable(variable)
        if key is not None:
            yield Given(key, environ[variable], Origin(f"environment variable {variable}"))


def key_of_variable(variable: str) -> str | None:
    """The key that a variable sets; None if it sets none."""
    if variable == "CLUSTER_ID":
        return "stepdown.cluster.id"
    if variable in IGNORED_VARIABLES or variable.startswith(_IGNORED_PREFIXES):
        return None
    for prefix in _PREFIXES:
        if variable.startswith(prefix) and len(variable) > len(prefix):
            name = variable.removeprefix("KAFKA_CFG_").removeprefix("KAFKA_").lower()
            return name.replace("_", ".").replace("...", "-").replace("..", "_")
    return None
