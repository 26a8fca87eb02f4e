"""Writes and reads a plan as YAML, which a person reads and edits.

Lists of sentences come first; topics, with a line for each partition, come last. The file has the keys of passwords, so
only its owner may read it. Reading it needs PyYAML, an extra.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...protocol.acls import Acl, AclOperation, PatternType, PermissionType, ResourceType
from ...protocol.errors import DiskFault
from ...protocol.scram import base64_text
from ..files.file_names import is_plain_name
from ..files.files import Files
from ..files.partition_metadata import encode_uuid
from ..metadata.cluster_state import METADATA_VERSION, ClusterState
from ..metadata.document_values import MalformedDocument, read_list, read_mapping, read_uuid, read_whole_number
from ..metadata.partition_record import NO_LEADER, PartitionRecord
from ..metadata.state_document import decode_document
from .directory_survey import PlannedBroker, PlannedDirectory
from .folder_survey import FolderSurvey
from .migration_plan import MigrationPlan
from .plan_making import number_acls
from .release_preparation import RELEASES

VERSION = 1
MOST_BYTES = 1 << 30
VALUES_OF_FOLDER = 9
_FOLDER_TITLE = (
    "Topic: partition, directory, leader epoch, end offset, lowest magic, last producer id, index bytes, bytes to "
    "recover, topic id"
)
_CODES = (
    (0, ResourceType),
    (2, PatternType),
    (5, AclOperation),
    (6, PermissionType),
)
"""The positions of codes in an access rule; they are written as names."""
_NO_YAML = "plans are read with PyYAML, which is not installed: `pip install 'stepdown[migrate]'`"
_HEAD = """\
# A plan of `stepdown migrate`: read it, change what is wrong, then `stepdown migrate apply` it on each machine.
# It holds the keys of passwords: keep it to yourself. After a change, the same file has to be on every machine.
"""
_TITLES = {
    "stops": "Apply refuses while a line stands here: mend what it says, or delete the line if you know better.",
    "lost": "What Kafka will not have.",
    "changes": "Settings that the release refuses, and what becomes of them.",
    "notes": "Other things worth knowing.",
}
_KRAFT_TITLE = (
    "0: server.properties name the voters. 1: the metadata name them, by host and controller_port, and they can change."
)
_PARTITIONS_TITLE = "Brokers that are added to an isr lose the records that only the others have."


class MalformedPlan(DiskFault):
    """The plan cannot be read; the message says where."""


def write_plan(files: Files, path: str, plan: MigrationPlan) -> None:
    """Writes the file, readable by its owner only. Raises: DiskFault."""
    files.replace(path, encode_plan(plan).encode(), private=True)


def encode_plan(plan: MigrationPlan) -> str:
    """Formats the plan as YAML."""
    return "\n".join([_HEAD, *_head_lines(plan), *_broker_lines(plan), *_state_lines(plan.state), ""])


def _head_lines(plan: MigrationPlan) -> Iterator[str]:
    yield f"version: {VERSION}"
    for name, value in (("to", plan.release), ("cluster_id", plan.cluster_id), ("source", plan.source)):
        yield f"{name}: {_json(value)}"
    yield f"made_ms: {plan.made_ms}"
    for name, title in _TITLES.items():
        lines = getattr(plan, name)
        yield f"\n# {title}"
        yield f"{name}:" if lines else f"{name}: []"
        yield from (f"- {_json(line)}" for line in lines)


def _broker_lines(plan: MigrationPlan) -> Iterator[str]:
    yield "\n# The brokers that become controllers, too. Set host and ports: they go into every server.properties."
    yield f"voters: {_json(plan.voters)}"
    yield f"# {_KRAFT_TITLE}"
    yield f"kraft_version: {plan.kraft_version}"
    yield "brokers:"
    for broker_id, broker in plan.brokers.items():
        yield f"  {broker_id}:"
        yield f"    host: {_json(broker.host)}\n    port: {broker.port}\n    controller_port: {broker.controller_port}"
        yield "    directories:"
        for each in broker.directories:
            fields = {"path": each.path, "id": encode_uuid(each.directory_id), "fingerprint": each.fingerprint}
            yield f"    - {_json(fields)}"
        yield f"    last_producer_id: {broker.last_producer_id}\n    deleted_folders: {broker.deleted_folders}"
        yield f"    set_aside: {_json(broker.set_aside)}"
        yield f"    # {_FOLDER_TITLE}"
        yield "    found:" if broker.folders else "    found: {}"
        yield from _folder_lines(broker)


def _folder_lines(broker: PlannedBroker) -> Iterator[str]:
    by_topic: dict[str, list[FolderSurvey]] = {}
    for each in broker.folders:
        by_topic.setdefault(each.topic, []).append(each)
    for topic, folders in by_topic.items():
        yield f"      {_json(topic)}: {_json([_folder_fields(each) for each in folders])}"


def _folder_fields(each: FolderSurvey) -> list[Any]:
    topic_id = None if each.topic_id is None else encode_uuid(each.topic_id)
    return [
        each.partition,
        each.disk,
        each.leader_epoch,
        each.end_offset,
        each.lowest_magic,
        each.last_producer_id,
        each.index_bytes,
        each.recovered_bytes,
        topic_id,
    ]


def _state_lines(state: ClusterState) -> Iterator[str]:
    yield f"\nmetadata_version: {state.metadata_version}\nnext_producer_id: {state.next_producer_id}"
    yield f"cluster_configs: {_json(state.cluster_configs)}\nconfigs_of_brokers: {_json(state.configs_of_brokers)}"
    yield from _list_lines("client_quotas", _quota_rows(state))
    yield from _list_lines("acls", map(_acl_fields, state.acls))
    yield from _list_lines("scram_credentials", _credential_rows(state))
    yield f"\n# {_PARTITIONS_TITLE}"
    yield "topics:" if state.topics else "topics: {}"
    for name, topic in state.topics.items():
        yield f"  {_json(name)}:\n    id: {_json(encode_uuid(topic.topic_id))}"
        yield f"    configs: {_json(topic.configs)}"
        yield "    partitions:"
        yield from (f"    - {_json(_partition_fields(record))}" for record in topic.replicas)


def _list_lines(name: str, rows: Iterator[Any]) -> Iterator[str]:
    found = [f"- {_json(row)}" for row in rows]
    yield f"{name}:" if found else f"{name}: []"
    yield from found


def _quota_rows(state: ClusterState) -> Iterator[dict[str, Any]]:
    for entity, quotas in state.client_quotas.items():
        yield {"entity": dict(entity), "quotas": quotas}


def _credential_rows(state: ClusterState) -> Iterator[dict[str, Any]]:
    for (user, mechanism), each in state.scram_credentials.items():
        yield {
            "user": user,
            "mechanism": mechanism,
            "salt": base64_text(each.salt),
            "stored_key": base64_text(each.stored_key),
            "server_key": base64_text(each.server_key),
            "iterations": each.iterations,
        }


def _acl_fields(acl: Acl) -> list[str]:
    return [
        acl.resource_type.name,
        acl.resource_name,
        acl.pattern_type.name,
        acl.principal,
        acl.host,
        acl.operation.name,
        acl.permission_type.name,
    ]


def _partition_fields(record: PartitionRecord) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "replicas": record.replicas,
        "isr": record.isr,
        "leader": record.leader,
        "leader_epoch": record.leader_epoch,
    }
    if record.is_being_reassigned:
        fields |= {"adding": record.adding, "removing": record.removing}
    return fields


def _json(value: Any) -> str:
    """Formats a value on one line, as JSON, which is also YAML."""
    return json.dumps(value, ensure_ascii=False)


# Reading


def read_plan(files: Files, path: str) -> MigrationPlan:
    """Reads the plan from the file. Raises: MalformedPlan, DiskFault."""
    data = files.read_whole(path, MOST_BYTES)
    if data is None:
        raise MalformedPlan(f"{path}: there is no such file")
    try:
        return decode_plan(_parse_yaml(data), hashlib.sha256(data).hexdigest())
    except (MalformedPlan, MalformedDocument) as fault:
        raise MalformedPlan(f"{path} cannot be understood: {fault}") from fault


def _parse_yaml(data: bytes) -> Any:
    try:
        import yaml
    except ImportError:
        raise MalformedPlan(_NO_YAML) from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(data, Loader=loader)  # noqa: S506, RUF100 - it is a safe one
    except (yaml.YAMLError, ValueError, RecursionError) as fault:
        raise MalformedPlan(f"it is no YAML: {fault}") from fault


def decode_plan(document: Any, digest: str) -> MigrationPlan:
    """Builds the plan from a parsed document. Raises: MalformedPlan, MalformedDocument."""
    fields = read_mapping(document, "the plan")
    if fields.get("version") != VERSION:
        raise MalformedPlan(f"version {VERSION} expected, found {fields.get('version')!r}")
    release = str(fields.get("to"))
    if release not in RELEASES:
        raise MalformedPlan(f"to: {' or '.join(RELEASES)} expected, found {release}")
    plan = MigrationPlan(
        release=release,
        cluster_id=_read_text(fields.get("cluster_id"), "cluster_id"),
        made_ms=read_whole_number(fields.get("made_ms"), "made_ms"),
        source=str(fields.get("source", "")),
        state=_decode_state(fields),
        brokers=dict(_decode_brokers(read_mapping(fields.get("brokers"), "brokers"))),
        voters=tuple(read_whole_number(each, "voters") for each in read_list(fields.get("voters"), "voters")),
        kraft_version=read_whole_number(fields.get("kraft_version", 0), "kraft_version"),
        digest=digest,
    )
    for name in _TITLES:
        setattr(plan, name, [str(line) for line in read_list(fields.get(name), name)])
    if not plan.voters or not set(plan.voters) <= plan.brokers.keys():
        raise MalformedPlan(f"voters: some of the brokers {sorted(plan.brokers)} expected, found {list(plan.voters)}")
    return plan


def _decode_state(fields: Mapping[str, Any]) -> ClusterState:
    topics = read_mapping(fields.get("topics"), "topics")
    of_brokers = read_mapping(fields.get("configs_of_brokers"), "configs_of_brokers")
    document = {
        "version": 1,
        "generation": 0,
        "topics": {_read_name(name, "topics"): _read_topic(str(name), topic) for name, topic in topics.items()},
        "broker_configs": {},
        "cluster_configs": fields.get("cluster_configs"),
        "configs_of_brokers": {str(key): each for key, each in of_brokers.items()},
        "next_producer_id": fields.get("next_producer_id"),
        "client_quotas": [_decode_quota(each) for each in read_list(fields.get("client_quotas"), "client_quotas")],
        "acls": [_read_acl(each) for each in read_list(fields.get("acls"), "acls")],
        "scram_credentials": fields.get("scram_credentials"),
        "features": {METADATA_VERSION: fields.get("metadata_version")},
    }
    _, state = decode_document(document, 0)
    return replace(state, acls=number_acls(list(state.acls)))


def _decode_quota(value: Any) -> dict[str, Any]:
    row = read_mapping(value, "client_quotas")
    rates = read_mapping(row.get("quotas"), "client_quotas.quotas")
    return row | {"quotas": {_read_text(key, "client_quotas"): _read_rate(rate) for key, rate in rates.items()}}


def _read_rate(value: Any) -> float:
    """Reads a rate, which may be a text: YAML parses 1e+16 as one."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise MalformedPlan(f"client_quotas: a rate expected, found {value!r:.100}") from None


