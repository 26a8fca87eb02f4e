"""`stepdown log dump` of the metadata."""

import json
from pathlib import Path
from uuid import uuid4

from stepdown.protocol.scram import ScramCredential
from stepdown.storage.files.files import Files
from stepdown.storage.metadata.cluster_state import StoredTopic
from stepdown.storage.metadata.metadata_store import MetadataStore
from stepdown.storage.metadata.partition_record import PartitionRecord
from support.command import run_command


def fill(folder: Path) -> MetadataStore:
    store = MetadataStore.open(Files(), [str(folder)])
    with store.change() as state:
        alone = PartitionRecord(replicas=(1,), isr=(1,), leader=1)
        state.topics["orders"] = StoredTopic(topic_id=uuid4(), replicas=(alone,), configs={"retention.ms": "5"})
        secret = ScramCredential(salt=b"salt", stored_key=b"stored", server_key=b"server", iterations=4096)
        state.scram_credentials = {("alice", "SCRAM-SHA-256"): secret}
    return store


def test_records_of_log_and_snapshot_are_shown_and_keys_are_not(tmp_path: Path) -> None:
    store = fill(tmp_path)
    types = []
    for _ in range(2):
        done = run_command("log", "dump", "--json", store.log.folder)
        assert done.exit_code == 0, done.stderr
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        types.append([row["type"] for row in rows if row["kind"] == "metadata"])
        assert "stored" not in done.stdout.replace("stored_key", "")
        store.write_snapshot()
    changed = ["FeatureLevelRecord", "TopicRecord", "ConfigRecord", "PartitionRecord", "UserScramCredentialRecord"]
    assert types == [["LeaderChangeMessage", *changed], ["SnapshotHeaderRecord", *changed, "SnapshotFooterRecord"]]


def test_damage_is_a_problem(tmp_path: Path) -> None:
    store = fill(tmp_path)
    (segment,) = Path(store.log.folder).glob("*.log")
    data = bytearray(segment.read_bytes())
    data[-9] ^= 1
    segment.write_bytes(data)
    done = run_command("log", "dump", str(segment))
    assert (done.exit_code, "problem" in done.stdout) == (1, True)
