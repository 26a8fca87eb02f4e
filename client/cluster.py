"""What a client knows of a cluster, and which broker it sends each request to, without I/O.

    any broker       the server that answered last, then the bootstrap servers, then the brokers of the last Metadata
                     answer
    node             its address in the last Metadata answer; an unknown one is looked up
    coordinator      as FindCoordinator says; looked up again when it is gone or answers that it is not
    controller       as Metadata says; looked up when a broker answers NOT_CONTROLLER (before KRaft)

Source: Kafka 3.9, AdminClientRunnable, ConsumerNetworkClient.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from ..config.keys.endpoints import HostPort
from ..protocol.api import ApiKey
from ..protocol.errors import ErrorCode
from ..protocol.messages.find_coordinator import FindCoordinatorRequest
from ..protocol.messages.metadata import MetadataRequest
from .bootstrap_servers import BootstrapServers
from .errors import ClientError, KafkaError, MalformedAnswer
from .operation import CONTROLLER, Ask, Coordinator, Operation, Pause, Target

T = TypeVar("T")
TRIES = 100
RETRY_MS = 100
SEVERAL_KEYS_FROM = 4  # of FindCoordinator
MOST_FOUND = 1_000
"""Coordinators that are remembered: the clients of a gateway may name many groups, in up to 32 kB each."""
WRONG_TARGET = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_CONTROLLER,
    }
)


@dataclass(frozen=True, slots=True)
class Send:
    """A step: send a request to the broker at an address; its result is the response."""

    address: HostPort
    ask: Ask


Steps: TypeAlias = Generator[Send | Pause, Any, T]


class Cluster:
    """`nodes`: the brokers of the last Metadata answer by id. `tries`: how often a target is looked up."""

    def __init__(self, bootstrap: Sequence[HostPort], tries: int = TRIES) -> None:
        self.nodes: dict[int, HostPort] = {}
        self.servers = BootstrapServers(bootstrap)
        self._tries = tries
        self._found: dict[Target, HostPort] = {}

    def steps_of(self, operation: Operation[T]) -> Steps[T]:
        """Yields the steps of an operation, each request addressed to its target. Raises: ClientError."""
        response, fault = None, None
        while True:
            try:
                step = operation.throw(fault) if fault is not None else operation.send(response)
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                response = fault = None  # as in steps.py
            try:
                response = (yield step) if isinstance(step, Pause) else (yield from self._ask_with_retries(step))
            except ClientError as error:
                fault = error

    def update_brokers(self, response: Any) -> None:
        """Takes the brokers and the controller of a Metadata answer."""
        self.nodes = {each.node_id: HostPort(each.host, each.port) for each in response.brokers}
        self.servers.add_brokers(self.nodes.values())
        if (controller := self.nodes.get(response.controller_id)) is not None:
            self._found[CONTROLLER] = controller

    def _ask_with_retries(self, ask: Ask) -> Steps[Any]:
        for left in reversed(range(self._tries)):
            try:
                response = yield from self._send(ask)
            except ConnectionError:
                if not isinstance(ask.to, Coordinator) or ask.to not in self._found or not left:
                    raise
            else:
                if ask.to is None or ask.error_of(response) not in WRONG_TARGET or not left:
                    return response
            self._found.pop(ask.to, None)
            yield Pause(RETRY_MS)
            yield from self._look_up_target(ask.to)
        raise AssertionError("the last try returns")

    def _send(self, ask: Ask) -> Steps[Any]:
        if isinstance(ask.to, int) and ask.to not in self.nodes:
            yield from self._look_up_nodes()
        elif isinstance(ask.to, Coordinator) and ask.to.looked_up_first and ask.to not in self._found:
            yield from self._look_up_target(ask.to)
        address = self.nodes.get(ask.to) if isinstance(ask.to, int) else self._found.get(ask.to)
        if address is None:
            return (yield from self._send_to_any(ask))
        response = yield Send(address, ask)
        return response

    def _send_to_any(self, ask: Ask) -> Steps[Any]:
        if isinstance(ask.to, int):
            raise ClientError(f"the cluster has no broker {ask.to}", ErrorCode.BROKER_NOT_AVAILABLE)
        response = yield from self.servers.try_each(partial(Send, ask=ask), (OSError, MalformedAnswer))
        if ask.key is ApiKey.METADATA:
            self.update_brokers(response)
        return response

    def _look_up_target(self, target: Target) -> Steps[None]:
        if isinstance(target, Coordinator):
            yield from self._find_coordinator(target)
        elif target == CONTROLLER:
            yield from self._look_up_nodes()

    def _look_up_nodes(self) -> Steps[None]:
        ask = Ask(key=ApiKey.METADATA, make_request=lambda version: MetadataRequest(topics=()))
        yield from self._send_to_any(ask)

    def _find_coordinator(self, target: Coordinator) -> Steps[None]:
        def make_request(version: int) -> FindCoordinatorRequest:
            if version < SEVERAL_KEYS_FROM:
                return FindCoordinatorRequest(key=target.name, key_type=target.key_type)
            return FindCoordinatorRequest(key_type=target.key_type, coordinator_keys=(target.name,))

        for left in reversed(range(self._tries)):
            response = yield from self._send_to_any(Ask(key=ApiKey.FIND_COORDINATOR, make_request=make_request))
            found = response.coordinators[0] if response.coordinators else response
            if not found.error_code:
                if len(self._found) >= MOST_FOUND:
                    del self._found[next(iter(self._found))]
                self._found[target] = HostPort(found.host, found.port)
                return
            if found.error_code not in WRONG_TARGET or not left:
                kind = "transactional id" if target.key_type else "group"
                raise KafkaError(f"{kind} {target.name} has no coordinator", found.error_code)
            yield Pause(RETRY_MS)  # the coordinator's topic is being created
