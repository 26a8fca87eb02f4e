"""What a job says when it fails: one line, with the reason that is deep in Spark's text."""

import pytest
from py4j.protocol import Py4JError
from stepdown.pipeline.failures import failure_of

HEAD = """An error occurred while calling o231.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times
"""
TRACEBACK = """org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 7, in main
    import stepdown
ModuleNotFoundError: No module named 'stepdown'

\tat org.apache.spark.api.python.BasePythonRunner
"""
ABORTED = "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (HEAD, ABORTED),
        (HEAD + TRACEBACK, f"{ABORTED} (ModuleNotFoundError: No module named 'stepdown')"),
        (HEAD + "\tat x\nCaused by: java.io.IOException: No space left\n\tat y\n",
         f"{ABORTED} (java.io.IOException: No space left)"),
        ("[TABLE_NOT_FOUND] no such table\nmore", "[TABLE_NOT_FOUND] no such table"),
        ("", "Spark failed"),
    ],
)  # fmt: skip
def test_a_failure_of_spark_is_told_with_its_reason(text: str, line: str) -> None:
    """It was only "An error occurred while calling o231.collectToPython." """
    failure = failure_of(Py4JError(text))
    assert failure is not None and str(failure) == line
