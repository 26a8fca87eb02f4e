"""Keeps some descriptors free of clients, so that the process can still open files of logs and import modules.

The kernel gives out the lowest free number: when the next one is near the limit, all lower ones are in use.
"""

import errno
import os
import resource
from typing import Final

RESERVED: Final = 16
RESERVED_FROM_HTTP: Final = 8
"""Lower, so that liveness probes are still answered when other clients are refused."""


def check_free_descriptors(any_descriptor: int, reserved: int = RESERVED) -> None:
    """Raises: OSError (EMFILE) when the next descriptor would be one of the last `reserved`."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    following = os.dup(any_descriptor)
    os.close(following)
    if limit != resource.RLIM_INFINITY and following >= limit - reserved:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
