"""The effective settings: those given at startup, overridden by dynamic ones.

Precedence: a topic's own value, this broker's dynamic value, the cluster's dynamic default, file and command line,
built-in default (Kafka 3.9 `DynamicBrokerConfig`). Dynamic values are written before they take effect, and on the disk
before the change is answered.
"""

import logging
from collections.abc import Mapping
from dataclasses import fields

from ...config import ConfigError, Layers, TopicSettings, broker_settings, topic_settings
from ...config.alterations import with_dynamic_values
from ...network.admission.listener_files import find_unusable_files
from ...protocol.errors import ApiError, ErrorCode
from ...storage.log.log_config import LogConfig
from ...storage.metadata.metadata_store import MetadataStore

# Dynamic by name, but not under KRaft: adding, removing and moving listeners needs a new registration of the broker.
_LISTENER_FIELDS = ("listeners", "advertised_listeners")
_LOG_FIELDS = tuple(field.name for field in fields(LogConfig) if field.init)

log = logging.getLogger(__name__)


def log_config_of(settings: TopicSettings) -> LogConfig:
    """The settings of a topic that its logs act on, those with the names of `LogConfig`'s fields."""
    return LogConfig(**{name: getattr(settings, name) for name in _LOG_FIELDS})


class Configuration:
    """The settings of one broker and of its topics. Dynamic values replace `layers` and `settings`."""

    def __init__(self, static: Layers, store: MetadataStore, node_id: int) -> None:
        self._static = static
        self._store = store
        self._node_id = node_id
        self.layers = self._read_dynamic_layers()
        self.settings = broker_settings(self.layers)
        self._without_overrides = topic_settings(self.layers, {})

    def topic_settings(self, overrides: Mapping[str, str]) -> TopicSettings:
        """The settings of a topic with these values of its own. Raises ApiError INVALID_CONFIG."""
        if not overrides:
            return self._without_overrides
        try:
            return topic_settings(self.layers, overrides)
        except ConfigError as error:
            raise ApiError(str(error), ErrorCode.INVALID_CONFIG) from error

    def usable_topic_settings(self, name: str, overrides: Mapping[str, str]) -> TopicSettings:
        """As `topic_settings`, but logs and leaves out values that cannot be used here."""
        if not overrides:
            return self._without_overrides
        try:
            return topic_settings(self.layers, overrides)
        except ConfigError as error:
            log.warning("topic %s: settings without effect: %s", name, error)
            unusable = {problem.key for problem in error.problems}
        return topic_settings(self.layers, {key: text for key, text in overrides.items() if key not in unusable})

    def broker_overrides(self, *, of_cluster: bool) -> Mapping[str, str]:
        """The dynamic values of this broker, or of the cluster."""
        state = self._store.state
        return state.cluster_configs if of_cluster else state.configs_of_brokers.get(self._node_id, {})

    def check_broker_settings(self, texts: Mapping[str, str], *, of_cluster: bool) -> Layers:
        """Returns the layers with `texts` as all dynamic values of the broker, or of the cluster.

        Raises ApiError INVALID_REQUEST, which Kafka keeps for compatibility although INVALID_CONFIG would say more.
        """
        try:
            layers = (
                with_dynamic_values(self.layers, cluster=texts)
                if of_cluster
                else with_dynamic_values(self.layers, broker=texts)
            )
            wanted = broker_settings(layers)
        except ConfigError as error:
            raise ApiError(str(error), ErrorCode.INVALID_REQUEST) from error
        for name in _LISTENER_FIELDS:
            if getattr(wanted, name) != getattr(self.settings, name):
                key = name.replace("_", ".")
                raise ApiError(f"{key} can only change with a restart", ErrorCode.INVALID_REQUEST)
        for listener, security in wanted.listener_security.items():
            if security != self.settings.listener_security[listener]:
                for key, why in find_unusable_files(listener, security):
                    raise ApiError(f"listener {listener}: {key}: {why}", ErrorCode.INVALID_REQUEST)
        return layers

    def replace_broker_settings(self, texts: Mapping[str, str], *, of_cluster: bool) -> None:
        """Replaces all dynamic values of the broker, or of the cluster; the caller syncs.

        Raises ApiError INVALID_REQUEST, DiskFault.
        """
        layers = self.check_broker_settings(texts, of_cluster=of_cluster)
        with self._store.change(sync=False) as state:
            state.cluster_configs = dict(layers.cluster)
            state.configs_of_brokers[self._node_id] = dict(layers.broker)
        self._apply_layers(layers)

    def reload_stored_values(self) -> bool:
        """Puts dynamic values into force that another broker has stored; returns whether any have changed."""
        is_same = self.layers.cluster == self._store.state.cluster_configs
        if is_same and self.layers.broker == self.broker_overrides(of_cluster=False):
            return False
        layers = self._read_dynamic_layers()
        if layers == self.layers:
            return False
        self._apply_layers(layers)
        return True

    def _apply_layers(self, layers: Layers) -> None:
        self.layers = layers
        self.settings = broker_settings(layers)
        self._without_overrides = topic_settings(layers, {})

    def _read_dynamic_layers(self) -> Layers:
        """Logs and leaves out stored values that cannot be used any more; they stay stored."""
        layers = self._static
        for key, text in self.broker_overrides(of_cluster=True).items():
            layers = _lay_over_or_warn(layers, "the cluster", cluster={**layers.cluster, key: text})
        for key, text in self.broker_overrides(of_cluster=False).items():
            layers = _lay_over_or_warn(layers, "this broker", broker={**layers.broker, key: text})
        return layers


def _lay_over_or_warn(layers: Layers, owner: str, **texts: Mapping[str, str]) -> Layers:
    try:
        return with_dynamic_values(layers, **texts)
    except ConfigError as error:
        log.warning("a dynamic setting of %s has no effect: %s", owner, error)
        return layers