def _read_topic(name: str, value: Any) -> dict[str, Any]:
    place = f"topics.{name}"
    topic = read_mapping(value, place)
    rows = read_list(topic.get("partitions"), f"{place}.partitions")
    if not rows:
        raise MalformedPlan(f"{place}.partitions: at least one partition expected")
    replicas = [_read_partition(f"{place}.partitions[{n}]", row) for n, row in enumerate(rows)]
    return {"id": topic.get("id"), "partitions": len(rows), "configs": topic.get("configs"), "replicas": replicas}


def _read_partition(place: str, value: Any) -> list[Any]:
    row = read_mapping(value, place)
    replicas, isr = (
        [read_whole_number(each, place) for each in read_list(row.get(key), place)] for key in ("replicas", "isr")
    )
    leader = row.get("leader")
    if not set(isr) <= set(replicas):
        raise MalformedPlan(f"{place}: an isr of some of the replicas expected, found {isr} of {replicas}")
    if len(set(replicas)) < len(replicas):
        raise MalformedPlan(f"{place}: each replica once expected, found {replicas}")
    if leader != NO_LEADER and leader not in isr:
        raise MalformedPlan(f"{place}: a leader of the isr {isr} expected, or {NO_LEADER}, found {leader}")
    return [replicas, isr, leader, row.get("leader_epoch"), 0, row.get("adding", []), row.get("removing", [])]


