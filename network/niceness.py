"""Lowers the priority (nice value) of background threads."""

import os
import sys
import threading
from contextlib import suppress

NICEST = 19


def raise_niceness_of_thread(by: int) -> None:
    """Makes this thread nicer than its process, on Linux; elsewhere does nothing."""
    if sys.platform == "linux":  # elsewhere the number of a thread may be that of another process
        with suppress(OSError):
            niceness = min(NICEST, os.getpriority(os.PRIO_PROCESS, 0) + by)
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
