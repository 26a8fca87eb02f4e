"""What OpenSSL means by a fault, in words for those who run clients and brokers.

OpenSSL names an alert of the peer as if it were a fault of its own: SSLV3_ALERT_BAD_CERTIFICATE says that the peer does
not take our certificate. A peer that misses its host's name in our certificate sends the same alert.
"""

import ssl
from typing import Final

NO_RECORD: Final = "no TLS record begins with"
HUNG_UP: Final = "the broker hung up in the TLS handshake: is it a listener with TLS?"
BROKE_OFF: Final = (
    "the client broke off when it had seen the certificate of ssl.keystore.*: "
    "does it trust the authority that signed it?"
)
_ALERT = "ALERT_"
_BY_ALERT = {
    "CERTIFICATE_REQUIRED": "{peer} wants a certificate, and none was shown",
    "HANDSHAKE_FAILURE": "{peer} ended the handshake: it wants a certificate, or takes none of the cipher suites",
    "UNKNOWN_CA": "{peer} does not trust who signed our certificate",
    "CERTIFICATE_EXPIRED": "{peer} refuses our certificate, which has expired",
    "BAD_CERTIFICATE": "{peer} refuses our certificate: it may be for another host",
    "CERTIFICATE_UNKNOWN": "{peer} refuses our certificate: it may be for another host, or signed by nobody it trusts",
    "PROTOCOL_VERSION": "{peer} speaks none of the versions of TLS that are spoken here",
}
"""By the alert of the peer; Java's clients say CERTIFICATE_UNKNOWN for anything wrong with a certificate."""
_BY_REASON = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "{peer} shows no certificate, which is required here",
    "UNSUPPORTED_PROTOCOL": _BY_ALERT["PROTOCOL_VERSION"],
    "NO_SHARED_CIPHER": "{peer} takes none of the cipher suites that are taken here",
    "WRONG_VERSION_NUMBER": "{peer} speaks no TLS",
    "HTTP_REQUEST": "{peer} speaks no TLS",
}
_EXPIRED, _NOT_YET, _OTHER_HOST, _UNKNOWN_SIGNER = (10,), (9,), (62, 64), (2, 18, 19, 20, 21)
"""Codes of X509_verify_cert."""


def describe_tls_fault(fault: ssl.SSLError, peer: str) -> str:
    """A sentence about the fault that names `peer`, "the broker" or "the client"."""
    if isinstance(fault, ssl.SSLCertVerificationError):
        return f"the certificate of {peer} {_describe_refusal(fault.verify_code, fault.verify_message)}"
    reason, text = getattr(fault, "reason", None) or "", str(fault)
    if text.startswith(NO_RECORD):
        return f"{peer} speaks no TLS: {text}"
    before, _, alert = reason.partition(_ALERT)
    known = _BY_ALERT.get(alert) if before != reason else _BY_REASON.get(reason)
    return known.format(peer=peer) if known else reason.lower().replace("_", " ") or text


def is_of_unknown_signer(fault: object) -> bool:
    """Whether a certificate was refused because nobody trusted here has signed it."""
    return isinstance(fault, ssl.SSLCertVerificationError) and fault.verify_code in _UNKNOWN_SIGNER


def _describe_refusal(code: int, message: str) -> str:
    if code in _EXPIRED:
        return "has expired"
    if code in _NOT_YET:
        return "is not valid yet"
    if code in _OTHER_HOST:
        return f"is for another host: {message.rstrip('.')}"
    return (
        f"is signed by nobody who is trusted here: {message}" if code in _UNKNOWN_SIGNER else f"is refused: {message}"
    )


def describe_pem_fault(fault: OSError | ValueError) -> str:
    """Why a file of keys and certificates cannot be used."""
    if not isinstance(fault, ssl.SSLError):
        return getattr(fault, "strerror", None) or str(fault) or type(fault).__name__
    reason = fault.reason or ""
    if reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH"):
        return "the key in it is not that of the certificate"
    if reason in ("NO_CERTIFICATE_OR_CRL_FOUND", "NO_START_LINE"):
        return "no certificate in PEM in it"
    return (
        "no key with its certificate in it, as PEM, or the password of the key is wrong" if not reason else str(fault)
    )
