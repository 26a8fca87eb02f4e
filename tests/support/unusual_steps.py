"""Requests that are well formed, and that no client sends on purpose: things named twice, empty, negative, unknown.

For topics `a` with two partitions and `b` with one, each with a set of three records in its first.
"""

from collections.abc import Iterator, Sequence

from stepdown.protocol.messages import alter_configs as ac
from stepdown.protocol.messages import alter_user_scram_credentials as ausc
from stepdown.protocol.messages import incremental_alter_configs as iac
from stepdown.protocol.messages import offset_commit as oc
from stepdown.protocol.messages import offset_fetch as of
from stepdown.protocol.messages import offset_for_leader_epoch as ofle
from stepdown.protocol.messages import txn_offset_commit as toc
from stepdown.protocol.messages import write_txn_markers as wtm
from stepdown.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from stepdown.protocol.messages.create_topics import CreateTopicsRequest
from stepdown.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from stepdown.protocol.messages.describe_acls import DescribeAclsRequest
from stepdown.protocol.messages.elect_leaders import ElectLeadersRequest
from stepdown.protocol.messages.list_transactions import ListTransactionsRequest
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

from .admin import new_topic
from .record_sets import record_set
from .steps import TIMEOUT_MS, Step, each_version


def unusual_steps() -> Iterator[Step]:
    """All of them, in their order; each name once."""
    yield from _epochs()
    yield from _produced()
    yield from _markers()
    yield from _offsets()
    yield from _configs()
    yield from _topics()
    yield from _cluster()
    yield from _rules()
    yield from _passwords()


# Records and transactions


def _epochs() -> Iterator[Step]:
    for epoch in (-3, -2, -1, 0, 5):
        for current in (-2, -1, 0, 5):
            asked = ofle.OffsetForLeaderPartition(partition=0, leader_epoch=epoch, current_leader_epoch=current)
            topics = (ofle.OffsetForLeaderTopic(topic="a", partitions=(asked,)),)
            request = ofle.OffsetForLeaderEpochRequest(replica_id=-1, topics=topics)
            yield from each_version(f"end of epoch {epoch}, in epoch {current}", request, range(5))
    for replica in (-3, -2, 1, 7):
        asked = ofle.OffsetForLeaderPartition(partition=0, leader_epoch=0)
        topics = (ofle.OffsetForLeaderTopic(topic="a", partitions=(asked, asked)),)
        request = ofle.OffsetForLeaderEpochRequest(replica_id=replica, topics=topics)
        yield from each_version(f"end of epoch twice, for replica {replica}", request, (0, 2, 3, 4))


def _produced() -> Iterator[Step]:
    def to(name: str, *indexes: int, records: bytes | None = b"") -> TopicProduceData:
        written = record_set(2) if records == b"" else records
        data = [PartitionProduceData(index=index, records=written) for index in indexes]
        return TopicProduceData(name=name, partition_data=data)

    asked: Sequence[tuple[str, Sequence[TopicProduceData]]] = (
        ("one partition twice", (to("a", 0, 0),)),
        ("one topic twice", (to("a", 0), to("a", 0))),
        ("one topic twice, other partitions", (to("a", 0), to("b", 0), to("a", 1))),
        ("an absent partition twice", (to("a", 7, 7),)),
        ("no topics", ()),
        ("no partitions", (to("a"),)),
    )
    for name, topics in asked:
        for acks in (1, -1):
            request = ProduceRequest(acks=acks, timeout_ms=TIMEOUT_MS, topic_data=topics)
            yield from each_version(f"produce to {name}, acks {acks}", request, (3, 7, 9, 11), reads=False)
    for name, topics in (
        ("no records", (to("a", 0, records=None),)),
        ("records and none", (to("a", 0), to("b", 0, records=None))),
    ):
        request = ProduceRequest(acks=1, timeout_ms=TIMEOUT_MS, topic_data=topics)
        yield from each_version(f"produce {name}", request, (9,), reads=False)


