"""A hostile broker kept the loop for 3.7 s with four million iterations, and for longer with a salt of 30 MB."""

import base64

import pytest
from stepdown.client.errors import MAX_SHOWN_CHARACTERS
from stepdown.client.security import scram_client
from stepdown.client.security.scram_client import MAX_MESSAGE_BYTES, MAX_SALT_BYTES, ScramClient, ScramFailed

LONG_SALT = base64.b64encode(bytes(MAX_SALT_BYTES + 1))


@pytest.mark.parametrize(
    "server_first",
    [
        b"r=nm,s=c2FsdA==,i=4194304",
        b"r=nm,s=c2FsdA==,i=131073",
        b"r=nm,s=c2FsdA==,i=" + b"9" * 5000,
        b"r=nm,s=" + LONG_SALT + b",i=4096",
        b"r=nm,s=" + base64.b64encode(bytes(30 << 20)) + b",i=4096",
        b"r=n" + b"m" * MAX_MESSAGE_BYTES + b",s=c2FsdA==,i=4096",
        b"," * (MAX_MESSAGE_BYTES + 1),
    ],
    ids=["4194304", "131073", "5000 digits", "long salt", "30 MB of salt", "long nonce", "many fields"],
)
def test_a_server_that_asks_for_much_work_is_refused_before_it(
    server_first: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scram_client, "salt_password", lambda *_: pytest.fail("the password was salted"))
    with pytest.raises(ScramFailed):
        ScramClient("SCRAM-SHA-256", "u", "p", "n").final_message(server_first)


def test_what_kafka_allows_is_taken() -> None:
    server_first = b"r=nm,s=" + base64.b64encode(bytes(MAX_SALT_BYTES)) + b",i=16384"
    assert ScramClient("SCRAM-SHA-512", "u", "p", "n").final_message(server_first).startswith(b"c=biws,r=nm,p=")


def test_a_server_s_text_has_no_control_characters_and_is_cut() -> None:
    client = ScramClient("SCRAM-SHA-256", "u", "p", "n")
    with pytest.raises(ScramFailed) as caught:
        client.verify_server(b"e=no\nWARN forged\x1b[2J" + b"x" * 5000)
    assert str(caught.value).startswith("no\\nWARN forged\\x1b[2J")
    assert len(str(caught.value)) < MAX_SHOWN_CHARACTERS + 20
