"""A request on its way through a broker with faults, and what faults may do with it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from types import CoroutineType
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ...network.answerer import CloseConnection
from ...protocol.api import ApiKey
from ...protocol.errors import ApiError
from .error_responses import Meant, merge_responses, split_request
from .event_log import RequestEvent
from .request_topics_and_groups import Place, groups_of, topics_and_partitions_of

if TYPE_CHECKING:
    from ..dispatch.call import Call
    from ..services import Services


class PassingRequest:
    """A request on its way. `call.request` loses the partitions that a fault answers in place of the handler."""

    def __init__(self, services: "Services", call: "Call", event: RequestEvent | None) -> None:
        self.services = services
        self.call = call
        self.event = event
        self._separate_answer: Any | None = None
        self._late: list[Callable[[Any], Any]] = []

    # What it is about

    def groups(self) -> set[str]:
        """The groups and transactional ids that it names."""
        return groups_of(self.call.request)

    def has_partition(self, is_meant: Meant) -> bool:
        """Whether one of its partitions is meant; a Metadata request for all topics has all."""
        places = list(self.topics_and_partitions())
        if self.call.key is ApiKey.METADATA and not places:
            return True
        return any(is_meant(topic, partition) for topic, partition in places)

    def topic_name(self, topic_id: UUID) -> str | None:
        """The name of the topic with that id, None if there is none."""
        topic = self.services.cluster.topic_of(topic_id)
        return None if topic is None else topic.name

    def topics_and_partitions(self) -> Iterator[Place]:
        """Its topics and partitions; those of a fetch session too that the request does not repeat."""
        yield from topics_and_partitions_of(self.call.request, self.topic_name)
        if self.call.key is ApiKey.FETCH:
            for each in self.services.sessions.interests(self.call.request.session_id):
                yield each.topic or self.topic_name(each.topic_id) or "", each.index

    def list_topics(self, most: int) -> list[str]:
        """The first topics that it names."""
        found: dict[str, None] = {}
        for topic, _ in self.topics_and_partitions():
            found[topic] = None
            if len(found) == most:
                break
        return [topic for topic in found if topic]

    # What can be done with it

    async def sleep(self, delay_ms: int) -> None:
        """Waits, by the broker's clock."""
        await self.services.clock.sleep(delay_ms)

    async def hold_until(self, released: asyncio.Event) -> None:
        """Waits for `released`. Raises: CloseConnection when the client leaves first."""
        left: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = asyncio.ensure_future(released.wait())
        self.call.peer.on_leave = lambda: None if left.done() else left.set_result(None)
        try:
            await asyncio.wait((left, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.call.peer.on_leave = None
            waiting.cancel()
        if left.done():
            raise CloseConnection("the client left while a fault held its request")

    async def handle(self, part: Any | None = None) -> Any:
        """The handler's response to the request or to a part of it, with all effects. Raises: ApiError."""
        asked = self.call.request if part is None else part
        response: Any | Awaitable[Any] = self._handler_module().handle(self.services, asked, self.call)
        return await response if isinstance(response, CoroutineType) else response

    def refuse(self, error: ApiError, part: Any | None = None) -> Any:
        """The API's answer with an error to the request, or to a part of it."""
        return self._handler_module().refuse(self.call.request if part is None else part, error, self.call)

    def answer_part(self, is_meant: Meant, answer: Callable[[Any], Any]) -> Any | None:
        """Answers the partitions that are meant and leaves the rest to the handler.

        Returns: the answer to the whole request when there is no rest, else None.
        """
        rest, part = split_request(self.call.request, is_meant, self.topic_name)
        if part is None:
            return None
        response = answer(part)
        if rest is None:
            return response
        self.call.request = rest
        self._separate_answer = merge_responses(self._separate_answer, response)
        return None

    def change_response_later(self, change: Callable[[Any], Any]) -> None:
        """Registers a change of the response, made before faults that fire after the effect see it."""
        self._late.append(change)

    def complete_response(self, response: Any | None) -> Any | None:
        """Adds the partitions that faults answered, and makes the changes they registered. Raises: CloseConnection."""
        if self._separate_answer is not None:
            response = merge_responses(response, self._separate_answer)
        if self.call.key is ApiKey.PRODUCE and self.call.request.acks == 0:
            response = None
        for change in self._late:
            response = change(response)
        return response

    def _handler_module(self) -> Any:
        return import_module(f"..handlers.{self.call.key.name.lower()}", __package__)
