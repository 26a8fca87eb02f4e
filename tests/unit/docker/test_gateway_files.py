"""What the files for the gateway set, it takes, and its ports are published."""

import re

import pytest
import yaml
from stepdown.gateway.settings import load_settings
from support.docker_files import DOCKER

BROKERS = range(3)


def environment(file: str) -> dict[str, str]:
    documents = list(yaml.safe_load_all((DOCKER / file).read_text()))
    if "services" in documents[0]:
        found: dict[str, str] = documents[0]["services"]["gateway"]["environment"]
        return found
    (container,) = documents[0]["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each["value"] for each in container["env"]}


@pytest.mark.parametrize("file", ["compose.gateway.yaml", "gateway.kubernetes.yaml"])
def test_the_gateway_takes_the_settings(file: str) -> None:
    settings = load_settings(None, environment(file), ())
    assert settings.listen.port == 9092
    assert settings.http.port == 9308
    assert settings.bootstrap


def test_each_broker_has_a_port_at_the_pods_and_the_service() -> None:
    deployment, service = yaml.safe_load_all((DOCKER / "gateway.kubernetes.yaml").read_text())
    settings = load_settings(None, environment("gateway.kubernetes.yaml"), ())
    wanted = {settings.listen.port, *(settings.first_port + broker for broker in BROKERS)}
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {each["containerPort"] for each in container["ports"]} == wanted | {settings.http.port}
    assert {each["port"] for each in service["spec"]["ports"]} == wanted
    assert settings.advertised_host == service["metadata"]["name"]


def test_the_broker_of_the_compose_file_has_its_port() -> None:
    settings = load_settings(None, environment("compose.gateway.yaml"), ())
    compose = yaml.safe_load((DOCKER / "compose.gateway.yaml").read_text())
    broker = int(compose["services"]["kafka"]["environment"]["KAFKA_NODE_ID"])
    port = settings.first_port + broker
    assert f"127.0.0.1:{port}:{port}" in compose["services"]["gateway"]["ports"]


def test_the_unit_checks_and_reloads_the_file_that_it_runs() -> None:
    unit = (DOCKER / "stepdown-gateway.service").read_text()
    assert len(set(re.findall(r"/etc/stepdown/\S+\.yaml", unit.split("[Unit]")[1]))) == 1
    assert "-HUP" in unit
