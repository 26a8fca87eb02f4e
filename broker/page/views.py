"""The views, by their names below /api/."""

from collections.abc import Mapping
from functools import partial

from ...network.page.client_rows import ClientRows
from ...network.page.page_site import View
from .broker_state import BrokerState
from .fault_control import FaultControl
from .groups import show_group, show_groups, show_offsets
from .overview import Overview
from .record_reading import RecordReading
from .request_tape import RequestTapes
from .topics import show_partitions, show_topics
from .transactions import show_transactions


def views_of(state: BrokerState) -> Mapping[str, View]:
    """The views by name; `network/page/openapi.json` describes each."""
    services = state.services
    return {
        "overview": Overview(state).show,
        "topics": partial(show_topics, services),
        "partitions": partial(show_partitions, services),
        "records": RecordReading(services).show,
        "groups": partial(show_groups, services),
        "group": partial(show_group, services),
        "offsets": partial(show_offsets, services),
        "transactions": partial(show_transactions, services),
        "faults": FaultControl(services).show,
        "requests": RequestTapes(services).show,
        "clients": ClientRows(services.clients, services.run_in_worker).show,
    }
