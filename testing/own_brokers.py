"""Brokers of a test with their folders, certificates and control; started and stopped in the running loop."""

import asyncio
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import TypedDict

from ..broker.faults.field_parsers import TIME
from ..broker.faults.hard_linked_files import link_directory
from ..config.errors import ConfigError, Problem
from ..config.similar_names import suggest
from ..config.sources.command_line import OVERRIDE
from ..config.sources.origin import NOWHERE, Origin
from ..protocol.plural import plural
from .async_kafka import AsyncKafka
from .control_client import LocalControl
from .finish_despite_cancellation import finish_despite_cancellation
from .make_brokers import Brokers, make_brokers
from .security.client_settings import ClientSettings
from .security.secured_listener import PROTOCOLS, SecuredListener, check_protocol
from .security.superuser import USERS, Superuser
from .wire.config_values import as_config_value, as_text


class BrokerOptions(TypedDict, total=False):
    """The options of `running`, described there. `log_dir` is served as it is, and not removed."""

    brokers: int
    racks: Sequence[str]
    data: str | Path | None
    log_dir: str | Path | None
    config: Mapping[str, object] | None
    topics: Mapping[str, int] | None
    security: str
    users: Mapping[str, str] | None
    act_as: str | None
    seed: int
    http: bool


OPTION_TYPES: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "brokers": ("a number", (int,)),
    "racks": ("a list of names", (list, tuple)),
    "data": ("a folder", (str, Path, NoneType)),
    "log_dir": ("a folder", (str, Path, NoneType)),
    "config": ("a dict of settings", (Mapping, NoneType)),
    "topics": ("a dict of names and numbers of partitions", (Mapping, NoneType)),
    "users": ("a dict of names and passwords", (Mapping, NoneType)),
    "act_as": ("a release as text", (str, NoneType)),
    "seed": ("a number", (int,)),
    "http": ("True or False", (bool,)),
}
OPTION_OF_SETTING = {"stepdown.act.as": "act_as", "stepdown.topics": "topics"}
"""The options of `running` that stand for settings."""


class OwnBrokers:
    """Brokers that `begin` starts; then there are `kafka` and `control_address`."""

    def __init__(
        self,
        *,
        brokers: int = 1,
        racks: Sequence[str] = (),
        data: str | Path | None = None,
        log_dir: str | Path | None = None,
        config: Mapping[str, object] | None = None,
        topics: Mapping[str, int] | None = None,
        security: str | None = None,
        users: Mapping[str, str] | None = None,
        act_as: str | None = None,
        seed: int = 0,
        http: bool = False,
    ) -> None:
        """Raises: ValueError for wrong options, such as an unknown protocol or a missing folder."""
        _check_option_types(
            brokers=brokers,
            racks=racks,
            data=data,
            log_dir=log_dir,
            config=config,
            topics=topics,
            users=users,
            act_as=act_as,
            seed=seed,
            http=http,
        )
        if users and security is None:
            raise ValueError(f"users need a security: {', '.join(PROTOCOLS[1:])}")
        check_protocol(security or PROTOCOLS[0])
        if brokers < 1:
            raise ValueError(f"there is at least one broker, not {brokers}")
        if len(racks) > brokers:
            raise ValueError(f"{plural(brokers, 'broker')} cannot be in {plural(len(racks), 'rack')}")
        if data is not None and not Path(data).is_dir():
            raise ValueError(f"data is the log directory of a broker that has stopped; there is no folder {data}")
        self._number, self._racks, self._seed = brokers, racks, seed
        self._data, self._log_dir = data, log_dir
        self._config = {name: as_config_value(name, value) for name, value in (config or {}).items()}
        self._config.setdefault("stepdown.page.enabled", as_text(http))
        if act_as is not None:
            self._config["stepdown.act.as"] = act_as
        if topics:
            self._config["stepdown.topics"] = ",".join(f"{name}:{partitions}" for name, partitions in topics.items())
        self._security = security or PROTOCOLS[0]
        self._users = USERS if users is None else users
        self._folders: list[str] = []
        self._brokers: Brokers | None = None
        self._kafka: AsyncKafka | None = None

    @property
    def kafka(self) -> AsyncKafka:
        """The handle for the test."""
        assert self._kafka is not None, "it does not run"
        return self._kafka

    @property
    def control_address(self) -> str:
        """HOST:PORT of the control port, "" where the setting `stepdown.control.listen` asks for none."""
        address = None if self._brokers is None else self._brokers.control_address
        return "" if address is None else str(address)

    async def begin(self) -> AsyncKafka:
        """Starts the brokers in the running loop, until they serve clients. Raises: ConfigError, OSError, DiskFault."""
        try:
            log_dir = self._log_dir or self._new_folder("stepdown-")
            if self._log_dir is None and self._data is not None:
                link_directory(str(self._data), str(log_dir))
            access = self._make_superuser()
            config = self._config if access is None else access.broker_settings(self._config)
            self._brokers = made = self._make_brokers(str(log_dir), config)
            with _use_names_of_tests():
                await made.start()
            if access is not None and access.listener.has_sasl:
                made.scram_credentials.set_passwords(tuple(access.listener.users.items()))
            control = LocalControl(made.control, asyncio.get_running_loop())
            self._kafka = _make_kafka(made.bootstrap, control, access, self._config)
            if self._config["stepdown.page.enabled"] == "true":
                self._kafka.page = f"http://{made.http_address}/"
        except BaseException:
            await self.end()
            raise
        return self._kafka

    def _make_brokers(self, log_dir: str, config: Mapping[str, str]) -> Brokers:
        with _use_names_of_tests():
            return make_brokers(log_dir, brokers=self._number, racks=self._racks, config=config, seed=self._seed)

    async def end(self) -> None:
        """Stops the brokers and removes their files; to be called in the loop of `begin`."""
        await finish_despite_cancellation(self._end())

    async def _end(self) -> None:
        try:
            if self._kafka is not None:
                await self._kafka.close()
            if self._brokers is not None:
                await self._brokers.stop()
        finally:
            for folder in self._folders:
                shutil.rmtree(folder, ignore_errors=True)
            self._kafka = self._brokers = None
            self._folders.clear()

    def _new_folder(self, prefix: str) -> str:
        self._folders.append(tempfile.mkdtemp(prefix=prefix))
        return self._folders[-1]

    def _make_superuser(self) -> Superuser | None:
        """Returns the superuser with certificates made; None for PLAINTEXT."""
        if self._security == "PLAINTEXT":
            return None
        folder = Path(self._new_folder("stepdown-security-"))
        access = Superuser(SecuredListener(protocol=self._security, folder=folder, users=self._users))
        access.make_certificates()
        return access


