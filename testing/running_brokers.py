"""`running()`: a broker for as long as a `with` block lasts, in this process."""

import asyncio
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from ..broker.faults.hard_linked_files import link_directory
from .async_kafka import AsyncKafka
from .control_client import LocalControl
from .kafka import Kafka
from .loop_thread import LoopThread
from .make_brokers import Brokers, make_brokers
from .record_comparison import as_text
from .security.client_settings import ClientSettings
from .security.secured_listener import PROTOCOLS, SecuredListener
from .security.superuser import USERS, Superuser


def running(
    *,
    brokers: int = 1,
    data: str | Path | None = None,
    config: Mapping[str, object] | None = None,
    topics: Mapping[str, int] | None = None,
    security: str = "PLAINTEXT",
    users: Mapping[str, str] | None = None,
    act_as: str | None = None,
    seed: int = 0,
    http: bool = False,
) -> "Running":
    """Brokers on free ports of 127.0.0.1, for `with` and `async with`; they and their files go at the end.

    Several are a cluster with real replicas; topics have up to three. `data` is a log directory to begin with, of
    brokers that have stopped: it is not changed. `config` has settings by Kafka's names, `topics` the number of
    partitions of each topic to begin with. `seed` draws for faults with a probability, and where replicas go; what is
    armed is removed when the block ends.

    `security` is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, with certificates that are made, and `users` (name to
    password; else one, alice) who have a certificate each, or log in by PLAIN or SCRAM: `Kafka.clients` tells clients.
    `act_as` is the release of Kafka whose versions, refusals and defaults clients meet, such as 4.4 (docs/act-as.md).
    With `http` there is a page to look at the brokers, at `Kafka.page`.
    Raises: ConfigError, and OSError or DiskFault when it cannot start, from entering.
    """
    return Running(
        brokers=brokers,
        data=data,
        config=config,
        topics=topics,
        security=security,
        users=users,
        act_as=act_as,
        seed=seed,
        http=http,
    )


class Running:
    """Starts a broker in a thread of its own on entering, and ends it on leaving.

    `log_dir` is served as it is and left behind; without one a temporary folder begins with what is in `data`.
    """

    def __init__(
        self,
        *,
        brokers: int = 1,
        data: str | Path | None = None,
        config: Mapping[str, object] | None = None,
        topics: Mapping[str, int] | None = None,
        log_dir: str | Path | None = None,
        security: str = "PLAINTEXT",
        users: Mapping[str, str] | None = None,
        act_as: str | None = None,
        seed: int = 0,
        http: bool = False,
    ) -> None:
        """Raises: ValueError for what there is not, such as a protocol or a folder."""
        if security not in PROTOCOLS:
            raise ValueError(f"security is one of {', '.join(PROTOCOLS)}, not {security!r}")
        if brokers < 1:
            raise ValueError(f"there is at least one broker, not {brokers}")
        if data is not None and not Path(data).is_dir():
            raise ValueError(f"data is the log directory of a broker that has stopped; there is no folder {data}")
        self._number = brokers
        self._seed = seed
        self._data = data
        self._config = {name: as_text(value) for name, value in (config or {}).items()}
        self._config.setdefault("stepdown.page.enabled", as_text(http))
        if act_as is not None:
            self._config["stepdown.act.as"] = act_as
        if topics:
            self._config["stepdown.topics"] = ",".join(f"{name}:{partitions}" for name, partitions in topics.items())
        self._log_dir = log_dir
        self._security = security
        self._users = USERS if users is None else users
        self._secrets: str | None = None
        self._thread: LoopThread | None = None
        self._folder: str | None = None
        self._brokers: Brokers | None = None
        self._kafka: Kafka | None = None

    def __enter__(self) -> Kafka:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    async def __aenter__(self) -> AsyncKafka:
        return AsyncKafka(await asyncio.to_thread(self.start))

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    @property
    def bootstrap(self) -> str:
        """What clients connect to."""
        assert self._kafka is not None
        return self._kafka.bootstrap

    @property
    def control_address(self) -> str:
        """HOST:PORT of the control port, "" where the setting `stepdown.control.listen` asks for none."""
        address = None if self._brokers is None else self._brokers.control_address
        return "" if address is None else str(address)

    def start(self) -> Kafka:
        """Returns when clients are served."""
        try:
            if self._log_dir is None:
                self._folder = tempfile.mkdtemp(prefix="stepdown-")
                if self._data is not None:
                    link_directory(str(self._data), self._folder)
            access = self._own_access()
            self._thread = LoopThread()
            self._brokers = self._thread.run(self._start(access))
            control = LocalControl(self._brokers.control, self._thread)
            self._kafka = _kafka(self._brokers.bootstrap, control, access, self._config)
            if self._config["stepdown.page.enabled"] == "true":
                self._kafka.page = f"http://{self._brokers.http_address}/"
        except BaseException:
            self.stop()
            raise
        return self._kafka

    def stop(self) -> None:
        """Returns when no thread, descriptor or file is left."""
        if self._brokers is not None:
            assert self._thread is not None
            if self._kafka is not None:
                self._kafka.close()
            self._thread.run(self._brokers.stop())
            self._brokers = None
        if self._thread is not None:
            self._thread.stop()
            self._thread = None
        for folder in (self._folder, self._secrets):
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
        self._folder = self._secrets = None

    def _own_access(self) -> Superuser | None:
        """Makes the certificates."""
        if self._security == "PLAINTEXT":
            return None
        self._secrets = tempfile.mkdtemp(prefix="stepdown-security-")
        asked = SecuredListener(protocol=self._security, folder=Path(self._secrets), users=self._users)
        access = Superuser(asked)
        access.make_certificates()
        return access

    async def _start(self, access: Superuser | None) -> Brokers:
        folder = str(self._log_dir or self._folder)
        config = self._config if access is None else access.broker_settings(self._config)
        made = make_brokers(folder, brokers=self._number, config=config, seed=self._seed)
        await made.start()
        if access is not None and access.listener.has_sasl:
            made.scram_credentials.set_passwords(tuple(access.listener.users.items()))
        return made


def _kafka(bootstrap: str, control: LocalControl, access: Superuser | None, config: Mapping[str, str]) -> Kafka:
    if access is None:
        return Kafka(bootstrap, control)
    return Kafka(bootstrap, control, ClientSettings(bootstrap, access.listener), access.security(config))