def _markers() -> Iterator[Step]:
    def marker(
        producer: int, epoch: int, *partitions: tuple[str, Sequence[int]], coordinator: int = 0
    ) -> wtm.WritableTxnMarker:
        return wtm.WritableTxnMarker(
            producer_id=producer,
            producer_epoch=epoch,
            transaction_result=False,
            coordinator_epoch=coordinator,
            topics=[wtm.WritableTxnMarkerTopic(name=name, partition_indexes=ids) for name, ids in partitions],
        )

    first, second = ("a", (0,)), ("b", (0,))
    asked: Sequence[tuple[str, Sequence[wtm.WritableTxnMarker]]] = (
        ("none", ()),
        ("without topics", (marker(5, 0),)),
        ("without partitions", (marker(5, 0, ("a", ())),)),
        ("with and without partitions", (marker(5, 0, first), marker(6, 0), marker(7, 0, second))),
        ("absent", (marker(5, 0, ("a", (9,)), ("nope", (0,))),)),
        ("absent and not", (marker(5, 0, ("a", (0, 9)), ("nope", (0,))),)),
        ("producer twice", (marker(5, 0, first), marker(5, 0, second))),
        ("epoch 4", (marker(5, 4, first),)),
        ("stale", (marker(5, 3, first),)),
        ("stale and not", (marker(5, 3, first, second),)),
        ("later coordinator", (marker(8, 0, first, coordinator=7),)),
        ("earlier coordinator", (marker(8, 0, first, coordinator=6),)),
        ("negative coordinator", (marker(9, 0, first, coordinator=-1),)),
        ("of no producer", (marker(-1, 0, first),)),
        ("of a negative producer", (marker(-5, 0, first),)),
        ("of no producer and one", (marker(-1, 0, first), marker(10, 0, first))),
        ("of no epoch", (marker(11, -1, first),)),
    )
    for name, markers in asked:
        yield from each_version(f"markers: {name}", wtm.WriteTxnMarkersRequest(markers=markers), (0, 1), reads=False)
    for name, twice in (("partition", marker(12, 0, ("a", (0, 0)))), ("topic", marker(12, 0, first, first))):
        request = wtm.WriteTxnMarkersRequest(markers=(twice,))
        yield from each_version(f"markers for a {name} named twice", request, (1,), reads=False)


# Groups


def _offsets() -> Iterator[Step]:
    def committed(group: str, member: str, generation: int) -> oc.OffsetCommitRequest:
        partition = oc.OffsetCommitRequestPartition(partition_index=0, committed_offset=3, committed_metadata="")
        topics = (oc.OffsetCommitRequestTopic(name="a", partitions=(partition,)),)
        return oc.OffsetCommitRequest(
            group_id=group, member_id=member, generation_id_or_member_epoch=generation, topics=topics
        )

    for group in ("new", ""):
        for member in ("", "m"):
            for generation in (-2, -1, 0, 1):
                name = f"commit to {group!r} by {member!r} in {generation}"
                request = committed(f"{group}{generation}{member}" if group else "", member, generation)
                yield from each_version(name, request, (1, 2, 5, 7, 8, 9), reads=False)
    pending = [
        toc.TxnOffsetCommitRequestPartition(partition_index=at, committed_offset=1, committed_metadata="")
        for at in (0, 9)
    ]
    for group in ("", "new"):
        request = toc.TxnOffsetCommitRequest(
            transactional_id="nope",
            group_id=group,
            producer_id=5,
            producer_epoch=0,
            topics=(toc.TxnOffsetCommitRequestTopic(name="a", partitions=pending),),
        )
        yield from each_version(f"commit to {group!r} in no transaction", request, (0, 2, 3))
    yield from each_version("commit to ZooKeeper", committed("zoo", "", -1), (0,), reads=False)
    asked = of.OffsetFetchRequestTopic(name="a", partition_indexes=(0, 1))
    request = of.OffsetFetchRequest(group_id="zoo", topics=(asked,))
    yield from each_version("offsets from ZooKeeper", request, (0,))
    nobody = of.OffsetFetchRequest(group_id="nobody", topics=(asked,))
    yield from each_version("offsets of nobody", nobody, (1, 2, 7))


