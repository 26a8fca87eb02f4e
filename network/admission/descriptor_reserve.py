"""Descriptors that clients may not have: what the process opens itself needs some, as the file of a log or of a module
that is read with the first request that needs it, when clients may have used up the limit of open files.

The kernel gives the lowest number that is free: when the next one is near the limit, all below it are in use.
"""

import errno
import os
import resource
from typing import Final

RESERVED: Final = 16
RESERVED_FROM_HTTP: Final = 8
"""Probes of liveness are answered when other clients are not."""


def check_free_descriptors(any_descriptor: int, reserved: int = RESERVED) -> None:
    """Raises: OSError (EMFILE) when the next descriptor would be one of the last `reserved`."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    following = os.dup(any_descriptor)
    os.close(following)
    if limit != resource.RLIM_INFINITY and following >= limit - reserved:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
