"""The settings that a broker starts with, from a file, the environment and the command line.

Later sources win: the .properties file, then environment variables, then options. It collects all problems before it
reports them. A key of Kafka that has no effect in stepdown becomes a remark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .broker_settings_builder import broker_settings
from .errors import ConfigError, Problem, wrong_value
from .keys.endpoints import listener_names
from .keys.key import Key, Status
from .layered_values import Layers
from .listener_security import applies_to_protocol, find_problem_of_capitals, key_of_listener, listener_of
from .remark import Remark, remark_without_effect
from .security_plugins import find_problem_of_plugin
from .settings import BrokerSettings
from .similar_names import nearest
from .sources.command_line import OVERRIDE, parse_override
from .sources.environment import settings_from
from .sources.origin import Given, Origin
from .sources.properties_file import MalformedProperties, decode, parse_properties
from .tables.all_keys import BROKER_KEYS, TOPIC_KEYS
from .unknown_keys import OF_IMAGES, OF_OTHER_RELEASES, REMOVED, is_foreign, unknown_key_problem

LISTENERS_BESIDE_CONTROLLER = "PLAINTEXT://127.0.0.1:9092"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartupSettings:
    """The settings, the layers from which they were built, and remarks for the operator."""

    settings: BrokerSettings
    layers: Layers
    remarks: tuple[Remark, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The remarks that are not quiet."""
        return tuple(str(remark) for remark in self.remarks if not remark.is_quiet)

    @property
    def without_effect(self) -> tuple[Remark, ...]:
        """The quiet remarks: settings of Kafka without effect here that do not concern security."""
        return tuple(remark for remark in self.remarks if remark.is_quiet)


def load(
    path: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Sequence[str] = (),
    flags: Sequence[Given] = (),
    defaults: Iterable[Given] = (),
) -> StartupSettings:
    """Loads settings from a .properties file, variables, flags and `key=value` overrides; later sources win.

    `defaults` replace built-in defaults.

    Raises:
        ConfigError: the file cannot be read, a key is unknown, or values are wrong; with all problems found.
    """
    merge = _SourceMerge()
    merge.add(defaults)
    if path is not None:
        merge.read_file(Path(path))
    merge.add(settings_from(environ or {}), forgives=True)
    merge.add(flags)
    merge.add_overrides(overrides)
    return merge.build()


def find_remarks_and_problems(path: Path) -> tuple[tuple[Remark, ...], tuple[Problem, ...]]:
    """The remarks of a start with this file alone, and the problems that would prevent it."""
    merge = _SourceMerge()
    merge.read_file(path)
    try:
        merge.build()
    except ConfigError as fault:
        return tuple(merge.remarks.values()), fault.problems
    return tuple(merge.remarks.values()), ()


def settings_of(texts: Mapping[str, str]) -> BrokerSettings:
    """Builds settings from the texts of a few keys; all others have their defaults.

    Raises:
        ConfigError: a key is unknown or a value wrong.
    """
    return load(overrides=[f"{key}={text}" for key, text in texts.items()]).settings