# Settings and topics


def _configs() -> Iterator[Step]:
    def altered(kind: int, name: str, *configs: tuple[str, int, str | None]) -> iac.AlterConfigsResource:
        changes = [iac.AlterableConfig(name=key, config_operation=what, value=text) for key, what, text in configs]
        return iac.AlterConfigsResource(resource_type=kind, resource_name=name, configs=changes)

    for kind, resource, key in ((2, "a", "retention.ms"), (2, "nope", "retention.ms"), (4, "1", "log.retention.ms")):
        for operation in (-1, 4, 100):
            change = altered(kind, resource, (key, operation, "5"))
            request = iac.IncrementalAlterConfigsRequest(resources=(change,))
            yield from each_version(f"operation {operation} on {kind}:{resource}", request, (0, 1), reads=False)
    wrong: Sequence[tuple[str, Sequence[tuple[str, int, str | None]]]] = (
        ("a value", (("retention.ms", 0, "x"),)),
        ("a key", (("nope", 0, "x"),)),
        ("no value", (("retention.ms", 0, None),)),
        ("a key twice", (("retention.ms", 0, "1"), ("retention.ms", 0, "2"))),
        ("no list", (("retention.ms", 2, "1"),)),
        ("an empty key", (("", 0, "1"),)),
    )
    for resource in ("a", "nope", "bad name", ""):
        for name, configs in wrong:
            change = altered(2, resource, *configs)
            request = iac.IncrementalAlterConfigsRequest(resources=(change,))
            yield from each_version(f"change of {resource!r}, wrong {name}", request, (1,), reads=False)
            values = [ac.AlterableConfig(name=key, value=text) for key, _, text in configs]
            replaced = ac.AlterConfigsResource(resource_type=2, resource_name=resource, configs=values)
            both = ac.AlterConfigsRequest(resources=(replaced,))
            yield from each_version(f"replacement in {resource!r}, wrong {name}", both, (2,), reads=False)


def _topics() -> Iterator[Step]:
    unknown, no_value = {"nope": "1"}, {"retention.ms": None}
    wrong = (
        new_topic("a", configs={"retention.ms": "x"}),
        new_topic("b", configs=unknown),
        new_topic("c-name ä", configs={"retention.ms": "x"}),
        new_topic("d ", 0),
        new_topic("e ", 1, 9),
        new_topic("f", 0, configs=unknown),
        new_topic("g", 1, 9, configs=unknown),
        new_topic("h", 0, 9),
        new_topic("i", 0, 9, configs=no_value),
        new_topic("j ", configs=no_value),
        new_topic("__cluster_metadata", 0, configs=unknown),
        new_topic("a", configs=no_value),
    )
    for number, topic in enumerate(wrong):
        request = CreateTopicsRequest(topics=(topic,), timeout_ms=TIMEOUT_MS)
        yield from each_version(f"create {topic.name!r} with faults {number}", request, (5,), reads=False)
    for number, name in enumerate(("a", "bad name", "__cluster_metadata", "")):
        request = CreateTopicsRequest(topics=(new_topic(name, 0), new_topic(name, 1, 9)), timeout_ms=TIMEOUT_MS)
        yield from each_version(f"create {name!r} twice with faults {number}", request, (5,), reads=False)
    exists = CreateTopicsRequest(topics=(new_topic("a", 0), new_topic("b", 1, 9)), timeout_ms=TIMEOUT_MS)
    yield from each_version("create what exists in another way", exists, (5,), reads=False)


# The cluster


