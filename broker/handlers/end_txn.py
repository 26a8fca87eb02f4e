"""EndTxn, versions 0-4 (KIP-98): commits or aborts a transaction.

Answered once the decision is written; it is then carried out whatever happens. A producer that asks again, because it
has not got the answer, gets the same one.

Version notes: before v2 PRODUCER_FENCED is called INVALID_PRODUCER_EPOCH (KIP-588); v3 is flexible; v4 only says that
the producer knows TRANSACTION_ABORTABLE.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError
from ...protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from ..dispatch.call import Call
from ..transactions.errors_for_old_producers import error_code_for_version

if TYPE_CHECKING:
    from ..services import Services


async def handle(services: "Services", request: EndTxnRequest, call: Call) -> EndTxnResponse:
    await services.transactions.end(
        request.transactional_id, request.producer_id, request.producer_epoch, committed=request.committed
    )
    return EndTxnResponse()


def refuse(request: EndTxnRequest, error: ApiError, call: Call) -> EndTxnResponse:
    return EndTxnResponse(error_code=error_code_for_version(error, call.version))
