"""Settings by which client libraries connect to a test's broker: its addresses and security."""

import ssl
from pathlib import Path
from typing import Any

from ..wire.wire_client import CLIENT_ID
from .secured_listener import MECHANISMS, PROTOCOLS, SecuredListener, client_pem

FIRST = "the first of the users"
SCRAM = "SCRAM-SHA-512"
BY_PROTOCOL = ""
OPEN = SecuredListener(protocol="PLAINTEXT", folder=Path())


class ClientSettings:
    """Settings for clients, with the brokers' addresses, for any security protocol.

    `user`: one of the users of `running` or the marker, by default the first; "" for no certificate, only with SSL.
    `mechanism`: only with SASL; PLAIN, SCRAM-SHA-256, or by default SCRAM-SHA-512. Raises: KeyError for an unknown
    user, ValueError for an unknown mechanism, and for user or mechanism if the protocol has none.
    """

    def __init__(self, bootstrap: str, listener: SecuredListener = OPEN) -> None:
        self._bootstrap = bootstrap
        self._listener = listener

    def confluent_kafka(self, user: str = FIRST, mechanism: str = BY_PROTOCOL) -> dict[str, Any]:
        """Returns settings for confluent-kafka and other clients with librdkafka's names."""
        mechanism = self._choose_mechanism(user, mechanism)
        texts = {"bootstrap.servers": self._bootstrap, "security.protocol": self._listener.protocol}
        if self._listener.has_tls:
            texts["ssl.ca.location"] = str(self._listener.authority)
            if own := self._certificate_file(user):
                texts |= {"ssl.certificate.location": own, "ssl.key.location": own}
        if self._listener.has_sasl:
            name, password = self._name_and_password(user)
            texts |= {"sasl.mechanism": mechanism, "sasl.username": name, "sasl.password": password}
        return texts

    def kafka_python(self, user: str = FIRST, mechanism: str = BY_PROTOCOL) -> dict[str, Any]:
        """Returns keyword arguments for kafka-python."""
        texts: dict[str, Any] = self._kafka_python_settings(user, mechanism)
        if self._listener.has_tls:
            texts["ssl_cafile"] = str(self._listener.authority)
            if own := self._certificate_file(user):
                texts |= {"ssl_certfile": own, "ssl_keyfile": own}
        return texts

    def aiokafka(self, user: str = FIRST, mechanism: str = BY_PROTOCOL) -> dict[str, Any]:
        """Returns keyword arguments for aiokafka."""
        texts: dict[str, Any] = self._kafka_python_settings(user, mechanism)
        if self._listener.has_tls:
            texts["ssl_context"] = self.ssl_context(user)
        return texts

    def java(self, user: str = FIRST, mechanism: str = BY_PROTOCOL) -> dict[str, str]:
        """Returns properties for Java clients since 2.7, and for stepdown's own producer."""
        listener, mechanism = self._listener, self._choose_mechanism(user, mechanism)
        named = self._user_name(user) if listener.has_sasl or listener.has_tls else ""
        return {"bootstrap.servers": self._bootstrap, **listener.java_settings(named, mechanism)}

    def ssl_context(self, user: str = FIRST) -> ssl.SSLContext:
        """Returns a context that trusts the brokers, with the user's certificate if the protocol is SSL."""
        context = ssl.create_default_context(cafile=str(self._listener.authority))
        if own := self._certificate_file(user):
            context.load_cert_chain(own)
        return context

    def _kafka_python_settings(self, user: str, mechanism: str) -> dict[str, Any]:
        mechanism = self._choose_mechanism(user, mechanism)
        texts = {"bootstrap_servers": self._bootstrap, "security_protocol": self._listener.protocol}
        if self._listener.has_sasl:
            name, password = self._name_and_password(user)
            texts |= {"sasl_mechanism": mechanism, "sasl_plain_username": name, "sasl_plain_password": password}
        return texts

    def _choose_mechanism(self, user: str, mechanism: str) -> str:
        """Returns the mechanism, SCRAM-SHA-512 by default. Raises: ValueError if the protocol has no such."""
        listener = self._listener
        if mechanism != BY_PROTOCOL:
            _check_mechanism(mechanism)
            if not listener.has_sasl:
                raise ValueError(f"a mechanism is of SASL_PLAINTEXT and SASL_SSL; here security is {listener.protocol}")
        if user not in (FIRST, "") and not listener.has_sasl and not listener.has_tls:
            raise ValueError(f"users are of {', '.join(PROTOCOLS[1:])}; here security is {listener.protocol}")
        return SCRAM if mechanism == BY_PROTOCOL else mechanism

    def _name_and_password(self, user: str) -> tuple[str, str]:
        name = self._user_name(user)
        return name, self._listener.users[name]

    def _certificate_file(self, user: str) -> str:
        """Returns the path of the user's certificate, "" if there is none."""
        name = "" if self._listener.has_sasl else self._user_name(user)
        return str(client_pem(self._listener.folder.resolve(), name)) if name else ""

    def _user_name(self, user: str) -> str:
        name = next(iter(self._listener.users), "") if user == FIRST else user
        if name and name not in self._listener.users:
            known = [each for each in self._listener.users if each != CLIENT_ID]
            raise KeyError(f"no user {name!r}, but {', '.join(known) or 'none'}")
        return name


def _check_mechanism(mechanism: str) -> None:
    if mechanism not in MECHANISMS:
        raise ValueError(f"mechanism is one of {', '.join(MECHANISMS)}, not {mechanism!r}")
