"""What an operator may set: one table of keys, frozen settings, docs, errors.

`load` reads a file, the environment and options; `Layers` keeps what was given, so that dynamic values can be laid over
it and described; `topic_settings` makes a topic's settings of its own values and the broker's.
"""

from .addresses import Endpoint, HostPort
from .assembly import broker_settings
from .changes import Alteration, Operation, altered, lay_over
from .describe import Row, Synonym, describe_broker, describe_cluster_defaults, describe_topic
from .keys import BROKER_KEYS, TOPIC_KEYS
from .layers import Layers, Source
from .load import Loaded, load, settings_of
from .problems import ConfigError, Given, Origin, Problem
from .settings import BrokerSettings, TopicSettings
from .topics import topic_settings

__all__ = [
    "BROKER_KEYS",
    "TOPIC_KEYS",
    "Alteration",
    "BrokerSettings",
    "ConfigError",
    "Endpoint",
    "Given",
    "HostPort",
    "Layers",
    "Loaded",
    "Operation",
    "Origin",
    "Problem",
    "Row",
    "Source",
    "Synonym",
    "TopicSettings",
    "altered",
    "broker_settings",
    "describe_broker",
    "describe_cluster_defaults",
    "describe_topic",
    "lay_over",
    "load",
    "settings_of",
    "topic_settings",
]
