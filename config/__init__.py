"""What an operator may set: one table of keys, frozen settings, docs, errors.

`load` reads a file, the environment and options; `Layers` keeps what was given, so that dynamic values can be laid over
it and described; `topic_settings` makes a topic's settings of its own values and the broker's.
"""

from .addresses import Endpoint, HostPort
from .assembly import broker_settings
from .layers import Layers, Source
from .load import Loaded, load, settings_of
from .problems import ConfigError, Given, Origin, Problem
from .settings import BrokerSettings, TopicSettings
from .topics import topic_settings

__all__ = [
    "BrokerSettings",
    "ConfigError",
    "Endpoint",
    "Given",
    "HostPort",
    "Layers",
    "Loaded",
    "Origin",
    "Problem",
    "Source",
    "TopicSettings",
    "broker_settings",
    "load",
    "settings_of",
    "topic_settings",
]
