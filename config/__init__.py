"""The configuration of brokers and topics: builds frozen settings from files, variables, options and dynamic changes.

`load` builds the settings that a broker starts with. `Layers` keeps the texts by source, so that dynamic values can
replace some of them and DescribeConfigs can name each value's source. `topic_settings` combines a topic's own values
with the broker's defaults. `keys` defines keys and their types, `tables` has all keys, `sources` parses files,
variables and options.

The names below are imported when they are first used, so a command that only parses an address loads no tables.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .alterations import Alteration, Operation, alter, with_dynamic_values
    from .broker_settings_builder import broker_settings
    from .describe_configs import ConfigRow, Synonym, describe_broker, describe_cluster_defaults, describe_topic
    from .errors import ConfigError, Problem
    from .keys.endpoints import Endpoint, HostPort
    from .layered_values import Layers, Source
    from .settings import BrokerSettings, TopicSettings
    from .sources.origin import Given, Origin
    from .startup_settings import StartupSettings, load, settings_of
    from .tables.all_keys import BROKER_KEYS, TOPIC_KEYS
    from .topic_settings_builder import topic_settings

__all__ = [
    "BROKER_KEYS",
    "TOPIC_KEYS",
    "Alteration",
    "BrokerSettings",
    "ConfigError",
    "ConfigRow",
    "Endpoint",
    "Given",
    "HostPort",
    "Layers",
    "Operation",
    "Origin",
    "Problem",
    "Source",
    "StartupSettings",
    "Synonym",
    "TopicSettings",
    "alter",
    "broker_settings",
    "describe_broker",
    "describe_cluster_defaults",
    "describe_topic",
    "load",
    "settings_of",
    "topic_settings",
    "with_dynamic_values",
]

_HOMES = {
    "Alteration": ".alterations",
    "BROKER_KEYS": ".tables.all_keys",
    "BrokerSettings": ".settings",
    "ConfigError": ".errors",
    "ConfigRow": ".describe_configs",
    "Endpoint": ".keys.endpoints",
    "Given": ".sources.origin",
    "HostPort": ".keys.endpoints",
    "Layers": ".layered_values",
    "Operation": ".alterations",
    "Origin": ".sources.origin",
    "Problem": ".errors",
    "Source": ".layered_values",
    "StartupSettings": ".startup_settings",
    "Synonym": ".describe_configs",
    "TOPIC_KEYS": ".tables.all_keys",
    "TopicSettings": ".settings",
    "alter": ".alterations",
    "broker_settings": ".broker_settings_builder",
    "describe_broker": ".describe_configs",
    "describe_cluster_defaults": ".describe_configs",
    "describe_topic": ".describe_configs",
    "with_dynamic_values": ".alterations",
    "load": ".startup_settings",
    "settings_of": ".startup_settings",
    "topic_settings": ".topic_settings_builder",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES[name], __name__), name)
    return found
