"""Builds BrokerSettings from layered values, combines keys that form one setting, and checks rules between keys.

The rules are those of Kafka 3.9 KafkaConfig.validateValues that concern a broker that is its own controller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .errors import ConfigError, Problem, wrong_value
from .keys.endpoints import (
    Endpoint,
    HostPort,
    parse_host_port,
    parse_listeners,
    parse_overrides_per_ip,
    parse_protocol_map,
)
from .layered_values import Layers
from .listener_security import LIMITS, build_listener_security, listener_limit
from .settings import BrokerSettings
from .tables.all_keys import BROKER_KEYS

T = TypeVar("T")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class _SettingsCollector:
    """Reads values from layers and collects problems instead of stopping at the first."""

    def __init__(self, layers: Layers) -> None:
        self.layers = layers
        self.problems: list[Problem] = []

    def text(self, name: str) -> str:
        return str(self.layers.value(name) or "")

    def parse(self, name: str, parse: Callable[[str], T], otherwise: T) -> T:
        """The parsed value of a key; if `parse` raises ValueError, adds a problem and returns `otherwise`."""
        try:
            return parse(self.text(name))
        except ValueError as fault:
            self.problems.append(wrong_value(self.layers.effective_text(name), str(fault)))
            return otherwise

    def add_problem(self, name: str, expected: str) -> None:
        self.problems.append(wrong_value(self.layers.effective_text(name), expected))


def broker_settings(layers: Layers) -> BrokerSettings:
    """Builds the broker's settings.

    Raises:
        ConfigError: settings contradict each other, or addresses are malformed.
    """
    collector = _SettingsCollector(layers)
    values: dict[str, Any] = {
        key.attribute: layers.value_of_synonyms(key.synonyms) if key.synonyms else layers.value(key.name)
        for key in BROKER_KEYS.values()
        if key.attribute
    }
    values.update(_build_ids(collector), **_build_listeners(collector), **_build_log_dirs(collector))
    values["log_flush_scheduler_interval_ms"] = layers.value("log.flush.scheduler.interval.ms")
    values["listener_security"] = {
        endpoint.listener_name: build_listener_security(layers, endpoint, collector.problems)
        for endpoint in values["listeners"]
    }
    for key in LIMITS:
        values[f"listener_{key.replace('.', '_')}"] = {
            endpoint.listener_name: listener_limit(key, layers, endpoint, collector.problems)
            for endpoint in values["listeners"]
        }
    none: tuple[tuple[str, int], ...] = ()
    overrides = collector.parse("max.connections.per.ip.overrides", parse_overrides_per_ip, none)
    values["max_connections_per_ip_overrides"] = overrides
    values["stepdown_http_listen"] = collector.parse("stepdown.http.listen", parse_host_port, HostPort("127.0.0.1", 0))
    nobody: frozenset[str] = frozenset()
    values["super_users"] = collector.parse("super.users", _super_users, nobody)
    values["stepdown_control_listen"] = _build_control_address(collector)
    _check_bounds(collector, values)
    _check_consumer_groups(collector)
    _check_topic_defaults(collector)
    if collector.problems:
        raise ConfigError(collector.problems)
    return BrokerSettings(**values)


def _super_users(text: str) -> frozenset[str]:
    names = frozenset(filter(None, (name.strip() for name in text.split(";"))))
    if any(":" not in name for name in names):
        raise ValueError("principals such as User:admin, separated by semicolons")
    return names


def _build_ids(collector: _SettingsCollector) -> dict[str, Any]:
    """The broker id, from broker.id or node.id; if both are set, they have to be equal."""
    ids = {
        name: collector.layers.value(name) for name in ("broker.id", "node.id") if any(collector.layers.texts_of(name))
    }
    if len(set(ids.values())) > 1:
        collector.add_problem("node.id", f"the same number as broker.id, which is {ids['broker.id']}")
    return {"broker_id": next(iter(ids.values()), -1)}


def _build_log_dirs(collector: _SettingsCollector) -> dict[str, Any]:
    name = "log.dirs" if collector.text("log.dirs") else "log.dir"
    directories = tuple(filter(None, (item.strip() for item in collector.text(name).split(","))))
    if not directories:
        collector.add_problem(name, "at least one directory")
    if len(set(directories)) != len(directories):
        collector.add_problem(name, "each directory once")
    return {"log_dirs": directories}


def _build_listeners(collector: _SettingsCollector) -> dict[str, Any]:
    named: dict[str, str] = collector.parse("listener.security.protocol.map", parse_protocol_map, {})
    controllers = _split_names(collector.text("controller.listener.names"))
    protocols = {**dict.fromkeys(controllers, "PLAINTEXT"), **named}
    bound = _endpoints_without_controllers(collector, "listeners", protocols, controllers)
    if not any(problem.key == "listeners" for problem in collector.problems) and not bound:
        collector.add_problem("listeners", "at least one listener that is not the controller's")
    _check_ports(collector, bound)
    if not collector.text("advertised.listeners"):
        return {"listeners": bound, "advertised_listeners": tuple(_hide_wildcard_host(endpoint) for endpoint in bound)}
    advertised = _endpoints_without_controllers(collector, "advertised.listeners", protocols, controllers)
    _check_addresses(collector, bound, advertised)
    return {"listeners": bound, "advertised_listeners": advertised}


def _endpoints_without_controllers(
    collector: _SettingsCollector, name: str, protocols: Mapping[str, str], controllers: tuple[str, ...]
) -> tuple[Endpoint, ...]:
    """The endpoints of a key, without those of controllers."""
    nothing: tuple[Endpoint, ...] = ()
    endpoints = collector.parse(name, lambda text: parse_listeners(text, protocols), nothing)
    return tuple(endpoint for endpoint in endpoints if endpoint.listener_name not in controllers)


def _check_ports(collector: _SettingsCollector, bound: tuple[Endpoint, ...]) -> None:
    named: dict[tuple[str, int], str] = {}
    for each in bound:
        other = named.setdefault((each.host, each.port), each.listener_name)
        if each.port and other != each.listener_name:
            collector.add_problem(
                "listeners", f"a port of its own for each listener ({other} and {each.listener_name} share one)"
            )


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip().upper() for name in text.split(","))))


def _hide_wildcard_host(endpoint: Endpoint) -> Endpoint:
    """The endpoint, without its host if that is the wildcard address, to which no client can connect."""
    if endpoint.host not in ("0.0.0.0", "::"):
        return endpoint
    return Endpoint(listener_name=endpoint.listener_name, protocol=endpoint.protocol, host="", port=endpoint.port)


def _check_addresses(
    collector: _SettingsCollector, bound: tuple[Endpoint, ...], advertised: tuple[Endpoint, ...]
) -> None:
    names = {endpoint.listener_name for endpoint in bound}
    unknown = [endpoint.listener_name for endpoint in advertised if endpoint.listener_name not in names]
    if unknown and bound:
        collector.add_problem("advertised.listeners", f"names out of listeners ({', '.join(sorted(names))})")
    if any(endpoint.host in ("0.0.0.0", "::") for endpoint in advertised):
        collector.add_problem(
            "advertised.listeners", "hosts that clients can connect to, not the address of every interface"
        )


def _build_control_address(collector: _SettingsCollector) -> HostPort | None:
    """The address of the control port, which must be a loopback address unless a token is required."""
    name, none = "stepdown.control.listen", None
    address = collector.parse(name, parse_host_port, none) if collector.text(name) else none
    if address is not None and address.host not in LOOPBACK and not collector.text("stepdown.control.token"):
        collector.add_problem(name, f"one of {', '.join(LOOPBACK)} as the host, or stepdown.control.token to be set")
    return address


def _check_bounds(collector: _SettingsCollector, values: Mapping[str, Any]) -> None:
    """Checks the rules of KafkaConfig.validateValues between two keys."""
    if 0 < values["queued_max_request_bytes"] < values["socket_request_max_bytes"]:
        collector.add_problem(
            "queued.max.request.bytes",
            f"-1, or at least socket.request.max.bytes, which is {values['socket_request_max_bytes']}",
        )
    if values["max_connections_per_ip"] == 0 and not values["max_connections_per_ip_overrides"]:
        collector.add_problem("max.connections.per.ip", "at least 1 unless max.connections.per.ip.overrides is set")
    name = values["inter_broker_listener_name"]
    advertised = [endpoint.listener_name for endpoint in values["advertised_listeners"]]
    if name is not None and advertised and name.upper() not in advertised:
        collector.add_problem(
            "inter.broker.listener.name", f"a name out of advertised.listeners ({', '.join(advertised)})"
        )
    if values["log_cleaner_dedupe_buffer_bytes"] // max(values["log_cleaner_threads"], 1) <= 1 << 20:
        collector.add_problem("log.cleaner.dedupe.buffer.size", "more than 1 MiB for each of log.cleaner.threads")


def _check_consumer_groups(collector: _SettingsCollector) -> None:
    """Checks that the defaults for consumer groups lie within the bounds of the operator (KIP-848)."""
    for name in ("session.timeout.ms", "heartbeat.interval.ms"):
        keys = (f"group.consumer.{part}{name}" for part in ("min.", "", "max."))
        least, given, most = (collector.layers.value(key) for key in keys)
        if not isinstance(least, int) or not isinstance(given, int) or not isinstance(most, int):
            continue
        if least > most:
            collector.add_problem(f"group.consumer.max.{name}", f"at least group.consumer.min.{name}, which is {least}")
        elif not least <= given <= most:
            collector.add_problem(
                f"group.consumer.{name}", f"{least} to {most}, the bounds of group.consumer.min and max.{name}"
            )


def _check_topic_defaults(collector: _SettingsCollector) -> None:
    """Checks the rules of topic settings for the broker's defaults of them."""
    least, most = (collector.layers.value(f"log.cleaner.{end}.compaction.lag.ms") for end in ("min", "max"))
    if isinstance(least, int) and isinstance(most, int) and least > most:
        collector.add_problem(
            "log.cleaner.min.compaction.lag.ms", f"at most log.cleaner.max.compaction.lag.ms, which is {most}"
        )
