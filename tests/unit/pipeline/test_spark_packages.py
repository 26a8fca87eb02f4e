"""The connector's jars: where they are, and what a job says where they are not."""

import socket
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from stepdown.pipeline.failures import EXIT_BAD_USAGE, BadUsage, PipelineFailure
from stepdown.pipeline.spark_packages import POM, check_reachable, find_jars, jar_folder, maven_command

MAVEN = "{http://maven.apache.org/POM/4.0.0}"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    return tmp_path


def test_the_pom_has_sparks_own_version_of_the_connector() -> None:
    pyspark = pytest.importorskip("pyspark")
    found = ElementTree.parse(POM).find(f"{MAVEN}properties/{MAVEN}spark.version")
    assert found is not None and found.text == pyspark.__version__


def test_absent_jars_are_bad_usage_that_names_mavens_command(cache: Path) -> None:
    with pytest.raises(BadUsage, match=r"mvn -q -B -f .*pom\.xml dependency:copy-dependencies .*slf4j-api") as refused:
        find_jars("connector")
    assert refused.value.exit_code == EXIT_BAD_USAGE
    assert str(jar_folder("connector")) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_deltas_jars_are_a_profile_of_their_own() -> None:
    assert "delta" in maven_command("delta")
    assert "delta" not in maven_command("connector")


def test_jars_that_are_there_are_found(cache: Path) -> None:
    folder = jar_folder("connector")
    assert folder.is_relative_to(cache)
    folder.mkdir(parents=True)
    for name in ("kafka-clients-3.9.2.jar", "spark-sql-kafka-0-10_2.13-4.2.0.jar"):
        (folder / name).touch()
    assert [Path(jar).name for jar in find_jars("connector")] == [
        "kafka-clients-3.9.2.jar",
        "spark-sql-kafka-0-10_2.13-4.2.0.jar",
    ]


def test_spark_submit_brings_its_own_jars(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert not find_jars("connector")


def test_an_address_where_nobody_listens_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        check_reachable(address)
    with pytest.raises(PipelineFailure, match=f"no broker listens at {address}"):
        check_reachable(address)


@pytest.mark.parametrize("address", ["localhost", ":9092", "localhost:http"])
def test_what_is_no_address_is_bad_usage(address: str) -> None:
    with pytest.raises(BadUsage, match="HOST:PORT"):
        check_reachable(address)
