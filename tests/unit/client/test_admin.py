"""The admin clients against a broker, blocking and awaited, in plain text and logged in over TLS."""

import asyncio
import inspect
from pathlib import Path

import pytest
from stepdown.client import Admin, AsyncAdmin, AuthenticationFailed, ClientError, KafkaError, NewTopic
from stepdown.client.security.settings import SaslSettings, SecuritySettings
from stepdown.protocol.acls import AclFilter
from stepdown.testing import running
from support.certificates import Authority
from support.running import running_broker
from support.secure import PASSWORD, USER, secure_broker, secure_settings


def login(authority: Authority, password: str = PASSWORD) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.location": str(authority.file),
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": USER,
        "sasl.password": password,
    }


async def test_topics_and_offsets_are_changed_and_seen(tmp_path: Path) -> None:
    def use(address: str) -> None:
        with Admin(address) as admin:
            made, again = (
                admin.create_topics([NewTopic(name="t", partitions=2, configs={"retention.ms": "5"})])[0]
                for _ in range(2)
            )
            assert (made.error, again.error) == ("", "TOPIC_ALREADY_EXISTS")
            assert not admin.add_partitions("t", 3).failed
            assert not admin.alter_topic_configs("t", {"retention.ms": "6"}).failed
            (topic,) = admin.describe_topics(["t"])
            assert len(topic["partitions"]) == 3
            configs = {row["name"]: row["value"] for row in admin.topic_configs(["t"])["t"]}
            assert configs["retention.ms"] == "6"
            assert not admin.commit_offsets("g", {("t", 1): 7})[0].failed
            assert admin.committed_offsets("g") == {("t", 1): 7}
            assert [group.name for group in admin.list_groups()] == ["g"]
            assert [group.state for group in admin.describe_groups(["g", "none"])] == ["Empty", "Dead"]
            assert not admin.delete_groups(["g"])[0].failed and not admin.delete_topics(["t"])[0].failed
            with pytest.raises(KafkaError) as refused:
                admin.describe_acls(AclFilter())
            assert refused.value.code == "SECURITY_DISABLED"

    async with running_broker(tmp_path / "data") as broker:
        await asyncio.to_thread(use, str(broker.address))


async def test_many_calls_are_awaited_at_a_time_on_one_connection(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "data") as broker, AsyncAdmin(str(broker.address)) as admin:
        names = [f"t{number}" for number in range(20)]
        outcomes = await asyncio.gather(*(admin.create_topics([NewTopic(name=name)]) for name in names))
        assert not any(each.failed for (each,) in outcomes)
        found = await asyncio.gather(*(admin.describe_topics([name]) for name in names))
        assert [topic["name"] for (topic,) in found] == names
        assert len(admin._open) == 1


async def test_both_fronts_log_in_over_tls(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    def use(address: str) -> None:
        with Admin(address, login(authority)) as admin:
            assert (USER, "SCRAM-SHA-512", 4096) in admin.describe_users()
        with Admin(address, login(authority, "wrong")) as admin, pytest.raises(AuthenticationFailed, match=USER):
            admin.describe_topics()
        other = login(authority) | {"ssl.truststore.location": str(Authority(tmp_path, "other").file)}
        with Admin(address, other) as admin, pytest.raises(AuthenticationFailed, match="TLS could not be agreed on"):
            admin.describe_topics()

    async with secure_broker(tmp_path / "data", secure_settings(authority)) as broker:
        address = str(broker.addresses["SASL_SSL"])
        async with AsyncAdmin(address, login(authority)) as admin:
            assert await admin.describe_topics() == []
        async with AsyncAdmin(address, login(authority, "wrong")) as admin:
            with pytest.raises(AuthenticationFailed, match=USER):
                await admin.describe_topics()
        other = login(authority) | {"ssl.truststore.location": str(Authority(tmp_path, "third").file)}
        async with AsyncAdmin(address, other) as admin:
            with pytest.raises(AuthenticationFailed, match="TLS could not be agreed on"):
                await admin.describe_topics()
        await asyncio.to_thread(use, address)


async def test_a_token_that_the_application_cannot_give_ends_the_login(tmp_path: Path) -> None:
    async def provide() -> str:
        raise RuntimeError("no token today")

    authority = Authority(tmp_path)
    security = SecuritySettings(sasl=SaslSettings(mechanism="OAUTHBEARER", token_provider=provide))
    async with (
        secure_broker(tmp_path / "data", secure_settings(authority)) as broker,
        AsyncAdmin(str(broker.addresses["SASL_PLAINTEXT"]), security=security) as admin,
    ):
        with pytest.raises(AuthenticationFailed, match="OAUTHBEARER"):
            await admin.describe_topics()


async def test_nobody_who_answers_is_an_error_that_names_the_address() -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(ClientError, match=r"no broker answers at 127\.0\.0\.1:1"):
        admin.describe_topics()
    async with AsyncAdmin("127.0.0.1:1") as admin_:
        with pytest.raises(OSError, match=r"no broker answers at 127\.0\.0\.1:1"):
            await admin_.describe_topics()


def test_both_fronts_have_the_same_methods() -> None:
    fronts = [
        {name for name, value in vars(front).items() if inspect.isfunction(value)} for front in (Admin, AsyncAdmin)
    ]
    assert fronts[0] == fronts[1] and len(fronts[0]) > 15


def test_groups_and_transactions_of_all_brokers_are_listed() -> None:
    """Those of the broker that was asked were shown, a third of them."""
    names = [f"g{number}" for number in range(9)]
    with running(brokers=3) as kafka, Admin(kafka.bootstrap) as admin:
        kafka.create_topic("t")
        assert not any(admin.commit_offsets(name, {("t", 0): 0})[0].failed for name in names)
        assert [group.name for group in admin.list_groups()] == names
        assert admin.list_transactions() == []
