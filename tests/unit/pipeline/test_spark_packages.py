"""The connector's jars: which Spark is told to fetch, and where from else."""

from pathlib import Path

import pytest
from stepdown.pipeline.failures import BadUsage
from stepdown.pipeline.spark_packages import PACKAGES, jar_settings


@pytest.fixture(autouse=True)
def not_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


def test_the_packages_are_for_the_spark_that_is_pinned() -> None:
    pyspark = pytest.importorskip("pyspark")
    assert PACKAGES["connector"].endswith(f":{pyspark.__version__}")
    assert f"_{pyspark.__version__.rpartition('.')[0]}_" in PACKAGES["delta"]


def test_spark_fetches_the_packages_unless_a_folder_has_the_jars(tmp_path: Path) -> None:
    settings = jar_settings(["connector", "delta"])
    assert settings["spark.jars.packages"].split(",") == [PACKAGES["connector"], PACKAGES["delta"]]
    with pytest.raises(BadUsage, match=f"no jars in {tmp_path}"):
        jar_settings(["connector"], str(tmp_path))
    for name in ("kafka-clients.jar", "spark-sql-kafka.jar", "notes.txt"):
        (tmp_path / name).touch()
    jars = jar_settings(["connector"], str(tmp_path))
    assert jars == {"spark.jars": f"{tmp_path}/kafka-clients.jar,{tmp_path}/spark-sql-kafka.jar"}


def test_spark_submit_brings_its_own_jars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert not jar_settings(["connector"])
