"""CreateTopics 0, 1 as 2, DeleteTopics 0 as 1, OffsetForLeaderEpoch 0, 1 as 2, ACLs 0 as 1, DescribeConfigs 0 as 1.

What the newer request adds has its default: no validation only, no current epoch, and for ACLs the pattern type
`literal`, so that no prefixed rule, which version 0 cannot name, is shown or deleted.
"""

from dataclasses import replace
from typing import Any

from ...protocol.messages.describe_configs import DescribeConfigsResourceResult, DescribeConfigsResponse
from .translated_call import TranslatedCall

DEFAULT_SOURCE = 5
"""The source of a value in DescribeConfigs that nobody has set."""


async def translate_version_only(call: TranslatedCall) -> Any:
    return await call.ask(call.request, call.sent_as, held=call.held)


async def translate_configs(call: TranslatedCall) -> DescribeConfigsResponse:
    """Version 0 asks whether a value is the default, and knows no sources."""
    response: DescribeConfigsResponse = await call.ask(call.request, call.sent_as, held=call.held)
    results = []
    for result in response.results:
        configs = await call.turn.map(_set_is_default, result.configs)
        results.append(replace(result, configs=configs))
        await call.turn.next()
    return replace(response, results=results)


def _set_is_default(config: DescribeConfigsResourceResult) -> DescribeConfigsResourceResult:
    return replace(config, is_default=config.config_source == DEFAULT_SOURCE, synonyms=())
