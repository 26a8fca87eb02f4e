"""Assignors that run on the broker (KIP-848), by the name that members ask for."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from .range import assign_ranges
from .spec import Assignor
from .uniform import assign_uniformly

ASSIGNORS: Final[Mapping[str, Assignor]] = MappingProxyType({"uniform": assign_uniformly, "range": assign_ranges})
