"""What is said after a usage error: the command or option that is meant by a name that Kafka's tools or kcat have."""

from __future__ import annotations

from typing import Any

OTHER_COMMANDS = {
    "add": ("create", "set"),
    "create": ("add", "set"),
    "delete": ("remove",),
    "lag": ("describe",),
    "remove": ("delete",),
    "reset": ("reset-offsets",),
    "set": ("alter",),
}
"""Commands below others, by names that they have elsewhere."""
OTHER_OPTIONS = {
    "-G": "--group",
    "-b": "--http",
    "-c": "--count",
    "-f": "-F",
    "-r": "--replication-factor",
    "-t": "--topic",
    "--add-config": "--config",
    "--allow-host": "--host",
    "--allow-principal": "--principal",
    "--bootstrap-server": "--http",
    "--broker-list": "--bootstrap-server",
    "--brokers": "--bootstrap-server",
    "--compression-codec": "--compression",
    "--compression-type": "--compression",
    "--consumer-config": "--command-config",
    "--consumer.config": "--command-config",
    "--deny-principal": "--deny",
    "--formatter": "--format",
    "--isolation-level": "--isolation",
    "--max-messages": "--count",
    "--offset": "--before",
    "--producer-config": "--command-config",
    "--producer-property": "--property",
    "--property": "--format",
    "--producer.config": "--command-config",
    "--reassignment-json-file": "--file",
    "--request-required-acks": "--acks",
    "--resource-pattern-type": "--prefixed",
    "--shift-by": "--by",
    "--to": "--to-earliest",
    "--to-datetime": "--to-time",
    "--topic-list": "--topic",
    "--transactionalId": "--transactional-id",
}
"""Options that commands have, by the names that they have in Kafka's tools and kcat."""
NOT_NEEDED = {
    "--all-groups": "name the groups, or give none for all of them",
    "--all-topics": "all topics are taken where none is named",
    "--describe": "the command does that without it",
    "--entity-name": "KIND=NAME says that without an option, as topic=orders",
    "--entity-type": "KIND=NAME says that without an option, as topic=orders",
    "--exclude-internal": "internal topics are listed only with --internal",
    "--members": "members and offsets are always shown",
    "--offset-json-file": "--before and --partition say what the file would",
    "--offsets": "members and offsets are always shown",
    "--time": "the first and the next offset are both shown; `consume --offset @MS` starts at a time",
    "--under-replicated-partitions": "the columns replicas and isr differ where a partition is under-replicated",
}
"""What Kafka's tools have an option for and commands here do without one."""

EXAMPLES = {"delete-records": "stepdown delete-records orders --partition 0 --before 2"}
"""A command that has all that it needs, by its name."""


def explain_usage_error(fault: Any) -> str:
    """What follows the message of a usage error of Typer; "" where nothing is known that helps."""
    context = getattr(fault, "ctx", None)
    if context is None:
        return ""
    message = str(fault.message)
    if message.startswith("No such command"):
        return _name_commands(message, context)
    if message.startswith("Got unexpected extra argument") and context.command_path.endswith("produce"):
        return ". Records are read from stdin, or from --file FILE."
    if message.startswith("Got unexpected extra argument"):
        return "" if any(each.param_type_name == "argument" for each in context.command.params) else ". It takes none."
    if type(fault).__name__ == "MissingParameter" and context.info_name in EXAMPLES:
        return f"For example: {EXAMPLES[context.info_name]}"
    asked = str(getattr(fault, "option_name", ""))
    said = _explain_option(asked, context) if asked else ""
    if said:
        fault.possibilities = None  # options with letters in common, which mean something else
    return said


def _name_commands(message: str, context: Any) -> str:
    """What there is, where a command has no command of that name; that of another name for it first."""
    from ..config.similar_names import nearest

    commands = context.command.list_commands(context)
    asked = message.split("'")[1]
    near = [*OTHER_COMMANDS.get(asked, ()), nearest(asked, commands)]
    meant = next((f" Did you mean '{each}'?" for each in near if each in commands), "")
    return f"{'' if 'Did you mean' in message else meant} There are: {', '.join(commands)}."


def _explain_option(asked: str, context: Any) -> str:
    command, path = context.command, context.command_path
    if hasattr(command, "list_commands"):
        return _explain_option_of_commands(asked, command, context)
    arguments = {str(each.metavar).strip("[].").partition("[")[0] for each in command.params}
    options = {name for each in command.params for name in each.opts}
    other = OTHER_OPTIONS.get(asked, "")
    for name in (asked, other):
        argument = name.removeprefix("--").removesuffix("s").upper()
        if name.startswith("--") and argument in arguments:
            return f". It takes {argument} without an option: {path} {argument}."
    if other in options:
        return f". Here it is {other}."
    return f": {NOT_NEEDED[asked]}." if asked in NOT_NEEDED else ""


def _explain_option_of_commands(asked: str, command: Any, context: Any) -> str:
    commands = command.list_commands(context)
    if asked.startswith("--") and asked[2:] in commands:
        return f". It is a command: {context.command_path} {asked[2:]}."
    below = [command.get_command(context, each) for each in commands]
    if any(asked in each.opts for found in below for each in found.params):
        return f". It goes after the command: {context.command_path} COMMAND {asked}."
    return ""
