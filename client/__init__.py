"""A Kafka client for everything but records in bulk: `Admin`, `AsyncAdmin`, their operations, connections."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .admin import Admin, AsyncAdmin
    from .errors import AuthenticationFailed, ClientError, KafkaError
    from .operations.topics import NewTopic

__all__ = ["Admin", "AsyncAdmin", "AuthenticationFailed", "ClientError", "KafkaError", "NewTopic"]
_HOMES = {"Admin": ".admin", "AsyncAdmin": ".admin", "NewTopic": ".operations.topics"}


def __getattr__(name: str) -> Any:
    """Imports a name on first use, since the producer needs only the logins of this room."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, ".errors"), __name__), name)
