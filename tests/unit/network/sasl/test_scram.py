"""What a stranger learns of users from SCRAM."""

import statistics
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from stepdown.broker.security.scram_credentials import ScramCredentials
from stepdown.network.sasl.mechanism import Refused
from stepdown.network.sasl.scram import Scram
from stepdown.protocol.scram import ScramCredential, credential_of, salt_password

MECHANISM = "SCRAM-SHA-256"


def stored(salt: bytes, iterations: int) -> ScramCredential:
    return credential_of(MECHANISM, salt, salt_password(MECHANISM, "secret", salt, iterations), iterations)


def credentials(*users: str, salt: bytes = b"s" * 26, iterations: int = 8192) -> ScramCredentials:
    known = {(user, MECHANISM): stored(salt, iterations) for user in users}
    return ScramCredentials(cast("Any", lambda: SimpleNamespace(state=SimpleNamespace(scram_credentials=known))))


def first_answer(of: ScramCredentials, user: str) -> dict[str, str]:
    server = Scram(MECHANISM, lambda name: of.find_for_login(name, MECHANISM), "server")
    answer = server.step(f"n,,n={user},r=client".encode()).decode()
    return dict(part.split("=", 1) for part in answer.split(","))


def last_refusal(of: ScramCredentials, user: str) -> Refused:
    server = Scram(MECHANISM, lambda name: of.find_for_login(name, MECHANISM), "server")
    server.step(f"n,,n={user},r=client".encode())
    with pytest.raises(Refused) as refused:
        server.step(b"c=biws,r=clientserver,p=" + b"A" * 43 + b"=")
    return refused.value


def test_users_that_do_not_exist_get_answers_like_those_that_do() -> None:
    """An unknown user was refused with the first message, a known one got salt and iterations."""
    users = credentials("alice")
    known, unknown = first_answer(users, "alice"), first_answer(users, "nobody")
    assert unknown["i"] == known["i"] == "8192"
    assert len(unknown["s"]) == len(known["s"])
    assert unknown["s"] != known["s"] != first_answer(users, "nobody else")["s"]


def test_the_salt_of_a_user_that_does_not_exist_is_the_same_at_each_try_and_after_a_restart() -> None:
    assert first_answer(credentials("alice"), "nobody") == first_answer(credentials("alice"), "nobody")


def test_both_are_told_the_same_with_the_last_message_and_only_the_log_knows_why() -> None:
    users = credentials("alice")
    known, unknown = last_refusal(users, "alice"), last_refusal(users, "nobody")
    assert known.told is unknown.told is None
    assert str(known) == "wrong password of 'alice'"
    assert str(unknown) == "there is no user 'nobody'"


def test_no_password_fits_a_user_that_does_not_exist_even_where_nobody_is_stored() -> None:
    empty = credentials()
    assert empty.find_for_login("nobody", MECHANISM).is_decoy
    assert first_answer(empty, "nobody")["i"] == "4096"
    assert str(last_refusal(empty, "nobody")) == "there is no user 'nobody'"


def test_a_user_who_is_deleted_gets_decoys_from_then_on() -> None:
    known = {("alice", MECHANISM): stored(b"s" * 20, 5000), ("bob", MECHANISM): stored(b"t" * 20, 5000)}
    state = SimpleNamespace(scram_credentials=known)
    users = ScramCredentials(cast("Any", lambda: SimpleNamespace(state=state)))
    before = first_answer(users, "alice")
    state.scram_credentials = {("bob", MECHANISM): known["bob", MECHANISM]}
    after = first_answer(users, "alice")
    assert after["i"] == before["i"]
    assert len(after["s"]) == len(before["s"])
    assert after["s"] != before["s"]


def calls_of_a_try(of: ScramCredentials, user: str) -> int:
    """Python and C functions that one try calls."""
    import sys

    count = 0

    def profile(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        first_answer(of, user)
    finally:
        sys.setprofile(None)
    return count


def test_a_try_takes_the_same_work_for_both() -> None:
    users = credentials("alice", "bob", "carol")
    first_answer(users, "alice")
    known, unknown = (
        statistics.median(calls_of_a_try(users, f"{kind}") for _ in range(20)) for kind in ("carol", "nobody")
    )
    assert known == unknown


class CountedUsers(dict[tuple[str, str], ScramCredential]):
    """Counts how often all of them are looked through."""

    walks = 0

    def __iter__(self) -> Iterator[tuple[str, str]]:
        self.walks += 1
        return super().__iter__()


@pytest.mark.parametrize("mechanism", [MECHANISM, "SCRAM-SHA-512"])
def test_tries_look_through_all_users_once(mechanism: str) -> None:
    """Each try did, by a mechanism that nobody has a password for."""
    known = CountedUsers({("alice", MECHANISM): stored(b"s" * 20, 5000)})
    users = ScramCredentials(cast("Any", lambda: SimpleNamespace(state=SimpleNamespace(scram_credentials=known))))
    salts = {users.find_for_login("nobody", mechanism).stored.salt for _ in range(10)}
    assert (known.walks, len(salts)) == (1, 1)
