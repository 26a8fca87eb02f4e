"""Who a client is, once its listener knows: `User:alice`. Source: Kafka 3.9 `KafkaPrincipal`."""

from dataclasses import dataclass

USER_TYPE = "User"


@dataclass(frozen=True, slots=True)
class KafkaPrincipal:
    """An identity: its type, which is `User` for all authenticated clients, and its name."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = KafkaPrincipal(USER_TYPE, "ANONYMOUS")
"""The principal of clients at a listener without authentication."""
