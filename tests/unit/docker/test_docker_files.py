"""The files fit together: what one names, another has."""

import json
import re

import pytest
from stepdown.config import load
from stepdown.config.sources.environment import key_of_variable
from stepdown.config.tables.all_keys import BROKER_KEYS
from support.docker_files import DOCKER, compose_environment, dashboard, dockerfile, exec_form, image_environment

COMPOSE_FILES = ("compose.yaml", "compose.test.yaml")


@pytest.mark.parametrize("file", COMPOSE_FILES)
def test_a_broker_takes_the_settings_of_the_compose_file(file: str) -> None:
    loaded = load(None, image_environment() | compose_environment(file))
    assert loaded.warnings == ()
    for variable in compose_environment(file):
        assert key_of_variable(variable) in BROKER_KEYS


@pytest.mark.parametrize("file", COMPOSE_FILES)
def test_every_folder_that_is_mounted_is_there(file: str) -> None:
    mounts = re.findall(r"^\s+- (\./\S+?):", (DOCKER / file).read_text(), re.MULTILINE)
    assert all((DOCKER / mount).is_dir() for mount in mounts)


def test_the_image_publishes_the_ports_that_it_listens_on() -> None:
    settings = load(None, image_environment()).settings
    assert settings.stepdown_http_listen is not None
    listening = {settings.listeners[0].port, settings.stepdown_http_listen.port}
    assert {int(port) for port in dockerfile("EXPOSE")[0].split()} == listening


def test_the_image_runs_as_nobody_in_particular() -> None:
    assert dockerfile("USER") == ["stepdown"]
    assert exec_form(dockerfile("ENTRYPOINT")[0]) == ["stepdown"]


def test_prometheus_scrapes_where_the_image_answers() -> None:
    port = image_environment()["STEPDOWN_HTTP_LISTEN"].rpartition(":")[2]
    assert f'"broker:{port}"' in (DOCKER / "prometheus/prometheus.yml").read_text()


def test_the_dashboards_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_panels_have_ids_of_their_own() -> None:
    ids = [panel["id"] for panel in dashboard()["panels"]]
    assert len(set(ids)) == len(ids)
    assert json.dumps(dashboard()).count('"uid": "prometheus"') == sum("targets" in p for p in dashboard()["panels"])
