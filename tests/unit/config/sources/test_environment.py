"""As Kafka's image maps variables: kafka.docker.KafkaDockerWrapper, and KafkaDockerWrapperTest for the cases."""

import pytest
from stepdown.config.sources.environment import IGNORED_VARIABLES, key_of_variable, settings_from


@pytest.mark.parametrize(
    ("variable", "key"),
    [
        ("KAFKA_LOG_DIRS", "log.dirs"),
        ("KAFKA_TEST__CONFIG", "test_config"),
        ("KAFKA_TEST___CONFIG", "test-config"),
        ("KAFKA_LISTENER_NAME_A___B_SSL__X", "listener.name.a-b.ssl_x"),
        ("KAFKA_CFG_LOG_DIRS", "log.dirs"),
        ("STEPDOWN_HTTP_LISTEN", "stepdown.http.listen"),
        ("CLUSTER_ID", "stepdown.cluster.id"),
    ],
)
def test_underscores_become_dots_two_one_underscore_and_three_a_dash(variable: str, key: str) -> None:
    assert key_of_variable(variable) == key


@pytest.mark.parametrize(
    "variable", [*sorted(IGNORED_VARIABLES), "KAFKA_JMX_PORT", "KAFKA_HOME", "KAFKA_", "PATH", "kafka_x"]
)
def test_variables_for_the_jvm_or_for_others_set_nothing(variable: str) -> None:
    assert key_of_variable(variable) is None


def test_the_variable_is_named_as_the_origin() -> None:
    (given,) = settings_from({"KAFKA_NUM_PARTITIONS": "3", "HOME": "/"})
    assert (given.key, given.text) == ("num.partitions", "3")
    assert str(given.origin) == "environment variable KAFKA_NUM_PARTITIONS"
