"""InitProducerId, versions 0-5 (KIP-98, 360, 588, 890): a producer id and epoch.

Without a transactional id the answer is a new id with epoch 0, also when the producer names the one it had: it asks
again because it lost track of its sequence numbers (Kafka 3.9 `TransactionCoordinator.handleInitProducerId`). Ids come
from blocks that are noted on disk before the first of them is answered, so none is handed out twice, whatever happens
to this process. With a transactional id, the transaction coordinator decides: the epoch grows, which fences the
producer that used the id before; an open transaction is aborted first, and the producer told to ask again.

Version notes: v2 is flexible; v3 names the producer's former id and epoch; before v4 PRODUCER_FENCED is called
INVALID_PRODUCER_EPOCH; v5 only says that the producer knows TRANSACTION_ABORTABLE.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ..dispatch.call import Call
from ..metadata.topic_rules import TRANSACTION_TOPIC

if TYPE_CHECKING:
    from ..services import Services

NO_PRODUCER = -1
FIRST_VERSION_WITH_FENCED = 4


async def handle(services: "Services", request: InitProducerIdRequest, call: Call) -> InitProducerIdResponse:
    former = (request.producer_id, request.producer_epoch)
    if (request.producer_id == NO_PRODUCER) != (request.producer_epoch == NO_PRODUCER):
        raise ApiError(
            f"producer id {request.producer_id} and epoch {request.producer_epoch}: both or none are given",
            ErrorCode.INVALID_REQUEST,
        )
    if request.transactional_id is None:
        if TRANSACTION_TOPIC in services.cluster.topics:
            await services.transactions.await_loading()  # what it knows of was handed out too
        return InitProducerIdResponse(producer_id=services.cluster.next_producer_id(), producer_epoch=0)
    producer_id, producer_epoch = await services.transactions.init_producer(
        request.transactional_id,
        request.transaction_timeout_ms,
        None if request.producer_id == NO_PRODUCER else former,
    )
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=producer_epoch)


def refuse(request: InitProducerIdRequest, error: ApiError, call: Call) -> InitProducerIdResponse:
    code = error.code
    if code == ErrorCode.PRODUCER_FENCED and call.version < FIRST_VERSION_WITH_FENCED:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return InitProducerIdResponse(error_code=code, producer_id=NO_PRODUCER, producer_epoch=NO_PRODUCER)
