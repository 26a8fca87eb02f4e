"""The jars of Spark's Kafka connector and of Delta, fetched by the command that the product prints."""

import functools
import shutil
import subprocess
from collections.abc import Sequence

from stepdown.pipeline.failures import BadUsage
from stepdown.pipeline.spark_packages import JarSet, find_jars, jar_folder, maven_command

from .maven import build_lock, skip_or_fail

_MAVEN_TIMEOUT_S = 600


@functools.cache
def jars_at_hand(jars: JarSet) -> Sequence[str]:
    """Return the paths, fetched if need be; none where Maven is missing or does not find them."""
    with build_lock(jar_folder(jars).name):
        try:
            return find_jars(jars)
        except BadUsage:
            command = maven_command(jars)
        if shutil.which("mvn") is None:
            return ()
        for attempt in ([*command, "-o"], command):
            done = subprocess.run(attempt, capture_output=True, timeout=_MAVEN_TIMEOUT_S, check=False)
            if done.returncode == 0:
                return find_jars(jars)
    return ()


def require_jars(jars: JarSet) -> None:
    """Return when the jars are there; else skip, or fail in CI."""
    if not jars_at_hand(jars):
        skip_or_fail(f"Maven is missing or does not find the {jars} jars")