def _read_acl(value: Any) -> list[Any]:
    rule = list(read_list(value, "acls"))
    try:
        for at, kind in _CODES:
            rule[at] = kind[rule[at]].value
    except (KeyError, IndexError, TypeError):
        raise MalformedPlan(f"acls: {value!r} is no access rule") from None
    return rule


def _read_text(value: Any, place: str) -> str:
    """Reads a text. It has to be quoted if YAML would parse it as another type, such as `no`."""
    if not isinstance(value, str):
        raise MalformedPlan(f"{place}: a text in quotes expected, found {value!r:.100}")
    return value


def _read_name(value: Any, place: str) -> str:
    name = _read_text(value, place)
    if not is_plain_name(name):
        raise MalformedPlan(f"{place}: {name!r:.100} names nothing within a log directory")
    return name


def _decode_brokers(rows: Mapping[Any, Any]) -> Iterator[tuple[int, PlannedBroker]]:
    for key, value in rows.items():
        yield read_whole_number(key, "brokers"), _decode_broker(key, value)


def _decode_broker(key: Any, value: Any) -> PlannedBroker:
    place = f"brokers.{key}"
    fields = read_mapping(value, place)
    directories = tuple(
        _read_directory(place, each) for each in read_list(fields.get("directories"), f"{place}.directories")
    )
    if not directories:
        raise MalformedPlan(f"{place}.directories: at least one expected")
    folders = tuple(_read_folders(place, read_mapping(fields.get("found"), f"{place}.found")))
    if not all(0 <= each.disk < len(directories) for each in folders):
        raise MalformedPlan(f"{place}.found: the number of one of the {len(directories)} directories expected, from 0")
    return PlannedBroker(
        broker_id=read_whole_number(key, "brokers"),
        directories=directories,
        folders=folders,
        last_producer_id=read_whole_number(fields.get("last_producer_id"), place),
        host=_read_text(fields.get("host"), f"{place}.host"),
        port=read_whole_number(fields.get("port"), f"{place}.port"),
        controller_port=read_whole_number(fields.get("controller_port"), f"{place}.controller_port"),
        set_aside=tuple(_read_name(each, place) for each in read_list(fields.get("set_aside"), f"{place}.set_aside")),
        deleted_folders=read_whole_number(fields.get("deleted_folders", 0), place),
    )