def _cluster() -> Iterator[Step]:
    for kind in (-1, 2, 7):
        for name, topics in (("no", ()), ("all", None)):
            request = ElectLeadersRequest(election_type=kind, topic_partitions=topics)
            yield from each_version(f"election of type {kind} of {name} partitions", request, (1, 2))
    filters: Sequence[tuple[str, ListTransactionsRequest]] = (
        ("twice", ListTransactionsRequest(state_filters=("Ongoing", "Ongoing"))),
        ("unknown twice", ListTransactionsRequest(state_filters=("x", "x", "y", ""))),
        ("in capitals", ListTransactionsRequest(state_filters=("ONGOING", "ongoing"))),
        ("producers twice", ListTransactionsRequest(producer_id_filters=(1, 1, -1))),
    )
    for name, transactions in filters:
        yield from each_version(f"transactions filtered {name}", transactions, (0, 1))
    updates: Sequence[tuple[str, Sequence[tuple[str, int, int]]]] = (
        ("none", ()),
        ("one twice", (("metadata.version", 21, 1), ("metadata.version", 21, 1))),
        ("one twice, to others", (("metadata.version", 21, 1), ("metadata.version", 20, 1))),
        ("an unknown one twice", (("nope", 1, 1), ("nope", 1, 1))),
        ("one with an empty name", (("", 1, 1),)),
    )
    for name, each in updates:
        keys = [FeatureUpdateKey(feature=key, max_version_level=level, upgrade_type=by) for key, level, by in each]
        request = UpdateFeaturesRequest(feature_updates=keys, validate_only=True, timeout_ms=TIMEOUT_MS)
        yield from each_version(f"features: {name}", request, (1,))


# Rules and passwords


def _rules() -> Iterator[Step]:
    usual = {"resource_type": 2, "resource_pattern_type": 3, "operation": 3, "permission_type": 3}
    for field in usual:
        for code in (0, 1, 2, 99):
            rule = AclCreation(resource_name="a", principal="User:a", host="*", **(usual | {field: code}))  # type: ignore[arg-type]
            yield from each_version(f"rule with {field} {code}", CreateAclsRequest(creations=(rule,)), (1, 3))
    anything = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
    for field in anything:
        for code in (0, 2, 99):
            wanted = anything | {field: code}
            deleted = DeleteAclsRequest(filters=(DeleteAclsFilter(**wanted),))  # type: ignore[arg-type]
            yield from each_version(f"rules to delete with {field} {code}", deleted, (1, 3))
            described = DescribeAclsRequest(**wanted)  # type: ignore[arg-type]
            yield from each_version(f"rules with {field} {code}", described, (1, 3))
    yield from each_version("no rules", CreateAclsRequest(creations=()), (1, 3))
    yield from each_version("no rules to delete", DeleteAclsRequest(filters=()), (1, 3))


def _passwords() -> Iterator[Step]:
    def password(
        user: str, *, mechanism: int = 1, iterations: int = 4096, salt: bytes = b"salt", salted: bytes = b"s" * 32
    ) -> ausc.ScramCredentialUpsertion:
        return ausc.ScramCredentialUpsertion(
            name=user, mechanism=mechanism, iterations=iterations, salt=salt, salted_password=salted
        )

    asked = (
        password("u", salted=b""),
        password("u", salt=b""),
        password("u", salt=b"", salted=b""),
        password("u", salted=b"short"),
        password("u", salted=b"s" * 100),
        password("", salted=b""),
        password("u", mechanism=0, iterations=0),
        password("u", mechanism=9),
        password("u", iterations=0),
        password("u", iterations=16385),
        password("u", iterations=-1, salted=b""),
    )
    for number, each in enumerate(asked):
        request = ausc.AlterUserScramCredentialsRequest(deletions=(), upsertions=(each,))
        yield from each_version(f"password {number}", request, (0,), reads=False)
    gone = ausc.ScramCredentialDeletion(name="v", mechanism=1)
    for name, deletions, upsertions in (
        ("nothing", (), ()),
        ("one absent", (gone,), ()),
        ("one absent twice", (gone, gone), ()),
        ("one set twice", (), (password("v"), password("v"))),
        ("one set and removed", (gone,), (password("v"),)),
        ("one of an unknown mechanism", (ausc.ScramCredentialDeletion(name="v", mechanism=9),), ()),
        ("one without a name", (ausc.ScramCredentialDeletion(name="", mechanism=1),), ()),
    ):
        request = ausc.AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)
        yield from each_version(f"passwords: {name}", request, (0,), reads=False)
