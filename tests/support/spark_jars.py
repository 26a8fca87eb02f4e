"""The jars of Spark's Kafka connector and of Delta, fetched by Spark as the product asks it to, once a machine."""

import functools
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from stepdown.pipeline.spark_packages import jar_settings

from .deadline import JOB_DEADLINE_S
from .maven import build_lock, skip_or_fail

_FETCH = """
import json, sys
from stepdown.pipeline.session import build_session
session = build_session("jars", master="local[1]", settings=json.loads(sys.argv[1]))
print(json.dumps(session.sparkContext.getConf().get("spark.jars").split(",")))
session.stop()
"""


@functools.cache
def jars_at_hand() -> Sequence[str]:
    """The paths of all jars; none where Spark cannot fetch them."""
    settings = json.dumps(jar_settings(["connector", "delta"]))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stepdown"
    known = cache / f"jars-{hashlib.sha256(settings.encode()).hexdigest()[:12]}.json"
    with build_lock(known.name):
        if known.exists():
            paths: list[str] = json.loads(known.read_text())
            if all(Path(path).exists() for path in paths):
                return paths
        command = [sys.executable, "-c", _FETCH, settings]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=JOB_DEADLINE_S, check=False)
        if done.returncode:
            return ()
        paths = [url.removeprefix("file://") for url in json.loads(done.stdout.splitlines()[-1])]
        known.parent.mkdir(parents=True, exist_ok=True)
        known.write_text(json.dumps(paths))
        return paths


def require_jars() -> None:
    """Return when the jars are there; else skip, or fail in CI."""
    if not jars_at_hand():
        skip_or_fail("Spark could not fetch the jars of its Kafka connector and of Delta")
