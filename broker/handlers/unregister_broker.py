"""UnregisterBroker, version 0 (KIP-500): forgets a broker that is gone.

This broker is the only one and is not gone, so no id can be forgotten.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services


def handle(services: "Services", request: UnregisterBrokerRequest, call: Call) -> UnregisterBrokerResponse:
    if request.broker_id not in services.cluster.brokers:
        raise ApiError(f"there is no broker {request.broker_id}", ErrorCode.BROKER_ID_NOT_REGISTERED)
    raise ApiError(f"broker {request.broker_id} is running", ErrorCode.INVALID_REQUEST)


def refuse(request: UnregisterBrokerRequest, error: ApiError, call: Call) -> UnregisterBrokerResponse:
    return UnregisterBrokerResponse(error_code=error.code, error_message=error.message)