class _SourceMerge:
    """Merges the sources in order, and collects remarks and problems."""

    def __init__(self) -> None:
        self.static: dict[str, str] = {}
        self.origins: dict[str, Origin] = {}
        self.remarks: dict[str, Remark] = {}
        self.problems: list[Problem] = []
        self._replaced_listeners: frozenset[str] = frozenset()

    def read_file(self, path: Path) -> None:
        try:
            properties = parse_properties(decode(path.read_bytes()))
        except OSError as fault:
            reason = fault.strerror or "unreadable"
            self.problems.append(Problem(key=str(path), expected=f"cannot read the configuration file: {reason}"))
            return
        except MalformedProperties as fault:
            origin = Origin(str(path), fault.line)
            expected = "expected four hexadecimal digits after \\u; write \\\\ for a backslash"
            self.problems.append(Problem(key=fault.key, expected=expected, origin=origin))
            return
        first: dict[str, int] = {}
        for entry in properties:
            if entry.key in first:
                text = f"was already set on line {first[entry.key]}; the later value counts"
                remark = Remark(key=entry.key, origin=Origin(str(path), entry.line), text=text)
                self.remarks[f"{entry.key} repeated"] = remark
            first[entry.key] = entry.line
        given = (Given(entry.key, entry.value, Origin(str(path), entry.line)) for entry in properties)
        self.add(given, forgives=True)

    def add_overrides(self, overrides: Iterable[str]) -> None:
        for text in overrides:
            try:
                self.add([parse_override(text)])
            except ValueError as fault:
                self.problems.append(Problem(key=text, expected=str(fault), origin=OVERRIDE))

    def add(self, givens: Iterable[Given], *, forgives: bool = False) -> None:
        for given in givens:
            key = BROKER_KEYS.get(given.key)
            refused = find_problem_of_plugin(given) or find_problem_of_capitals(given)
            if refused is not None:
                self.problems.append(refused)
            elif key_of_listener(given.key) is not None:
                self.static[given.key], self.origins[given.key] = given.text.strip(), given.origin
            elif key is not None:
                self._add_value(key, given)
            else:
                self._add_unknown(given, forgives)

    def _add_value(self, key: Key, given: Given) -> None:
        if given.text.strip() == "" and key.default is None:
            self.static.pop(key.name, None)
            return
        try:
            key.value_of(given.text)
        except ValueError:
            self.problems.append(wrong_value(given, key.expected, sensitive=key.sensitive))
            return
        if key.name == "listeners":
            self._replaced_listeners |= listener_names(self.static.get(key.name, ""))
        self.static[key.name] = given.text.strip()
        self.origins[key.name] = given.origin
        if key.status is Status.ACCEPTED:
            text = f"is accepted but has no effect. {key.doc}"
            self.remarks[key.name] = remark_without_effect(key.name, given.origin, text)

    def _add_unknown(self, given: Given, forgives: bool) -> None:
        """Adds a remark for keys of plugins and old brokers, and with `forgives` for those that resemble no known key;
        refuses others. Kafka only warns of all of them."""
        name = given.key
        if name in REMOVED:
            instead = f"; use {REMOVED[name]}" if REMOVED[name] else ""
            text = f"was removed from Kafka and has no effect{instead}"
            self.remarks[name] = Remark(key=name, origin=given.origin, text=text, is_quiet=not instead)
            return
        if name in OF_OTHER_RELEASES:
            text = f"is a setting of Kafka {OF_OTHER_RELEASES[name]} and has no effect"
            self.remarks[name] = remark_without_effect(name, given.origin, text)
            return
        if name in OF_IMAGES:
            text = f"is no setting of the broker and has no effect; use {OF_IMAGES[name]}"
            self.remarks[name] = Remark(key=name, origin=given.origin, text=text)
            return
        close = nearest(name, BROKER_KEYS)
        is_of_topic = name in TOPIC_KEYS and given.origin.line > 0  # images of Kafka let variables pass
        if is_foreign(name) or (forgives and close is None and not is_of_topic):
            hint = f"; did you mean {close}?" if close else ""
            remark = remark_without_effect(name, given.origin, f"is no setting of the broker and has no effect{hint}")
            self.remarks[name] = replace(remark, is_quiet=remark.is_quiet and not hint)
            return
        self.problems.append(unknown_key_problem(name, given.origin))

    def _drop_controller_listeners(self) -> None:
        """With process.roles=controller, which has no listener for clients, serves clients on this machine only."""
        if self.static.get("process.roles", "").lower() != "controller":
            return
        self.static.pop("controller.listener.names", None)
        origin = self.origins["process.roles"]
        if self.origins.get("listeners", origin).place == origin.place:
            self.static["listeners"] = LISTENERS_BESIDE_CONTROLLER
            self.static.pop("advertised.listeners", None)
            text = f"=controller has no listener for clients, who are served at {LISTENERS_BESIDE_CONTROLLER}"
            self.remarks["process.roles"] = Remark(key="process.roles", origin=origin, text=text)

    def _check_names_of_listeners(self, controllers: frozenset[str]) -> None:
        """Refuses settings of unknown listeners; for a replaced or a controller's listener it adds a remark."""
        opened = listener_names(self.static.get("listeners") or str(BROKER_KEYS["listeners"].default)) - controllers
        for name in self._listener_keys():
            listener = listener_of(name)
            if listener in opened:
                continue
            if listener in self._replaced_listeners | controllers:
                self._add_listener_remark(name, f"no listener {listener.upper()} is opened")
            else:
                expected = f"there is no listener {listener.upper()} in listeners: correct the name, or remove it"
                self.problems.append(Problem(key=name, expected=expected, origin=self.origins[name]))

    def _check_protocols_of_listeners(self, settings: BrokerSettings) -> None:
        protocols = {each.listener_name.lower(): each.protocol for each in settings.listeners}
        for name in self._listener_keys():
            protocol = protocols.get(listener_of(name))
            if protocol is not None and not applies_to_protocol(name, protocol):
                self._add_listener_remark(name, f"listener {listener_of(name).upper()} speaks {protocol}")

        self._check_client_auth(settings)

    def _check_client_auth(self, settings: BrokerSettings) -> None:
        """Adds a remark if ssl.client.auth has no effect: without a prefix it is not for SASL_SSL (KIP-684)."""
        key = "ssl.client.auth"
        if self.static.get(key, "none") == "none":
            return
        for each in settings.listeners:
            name = f"listener.name.{each.listener_name.lower()}.{key}"
            if each.protocol == "SASL_SSL" and name not in self.static:
                text = f"has no effect at listener {each.listener_name}, which speaks SASL_SSL: for it write {name}"
                self.remarks[key] = Remark(key=key, origin=self.origins[key], text=text)

    def _listener_keys(self) -> list[str]:
        return [name for name in self.static if name not in BROKER_KEYS]

    def _add_listener_remark(self, name: str, why: str) -> None:
        self.remarks[name] = remark_without_effect(name, self.origins[name], f"has no effect: {why}")

    def build(self) -> StartupSettings:
        controllers = listener_names(self.static.get("controller.listener.names", ""))
        self._drop_controller_listeners()
        self._check_names_of_listeners(controllers)
        layers = Layers(static=self.static, origins=self.origins)
        settings = None
        try:
            settings = broker_settings(layers)
        except ConfigError as fault:
            self.problems.extend(fault.problems)
        if self.problems or settings is None:
            raise ConfigError(self.problems)
        self._check_protocols_of_listeners(settings)
        return StartupSettings(settings=settings, layers=layers, remarks=tuple(self.remarks.values()))
