"""Certificates that nobody accepts today."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from stepdown.config.listener_security import TlsSettings
from stepdown.network.tls.certificate_dates import list_certificates_not_in_force
from support.certificates import Authority

TODAY_MS = 1_700_000_000_000
NO_TLS = TlsSettings(
    own_file=None,
    own_key=None,
    own_chain=None,
    store_password=None,
    key_password=None,
    trusted_file=None,
    trusted=None,
    trusted_password=None,
    client_auth="required",
    versions=("TLSv1.3",),
    cipher_suites=(),
    principal_rules="",
)


def test_the_end_and_the_begin_are_named_with_file_or_setting(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    ended = str(authority.issue("ended", ends=datetime(2020, 6, 30, tzinfo=UTC)))
    good = str(authority.issue("good"))
    text = Path(ended).read_text()
    for tls, begin in (
        (replace(NO_TLS, own_file=ended), ended),
        (replace(NO_TLS, own_chain=text), "ssl.keystore.certificate.chain"),
        (replace(NO_TLS, own_file=good, trusted_file=ended), ended),
        (replace(NO_TLS, own_file=good, trusted=text), "ssl.truststore.certificates"),
    ):
        (line,) = list_certificates_not_in_force(tls, TODAY_MS)
        assert line.startswith(f"{begin}: the certificate of CN=ended,") and line.endswith(" ended on 2020-06-30")
        assert all(" begins on 2000-01-01" in line for line in list_certificates_not_in_force(tls, 0))


def test_trusted_certificates_are_looked_at_where_clients_show_theirs(tmp_path: Path) -> None:
    ended = str(Authority(tmp_path).issue("ended", ends=datetime(2020, 6, 30, tzinfo=UTC)))
    assert [*list_certificates_not_in_force(replace(NO_TLS, trusted_file=ended, client_auth="none"), TODAY_MS)] == []


def test_a_certificate_that_only_openssl_reads_is_passed_over() -> None:
    assert [*list_certificates_not_in_force(replace(NO_TLS, own_chain="no certificate"), TODAY_MS)] == []
