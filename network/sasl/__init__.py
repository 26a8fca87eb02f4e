"""SASL: what a client says to prove who it is enters, the user's name or a refusal leaves. No socket, no frame."""
