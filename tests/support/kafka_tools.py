"""Kafka's command line tools of one release, pointed at a broker."""

import subprocess

from .deadline import DEADLINE_S
from .java_build import java
from .maven import class_path

RELEASES = ("3.9.1", "4.4.0")
JARS = ("org.apache.kafka:kafka-tools", "org.apache.kafka:kafka_2.13")
TOOLS = "org.apache.kafka.tools"
ACLS, API_VERSIONS, CONFIG, CONSOLE_PRODUCER = (
    f"{TOOLS}.{name}" for name in ("AclCommand", "BrokerApiVersionsCommand", "ConfigCommand", "ConsoleProducer")
)
WHERE_THEY_WERE = {
    ACLS: "kafka.admin.AclCommand",
    API_VERSIONS: "kafka.admin.BrokerApiVersionsCommand",
    CONFIG: "kafka.admin.ConfigCommand",
    CONSOLE_PRODUCER: "kafka.tools.ConsoleProducer",
}
"""In 3.9.1."""
GROUPS = f"{TOOLS}.consumer.group.ConsumerGroupCommand"
PATIENCE = {GROUPS: ("--timeout", str(int(DEADLINE_S * 1000)))}
"""Of tools that give up after seconds: the group command waits 5 s for an answer."""


class KafkaTools:
    """`run(main, arguments)` returns what a tool printed; `{name}` in arguments stands for `names[name]`."""

    def __init__(self, release: str, **names: str) -> None:
        self.release = release
        self.names = names

    def run(self, main: str, arguments: str, *, stdin: str = "") -> str:
        """Stdout. The tool has to end with 0."""
        main = WHERE_THEY_WERE.get(main, main) if self.release == RELEASES[0] else main
        words = [word.format(**self.names) for word in arguments.split()]
        words += PATIENCE.get(main, ())
        jars = class_path(*(f"{jar}:{self.release}" for jar in JARS))
        done = subprocess.run(
            java(jars, main, *words), input=stdin, capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