def _read_directory(place: str, value: Any) -> PlannedDirectory:
    fields = read_mapping(value, f"{place}.directories")
    return PlannedDirectory(
        path=_read_text(fields.get("path"), f"{place}.directories"),
        directory_id=read_uuid(fields.get("id"), f"{place}.directories"),
        fingerprint=str(fields.get("fingerprint")),
    )


def _read_folders(place: str, found: Mapping[Any, Any]) -> Iterator[FolderSurvey]:
    for topic, rows in found.items():
        for row in read_list(rows, f"{place}.found.{topic}"):
            yield _read_folder(f"{place}.found.{topic}", _read_name(topic, place), row)


def _read_folder(place: str, topic: str, row: Any) -> FolderSurvey:
    if not isinstance(row, list) or len(row) != VALUES_OF_FOLDER:
        raise MalformedPlan(f"{place}: {VALUES_OF_FOLDER} values expected, found {row!r:.100}")
    *numbers, topic_id = row
    partition, disk, epoch, end, magic, producer_id, index_bytes, recovered_bytes = (
        read_whole_number(each, place) for each in numbers
    )
    return FolderSurvey(
        topic=topic,
        partition=partition,
        disk=disk,
        leader_epoch=epoch,
        end_offset=end,
        lowest_magic=magic,
        last_producer_id=producer_id,
        index_bytes=index_bytes,
        recovered_bytes=recovered_bytes,
        topic_id=None if topic_id is None else read_uuid(topic_id, place),
    )
