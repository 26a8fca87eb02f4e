"""SASL: turns a client's tokens into the name of its user, or a refusal. Uses no socket and no frame."""
