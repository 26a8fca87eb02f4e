"""Fixtures that any room's tests may ask for."""

from collections.abc import Callable

import pytest
from support.java_oracle import JavaOracle, java_oracle_for


@pytest.fixture(scope="session")
def java_oracle() -> Callable[..., JavaOracle]:
    """Return `java_oracle(room)`: Kafka's own classes behind `call(command, payload)`; skips where Java is missing."""
    return java_oracle_for
