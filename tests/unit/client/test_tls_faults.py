"""What is said of certificates and TLS that do not fit is true, at the client and in the log of the broker."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from stepdown.client import Admin, AsyncAdmin, ClientError
from stepdown.config import ConfigError
from support.certificates import Authority
from support.running import until
from support.secure import secure_broker, secure_settings

YESTERDAY = datetime.now(UTC) - timedelta(days=1)
FAULTS: dict[str, tuple[str, dict[str, str], dict[str, str], str, str]] = {
    "the broker's has expired": (
        "SSL", {"ssl.keystore.location": "expired"}, {},
        "the certificate of the broker has expired", "the client refuses our certificate, which has expired",
    ),
    "the broker's is of another host": (
        "SSL", {"ssl.keystore.location": "elsewhere"}, {},
        "the certificate of the broker is for another host", "the client refuses our certificate: it may be for",
    ),
    "the client trusts others": (
        "SSL", {}, {"ssl.truststore.location": "other"},
        "the certificate of the broker is signed by nobody who is trusted here",
        "the client does not trust who signed our certificate",
    ),
    "the client has none": (
        "MTLS", {}, {},
        "the broker wants a certificate, and none was shown", "the client shows no certificate, which is required here",
    ),
    "the client's is signed by others": (
        "MTLS", {}, {"ssl.keystore.location": "foreign"},
        "the broker does not trust who signed our certificate",
        "the certificate of the client is signed by nobody who is trusted here",
    ),
    "the client's has expired": (
        "MTLS", {}, {"ssl.keystore.location": "expired"},
        "the broker refuses our certificate, which has expired", "the certificate of the client has expired",
    ),
    "TLS to a listener without it": (
        "PLAINTEXT", {}, {}, "is it a listener with TLS?", "TLS comes where a frame begins, and is not spoken here",
    ),
    "no TLS to a listener with it": (
        "SSL", {}, {"security.protocol": "PLAINTEXT"}, "", "the client speaks no TLS: no TLS record begins with 00 00",
    ),
}  # fmt: skip
"""Listener, settings of the broker and of the client (files by name), what the client says and the broker."""


def issue_all(authority: Authority, folder: Path) -> dict[str, str]:
    """Files by name."""
    other = Authority(folder, "other")
    files = {
        "authority": authority.file,
        "other": other.file,
        "expired": authority.issue("expired", ends=YESTERDAY),
        "elsewhere": authority.issue("elsewhere", "other.test"),
        "foreign": other.issue("foreign"),
    }
    return {name: str(file) for name, file in files.items()}


async def complaint_of(front: str, address: str, config: Mapping[str, str]) -> str:
    """What a client of either kind ends with."""

    def use() -> None:
        with Admin(address, config) as admin:
            admin.describe_topics()

    with pytest.raises(ClientError) as failed:
        if front == "blocking":
            await asyncio.to_thread(use)
        else:
            async with AsyncAdmin(address, config) as admin:
                await admin.describe_topics()
    return str(failed.value)


@pytest.mark.parametrize("front", ["blocking", "awaited"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_each_side_says_what_is_wrong(
    fault: str, front: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Fault: OpenSSL's words, such as "sslv3 alert bad certificate" for a certificate that is for another host."""
    listener, of_broker, of_client, at_client, at_broker = FAULTS[fault]
    authority = Authority(tmp_path)
    files = issue_all(authority, tmp_path)
    config = {"security.protocol": "SSL", "ssl.truststore.location": "authority"} | of_client
    config = {key: files.get(text, text) for key, text in config.items()}
    settings = secure_settings(authority) | {key: files[text] for key, text in of_broker.items()}
    async with secure_broker(tmp_path / "data", settings) as broker:
        assert at_client in await complaint_of(front, str(broker.addresses[listener]), config)
        await until(lambda: at_broker in caplog.text)


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("ssl.keystore.location", "mixed", "the key in it is not that of the certificate"),
        ("ssl.keystore.location", "authority", "no key with its certificate in it, as PEM"),
        ("ssl.keystore.location", "missing", "No such file or directory"),
        ("ssl.truststore.location", "text", "no certificate in PEM in it"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_reason(key: str, text: str, said: str, tmp_path: Path) -> None:
    files = {name: Path(file) for name, file in issue_all(Authority(tmp_path), tmp_path).items()}
    end = "-----END PRIVATE KEY-----\n"
    (tmp_path / "mixed").write_text(
        files["foreign"].read_text().partition(end)[0] + end + files["expired"].read_text().partition(end)[2]
    )
    (tmp_path / "text").write_text("nothing of use")
    config = {"security.protocol": "SSL", key: str(files.get(text, tmp_path / text))}
    with pytest.raises(ConfigError) as refused:
        Admin("127.0.0.1:1", config)
    assert str(refused.value).startswith(f"{key}: expected PEM that can be used: {said}")
