"""Class paths that are kept."""

from pathlib import Path

import pytest
from stepdown.bench.servers.kafka import java
from stepdown.bench.servers.maven import JarsMissing, MavenStore


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))


def keep(store: MavenStore, jar: Path) -> None:
    """Leaves in the store what a run of Maven would have found for `a:b:1`."""
    folder = store.folder / "class-paths"
    folder.mkdir()
    (folder / "6cce7cb783ec0ac7.txt").write_text(f"{jar}\n")


def test_a_class_path_that_is_kept_needs_no_maven(no_tools: None, tmp_path: Path) -> None:
    store, jar = MavenStore(tmp_path), tmp_path / "b-1.jar"
    jar.touch()
    keep(store, jar)
    assert store.class_path("a:b:1") == (jar,)


def test_a_kept_jar_that_is_gone_is_looked_for_again(no_tools: None, tmp_path: Path) -> None:
    store = MavenStore(tmp_path)
    keep(store, tmp_path / "gone.jar")
    with pytest.raises(JarsMissing, match="not installed: java, mvn"):
        store.class_path("a:b:1")


def test_a_command_line_of_java() -> None:
    command = java((Path("a.jar"), Path("b.jar")), "a.Main", "x", heap="1g", options=("-server",))
    assert command == ["java", "-server", "-Xmx1g", "-cp", "a.jar:b.jar", "a.Main", "x"]
