"""The gateway's settings: its own, `upstream.*` as clients have them, and Kafka's for listeners and connections.

    gateway.yaml                            nested or dotted names; a list is joined by commas
    STEPDOWN_GATEWAY_ADVERTISED_HOST=…      environment: `_` is `.`, `__` is `_`, `___` is `-`
    --listen, --http, --upstream            the command line; it wins, then the environment

Every fault is found before one is reported.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path

from ..client.security.settings import KEYS as SECURITY_KEYS
from ..client.security.settings import OPEN, SecuritySettings, TlsSettings, parse_security
from ..client.security.tls_context import load_certificates
from ..config import BROKER_KEYS, BrokerSettings, ConfigError, Given, HostPort, Origin, Problem, load
from ..config.errors import wrong_value
from ..config.keys.endpoints import parse_host_port
from ..config.keys.key import Key
from ..config.keys.value_types import Value
from ..config.listener_security import JAAS, ListenerSecurity, key_of_listener
from ..config.similar_names import nearest
from ..network.admission.listener_files import find_unusable_files
from ..protocol.records.layout import Codec
from .addresses.broker_names import PLACE, compile_name_pattern
from .allow_list import AllowedNetwork, parse_allowed_network
from .setting_keys import (
    AUTO,
    KEYS,
    LEAST_ANSWER_MEMORY_BYTES,
    LISTENER,
    LOGINS,
    MOST_WORKERS,
    NETWORK,
    PORTS,
    SINGLE,
    SNI,
    UPSTREAM,
    WITHOUT_STORE,
)
from .setting_sources import read_sources
from .upstream_logins import UpstreamLogin, parse_clients

LISTENER_PREFIX = f"listener.name.{LISTENER.lower()}."
CLIENT_AUTH = f"{LISTENER_PREFIX}ssl.client.auth"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """`brokers`: known addresses by broker id. `swaps`: the gateway logs in. `network`: for the clients' side."""

    listen: HostPort
    http: HostPort
    bootstrap: tuple[HostPort, ...]
    advertised_host: str
    advertised_port: int
    addresses: str
    broker_host: str
    proxy_protocol: str
    first_port: int
    brokers: Mapping[int, HostPort]
    security: SecuritySettings
    swaps: bool
    network: BrokerSettings
    allowed: tuple[AllowedNetwork, ...]
    refresh_ms: int
    drain_ms: int
    answer_memory_bytes: int
    workers: int
    report: str
    logins: tuple[UpstreamLogin, ...]

    @property
    def cluster_for_commands(self) -> str:
        """What commands take after `-b`: the servers, and the option for a login or TLS."""
        servers = ",".join(map(str, self.bootstrap))
        return servers if self.security == OPEN else f"{servers} --command-config FILE"

    @property
    def zstd_to(self) -> Codec | None:
        """The codec that zstd is converted to for clients that cannot read it; None: they are refused."""
        name = self.network.stepdown_downconversion_zstd
        return None if name == "error" else Codec[name.upper()]

    @property
    def lends_its_login(self) -> bool:
        """Whether anybody who reaches the gateway acts by its login, or by its certificate where the cluster has no
        logins: without a login here, a client's certificate or `allow`.
        """
        tls, security = self.security.tls, self.network.listener_security[LISTENER]
        shows_certificate = isinstance(tls, TlsSettings) and bool(tls.own_file or tls.own_key)
        if not self.swaps and (self.security.sasl is not None or not shows_certificate):
            return False
        has_certificates = security.tls is not None and security.tls.client_auth == "required"
        return not self.allowed and security.sasl is None and not has_certificates


def load_settings(file: Path | None, environ: Mapping[str, str], flags: Iterable[Given]) -> GatewaySettings:
    """Raises: ConfigError with every fault."""
    return make_settings(read_sources(file, environ, flags))