def _check_option_types(**options: object) -> None:
    """Checks types, since no type checker sees markers and ini files. Raises: ValueError."""
    for name, given in options.items():
        what, types = OPTION_TYPES[name]
        if not isinstance(given, types):
            raise ValueError(f"{name} is {what}, not {given!r}")
        within = given.values() if isinstance(given, Mapping) else ()
        if name == "users" and not all(isinstance(each, str) for each in within):
            raise ValueError(f"{name} is {what}, and not each password is text")
        if name == "topics" and not all(isinstance(each, int) for each in within):
            raise ValueError(f"{name} is {what}, not {given!r}")
        if name == "topics" and isinstance(given, Mapping):
            _check_topic_names(map(str, given))


def _check_topic_names(names: Iterable[str]) -> None:
    for name in names:
        if wrong := re.sub(r"[a-zA-Z0-9._-]", "", name):
            raise ValueError(f"topics: {name!r} has {wrong[0]!r}; a name has letters, digits, '.', '_' and '-'")


def check_option_names(options: Iterable[str]) -> None:
    """Raises: TypeError for an option that `running` does not have."""
    known = sorted(BrokerOptions.__annotations__)
    for name in options:
        if name not in known:
            raise TypeError(f"running takes {', '.join(known)}, not {name}{suggest(name, known)}")


@contextmanager
def _use_names_of_tests() -> Iterator[None]:
    """Gives the problems of a ConfigError the names that the test used."""
    try:
        yield
    except ConfigError as wrong:
        raise ConfigError(map(_as_the_test_names_it, wrong.problems)) from None


def _as_the_test_names_it(problem: Problem) -> Problem:
    """Returns the problem with the name that the test used, instead of a setting or an option of a command.

    What is wrong as a number of milliseconds was meant as a time, which a test may give.
    """
    if problem.key.endswith(".ms") and re.search("[a-z]", problem.found or ""):
        problem = replace(problem, expected=f"{problem.expected}, or {TIME}")
    if problem.key in OPTION_OF_SETTING:
        return replace(problem, key=OPTION_OF_SETTING[problem.key], origin=NOWHERE)
    return replace(problem, origin=Origin("config")) if problem.origin in (OVERRIDE, NOWHERE) else problem


def _make_kafka(
    bootstrap: str, control: LocalControl, access: Superuser | None, config: Mapping[str, str]
) -> AsyncKafka:
    if access is None:
        return AsyncKafka(bootstrap, control)
    return AsyncKafka(bootstrap, control, ClientSettings(bootstrap, access.listener), access.security(config))
