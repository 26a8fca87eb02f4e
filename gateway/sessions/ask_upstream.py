"""Makes the function with which a translation sends requests to the cluster."""

from typing import Any

from ..translations.held_answers import HeldAnswerMemory, HoldAnswers
from ..translations.translated_call import AskUpstream
from .broker_links import BrokerLinks
from .client_request import ClientRequest
from .router import RequestRouter


def make_ask_upstream(
    links: BrokerLinks, router: RequestRouter | None, hold_answers: HoldAnswers, client_request: ClientRequest
) -> AskUpstream:
    """Returns a function that asks the broker the client has connected to, or with `router` the broker a request is
    for."""

    async def ask(request: Any, version: int, *, is_answered: bool = True, held: HeldAnswerMemory | None = None) -> Any:
        if held is not None:
            return await ask_for(request, version, is_answered, held)
        held = hold_answers()
        try:
            return await ask_for(request, version, is_answered, held)
        finally:
            held.release()

    async def ask_for(request: Any, version: int, is_answered: bool, held: HeldAnswerMemory) -> Any:
        if router is not None:
            return await router.ask(request, version, client_request, held)
        link = await links.get_or_open()
        if is_answered:
            return await link.ask(request, version, client_request, held)
        await link.send(request, version, client_request)
        return None

    return ask
