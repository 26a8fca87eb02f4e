"""Does the time of a failed login tell whether its user exists?

    python bench/questions/login_timing.py [TRIES]

Logs in with a wrong password as a user who exists and as ones who do not, by turns, TRIES times each (2,000), by each
mechanism. Prints the medians of what the broker takes for its answers; the status is 1 when two are 5 % apart or more.
The figures of the last run are in docs/security.md.
"""

import asyncio
import base64
import statistics
import sys
import tempfile
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from support.certificates import Authority  # type: ignore[import-not-found]
from support.client import RawClient  # type: ignore[import-not-found]
from support.sasl_client import authenticate, handshake, plain_token  # type: ignore[import-not-found]
from support.secure import USER, secure_broker, secure_settings  # type: ignore[import-not-found]

TRIES = 2_000
PROOFS = {
    "SCRAM-SHA-256": base64.b64encode(bytes(32)).decode(),
    "SCRAM-SHA-512": base64.b64encode(bytes(64)).decode(),
}
"""Wrong ones of the right size: a client's own hashes are no part of what is measured."""
MECHANISMS = (*PROOFS, "PLAIN")
MOST_APART = 0.05


async def try_s(port: int, mechanism: str, user: str) -> float:
    async with await RawClient.connect("127.0.0.1", port) as client:
        assert (await handshake(client, mechanism)).error_code == 0
        if mechanism == "PLAIN":
            return await refused_s(client, plain_token(user, "a wrong password"))
        began = perf_counter()
        first = await authenticate(client, f"n,,n={user},r=nonce".encode())
        took = perf_counter() - began
        nonce = bytes(first.auth_bytes).decode().split(",")[0]
        return took + await refused_s(client, f"c=biws,{nonce},p={PROOFS[mechanism]}".encode())


async def refused_s(client: RawClient, token: bytes) -> float:
    began = perf_counter()
    assert (await authenticate(client, token)).error_code
    return perf_counter() - began


async def medians_s(port: int, mechanism: str, tries: int) -> tuple[float, float]:
    """Median seconds of a refused login: for the user who exists, and for those who do not."""
    known, unknown = [], []
    for number in range(tries):
        known.append(await try_s(port, mechanism, USER))
        unknown.append(await try_s(port, mechanism, f"nobody{number % 10}"))
    return statistics.median(known), statistics.median(unknown)


async def main(tries: int) -> None:
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with secure_broker(folder / "data", secure_settings(Authority(folder))) as broker:
            port = broker.addresses["SASL_PLAINTEXT"].port
            for mechanism in MECHANISMS:
                known, unknown = await medians_s(port, mechanism, tries)
                apart = abs(known / unknown - 1)
                worst = max(worst, apart)
                print(f"{mechanism:14} {known * 1e6:8.0f} µs known {unknown * 1e6:8.0f} µs unknown  {apart:.1%} apart")
    if worst >= MOST_APART:
        raise SystemExit(f"{worst:.1%} apart, {MOST_APART:.0%} is the most")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else TRIES))
