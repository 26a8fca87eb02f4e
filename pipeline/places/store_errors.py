"""What an object store or the way to it did wrong, in a sentence: what happened, and what to look at."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ...protocol.errors import DiskFault

_ENDPOINT = "check the endpoint of the store"
_REGION = "set the bucket's region by an option of the store (aws_region) or the environment"
_CREDENTIALS = "set credentials by options of the store or the environment"
_BUCKET = "check the name of the bucket, and the endpoint"
_FAILURES = (
    (r"ConnectionRefused", "nothing listens there", _ENDPOINT),
    (r'"dns error"', "there is no such host", _ENDPOINT),
    (r"InvalidMessage|InvalidContentType", "the server does not speak TLS", f"{_ENDPOINT}: http:// may be meant"),
    (
        r"InvalidCertificate\(\s*NotValidForName",
        "the certificate of the server has another name",
        _ENDPOINT,
    ),
    (
        r"InvalidCertificate\(\s*Expired",
        "the certificate of the server has expired",
        _ENDPOINT,
    ),
    (
        r"InvalidCertificate",
        "the certificate of the server is of no authority that is trusted here",
        "SSL_CERT_FILE names a file of authorities, on the driver and on each worker",
    ),
    (r"kind: Body[\s\S]*TimedOut", "the answer stopped before it was whole", _ENDPOINT),
    (r"kind: Body", "the answer was cut", None),
    (r"ConnectionReset|IncompleteMessage", "the connection was cut", f"{_ENDPOINT}: https:// may be meant"),
    (r"kind: Timeout|TimedOut", "there was no answer in time", _ENDPOINT),
)
"""What the library's account of a request without an answer has in it, what that means, and what to do."""
_ANSWERS = (
    (r"Received redirect without LOCATION", "the bucket is in another region", _REGION),
    (r"PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint", None, _REGION),
    (r"401 Unauthorized|403 Forbidden|UserNotFound", None, _CREDENTIALS),
    (r"404 Not Found", None, _BUCKET),
)
"""The same of answers that are refusals; None: what the store said tells it."""

_REQUEST = re.compile(
    r"Error performing (?P<request>[A-Z]+ [^\s?]+)\S* in \S+?,?(?: after (?P<retries>\d+) retries.*?)? - "
)
_CODE = re.compile(r"<Code>(?P<code>[^<]+)</Code>(?:\s*<Message>(?P<message>[^<]+))?")
_ROLE = re.compile(r"//(169\.254\.169\.254|metadata\.google\.internal|169\.254\.170\.2)\b")
"""Where machines of the providers ask for the credentials of their role."""
_MAX_LINE = 300
_PANIC = "PanicException"
"""What a fault within the library is raised as; no class of it can be imported."""


@contextmanager
def store_errors_as_disk_faults(path: str) -> Iterator[None]:
    """Turn the store's errors into DiskFault, with FileNotFoundError as the cause where nothing is there."""
    from obstore.exceptions import BaseError, NotFoundError

    try:
        yield
    except (NotFoundError, FileNotFoundError) as missing:
        raise DiskFault(f"{path}: no such object") from FileNotFoundError(str(missing))
    except (BaseError, OSError, ValueError) as error:
        raise DiskFault(f"{path}: {reason_of(str(error).strip())}") from error
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
        raise DiskFault(f"{path}: the library of object stores failed: {error}") from error


def reason_of(text: str) -> str:
    """What the store said, without the library's own words about it, and what to do."""
    said, _, debug = text.partition("\n\nDebug source")
    line = said.partition("\n")[0].partition("<")[0].rstrip(": ")  # without XML, of which _CODE has what counts
    found, code = _REQUEST.search(line), _CODE.search(said)
    if found is not None and _ROLE.search(found["request"]):
        return f"no credentials: none in options of the store, environment or profile, and no role ({found['request']})"
    what = line if found is None else line[found.end() :].rstrip(": ")
    if code is not None:
        what += ": " + ", ".join(filter(None, (code["code"], code["message"])))
    means, advice = _find_meaning_and_advice(what, debug)
    request = "" if found is None else f"{found['request']}: "
    tries = f", after {found['retries']} retries" if found is not None and found["retries"] else ""
    return f"{request}{means}{tries}"[:_MAX_LINE] + (f"; {advice}" if advice else "")


def _find_meaning_and_advice(what: str, debug: str) -> tuple[str, str | None]:
    """What the failure means, and what to do, None where there is nothing to say."""
    known = ((_ANSWERS, what), (_FAILURES, debug if "HTTP error" in what else ""))
    for table, text in known:
        for pattern, means, advice in table:
            if re.search(pattern, text):
                return means or what, advice
    return what, None
