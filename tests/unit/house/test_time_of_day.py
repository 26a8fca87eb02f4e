"""How long ago something was goes by what has passed: the time of day may be set back, by tests as well."""

from pathlib import Path

ROOT = Path(__file__).parents[3]
COMPARED = {"network/clock.py", "network/sasl/exchange.py", "network/sasl/oauthbearer.py"}
"""The clock itself, and logins: a token says at which time of day it ends."""


def test_connections_ask_for_the_time_of_day_only_to_compare_it() -> None:
    """Pauses, idle times and rates waited for as long as a test's clock had been ahead."""
    files = (ROOT / "network").rglob("*.py")
    assert {str(path.relative_to(ROOT)) for path in files if "now_ms(" in path.read_text()} == COMPARED
