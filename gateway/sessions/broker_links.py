"""The connections of one client to brokers of the cluster, opened when they are needed."""

from collections.abc import Callable

from ..upstream import UpstreamFailed
from ..upstream_logins import UpstreamLogin
from .broker_link import BrokerLink
from .session_tools import SessionTools


class BrokerLinks:
    """`home` returns the broker for requests that are for no other; `login`, the login to all. `on_lost` is called when
    a broker hangs up while no request waits for it; None: the next request opens another connection. `asked_by`: the
    client id of a client that is a gateway."""

    def __init__(
        self,
        tools: SessionTools,
        home: Callable[[], int],
        login: Callable[[], UpstreamLogin | None],
        on_lost: Callable[[], None] | None,
    ) -> None:
        self.login = login
        self.asked_by = ""
        self._tools = tools
        self._home = home
        self._on_lost = on_lost
        self._home_broker: int | None = None
        self._links: dict[int, BrokerLink] = {}
        self._opened_as: UpstreamLogin | None = None
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    async def get_or_open(self, broker: int | None = None) -> BrokerLink:
        """The link to a broker, None: home. Raises: UpstreamFailed, ConnectionResetError when the client has gone."""
        if self._is_closed:
            raise ConnectionResetError("the client has gone")
        if broker is None:
            if self._home_broker is None:
                self._home_broker = self._home()
            broker = self._home_broker
        return self._links.get(broker) or await self._connect(broker)

    async def _connect(self, broker: int) -> BrokerLink:
        login = self._opened_as = self.login()
        try:
            opened = await self._tools.upstream.connect(
                broker, lambda: self._on_broker_hangup(broker), login, self.asked_by
            )
        except UpstreamFailed:
            self._tools.suspect(broker)
            raise
        link = self._links[broker] = BrokerLink(self._tools, *opened)
        if self._is_closed:
            self.close()
            raise ConnectionResetError("the client has gone")
        return link

    def close(self) -> None:
        self._is_closed = True
        self._on_lost = None
        self._close_links()

    def close_links_of_former_login(self) -> None:
        """Closes the links if the client has logged in since they were opened, for example by ApiVersions."""
        if self._links and self.login() != self._opened_as:
            self._close_links()

    async def renew_logins(self) -> None:
        """Logs in again on links whose login expires soon, before the broker closes the connection at the next request.
        No request may be in flight. Raises: UpstreamFailed."""
        for broker, link in list(self._links.items()):
            if not link.connection.is_lost and self._tools.clock.monotonic_ms() >= link.connection.log_in_at_ms:
                try:
                    await self._tools.upstream.renew_login(link.connection, link.versions, link.address, self.login())
                finally:
                    if link.connection.is_lost:
                        self._links.pop(broker, None)

    def note_lost_brokers(self) -> None:
        """Forgets the versions of brokers that hung up, which may come back as another release, and tries them."""
        for broker, link in self._links.items():
            if link.connection.is_lost:
                self._tools.upstream.forget_versions(link.address)
                self._tools.suspect(broker)

    def _close_links(self) -> None:
        while self._links:
            self._links.popitem()[1].connection.close()

    def _on_broker_hangup(self, broker: int) -> None:
        self.note_lost_brokers()
        self._links.pop(broker, None)
        on_lost = self._on_lost
        if on_lost is not None:
            self.close()  # else a request in flight would open another link for a client that is being closed
            on_lost()
