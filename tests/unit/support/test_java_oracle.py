import pytest
from support.java_oracle import JavaError


@pytest.mark.java
def test_the_oracle_runs_the_kafka_version_it_was_asked_for(java_oracle):
    assert java_oracle("version").call("Version.kafka") == b"3.9.1"


@pytest.mark.java
def test_an_exception_in_java_is_raised_with_its_class_name(java_oracle):
    with pytest.raises(JavaError, match=r"NoSuchMethodException") as thrown:
        java_oracle("version").call("Version.nothing")
    assert thrown.value.simple_name == "NoSuchMethodException"
    assert java_oracle("version").call("Version.kafka") == b"3.9.1"
