"""`quorum-state`: the epoch of the quorum and its leader, one line of JSON.

    {"clusterId":"","leaderId":1,"leaderEpoch":7,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}
    {"leaderId":1,"leaderEpoch":7,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}

The first form is for static voters (kraft.version 0), the second for voters in the log (1). A file that is missing or
cannot be read is ignored: the log has the epoch too. Source: Kafka 3.9 `FileQuorumStateStore`.
"""

import json
import logging
from dataclasses import dataclass

from ...protocol.schema import NO_UUID
from ..files.files import Files
from ..files.partition_metadata import encode_uuid
from ..log.leader_epochs import LAST_EPOCH

FILE_NAME = "quorum-state"
MAX_BYTES = 1 << 20
KNOWN_VERSIONS = (0, 1)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumState:
    """The highest epoch that this voter knows, and the voters, if the file names them."""

    leader_epoch: int = 0
    voters: tuple[int, ...] = ()


def read_quorum_state(files: Files, folder: str) -> QuorumState:
    """Reads the file in `folder`. Raises: DiskFault."""
    path = f"{folder}/{FILE_NAME}"
    data = files.read_whole(path, MAX_BYTES)
    if data is None:
        return QuorumState()
    try:
        fields = json.loads(data)
        if fields["data_version"] not in KNOWN_VERSIONS:
            raise ValueError(f"data_version {fields['data_version']!r}")
        voters = tuple(int(voter["voterId"]) for voter in fields.get("currentVoters") or ())
        epoch = int(fields["leaderEpoch"])
        if epoch > LAST_EPOCH:
            raise ValueError(f"leaderEpoch {epoch}")
        return QuorumState(leader_epoch=max(0, epoch), voters=voters)
    except (ValueError, OverflowError, KeyError, TypeError, RecursionError) as fault:
        _logger.warning("%s cannot be read, the epoch of the log counts: %r", path, fault)
        return QuorumState()


def write_quorum_state(files: Files, folder: str, *, node_id: int, leader_epoch: int, kraft_version: int) -> None:
    """Writes that this node, the only voter, leads in that epoch. Raises: DiskFault."""
    leader = {"leaderId": node_id, "leaderEpoch": leader_epoch, "votedId": -1}
    if kraft_version == 0:
        fields = {"clusterId": "", **leader, "appliedOffset": 0, "currentVoters": [{"voterId": node_id}]}
    else:
        fields = {**leader, "votedDirectoryId": encode_uuid(NO_UUID)}
    text = json.dumps({**fields, "data_version": min(kraft_version, 1)}, separators=(",", ":"))
    files.replace(f"{folder}/{FILE_NAME}", text.encode())
