"""The commands of docs/authorization.md."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "authorization.md").read_text()


def test_the_commands_of_the_page_add_show_and_remove_a_rule(tmp_path: Path) -> None:
    """The first of them named options that `serve` does not have."""
    (shown,) = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    serve, *commands = (shlex.split(line)[1:] for line in shown.splitlines())
    assert serve[-1] == "&"
    stepdown = [sys.executable, "-m", "stepdown"]
    command = [*stepdown, *serve[:-1], "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as broker:
        try:
            assert broker.stdout is not None
            found = re.search(r"listening on (\S+),", broker.stdout.readline())
            assert found
            asked = [[*stepdown, *each, "-b", found[1]] for each in commands]
            added, listed, removed = (subprocess.check_output(each, cwd=tmp_path, text=True) for each in asked)
        finally:
            broker.terminate()
    assert "User:alice" in added
    assert "orders" in listed
    assert "billing" not in listed
    assert "orders" in removed