def make_settings(given: Iterable[Given], *, opens_files: bool = False) -> GatewaySettings:
    """With `opens_files`, a file that cannot be used is a fault too. Raises: ConfigError with every fault."""
    return _SettingsBuilder({each.key: each for each in given}, []).build(opens_files=opens_files)


def list_allowed_networks(given: Iterable[Given]) -> tuple[AllowedNetwork, ...]:
    """The entries of `allow` that can be read, whatever else is wrong."""
    return _SettingsBuilder({each.key: each for each in given}, []).parse_allowed_networks()


def divide_memory_by_workers(settings: GatewaySettings) -> GatewaySettings:
    """The settings of one of the workers: its part of the memory."""
    network = settings.network
    request_bytes = network.stepdown_request_memory_bytes // settings.workers
    return replace(
        settings,
        answer_memory_bytes=settings.answer_memory_bytes // settings.workers,
        network=replace(network, stepdown_request_memory_bytes=request_bytes),
    )


class _SettingsBuilder:
    """Makes the settings of what is given, and collects problems."""

    def __init__(self, given: Mapping[str, Given], problems: list[Problem]) -> None:
        self._given = given
        self._problems = problems
        self._values = {name: self._parse_value(key) for name, key in KEYS.items()}

    def build(self, *, opens_files: bool) -> GatewaySettings:
        self._add_problems_of_unknown()
        listen = self._parse_address_of("listen")
        security = self._parse_upstream_security()
        settings = GatewaySettings(
            listen=listen,
            http=self._parse_address_of("http"),
            bootstrap=self._parse_bootstrap(),
            advertised_host=self._find_advertised_host(listen),
            advertised_port=self._int_value("advertised.port"),
            addresses=str(self._values["addresses"]),
            broker_host=self._find_broker_host(),
            proxy_protocol=str(self._values["proxy.protocol"]),
            first_port=self._find_first_port(listen),
            brokers=self._parse_brokers(),
            security=security,
            swaps=self._parse_swaps(security),
            network=self._parse_network(listen),
            allowed=self.parse_allowed_networks(),
            refresh_ms=self._int_value("refresh.interval.ms"),
            drain_ms=self._int_value("drain.timeout.ms"),
            answer_memory_bytes=self._int_value("answer.memory.bytes"),
            workers=self._count_workers(),
            report=str(self._values["report"]),
            logins=self._parse_logins(security),
        )
        self._check_own_ports(settings)
        if opens_files:
            self._open_files(settings)
        if self._problems:
            raise ConfigError(self._problems)
        return settings

    def _check_own_ports(self, settings: GatewaySettings) -> None:
        """Refuses settings that give one port to two things, as far as they name them."""
        taken = {settings.listen.port: "listen", settings.http.port: "http"}
        if settings.listen.port == settings.http.port != 0 and settings.listen.host == settings.http.host:
            self._add_problem("http", "expected another port than that of listen", str(settings.http))
        if settings.addresses == PORTS and settings.first_port:
            for broker in settings.brokers:
                if (port := settings.first_port + broker) in taken:
                    expected = f"expected another one: broker {broker} would be at port {port}, which is that of "
                    self._add_problem("first.port", f"{expected}{taken[port]}", str(settings.first_port))

    def _open_files(self, settings: GatewaySettings) -> None:
        try:
            load_certificates(settings.security)
        except ConfigError as fault:
            for each in fault.problems:
                self._add_problem(UPSTREAM + each.key, each.expected)
        if not (folder := Path(settings.report).parent).is_dir():
            self._add_problem("report", f"{folder} is no folder")
        listener = settings.network.listener_security.get(LISTENER, ListenerSecurity())
        for key, why in find_unusable_files(LISTENER, listener):
            names = (LISTENER_PREFIX + key, LISTENER_PREFIX + f"oauthbearer.{key}", key)
            self._add_problem(next((name for name in names if name in self._given), key), why)
        told = {problem.key for problem in self._problems}
        for name, given in self._given.items():  # of settings with another fault no file was opened
            if name.endswith("store.location") and name not in told and not Path(given.text).is_file():
                self._add_problem(name, f"{given.text} is no file")

    def _parse_value(self, key: Key) -> Value | None:
        given = self._given.get(key.name)
        if given is None:
            return key.default
        try:
            return key.value_of(given.text)
        except ValueError:
            self._problems.append(wrong_value(given, key.expected))
            return key.default

    def _int_value(self, name: str) -> int:
        value = self._values[name]
        return value if isinstance(value, int) else 0

    def _list_value(self, name: str) -> tuple[str, ...]:
        value = self._values[name]
        return value if isinstance(value, tuple) else ()

    def _add_problem(self, name: str, expected: str, found: str | None = None) -> None:
        origin = self._given[name].origin if name in self._given else Origin("")
        self._problems.append(Problem(key=name, expected=expected, found=found, origin=origin))

    def _add_problems_of_unknown(self) -> None:
        known = [*KEYS, *(UPSTREAM + name for name in SECURITY_KEYS), *filter(_is_network_setting, BROKER_KEYS)]
        for name, given in self._given.items():
            is_known = name.startswith(LOGINS) or (name.startswith(LISTENER_PREFIX) and key_of_listener(name.lower()))
            if name not in known and not is_known:
                near = nearest(name, known)
                expected = "the gateway has no such setting"
                if section := next((each for each in known if each.startswith(f"{name}.")), None):
                    expected = f"a section of settings, such as {section}"
                self._problems.append(Problem(key=name, expected=expected, origin=given.origin, nearest=near))

    def _parse_address(self, name: str, text: str) -> HostPort:
        try:
            return parse_host_port(text)
        except ValueError as fault:
            self._add_problem(name, f"expected {fault}", text)
            return HostPort("127.0.0.1", 0)

    def _parse_address_of(self, name: str) -> HostPort:
        return self._parse_address(name, str(self._values[name]))

    def _parse_bootstrap(self) -> tuple[HostPort, ...]:
        texts = tuple(filter(None, self._list_value("upstream.bootstrap.servers")))
        if not texts and all(problem.nearest != "upstream.bootstrap.servers" for problem in self._problems):
            self._add_problem(
                "upstream.bootstrap.servers",
                "expected HOST:PORT of at least one broker of the cluster: give --upstream, or "
                "upstream.bootstrap.servers in a file of settings",
            )
        return tuple(self._parse_address("upstream.bootstrap.servers", text) for text in texts)

    def _find_advertised_host(self, listen: HostPort) -> str:
        host = str(self._values["advertised.host"]) or listen.host
        if host in ("", "0.0.0.0", "::"):
            self._add_problem(
                "advertised.host",
                "expected a host that clients can connect to, since `listen` names none: give --advertised-host",
            )
        elif not _is_host(host):
            self._add_problem("advertised.host", "expected a host without a port", host)
        return host

    def _find_broker_host(self) -> str:
        name = str(self._values["broker.host"])
        if self._values["addresses"] == SNI:
            if name.count(PLACE) != 1:
                expected = f"expected a host name with {PLACE} in it, such as broker-{PLACE}.kafka.example"
                self._add_problem("broker.host", expected, name)
            elif not _is_host(name.replace(PLACE, "1")):
                self._add_problem("broker.host", "expected a host without a port", name)
            elif compile_name_pattern(name).fullmatch(str(self._values["advertised.host"])):
                expected = (
                    "expected another host than those of brokers: clients would first connect to one broker alone"
                )
                self._add_problem("advertised.host", expected, str(self._values["advertised.host"]))
            elif not _is_server_name(name.replace(PLACE, "1")):
                expected = "expected a name with dots in it and none at its end: TLS clients do not send others (SNI)"
                self._add_problem("broker.host", expected, name)
            if "SSL" not in str(self._values["security.protocol"]):
                self._add_problem(
                    "addresses", "sni needs security.protocol SSL or SASL_SSL: TLS says which broker is meant"
                )
        return name

    def _find_first_port(self, listen: HostPort) -> int:
        port = self._int_value("first.port")
        if port < 0:
            return listen.port + 1 if listen.port else 0
        return port

    def _count_workers(self) -> int:
        text = str(self._values["workers"]).strip()
        if text == AUTO:
            wanted = min(len(os.sched_getaffinity(0)), MOST_WORKERS)
        else:
            wanted = int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else 0
        if not 1 <= wanted <= MOST_WORKERS:
            self._add_problem("workers", f"expected {AUTO}, or a number from 1 to {MOST_WORKERS}", text)
        elif self._int_value("answer.memory.bytes") < wanted * LEAST_ANSWER_MEMORY_BYTES:
            self._add_problem(
                "answer.memory.bytes", f"expected {LEAST_ANSWER_MEMORY_BYTES} for each of {wanted} workers"
            )
        return wanted

    def _parse_brokers(self) -> dict[int, HostPort]:
        found = {}
        for text in filter(None, self._list_value("brokers")):
            number, _, address = text.partition("=")
            if number.strip().isdecimal():
                found[int(number)] = self._parse_address("brokers", address)
            else:
                self._add_problem("brokers", "expected ID=HOST:PORT", text)
        return found

    def parse_allowed_networks(self) -> tuple[AllowedNetwork, ...]:
        found = []
        for text in filter(None, self._list_value("allow")):
            try:
                found.append(parse_allowed_network(text))
            except ValueError:
                self._add_problem("allow", "expected NETWORK or NETWORK until YYYY-MM-DD", text)
        return tuple(found)

    @property
    def _relay_setting_hint(self) -> str:
        """A hint for a relay without a login of its own: the setting to use in place of a SASL protocol."""
        protocol = self._given.get(f"{UPSTREAM}security.protocol")
        if self._values["authentication"] == "swap" or protocol is None:
            return ""
        return f"; or, where clients log in to the cluster, {protocol.key}={without_sasl(protocol.text)}, and brokers"

    def _parse_upstream_security(self) -> SecuritySettings:
        texts = {
            name.removeprefix(UPSTREAM): given.text
            for name, given in self._given.items()
            if name.removeprefix(UPSTREAM) in SECURITY_KEYS and name.startswith(UPSTREAM)
        }
        try:
            return parse_security(texts)
        except ConfigError as fault:
            self._problems += [
                replace(
                    each,
                    key=UPSTREAM + each.key,
                    expected=each.expected + (self._relay_setting_hint if each.key == JAAS else ""),
                    origin=self._given.get(UPSTREAM + each.key, each).origin,
                )
                for each in fault.problems
            ]
            return SecuritySettings()

    def _parse_logins(self, own: SecuritySettings) -> tuple[UpstreamLogin, ...]:
        """In the order in which they are given first."""
        by_name: dict[str, dict[str, Given]] = {}
        for key, given in self._given.items():
            if key.startswith(LOGINS):
                name, _, field = key.removeprefix(LOGINS).partition(".")
                by_name.setdefault(name, {})[field] = given
        if by_name and self._values["authentication"] != "swap":
            self._add_problem(next(iter(by_name.values())).popitem()[1].key, "logins need authentication=swap")
        found = (self._parse_login(name, fields, own) for name, fields in by_name.items())
        return tuple(login for login in found if login is not None)

    def _parse_login(self, name: str, fields: Mapping[str, Given], own: SecuritySettings) -> UpstreamLogin | None:
        clients = fields.get("clients")
        try:
            principals, networks = parse_clients("" if clients is None else clients.text)
        except ValueError:
            principals, networks = frozenset(), ()
        if not principals and not networks:
            expected = "expected User:NAME or an address or network of each client that has this login"
            self._add_problem(f"{LOGINS}{name}.clients", expected, None if clients is None else clients.text)
            return None
        mechanism = {} if own.sasl is None else {"sasl.mechanism": own.sasl.mechanism}
        given = {field: each.text for field, each in fields.items() if field != "clients"}
        try:
            security = parse_security({"security.protocol": "SASL_PLAINTEXT", **mechanism, **given})
        except ConfigError as fault:
            self._problems += [replace(each, key=f"{LOGINS}{name}.{each.key}") for each in fault.problems]
            return None
        assert security.sasl is not None
        return UpstreamLogin(name=name, sasl=security.sasl, principals=principals, networks=networks)

    def _parse_swaps(self, security: SecuritySettings) -> bool:
        swaps = self._values["authentication"] == "swap"
        protocol = str(self._values["security.protocol"])
        if swaps and security.sasl is None and not self._has_upstream_fault():
            self._add_problem("authentication", "swap needs upstream.security.protocol SASL_PLAINTEXT or SASL_SSL")
        if not swaps and protocol.startswith("SASL"):
            expected = (
                f"with relay clients log in to the cluster, as {protocol}: expected {without_sasl(protocol)} here"
            )
            self._add_problem("security.protocol", expected, protocol)
        if not swaps and security.sasl is not None and self._values["addresses"] == SINGLE:
            expected = "single needs authentication=swap: a client's login cannot be repeated at each broker"
            self._add_problem("addresses", expected)
        return swaps

    def _has_upstream_fault(self) -> bool:
        """Whether it is known why there is no login."""
        names = (problem.key for problem in self._problems)
        return any(name.startswith(UPSTREAM) and name != "upstream.bootstrap.servers" for name in names)

    def _parse_network(self, listen: HostPort) -> BrokerSettings:
        protocol = str(self._values["security.protocol"])
        if self._values["authentication"] != "swap":
            protocol = without_sasl(protocol)
        flags = [
            Given("listeners", f"{LISTENER}://{listen}", Origin("listen")),
            Given("listener.security.protocol.map", f"{LISTENER}:{protocol}", Origin("security.protocol")),
            Given("inter.broker.listener.name", LISTENER, Origin("listen")),
            *(given for name, given in self._given.items() if _is_network_setting(name)),
        ]
        client_auth = self._given.get("ssl.client.auth")
        if client_auth is not None:  # without the prefix it is not for SASL_SSL in Kafka, which has several listeners
            flags.insert(0, replace(client_auth, key=CLIENT_AUTH))
        users = self._given.get(f"{LISTENER_PREFIX}plain.{JAAS}")
        if users is not None:  # where mechanisms are given, these win
            flags.insert(0, replace(users, key="sasl.enabled.mechanisms", text="PLAIN"))
        try:
            settings = load(flags=flags).settings
            sasl = settings.listener_security[LISTENER].sasl
            if sasl is not None and (stored := set(sasl.mechanisms) - WITHOUT_STORE):
                expected = f"expected {' or '.join(sorted(WITHOUT_STORE))}: the gateway stores no passwords of SCRAM"
                self._add_problem("sasl.enabled.mechanisms", expected, ",".join(sorted(stored)))
            return settings
        except ConfigError as fault:
            is_named_twice = CLIENT_AUTH not in self._given
            self._problems += [each for each in fault.problems if each.key != CLIENT_AUTH or not is_named_twice]
            return load().settings


def _is_server_name(host: str) -> bool:
    """Whether clients send the name of a host in TLS handshakes: Java sends none without a dot, nobody an address."""
    labels = host.split(".")
    return len(labels) > 1 and all(labels) and not _is_address(host)


def _is_host(text: str) -> bool:
    """Whether it is a name or an address, without a port or brackets."""
    return _is_address(text) or re.fullmatch(r"[\w.-]+", text) is not None


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def without_sasl(protocol: str) -> str:
    """The security protocol without SASL, for a connection on which clients log in themselves."""
    return {"SASL_SSL": "SSL", "SASL_PLAINTEXT": "PLAINTEXT"}.get(protocol, protocol)


def _is_network_setting(name: str) -> bool:
    return name.startswith(NETWORK)
