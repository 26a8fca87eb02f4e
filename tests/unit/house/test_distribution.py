"""One import of a name from the client's package brought all of the client, and what it imports, into the producer's
distribution."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_producer_takes_logins_connecting_and_errors_of_the_client_and_no_more() -> None:
    needed = runpy.run_path(str(ROOT / "distributions" / "producer" / "build.py"))["needed"]()
    taken = {path.relative_to(ROOT / "client").as_posix() for path in needed if ROOT / "client" in path.parents}
    assert {path for path in taken if not path.startswith("security/")} == {
        "errors.py",
        "host_lookups.py",
        "tcp_connect.py",
        "tls_transport.py",
        "versions.py",
    }
